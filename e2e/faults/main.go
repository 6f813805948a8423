// Command faults takes a server of reax through rounds of faults, and compares its books with what the handlers
// themselves have seen. Each round has a database of its own: under a load of tasks that panic, hang, end the process,
// fork, or call an endpoint that does the like, the server is killed, frozen, and deprived of its disk, its lock, its
// database file and its clock. After each round the server must have come to rest, and its books must be right.
//
// A round is made by its seed. What a seed draws is always the same; the moment at which it meets the server is not.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

func main() {
	var s suite
	flag.IntVar(&s.rounds, "rounds", 100, "how many rounds")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64N(1_000_000), "seed of the first round; each further one adds 1")
	flag.IntVar(&s.parallel, "parallel", 2, "rounds at the same time")
	flag.StringVar(&s.probe, "probe", "", "the probe program, already built; without it, it is built first")
	flag.StringVar(&s.folder, "folder", os.TempDir(), "where databases are made")
	flag.BoolVar(&s.clock, "clock", true, "step the clock too, which takes a build of everything")
	flag.BoolVar(&s.verbose, "v", false, "tell each round")
	s.out = os.Stdout
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// suite is one run of the program.
type suite struct {
	rounds, parallel int
	seed             uint64
	probe, folder    string
	clock, verbose   bool
	out              io.Writer
}

// run builds the probe, runs the rounds and prints what they came to. The error names how many rounds failed.
func (s *suite) run(ctx context.Context) error {
	work, err := os.MkdirTemp(s.folder, "faults-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if s.probe == "" {
		s.probe = filepath.Join(work, "probe")
		if err := build(ctx, s.probe, s.clock); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var all sum
	began := time.Now()
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range max(s.parallel, 1) {
		workers.Go(func() {
			for seed := range seeds {
				one := s.round(ctx, work, seed)
				mu.Lock()
				all.add(one)
				mu.Unlock()
			}
		})
	}
	for i := range s.rounds {
		if ctx.Err() != nil {
			break
		}
		seeds <- s.seed + uint64(i)
	}
	close(seeds)
	workers.Wait()
	fmt.Fprintf(s.out, "\n%s\nseeds %d to %d, %s\n", all.table(), s.seed, s.seed+uint64(s.rounds)-1, time.Since(began).Round(time.Second))
	if all.failed > 0 {
		return fmt.Errorf("%d of %d rounds failed; their folders are in %s", all.failed, all.rounds, work)
	}
	return os.RemoveAll(work)
}

// round runs one round and tells how it went.
func (s *suite) round(ctx context.Context, work string, seed uint64) sum {
	r, err := newRound(filepath.Join(work, fmt.Sprint(seed)), s.probe, seed, s.clock)
	if err == nil {
		err = r.run(ctx)
	}
	if ctx.Err() != nil {
		return sum{}
	}
	one := r.sum
	one.rounds = 1
	if err != nil {
		one.failed = 1
		fmt.Fprintf(s.out, "round %d FAILED: %v\n  it drew: %v\n  again: go run ./e2e/faults -rounds 1 -seed %d -clock=%v\n", seed, err, r.drawn, seed, s.clock)
	} else {
		err = os.RemoveAll(r.dir)
		if s.verbose {
			fmt.Fprintf(s.out, "round %d: %v; %d tasks, %d runs, %v\n", seed, r.drawn, one.tasks, one.runs, err)
		}
	}
	return one
}
