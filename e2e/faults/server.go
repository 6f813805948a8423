package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// patience is how long a round waits for what must happen, on a machine that is busy with other things.
const patience = 90 * time.Second

const look = 10 * time.Millisecond

// server is one process of a round.
type server struct {
	cmd   *exec.Cmd
	base  string // where it listens
	log   string // the name of the file that it logs to
	ended chan struct{}
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// launch starts a process and waits for nothing. It is killed with this one.
func launch(ctx context.Context, r *round, n int) (*server, error) {
	log := filepath.Join(r.dir, fmt.Sprintf("log.%d", n))
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	defer out.Close()
	s := &server{log: log, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), r.probe, "serve", "--addr", "127.0.0.1:0", "--shutdown-grace", "2s") //nolint:gosec // the program under test
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = r.dir, r.env, out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // ProcessState says how it ended
	}()
	return s, nil
}

// awaitListening waits until the process says where it listens. false means that it ended instead.
func (s *server) awaitListening() (bool, error) {
	var up bool
	err := until("the server says where it listens", func() bool {
		found := listening.FindStringSubmatch(s.said())
		if found != nil {
			s.base, up = found[1], true
		}
		return up || s.hasEnded()
	})
	return up, err
}

func (s *server) said() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is the end of what the process said.
func (s *server) tail() string {
	text := s.said()
	return text[max(0, len(text)-2_000):]
}

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) signal(sig os.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to the server: %w", sig, err)
	}
	return nil
}

// kill ends the process as a power cut would.
func (s *server) kill() error {
	err := s.signal(syscall.SIGKILL)
	<-s.ended
	return err
}

// sound reports a fault of the server itself that stands in its log, whatever it was asked to bear.
func (s *server) sound() error {
	text := s.said()
	for _, sign := range []string{"DATA RACE", "panic in a request", "fatal error:", "an actor could not be spawned", "\npanic:", "a task was handed over while"} {
		if at := strings.Index(text, sign); at >= 0 {
			return fmt.Errorf("the log has %q: %.1000s", sign, text[max(0, at-200):])
		}
	}
	return nil
}

// until looks now and then until ok, and gives up with what it waited for.
func until(what string, ok func() bool) error {
	over := time.NewTimer(patience)
	defer over.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-over.C:
			return fmt.Errorf("it did not happen within %v that %s", patience, what)
		}
	}
	return nil
}
