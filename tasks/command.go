package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command runs a program for each task: an argv, never a shell. It works on Linux only.
//
// The program gets the parameters as JSON on stdin and each one as a REAX_PARAM_<NAME> variable, beside REAX_TASK_ID,
// REAX_TRACE_ID, REAX_ATTEMPT, REAX_TYPE and TRACEPARENT. It inherits the server's environment without the server's own
// REAX_* variables, which may hold secrets.
//
// Exit code 0 is success. 75 (EX_TEMPFAIL) and death by a signal are marked as worth a retry, PermanentExitCodes as not,
// and any other code is for the type's policy to judge. Each line of stdout and stderr goes to the task's log, but for
// two kinds of stdout line: "::progress 40 note" sets the progress in percent, "::result {json}" the result, of which
// the last one counts.
//
// The program has a process group of its own. When the run's context ends the group gets SIGTERM, and SIGKILL once Grace
// is over. What the program leaves running behind itself is killed too, whatever way it ended. Only a process that moved
// itself to another group or session (setsid) escapes. When the server itself is killed, the kernel kills the program,
// and the next server on the same ledger what the program left; see EndStrays.
type Command struct {
	Argv               []string          // program and arguments; a program without a slash is looked up in PATH
	Dir                string            // where the program starts, and what a relative program path is relative to
	Env                map[string]string // added to the inherited environment
	PermanentExitCodes []int             // exit codes after which a retry would not help
	Grace              time.Duration     // from SIGTERM to SIGKILL; 0 means DefaultGrace
}

// DefaultGrace is the Grace of a Command that names none. With the time to collect the last output it stays under the
// 5 s that the runtime gives a handler whose context has ended.
const DefaultGrace = 3 * time.Second

const (
	maxGrace   = 10 * time.Minute
	tempFail   = 75                     // EX_TEMPFAIL of sysexits.h
	tailDelay  = 500 * time.Millisecond // for what outlives the program to write its last lines
	strayDelay = time.Second            // for the end of output once the group is killed

	// Each running program holds a thread, and Go ends a process that has 10,000.
	maxCommands = 1000
)

var commandSlots = make(chan struct{}, maxCommands)

// Validate reports what can not work in c, so that the program finds it at its start. Whether the program exists is
// seen only when a task runs, for it may be installed later.
func (c Command) Validate() error {
	size := 0
	for _, arg := range c.Argv {
		size += len(arg)
		if strings.ContainsRune(arg, 0) {
			return errors.New("command: an argument holds a NUL character")
		}
	}
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("command: the program's name is missing")
	case size > maxVariable:
		return fmt.Errorf("command: the arguments are longer than %d bytes", maxVariable)
	case strings.ContainsRune(c.Dir, 0):
		return errors.New("command: dir holds a NUL character")
	case c.Grace < 0 || c.Grace > maxGrace:
		return fmt.Errorf("command: grace must be between 0 and %v", maxGrace)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("command: env: %q is not a variable's name", name)
		case strings.HasPrefix(name, "REAX_") || name == "TRACEPARENT":
			return fmt.Errorf("command: env: %s is set by reax", name)
		case strings.ContainsRune(c.Env[name], 0):
			return fmt.Errorf("command: env: the value of %s holds a NUL character", name)
		case len(name)+len(c.Env[name]) > maxVariable-2:
			return fmt.Errorf("command: env: the value of %s is longer than %d bytes", name, maxVariable)
		}
	}
	for _, code := range c.PermanentExitCodes {
		if code < 1 || code > 255 {
			return fmt.Errorf("command: permanent_exit_codes: %d is not between 1 and 255", code)
		}
	}
	return nil
}

func (c Command) handler() Handler {
	c.Argv, c.PermanentExitCodes, c.Env = slices.Clone(c.Argv), slices.Clone(c.PermanentExitCodes), maps.Clone(c.Env)
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		select {
		case commandSlots <- struct{}{}:
			defer func() { <-commandSlots }()
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the command was not started: %w", context.Cause(ctx))
		}
		return c.run(ctx, params)
	}
}

// run returns only when the program is reaped and nobody writes to the run's log any more.
func (c Command) run(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	run := RunOf(ctx)
	cmd, err := c.build(run, params)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(cmd)
	if err != nil {
		return nil, startError(cmd.Path, err)
	}

	var writing, reading sync.WaitGroup
	writing.Go(func() {
		// A program need not read its parameters: a broken pipe is no error.
		_, _ = io.Copy(p.stdin, bytes.NewReader(params))
		_ = p.stdin.Close()
	})
	out, errs := &stdoutLines{run: run}, &stderrLines{run: run}
	reading.Go(func() { readLines(p.stdout, out.limit, out.take) })
	reading.Go(func() { readLines(p.stderr, errs.limit, errs.take) })
	drained := make(chan struct{})
	go func() {
		reading.Wait()
		close(drained)
	}()

	interrupted := p.await(ctx, drained, cmp.Or(c.Grace, DefaultGrace))
	p.closePipes()
	<-drained
	writing.Wait()
	state, err := p.reap()
	switch {
	case err != nil:
		return nil, fmt.Errorf("waiting for the command: %w", err)
	case interrupted != nil:
		return nil, fmt.Errorf("the command was stopped: %w", interrupted)
	}
	if err := c.judge(state, errs.text()); err != nil {
		return nil, err
	}
	return out.value()
}

// judge turns the program's end into the run's error; last is what it said last on stderr.
func (c Command) judge(state syscall.WaitStatus, last string) error {
	if last != "" {
		last = ": " + last
	}
	if state.Signaled() {
		name := cmp.Or(unix.SignalName(state.Signal()), fmt.Sprint(int(state.Signal())))
		return Retryable(fmt.Errorf("killed by signal %s%s", name, last))
	}
	code := state.ExitStatus()
	if code == 0 {
		return nil
	}
	err := fmt.Errorf("exit status %d%s", code, last)
	switch {
	case slices.Contains(c.PermanentExitCodes, code):
		return Permanent(err)
	case code == tempFail:
		return Retryable(err)
	}
	return err
}
