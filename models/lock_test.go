package models

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// holdLock is the second process of a test: it opens the ledger, says so, and holds it until it is killed or its input
// ends.
func holdLock(path string) {
	s, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("open")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = s.Close()
}

// startHolder runs this test program as a process that has the ledger open.
func startHolder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MODELS_HOLD_LOCK="+path)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	return cmd
}

func TestSecondProcessIsRefusedAndTheFirstNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	first := startHolder(t, path)

	_, err := Open(t.Context(), Config{Path: path})
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	host, _ := os.Hostname()
	require.Equal(t, first.Process.Pid, locked.PID)
	require.Equal(t, host, locked.Host)
	require.WithinDuration(t, time.Now(), locked.Since, time.Hour)
	require.Contains(t, err.Error(), fmt.Sprintf("%s is in use by process %d on %s since ", path, locked.PID, host))

	// The kernel gives the lock back, so a process that was killed leaves no stale one.
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	openStoreAt(t, path)
}

func TestOneProcessCannotOpenItsLedgerTwice(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "reax.db")
	s := openStoreAt(t, path)
	link := filepath.Join(folder, "link.db")
	require.NoError(t, os.Symlink(path, link))
	for _, name := range []string{path, link} {
		_, err := Open(t.Context(), Config{Path: name})
		var locked *LockedError
		require.ErrorAs(t, err, &locked)
		require.Equal(t, os.Getpid(), locked.PID)
	}
	require.NoError(t, s.Close())
	openStoreAt(t, link)
}

func TestLockFileWithoutSenseStillLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	for _, text := range []string{"", "garbage", `{"pid": "x"}`} {
		lock, err := acquireLock(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".lock", []byte(text), 0o600))
		_, err = acquireLock(path)
		require.EqualError(t, err, "the database "+path+" is in use by another process")
		require.NoError(t, lock.release())
	}
}

// A process that is killed while it starts a child leaves its lock to the child until that has become another program.
func TestTheLockOfADeadProcessIsWaitedForAndThatOfALiveOneIsNot(t *testing.T) {
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	host, err := os.Hostname()
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		for pid, waits := range map[int]bool{ended.Process.Pid: true, os.Getpid(): false} {
			path := filepath.Join(t.TempDir(), "reax.db")
			first, err := acquireLock(path)
			require.NoError(t, err)
			first.own = holder{PID: pid, Host: host}
			require.NoError(t, first.write())
			go func() {
				time.Sleep(time.Second)
				_ = first.file.Close()
			}()
			second, err := acquireLock(path)
			if !waits {
				var locked *LockedError
				require.ErrorAs(t, err, &locked)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, second.release())
		}
		time.Sleep(2 * time.Second)
	})
}
