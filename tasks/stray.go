package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	strayVariable = "REAX_SERVER"
	strayLook     = 10 * time.Millisecond
	strayPatience = 5 * time.Second
)

// serverMark names the server that starts a command, in the command's environment and so in that of all its children:
// by session, which only a process that left for a session of its own does not share, and by ledger.
func serverMark(session int, ledger string) string { return fmt.Sprintf("%d %s", session, ledger) }

// EndStrays kills what the commands of a former server on a ledger left running, and returns when it is gone: those tasks
// may be started again, and must not run twice at the same time. The kernel has killed the commands themselves with their
// server, but not their children. A process that has moved to a session of its own (setsid) is left alone, as it is when
// a command ends. Only the process that has the ledger may call it. The error says that some could not be ended.
func EndStrays(ctx context.Context, ledger string) (ended int, err error) {
	ctx, cancel := context.WithTimeout(ctx, strayPatience)
	defer cancel()
	known := map[int]bool{}
	for {
		left, err := killStrays(ledger)
		if err != nil {
			return len(known), err
		}
		for _, pid := range left {
			known[pid] = true
		}
		if len(left) == 0 {
			return len(known), nil
		}
		select {
		case <-ctx.Done():
			return len(known), fmt.Errorf("processes %v of a former server's commands do not end", left)
		case <-time.After(strayLook):
		}
	}
}

// killStrays kills what is there now. What is started meanwhile is found by the next look.
func killStrays(ledger string) (found []int, err error) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for processes of a former server: %w", err)
	}
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || pid == os.Getpid() || !isStray(pid, ledger) {
			continue
		}
		// The handle is of one process: when it ends and its number is given to another one, that one is not met.
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if isStray(pid, ledger) {
			if err := process.Signal(unix.SIGKILL); err == nil || !errors.Is(err, os.ErrProcessDone) {
				found = append(found, pid)
			}
		}
		_ = process.Release()
	}
	return found, nil
}

// isStray reports whether a process was started for a command of a server on the ledger, and stayed in its session. A
// process that has ended, or belongs to somebody else, has no environment to read.
func isStray(pid int, ledger string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		mark, ok := strings.CutPrefix(string(variable), strayVariable+"=")
		if !ok {
			continue
		}
		number, of, _ := strings.Cut(mark, " ")
		session, err := unix.Getsid(pid)
		return err == nil && of == ledger && number == strconv.Itoa(session)
	}
	return false
}
