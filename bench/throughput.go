package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reax/actors"
)

// throughput measures tasks per second from the first enqueue to the last success on the disk. Each caller waits for
// its task to be durable before it enqueues the next, as real callers do.
func (b bench) throughput() error {
	fmt.Println("\ndurable throughput, enqueue + run + success, no-op handler, synchronous=FULL")
	fmt.Println("| callers | workers | tasks | tasks/s (median) | min | max |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, c := range []struct{ callers, workers, tasks int }{{8, 50, 25_000}, {64, 50, 75_000}, {512, 200, 150_000}} {
		if b.callers > 0 && c.callers != b.callers {
			continue
		}
		if b.tasks > 0 {
			c.tasks = b.tasks
		}
		var rates []float64
		for range b.runs {
			rate, err := b.throughputRun(c.callers, c.workers, c.tasks)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		slices.Sort(rates)
		fmt.Printf("| %d | %d | %d | %.0f | %.0f | %.0f |\n", c.callers, c.workers, c.tasks, rates[len(rates)/2], rates[0], rates[len(rates)-1])
	}
	return nil
}

func (b bench) throughputRun(callers, workers, n int) (float64, error) {
	dir, remove, err := b.folder()
	if err != nil {
		return 0, err
	}
	defer remove()
	s, err := b.open(database(dir), workers, func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for next.Add(1) <= int64(n) {
				if _, err := s.Enqueue(context.Background(), actors.EnqueueRequest{Type: "bench.noop", Params: params, By: "bench"}); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	if err := s.waitSucceeded(int64(n)); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return float64(n) / took.Seconds(), s.close()
}

// waitSucceeded waits until so many tasks are successful in the ledger.
func (s *system) waitSucceeded(n int64) error {
	for {
		counts, err := s.store.Counts(context.Background())
		if err != nil {
			return err
		}
		for _, c := range counts {
			if c.State == "success" && c.N >= n {
				return nil
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}
