package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a started program, the leader of its own process group. It must be reaped.
type process struct {
	stdin          io.WriteCloser
	stdout, stderr io.ReadCloser
	pid            int
	exited         chan struct{} // closed when the leader has ended; it stays a zombie until reap
	release        chan struct{}
	reaped         chan error
	cmd            *exec.Cmd
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{
		cmd: cmd, exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan error, 1),
	}
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if p.stderr, err = cmd.StderrPipe(); err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that forked ends, not the process: so that thread is kept until
		// the program is reaped. It costs nothing more, since waiting for a process blocks a thread anyway.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		waitExit(cmd.Process.Pid)
		close(p.exited)
		<-p.release
		p.reaped <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// waitExit returns when the process has ended, and leaves it unreaped: as long as it is a zombie, its number can not be
// given to another process group, so a signal to the group never meets a stranger.
func waitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// await returns when the leader has ended and its group is killed. The error is the cause with which ctx ended, if that
// came before the leader's own end.
func (p *process) await(ctx context.Context, drained <-chan struct{}, grace time.Duration) (interrupted error) {
	wait := tailDelay
	select {
	case <-p.exited:
	case <-ctx.Done():
		if !p.hasExited() {
			interrupted, wait = context.Cause(ctx), grace
			p.signal(unix.SIGTERM)
		}
	}

	// Output still held by a child of the leader means that it is at work: it gets the same time to end.
	over := time.NewTimer(wait)
	defer over.Stop()
	exited, silent := p.exited, drained
	for exited != nil || silent != nil {
		select {
		case <-exited:
			exited = nil
		case <-silent:
			silent = nil
		case <-over.C:
			exited, silent = nil, nil
		}
	}
	p.signal(unix.SIGKILL)
	<-p.exited
	select {
	case <-drained:
	case <-time.After(strayDelay):
	}
	return interrupted
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// signal sends sig to the whole group. It must not be called after reap.
func (p *process) signal(sig unix.Signal) { _ = unix.Kill(-p.pid, sig) }

func (p *process) closePipes() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// reap collects the ended leader. The error is not about how the program ended.
func (p *process) reap() (syscall.WaitStatus, error) {
	close(p.release)
	err := <-p.reaped
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return 0, err
	}
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, nil
}

// startError says why a program could not be started, and whether a retry would help.
func startError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(path); statErr == nil {
			return Permanent(fmt.Errorf("the interpreter that the first line of %s names was not found", path))
		}
		return Permanent(fmt.Errorf("the program %s was not found", path))
	case errors.Is(err, fs.ErrPermission):
		return Permanent(fmt.Errorf("the program %s is not executable", path))
	case errors.Is(err, unix.ENOEXEC):
		return Permanent(fmt.Errorf("%s is not a program: it has no #! line and is no binary of this machine", path))
	}
	return Retryable(fmt.Errorf("starting the program %s: %w", path, err))
}
