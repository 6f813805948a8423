package tasks

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// strayScript has a child in its group, one in a session of its own, and waits.
const strayScript = `sleep 1000 </dev/null >/dev/null 2>&1 & echo child $!
setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 0.05; echo daemon $!
echo leader $$; wait`

// runAsServer is what the second process of a test does: it runs a command for a ledger, until it is killed.
func runAsServer(ledger string) {
	ctx := WithRun(context.Background(), &Run{TaskID: 1, Attempt: 1, Ledger: ledger}, stdoutSink{})
	_, _ = script(strayScript).handler()(ctx, json.RawMessage("{}"))
}

// stdoutSink prints what a run says.
type stdoutSink struct{}

func (stdoutSink) Log(l LogLine)        { _, _ = os.Stdout.WriteString(l.Text + "\n") }
func (stdoutSink) Progress(int, string) {}

func TestTheNextServerEndsWhatCommandsOfAKilledOneLeftRunning(t *testing.T) {
	folder := t.TempDir()
	ledger, other := filepath.Join(folder, "reax.db"), filepath.Join(folder, "other.db")
	pids := map[string]string{}
	for _, of := range []string{ledger, other} {
		server := exec.Command(os.Args[0])
		server.Env = append(os.Environ(), "TASKS_RUN_AS_SERVER="+of)
		out, err := server.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, server.Start())
		said := ""
		for buffer := make([]byte, 1024); !strings.Contains(said, "leader"); {
			n, err := out.Read(buffer)
			require.NoError(t, err, said)
			said += string(buffer[:n])
		}
		for line := range strings.Lines(said) {
			if name, pid, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				pids[filepath.Base(of)+" "+name] = pid
			}
		}
		require.NoError(t, server.Process.Kill())
		_ = server.Wait()
	}
	t.Cleanup(func() {
		for _, name := range []string{"reax.db daemon", "other.db child", "other.db daemon"} {
			if pid, err := strconv.Atoi(pids[name]); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	})
	requireGone(t, pids["reax.db leader"]) // by the kernel
	require.True(t, isAlive(pids["reax.db child"]), "nobody but the next server ends it")

	n, err := EndStrays(t.Context(), ledger)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	requireGone(t, pids["reax.db child"])
	require.True(t, isAlive(pids["reax.db daemon"]), "what left for a session of its own is left alone")
	require.True(t, isAlive(pids["other.db child"]), "another server's")

	n, err = EndStrays(t.Context(), ledger)
	require.NoError(t, err)
	require.Zero(t, n)
}
