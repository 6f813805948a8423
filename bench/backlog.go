package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"reax/actors"
)

// childMode makes the program a fresh process on a file that a parent has filled.
const childMode = "REAX_BENCH_CHILD"

func init() {
	if path := os.Getenv(childMode); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// backlogged measures a file with many pending tasks: a fresh process's memory, its time to the first run, and its
// throughput beside that of an empty file.
func (b bench) backlogged() error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	s, err := b.open(database(dir), 50, func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := s.Pause(ctx, "bench.noop", actors.Change{By: "bench"}); err != nil {
		return err
	}
	if err := s.fill(ctx, b.backlog); err != nil {
		return err
	}
	if err := s.Resume(ctx, "bench.noop", actors.Change{By: "bench"}); err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childMode+"="+database(dir), "REAX_BENCH_START="+strconv.FormatInt(time.Now().UnixNano(), 10))
	out, err := cmd.CombinedOutput()
	fmt.Printf("\nbacklog of %d pending tasks, a fresh process on that file\n%s", b.backlog, out)
	return err
}

func (s *system) fill(ctx context.Context, n int) error {
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		wg.Go(func() {
			batch := make([]actors.EnqueueRequest, 500)
			for range n / cap(errs) / len(batch) {
				for i := range batch {
					batch[i] = actors.EnqueueRequest{Type: "bench.noop", Params: params, By: "bench", Priority: 1 + i%10}
				}
				if _, err := s.EnqueueBatch(ctx, batch); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// child opens the filled file and reports on itself.
func child(path string) error {
	began, err := strconv.ParseInt(os.Getenv("REAX_BENCH_START"), 10, 64)
	if err != nil {
		return err
	}
	first := make(chan time.Time, 1)
	s, err := bench{}.open(path, 200, func(context.Context, json.RawMessage) (json.RawMessage, error) {
		select {
		case first <- time.Now():
		default:
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	at := <-first
	fmt.Printf("process start to first task run: %.0f ms\n", ms(at.Sub(time.Unix(0, began))))
	const n = 100_000
	start := time.Now()
	if err := s.waitSucceeded(n); err != nil {
		return err
	}
	fmt.Printf("drain of the first %d: %.0f tasks/s (no enqueues beside it)\n", n, n/time.Since(start).Seconds())
	fmt.Printf("resident memory: %d MB now, %d MB at its peak\n", residentMB(), peakMB())
	runtime.KeepAlive(s)
	return nil
}

func peakMB() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return -1
	}
	return u.Maxrss / 1024
}

func residentMB() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return -1
			}
			return kb / 1024
		}
	}
	return -1
}
