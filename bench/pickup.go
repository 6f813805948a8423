package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"reax/actors"
)

// pickup measures the time from the call of Enqueue to the start of the handler, with nothing else to do.
func (b bench) pickup() error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	started := make(chan time.Time, 1)
	s, err := b.open(database(dir), 50, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		started <- time.Now()
		return nil, nil
	})
	if err != nil {
		return err
	}
	const n = 2_000
	times := make([]time.Duration, 0, n)
	for i := range n + 100 {
		began := time.Now()
		if _, err := s.Enqueue(context.Background(), actors.EnqueueRequest{Type: "bench.noop", Params: params, By: "bench"}); err != nil {
			return err
		}
		at := <-started
		if i >= 100 { // the first ones warm up
			times = append(times, at.Sub(began))
		}
		time.Sleep(3 * time.Millisecond) // its end is committed meanwhile, so that the next one finds an idle system
	}
	slices.Sort(times)
	fmt.Printf("\npick-up when idle, enqueue call to handler start, synchronous=FULL: p50 %.2f ms, p99 %.2f ms (%d tasks)\n",
		ms(times[n/2]), ms(times[n*99/100]), n)
	return s.close()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
