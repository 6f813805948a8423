// Package examples runs the examples as a newcomer would: real processes, driven through the command line.
package examples

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build compiles a command of this module.
func build(t *testing.T, pkg string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-o", file, pkg).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// environment is the process's own without what a developer may have set for reax, and with env.
func environment(env []string) []string {
	own := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "REAX_") })
	return append(own, env...)
}

// start starts a server, waits for the line that says where it listens, and stops it at the end of the test.
func start(t *testing.T, env []string, program string, args ...string) (address string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = environment(env)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stopping %s: %v", program, err)
		}
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s did not stop cleanly: %v\n%s", program, err, log.String())
		}
	})
	for {
		line, err := lines.ReadString('\n')
		if m := regexp.MustCompile(`listening on http://(\S+)`).FindStringSubmatch(line); m != nil {
			return m[1]
		}
		if err != nil {
			require.FailNow(t, "it ended before it listened", "%s%s", line, log.String())
		}
	}
}

// reax runs a client command and returns what it printed and its exit code.
func reax(t *testing.T, env []string, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = environment(env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

type task struct {
	ID        int64           `json:"id"`
	State     string          `json:"state"`
	Attempt   int             `json:"attempt"`
	TraceID   string          `json:"trace_id"`
	Result    json.RawMessage `json:"result"`
	Error     string          `json:"error"`
	ErrorKind string          `json:"error_kind"`
}

// runTask enqueues a task through the socket and waits for its end.
func runTask(t *testing.T, env []string, program string, code int, args ...string) task {
	t.Helper()
	out, got := reax(t, env, program, append([]string{"enqueue", "--wait", "--json"}, args...)...)
	require.Equal(t, code, got, out)
	var done task
	require.NoError(t, json.Unmarshal([]byte(out), &done), out)
	return done
}

func TestScriptsAndEndpointsRunAsTasks(t *testing.T) {
	_, err := exec.LookPath("python3")
	require.NoError(t, err, "this test runs a Python script: install python3")
	program, endpoint := build(t, "reax/cmd/reax"), build(t, "reax/examples/endpoint")
	secret := "SMS_SECRET=of the test"
	address := start(t, []string{secret}, endpoint, "-addr", "127.0.0.1:0")

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("scripts")))
	file := filepath.Join(dir, "reax.yaml")
	config, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(config), "127.0.0.1:9000", address)), 0o600))

	env := []string{secret, "REAX_ADDR=127.0.0.1:0", "REAX_CONFIG=" + file}
	out, code := reax(t, env, program, "check")
	require.Zero(t, code, out)
	require.NotContains(t, out, "warning")
	start(t, env, program, "serve")
	require.FileExists(t, filepath.Join(dir, "reax.sock"))

	report := runTask(t, env, program, 0, "report.generate", "-p", "user_id=1001", "-p", "date=2026-01-31", "-p", "rows=8")
	require.JSONEq(t, `{"user_id": 1001, "date": "2026-01-31", "rows": 8, "total": 36}`, string(report.Result))
	out, code = reax(t, env, program, "logs", jsonNumber(report.ID))
	require.Zero(t, code, out)
	require.Contains(t, out, "report for user 1001, trace "+report.TraceID+", attempt 1")

	size := runTask(t, env, program, 0, "folder.size", "-p", "folder="+dir)
	require.Regexp(t, `^\{"kilobytes": ?[1-9][0-9]*\}$`, string(size.Result))
	size = runTask(t, env, program, 1, "folder.size", "-p", "folder=/nowhere; echo gone")
	require.Equal(t, "failed", size.State)
	require.Equal(t, 1, size.Attempt)
	require.Contains(t, size.Error, "there is no folder /nowhere; echo gone")

	sms := runTask(t, env, program, 0, "sms.push", "--params", `{"to": "+4930123456", "text": "你好"}`)
	require.JSONEq(t, `{"sent_to": "+4930123456", "characters": 2, "key": "`+sms.TraceID+`"}`, string(sms.Result))

	out, code = reax(t, env, program, "enqueue", "sms.push", "--params", `{"to": "nobody", "text": ""}`)
	require.Equal(t, 1, code)
	require.Contains(t, out, "/params/to")
}

func TestATeamsOwnWorkerRunsItsHandlers(t *testing.T) {
	program := build(t, "reax/examples/worker")
	dir := t.TempDir()
	env := []string{"REAX_ADDR=127.0.0.1:0", "REAX_DB=" + filepath.Join(dir, "reax.db")}
	start(t, env, program, "serve")

	sum := runTask(t, env, program, 0, "numbers.sum", "-p", "numbers=[1, 2, 9007199254740993]")
	require.JSONEq(t, `{"sum": 9007199254740996}`, string(sum.Result))
	out, code := reax(t, env, program, "logs", jsonNumber(sum.ID))
	require.Zero(t, code, out)
	require.Contains(t, out, "summed")

	welcome := runTask(t, env, program, 0, "welcome.send", "-p", "email=ada@example.org", "-p", "name=Ada")
	require.JSONEq(t, `{"subject": "Welcome, Ada!"}`, string(welcome.Result))
	welcome = runTask(t, env, program, 1, "welcome.send", "-p", "email=ada")
	require.Equal(t, task{ID: welcome.ID, State: "failed", Attempt: 1, TraceID: welcome.TraceID, Result: welcome.Result,
		Error: "the email has no @", ErrorKind: "permanent"}, welcome)

	out, code = reax(t, env, program, "types")
	require.Zero(t, code, out)
	require.Contains(t, out, "numbers.sum")
	require.NotContains(t, out, "demo.")
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n) // a number never fails
	return string(text)
}
