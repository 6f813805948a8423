package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"reax/bench/meter"
)

// idle measures what a runtime costs that has nothing to do.
func (b bench) idle() error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	began := time.Now()
	s, err := b.open(database(dir), 50, func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })
	if err != nil {
		return err
	}
	fmt.Printf("\nstart on an empty database: %.0f ms\n", ms(time.Since(began)))
	before, err := cpuTime()
	if err != nil {
		return err
	}
	const watched = 20 * time.Second
	time.Sleep(watched)
	after, err := cpuTime()
	if err != nil {
		return err
	}
	fmt.Printf("idle for %s: %.2f %% of a core, %d MB resident\n", watched, 100*(after-before).Seconds()/watched.Seconds(), residentMB())
	return s.close()
}

func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func residentMB() int64 { return meter.ResidentMB() }

func ms(d time.Duration) float64 { return meter.MS(d) }
