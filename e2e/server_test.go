package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// place is a folder with a database, whichever processes serve it one after the other.
type place struct {
	dir, db, out string
	env          []string
	program      string
	args         []string // of serve
	starts       int
}

// newPlace makes a place for the probe program. env are further variables, such as PROBE_WORKERS=4.
func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	return newPlaceIn(t, t.TempDir(), env...)
}

func newPlaceIn(t *testing.T, dir string, env ...string) *place {
	t.Helper()
	p := &place{dir: dir, db: filepath.Join(dir, "reax.db"), out: filepath.Join(t.TempDir(), "probe.out"), program: probeProgram}
	p.env = append(cleanEnv(), append([]string{"PROBE_OUT=" + p.out}, env...)...)
	return p
}

// cleanEnv is the environment without what would steer reax.
func cleanEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REAX_") && !strings.HasPrefix(pair, "PROBE_") {
			env = append(env, pair)
		}
	}
	return env
}

// config writes reax.yaml.
func (p *place) config(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "reax.yaml"), []byte(text), 0o600))
}

// server is one process that serves a place.
type server struct {
	*api
	place  *place
	cmd    *exec.Cmd
	stdout *os.File
	stderr *os.File
	ended  chan struct{}
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// start runs serve and waits until it says where it listens. What is still running at the end of the test is killed.
func (p *place) start(t *testing.T) *server {
	t.Helper()
	s := p.launch(t)
	until(t, patience, func() string {
		select {
		case <-s.ended:
			return "the server ended: " + s.cmd.ProcessState.String() + "\n" + s.log(t)
		default:
		}
		found := listening.FindStringSubmatch(s.said(t))
		if found == nil {
			return "it has not said where it listens\n" + s.log(t)
		}
		s.api = &api{base: found[1]}
		return ""
	})
	return s
}

// launch runs serve and waits for nothing.
func (p *place) launch(t *testing.T) *server {
	t.Helper()
	p.starts++
	open := func(kind string) *os.File {
		f, err := os.Create(filepath.Join(filepath.Dir(p.out), fmt.Sprintf("%s.%d", kind, p.starts)))
		require.NoError(t, err)
		return f
	}
	s := &server{place: p, stdout: open("stdout"), stderr: open("stderr"), ended: make(chan struct{})}
	s.cmd = exec.Command(p.program, append([]string{"serve", "--addr", "127.0.0.1:0"}, p.args...)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = p.dir, p.env, s.stdout, s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // ProcessState says how it ended
	}()
	t.Cleanup(func() {
		s.kill(t)
		s.requireSoundLog(t)
		require.NoError(t, errors.Join(s.stdout.Close(), s.stderr.Close()))
	})
	return s
}

func (s *server) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.stdout.Name())
	require.NoError(t, err)
	return string(text)
}

// log is what the server has written to its log so far, at most the last part of it.
func (s *server) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.stderr.Name())
	require.NoError(t, err)
	const most = 8 << 20
	return string(text[max(0, len(text)-most):])
}

// logged finds the lines of the log with a message.
func (s *server) logged(t *testing.T, message string) (lines []map[string]any) {
	t.Helper()
	for line := range bytes.Lines([]byte(s.log(t))) {
		var fields map[string]any
		if json.Unmarshal(line, &fields) == nil && strings.Contains(fmt.Sprint(fields["msg"]), message) {
			lines = append(lines, fields)
		}
	}
	return lines
}

// requireSoundLog fails when the log shows a fault of the server itself, whatever it was asked to do.
func (s *server) requireSoundLog(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(s.log(t)) {
		for _, sign := range []string{"DATA RACE", "panic in a request", "fatal error:", "an actor could not be spawned"} {
			if strings.Contains(line, sign) {
				t.Errorf("the server's log has %q:\n%.2000s", sign, s.log(t)[strings.Index(s.log(t), line):])
				return
			}
		}
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *server) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
}

// kill ends the process as a power cut would.
func (s *server) kill(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	<-s.ended
}

// end waits for the end of the process and gives its exit code.
func (s *server) end(t *testing.T) int {
	t.Helper()
	until(t, patience, func() string {
		if s.hasEnded() {
			return ""
		}
		return "the server still runs\n" + s.log(t)
	})
	return s.cmd.ProcessState.ExitCode()
}

// stop ends the process as systemd would, and expects that it does so in good order.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	require.Zero(t, s.end(t), "exit code; log:\n%s", s.log(t))
}

// command is what came of one run of the command line.
type command struct {
	code           int
	stdout, stderr string
}

// reax runs a command of the command line in the place, where it finds the server by its socket.
func (p *place) reax(t *testing.T, args ...string) command {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "reax %s did not end; it said:\n%s%s", strings.Join(args, " "), out.String(), errs.String())
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		require.NoError(t, err)
	}
	return command{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// ok runs a command that must succeed, and gives what it printed.
func (p *place) ok(t *testing.T, args ...string) string {
	t.Helper()
	c := p.reax(t, args...)
	require.Zero(t, c.code, "reax %s: exit code; it said:\n%s%s", strings.Join(args, " "), c.stdout, c.stderr)
	return c.stdout
}
