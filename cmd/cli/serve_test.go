package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

// process is a real reax serve in a folder of its own.
type process struct {
	*exec.Cmd
	dir    string
	url    string
	banner string
	rest   *bufio.Reader
	log    *bytes.Buffer
}

// startProcess starts a server in dir and waits until it says where it listens.
func startProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: serveCommand(t, dir, args...), dir: dir, log: &bytes.Buffer{}}
	p.Stderr = p.log
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	p.rest = bufio.NewReader(out)
	p.banner, err = p.rest.ReadString('\n')
	require.NoError(t, err, "%s%s", p.banner, p.log)
	p.url = regexp.MustCompile(`http://\S+`).FindString(p.banner)
	return p
}

func serveCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REAX_") { // the developer's own
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, asReax+"=1")
	return cmd
}

// stop sends a signal and waits for the end.
func (p *process) stop(t *testing.T, sig os.Signal) (code int) {
	t.Helper()
	require.NoError(t, p.Process.Signal(sig))
	return p.wait(t)
}

func (p *process) wait(t *testing.T) (code int) {
	t.Helper()
	_, err := io.Copy(io.Discard, p.rest)
	require.NoError(t, err)
	_ = p.Wait() // the exit code says more than its error
	return p.ProcessState.ExitCode()
}

func (p *process) socket() string { return filepath.Join(p.dir, socketName) }

// client runs a command against the process.
func (p *process) client(t *testing.T, args ...string) result {
	t.Helper()
	return command{env: map[string]string{"REAX_DB": filepath.Join(p.dir, "reax.db")}}.run(t, args...)
}

func TestAServerStartsWithoutConfigurationAndStopsCleanly(t *testing.T) {
	p := startProcess(t, t.TempDir())
	require.Regexp(t, `^reax \S+ listening on http://127\.0\.0\.1:[1-9]\d* · database reax\.db · 5 task types \(demonstration\) · 0 waiting\n$`, p.banner)
	info, err := os.Stat(p.socket())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	got := p.client(t, "enqueue", "demo.report", "-p", "rows=2", "-p", "delay_ms=1", "--wait")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "accepted task 1 · demo.report")
	// The same task over the network.
	got = command{env: map[string]string{"REAX_URL": p.url}}.run(t, "show", "1")
	require.Contains(t, got.out, "accepted by   socket\n")
	require.Zero(t, p.client(t, "status").code)

	require.Zero(t, p.stop(t, syscall.SIGTERM), p.log.String())
	require.NoFileExists(t, p.socket())
	require.NoFileExists(t, filepath.Join(p.dir, "reax.db-wal"))
	for line := range strings.Lines(p.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Regexp(t, `"msg":"reax has started","version":"[^"]+","address":"127\.0\.0\.1:\d+","database":"reax\.db","types":5,"workers":\d+,"backlog":0,"states":\{"pending":0,`, p.log.String())
	require.Contains(t, p.log.String(), `"action":"finish","state":"success"`)
}

func TestASecondServerOnADatabaseIsRefused(t *testing.T) {
	p := startProcess(t, t.TempDir())
	out, err := serveCommand(t, p.dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "reax.db is in use by process "+jsonOf(p.Process.Pid))
	require.FileExists(t, p.socket())
	require.Zero(t, p.client(t, "status").code)
	require.Zero(t, p.stop(t, os.Interrupt))
}

func TestASecondServerInAFolderIsRefused(t *testing.T) {
	p := startProcess(t, t.TempDir())
	out, err := serveCommand(t, p.dir, "--db", "other.db").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "another server answers on")
	require.Zero(t, p.client(t, "status").code)
	require.Zero(t, p.stop(t, os.Interrupt))
}

func TestAServerStartsAfterOneThatWasKilled(t *testing.T) {
	p := startProcess(t, t.TempDir())
	require.Equal(t, -1, p.stop(t, syscall.SIGKILL))
	require.FileExists(t, p.socket())
	got := p.client(t, "status")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "no server is running on "+p.socket())

	again := startProcess(t, p.dir)
	require.Zero(t, again.client(t, "status").code)
	require.Zero(t, again.stop(t, syscall.SIGTERM))
}

func TestAnAddressInUseIsFoundBeforeAnythingRuns(t *testing.T) {
	p := startProcess(t, t.TempDir())
	dir := t.TempDir()
	out, err := serveCommand(t, dir, "--addr", strings.TrimPrefix(p.url, "http://")).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "address already in use")
	require.NoFileExists(t, filepath.Join(dir, socketName))
	require.Zero(t, p.stop(t, syscall.SIGTERM))
}

// slowTask enqueues a task that runs for a minute, and returns when it runs.
func slowTask(t *testing.T, p *process) {
	t.Helper()
	got := p.client(t, "enqueue", "demo.slow", "-p", "seconds=60")
	require.Zero(t, got.code, got.errOut)
	for {
		got = p.client(t, "show", "1", "--json")
		require.Zero(t, got.code, got.errOut)
		var shown task
		require.NoError(t, json.Unmarshal([]byte(got.out), &shown))
		if shown.State == "running" {
			return
		}
	}
}

// waitDraining returns when the server says that it is draining.
func waitDraining(t *testing.T, p *process) {
	t.Helper()
	for {
		got := p.client(t, "status")
		if strings.Contains(got.out, "draining") {
			require.Equal(t, 1, got.code)
			return
		}
		require.NotContains(t, got.errOut, "no server")
	}
}

func TestASecondSignalEndsAtOnceAndSaysWhatWasLeft(t *testing.T) {
	p := startProcess(t, t.TempDir())
	slowTask(t, p)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	waitDraining(t, p)
	require.Equal(t, 1, p.stop(t, syscall.SIGTERM))
	require.Contains(t, p.log.String(), "reax: stopped at once by a second signal: 1 task was still running")

	// The next start recovers the task.
	again := startProcess(t, p.dir)
	for !strings.Contains(again.client(t, "show", "1").out, "process died during run 1") {
		require.Zero(t, again.client(t, "status").code)
	}
	require.NoError(t, again.Process.Kill())
}

func TestATaskThatOutlivesTheGraceGoesBackAtNoCost(t *testing.T) {
	p := startProcess(t, t.TempDir(), "--shutdown-grace", "1ms")
	slowTask(t, p)
	require.Zero(t, p.stop(t, syscall.SIGTERM), p.log.String())

	again := startProcess(t, p.dir)
	require.Contains(t, again.banner, "1 waiting")
	got := again.client(t, "show", "1")
	require.Contains(t, got.out, "0 failed of at most")
	require.NotContains(t, got.out, "suspected")
	require.NoError(t, again.Process.Kill())
}

func TestTheSocketWorksWhereItsPathIsTooLongForTheKernel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	require.NoError(t, os.Mkdir(dir, 0o700))
	p := startProcess(t, dir)
	require.Zero(t, p.client(t, "status").code)
	require.Zero(t, p.stop(t, syscall.SIGTERM))
	require.NoFileExists(t, p.socket())
}

func TestAServerLeavesNothingBehindInItsProcess(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	var log bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"serve", "--addr", "localhost:0", "--db", filepath.Join(dir, "reax.db")}, strings.NewReader(""), writer, &log,
			func(string) string { return "" }, func(r *tasks.Registry) { registerOne(r) })
		_ = writer.Close()
	}()
	banner, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err) // the log is not to be read before its writer has ended
	require.Contains(t, banner, "· 1 task type ·")
	resp, err := http.Get(regexp.MustCompile(`http://\S+`).FindString(banner) + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	stop()
	require.Zero(t, <-done, log.String())
}

func jsonOf(n int) string {
	text, _ := json.Marshal(n) // a number never fails
	return string(text)
}
