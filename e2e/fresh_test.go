package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the README tells a newcomer to type must work as it stands there.
func TestTheReadmesFirstCommandRunsReax(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	const first = "go run ./cmd/reax serve"
	require.Contains(t, string(readme), "\n"+first+"\n")
	require.Contains(t, string(readme), "`reax enqueue TYPE`")

	// Only where the database is and which port is taken differ: the tests leave the checkout and other servers alone.
	dir := t.TempDir()
	db := filepath.Join(dir, "reax.db")
	env := append(cleanEnv(), "REAX_DB="+db, "REAX_ADDR=127.0.0.1:0", "REAX_CONFIG="+filepath.Join(dir, "reax.yaml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reax.yaml"), nil, 0o600))
	goRun := func(line string) *exec.Cmd {
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = "..", env
		// go run starts the program as its own child: the two are one group, so that a signal reaches both.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	out, err := os.Create(filepath.Join(dir, "stdout"))
	require.NoError(t, err)
	defer out.Close()
	server := goRun(first)
	server.Stdout, server.Stderr = out, out
	require.NoError(t, server.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait() // ProcessState says how it ended
	}()
	signal := func(sig syscall.Signal) { _ = syscall.Kill(-server.Process.Pid, sig) }
	t.Cleanup(func() {
		select {
		case <-ended:
		default:
			signal(syscall.SIGKILL)
			<-ended
		}
	})
	said := func() string {
		text, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		return string(text)
	}
	until(t, 3*patience, func() string { // it compiles first
		select {
		case <-ended:
			return "it ended: " + said()
		default:
		}
		if listening.MatchString(said()) {
			return ""
		}
		return "it does not listen yet: " + said()
	})
	require.Contains(t, said(), "(demonstration)")

	p := &place{dir: dir, db: db, env: env, program: reaxProgram}
	types := p.ok(t, "types")
	for _, name := range []string{"demo.report", "demo.flaky", "demo.slow", "demo.fail", "demo.panic"} {
		require.Contains(t, types, name)
	}
	printed := p.ok(t, "enqueue", "demo.report", "-p", "rows=5", "-p", "delay_ms=1", "--wait")
	require.Regexp(t, `is success: \{"title":"Weekly sales","rows":5,`, printed)
	require.Contains(t, p.ok(t, "list"), "demo.report")

	signal(syscall.SIGINT)
	<-ended // go run itself ends with its own opinion of the signal
	var stopped int
	require.NoError(t, p.database(t).QueryRow(`SELECT count(*) FROM boots WHERE stopped_at IS NOT NULL`).Scan(&stopped))
	require.Equal(t, 1, stopped, "it stopped in good order:\n%s", said())
}
