package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

//go:embed place
var placeFiles embed.FS

// round is one database, the servers that have it one after the other, and what is done to them.
type round struct {
	dir, database string
	probe         string
	env           []string
	clock         bool
	random        *rand.Rand
	people        *rand.Rand // what people do
	sum           sum
	drawn         []string // the faults, in their order

	base   atomic.Value // string: where the server listens; empty while there is none
	taken  atomic.Pointer[time.Time]
	latest int // the furthest that the clock was set, in seconds
	load   *load

	mu      sync.Mutex
	server  *server
	servers []*server
	wanted  bool // that a server runs: one that ends by itself is started again
	own     int  // ends of the server that its tasks have caused

	witness  *witness
	endpoint *endpoint
}

func newRound(dir, probe string, seed uint64, clock bool) (*round, error) {
	r := &round{dir: dir, database: filepath.Join(dir, "reax.db"), probe: probe, clock: clock, random: rand.New(rand.NewPCG(seed, seed)), people: rand.New(rand.NewPCG(seed, 2))}
	r.base.Store("")
	r.load = &load{round: r, accepted: map[int64]bool{}, cancelled: map[int64]bool{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("making the round's folder: %w", err)
	}
	var err error
	if r.witness, err = newWitness(dir); err != nil {
		return r, err
	}
	if r.endpoint, err = newEndpoint(context.Background(), r.witness); err != nil {
		return r, err
	}
	r.env = append(cleanEnv(), "PROBE_OUT="+r.witness.name, "PROBE_WORKERS=4", "PROBE_BACKOFF=50ms,200ms", "PROBE_CLOCK="+filepath.Join(dir, "clock"))
	return r, r.writeFiles()
}

// cleanEnv is the environment without what would steer reax.
func cleanEnv() (env []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REAX_") && !strings.HasPrefix(pair, "PROBE_") {
			env = append(env, pair)
		}
	}
	return env
}

func (r *round) writeFiles() error {
	files, err := fs.Sub(placeFiles, "place")
	if err != nil {
		return fmt.Errorf("reading the round's files: %w", err)
	}
	names, err := fs.Glob(files, "*")
	if err != nil {
		return fmt.Errorf("reading the round's files: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading the round's files: %w", err)
		}
		text = bytes.ReplaceAll(text, []byte("ENDPOINT"), []byte(r.endpoint.listener.Addr().String()))
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o600); err != nil {
			return fmt.Errorf("writing the round's files: %w", err)
		}
	}
	return nil
}

// run goes through the round. The error says what was not as it must be.
func (r *round) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer func() {
		err = errors.Join(err, r.down())
		r.killStrays()
		cancel()
		background.Wait()
		err = errors.Join(err, r.endpoint.close(), r.witness.close())
	}()
	requests := draw(r.random, 60+r.random.IntN(60))
	disturb(requests, r.people)
	if err := r.up(ctx); err != nil {
		return err
	}
	watched := make(chan error, 1)
	background.Go(func() { watched <- r.watch(ctx) })
	sent := make(chan struct{})
	background.Go(func() {
		defer close(sent)
		r.load.send(ctx, requests)
	})
	for range 1 + r.random.IntN(3) {
		f, random := pickFault(r.random, r.clock), rand.New(rand.NewPCG(r.random.Uint64(), 1))
		pause := time.Duration(20+r.random.IntN(280)) * time.Millisecond
		hold := time.Duration(50+r.random.IntN(450)) * time.Millisecond
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		r.note(f.name)
		if err := errors.Join(f.do(ctx, r, hold, random), r.up(ctx)); err != nil {
			return err
		}
	}
	// What was to run at a time of a clock that was ahead comes to its time.
	if err := r.setClock(r.latest); err != nil {
		return err
	}
	select {
	case <-sent:
	case <-time.After(patience):
		return errors.New("not every task was accepted in time")
	case err := <-watched:
		return err
	}
	if err := r.awaitQuiet(ctx); err != nil {
		return err
	}
	cancel()
	if err := <-watched; err != nil {
		return err
	}
	if err := r.terminate(); err != nil {
		return err
	}
	return errors.Join(r.requireNoStrays(time.Now().Add(time.Hour)), r.requireSoundLogs(), r.requireBooks())
}

func (r *round) note(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drawn = append(r.drawn, fault)
	r.sum.count(fault)
}

// up starts a server if none runs.
func (r *round) up(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.upLocked(ctx)
}

func (r *round) upLocked(ctx context.Context) error {
	for r.server == nil || r.server.hasEnded() {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the round has ended
		}
		r.wanted = true
		began := time.Now()
		s, err := launch(ctx, r, len(r.servers))
		if err != nil {
			return err
		}
		r.server, r.servers = s, append(r.servers, s)
		r.sum.starts++
		up, err := s.awaitListening()
		if err != nil {
			return err
		}
		if up {
			r.base.Store(s.base)
			return r.requireNoStrays(began)
		}
		if s.cmd.ProcessState.ExitCode() == 1 {
			return fmt.Errorf("the server did not start: %s", s.tail())
		}
	}
	return nil
}

// watch starts the server again when a task has ended it.
func (r *round) watch(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		r.mu.Lock()
		// On a database that was taken away none starts, and none is to.
		if r.wanted && r.server != nil && r.server.hasEnded() && r.taken.Load() == nil {
			r.base.Store("")
			r.own++
			r.drawn = append(r.drawn, "ended by a task")
			r.sum.count("ended by a task")
			if err := r.upLocked(ctx); err != nil {
				r.mu.Unlock()
				return err
			}
		}
		r.mu.Unlock()
	}
}

func (r *round) running() *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

func (r *round) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.wanted
}

// down kills the server, and it stays down until up.
func (r *round) down() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = false
	r.base.Store("")
	if r.server == nil {
		return nil
	}
	return r.server.kill()
}

func (r *round) kill() error { return r.down() }

// terminate asks the server to stop, and expects that it does so in good order.
func (r *round) terminate() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = false
	r.base.Store("")
	if r.server == nil || r.server.hasEnded() {
		return nil
	}
	if err := r.server.signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := until("the server stops", r.server.hasEnded)
	if code := r.server.cmd.ProcessState.ExitCode(); err == nil && code != 0 && !r.mayEnd() {
		err = fmt.Errorf("the server stopped with code %d: %s", code, r.server.tail())
	}
	return err
}

// mayEnd reports whether the last thing the server did may have been to run a task that ends it.
func (r *round) mayEnd() bool {
	return r.own > 0 || r.server.cmd.ProcessState.ExitCode() == 3 || !r.server.cmd.ProcessState.Exited()
}

// requireRefusedStart expects that a server does not start on a database that is not the one whose log lies beside it.
func (r *round) requireRefusedStart(ctx context.Context) error {
	if info, err := os.Stat(r.database + "-wal"); err != nil || info.Size() == 0 {
		return nil // nothing tells that this is another file
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := launch(ctx, r, len(r.servers))
	if err != nil {
		return err
	}
	r.servers = append(r.servers, s)
	up, err := s.awaitListening()
	if up {
		return errors.Join(fmt.Errorf("the server started on a database that is another one than that of its write-ahead log"), s.kill())
	}
	if err == nil && !strings.Contains(s.said(), "replaced") {
		err = fmt.Errorf("the server says not why it does not start: %s", s.tail())
	}
	return err
}

// awaitQuiet waits until nothing is left to run.
func (r *round) awaitQuiet(ctx context.Context) error {
	var left int
	var problem error
	err := until("every task has ended", func() bool {
		left, problem = r.unfinished(ctx)
		return problem == nil && left == 0
	})
	if err != nil {
		return fmt.Errorf("%w: %d are left; %w", err, left, errors.Join(problem, errors.New(r.health(ctx))))
	}
	return nil
}

func (r *round) health(ctx context.Context) string {
	base, _ := r.base.Load().(string)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return err.Error()
	}
	answer, err := r.load.http.Do(req)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(answer.Body)
	return text.String()
}

func (r *round) requireSoundLogs() error {
	var errs []error
	for _, s := range r.servers {
		errs = append(errs, s.sound())
	}
	return errors.Join(errs...)
}
