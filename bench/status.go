package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reax/actors"
	"reax/web"
)

const (
	statusRate    = 2_000 // requests a second
	statusClients = 32
	statusTasks   = 500 // tasks a second
	statusTime    = 15 * time.Second
)

// status measures whether many readers of the status page slow the workers: how long a task waits for its handler while
// 500 tasks a second come in, with nobody at the page and with 2,000 requests a second.
func (b bench) status() error {
	fmt.Printf("\nthe status page, beside %d tasks a second\n| requests/s | tasks/s | enqueue call to handler start p50 | p99 | answer p50 | p99 | processor, of one core, readers included |\n|---|---|---|---|---|---|---|\n", statusTasks)
	for _, rate := range []int{0, statusRate, 0, statusRate} {
		if err := b.statusRun(rate); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) statusRun(rate int) error {
	dir, remove, err := b.folder()
	if err != nil {
		return err
	}
	defer remove()
	var mu sync.Mutex
	var waits []time.Duration
	s, err := b.open(database(dir), 50, func(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
		var p struct{ At int64 }
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		wait := time.Since(time.Unix(0, p.At))
		mu.Lock()
		waits = append(waits, wait)
		mu.Unlock()
		return nil, nil
	})
	if err != nil {
		return err
	}
	site := web.New(web.Config{Runtime: s.Runtime, Ledger: s.store, Accounts: s.Accounts(), Logger: slog.New(slog.DiscardHandler), Version: "bench",
		Status: web.StatusConfig{Access: web.StatusPublic}})
	server, host, err := onLoopback(site.Handler())
	if err != nil {
		return err
	}
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), statusTime)
	defer cancel()
	before, err := cpuTime()
	if err != nil {
		return err
	}
	var load sync.WaitGroup
	var failed atomic.Pointer[error]
	const callers = 8
	began := time.Now()
	for caller := range callers {
		load.Go(func() {
			for i := caller; waitUntil(ctx, began.Add(time.Duration(i)*time.Second/statusTasks)); i += callers {
				req := actors.EnqueueRequest{Type: "bench.noop", Params: fmt.Appendf(nil, `{"At": %d}`, time.Now().UnixNano()), By: "bench"}
				if _, err := s.Enqueue(ctx, req); err != nil && ctx.Err() == nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	var answers []time.Duration
	for client := range statusClients {
		if rate == 0 {
			break
		}
		load.Go(func() {
			times, err := readStatus(ctx, host, began, client, rate)
			if err != nil {
				failed.Store(&err)
			}
			mu.Lock()
			answers = append(answers, times...)
			mu.Unlock()
		})
	}
	load.Wait()
	took := time.Since(began)
	after, err := cpuTime()
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	p := func(times []time.Duration, share float64) string {
		if len(times) == 0 {
			return "-"
		}
		slices.Sort(times)
		return fmt.Sprintf("%.2f ms", ms(times[int(share*float64(len(times)-1))]))
	}
	fmt.Printf("| %.0f | %.0f | %s | %s | %s | %s | %.0f %% |\n", float64(len(answers))/took.Seconds(), float64(len(waits))/took.Seconds(),
		p(waits, .5), p(waits, .99), p(answers, .5), p(answers, .99), 100*(after-before).Seconds()/took.Seconds())
	return nil
}

// readStatus asks for the page again and again on one connection, as one of the clients that together reach a rate. It
// speaks HTTP by hand: a client of the library costs more than the answer does.
func readStatus(ctx context.Context, addr string, began time.Time, client, rate int) (times []time.Duration, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	for i := client; waitUntil(ctx, began.Add(time.Duration(i)*time.Second/time.Duration(rate))); i += statusClients {
		asked := time.Now()
		if _, err := conn.Write([]byte("GET /status HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")); err != nil {
			return times, err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return times, err
		}
		if _, err := r.Discard(int(resp.ContentLength)); err != nil || resp.StatusCode != http.StatusOK {
			return times, fmt.Errorf("the status page answered %d: %w", resp.StatusCode, err)
		}
		times = append(times, time.Since(asked))
	}
	return times, nil
}

// waitUntil waits for a moment, and reports whether ctx still goes on.
func waitUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return ctx.Err() == nil
	}
}
