package tasks

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startCommand runs c in the background; stop ends its context with a cause and gives its error.
func startCommand(t testing.TB, c Command) (s *transcript, stop func(cause error) error) {
	t.Helper()
	require.NoError(t, c.Validate())
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx, s = withTranscript(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := c.handler()(ctx, []byte("{}"))
		done <- err
	}()
	return s, func(cause error) error {
		cancel(cause)
		return <-done
	}
}

func TestCommandAndItsChildrenEndWithTheRun(t *testing.T) {
	const child = `sleep 1000 & echo child $!; `
	for name, text := range map[string]string{
		"obedient":                 child + `echo leader $$; exec sleep 1000`,
		"waiting for its child":    child + `echo leader $$; wait`,
		"ignores SIGTERM":          `trap '' TERM; ` + child + `echo leader $$; while :; do sleep 1000; done`,
		"exits 0 at SIGTERM":       `trap 'exit 0' TERM; ` + child + `echo leader $$; while :; do sleep 0.01; done`,
		"stopped":                  child + `echo leader $$; kill -STOP $$; sleep 1000`,
		"closed its output":        child + `echo leader $$; exec >&- 2>&-; sleep 1000`,
		"grandchild of grandchild": `(sleep 1000 & echo child $!; wait) & echo leader $$; wait`,
		"floods its output":        child + `echo leader $$; yes`,
	} {
		t.Run(name, func(t *testing.T) {
			c := script(text)
			c.Grace = 20 * time.Millisecond
			s, stop := startCommand(t, c)
			child, leader := s.await(t, "child "), s.await(t, "leader ")
			err := stop(ErrCancelled)
			require.ErrorIs(t, err, ErrCancelled)
			require.NoFileExists(t, "/proc/"+leader, "the leader is not reaped")
			requireGone(t, child)
		})
	}
}

func TestCommandThatEndedBeforeItsContextIsNotInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	drained := make(chan struct{})
	close(drained)
	for range 20 { // a select with both ready takes either
		p, err := startProcess(exec.Command("true"))
		require.NoError(t, err)
		<-p.exited
		require.NoError(t, p.await(ctx, drained, 0))
		p.closePipes()
		status, err := p.reap()
		require.NoError(t, err)
		require.True(t, status.Exited())
	}
}

func TestCommandErrorCarriesTheCauseOfTheEnd(t *testing.T) {
	for _, cause := range []error{ErrTimeout, ErrCancelled, ErrShutdown} {
		s, stop := startCommand(t, script(`echo ready; exec sleep 1000`))
		s.await(t, "ready")
		err := stop(cause)
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, "the command was stopped: "+cause.Error())
	}
}

func TestCommandChildrenMayCleanUpWithinTheGrace(t *testing.T) {
	c := script(`( trap 'echo cleaned; exit' TERM; echo child; while :; do sleep 0.01; done ) & wait`)
	c.Grace = maxGrace // the leader dies at once; only the child's own end can be what the run waits for
	s, stop := startCommand(t, c)
	s.await(t, "child")
	require.ErrorIs(t, stop(ErrTimeout), ErrTimeout)
	require.Contains(t, s.of("stdout"), "cleaned")
}

func TestCommandLeavesNobodyBehindAfterItsOwnEnd(t *testing.T) {
	for name, text := range map[string]string{
		"holding the output":     `sleep 1000 & echo child $!`,
		"holding nothing":        `sleep 1000 </dev/null >/dev/null 2>&1 & echo child $!`,
		"ignoring SIGTERM":       `trap '' TERM; sleep 1000 & echo child $!`,
		"writing without end":    `yes >&2 & echo child $!`,
		"when the leader failed": `sleep 1000 & echo child $!; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			_, s, err := runCommand(t, script(text), "{}")
			require.Equal(t, name == "when the leader failed", err != nil)
			requireGone(t, s.await(t, "child "))
		})
	}
}

func TestCommandIsNotHeldUpByAProcessThatLeftItsGroup(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	_, s, err := runCommand(t, script(`
		setsid sh -c 'echo stray $$; echo > "$0"; exec sleep 1000' "$1" &
		read line < "$1"; echo done`, fifo), "{}")
	require.NoError(t, err)
	stray := s.await(t, "stray ")
	require.True(t, isAlive(stray), "setsid is documented to escape")
	require.NoError(t, exec.Command("kill", "-KILL", stray).Run())
	requireGone(t, stray)
	require.Contains(t, s.of("stdout"), "done")
}

func TestCommandsStoppedAtAnyMomentLeaveNothing(t *testing.T) {
	const runs = 40
	marker := "MARKER=" + t.TempDir()
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Duration(i)*time.Millisecond, func() { cancel(ErrCancelled) })
			c := script(`sleep 1000 & sleep 1000 >/dev/null 2>&1 & wait`)
			c.Env = map[string]string{"MARKER": strings.TrimPrefix(marker, "MARKER=")}
			if _, err := c.handler()(ctx, []byte(`{"a":1}`)); !errors.Is(err, ErrCancelled) {
				t.Errorf("got %v", err)
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return len(processesWith(t, marker)) == 0 }, 20*time.Second, 10*time.Millisecond)
	require.Empty(t, commandSlots)
}

// processesWith lists the processes that have variable in their environment.
func processesWith(t testing.TB, variable string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range files {
		// A process that has just ended can not be read.
		if env, _ := os.ReadFile(file); slices.Contains(strings.Split(string(env), "\x00"), variable) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// TestCommandHelperServer is no test: it is the server that the next test kills.
func TestCommandHelperServer(t *testing.T) {
	file := os.Getenv("TASKS_HELPER_SERVER")
	if file == "" {
		t.Skip("only a helper of TestCommandDiesWithTheServer")
	}
	_, _ = script(`echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 1000`, file).handler()(t.Context(), nil)
}

func TestCommandDiesWithTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	server := exec.Command(os.Args[0], "-test.run=^TestCommandHelperServer$")
	server.Env = append(os.Environ(), "TASKS_HELPER_SERVER="+file)
	require.NoError(t, server.Start())
	var pid []byte
	require.Eventually(t, func() bool {
		pid, _ = os.ReadFile(file)
		return len(pid) > 0
	}, 30*time.Second, time.Millisecond)
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	requireGone(t, strings.TrimSpace(string(pid)))
}
