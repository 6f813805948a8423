package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/web"
)

// pagesConfig says how the dashboard is measured.
type pagesConfig struct {
	tasks   int    // in the file before the load begins
	file    string // kept and used again; empty makes one that is removed at the end
	seconds int
	rate    int    // requests a second, over all addresses
	load    int    // tasks a second that are enqueued and run meanwhile
	streams int    // event streams held open meanwhile
	match   string // only addresses whose name holds this
	serve   bool   // serve the file until interrupted, to be looked at
}

// orderParams are the parameters of every type of a seeded file.
type orderParams struct {
	Customer struct {
		ID     int    `json:"id"`
		Region string `json:"region,omitempty"`
	} `json:"customer"`
	Order string `json:"order" jsonschema:"title=Order,maxLength=200"`
	Date  string `json:"date,omitempty"`
	Note  string `json:"note,omitempty"`
	Hold  bool   `json:"hold,omitempty"` // run until the process stops
}

type orderResult struct {
	Rows int `json:"rows"`
}

// work takes a few milliseconds; one run in 50 fails, half of those for good.
func work(ctx context.Context, p orderParams) (orderResult, error) {
	limit := 15 * time.Millisecond
	if p.Hold {
		limit = time.Hour
	}
	select {
	case <-time.After(limit):
	case <-ctx.Done():
		return orderResult{}, context.Cause(ctx)
	}
	switch p.Customer.ID % 100 {
	case 1:
		return orderResult{}, tasks.Permanent(fmt.Errorf("invalid amount %d in a line of ledger", p.Customer.ID))
	case 2:
		return orderResult{}, errors.New("connection refused: dial tcp 10.0.0.7:5432: service ledger is down")
	}
	return orderResult{Rows: p.Customer.ID}, nil
}

func (b bench) openSeeded(path string) (*system, error) {
	registry := tasks.NewRegistry()
	for _, name := range seedTypes {
		tasks.Register(registry, name, work, tasks.Timeout(2*time.Hour), tasks.Concurrency(8), tasks.Describe("Works on one order."))
	}
	quiet := slog.New(slog.DiscardHandler)
	ctx := context.Background()
	store, err := models.Open(ctx, models.Config{Path: path, Logger: quiet})
	if err != nil {
		return nil, err
	}
	r, err := actors.Start(ctx, store, registry, actors.Options{Logger: quiet, ShutdownGrace: time.Second})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &system{Runtime: r, store: store, path: path}, nil
}

// makeSeeded makes a file of n tasks.
func (b bench) makeSeeded(path string, n int) error {
	ctx, by := context.Background(), actors.Change{By: "bench"}
	s, err := b.openSeeded(path)
	if err != nil {
		return err
	}
	for _, typ := range pausedTypes {
		err = errors.Join(err, s.Pause(ctx, typ, actors.Change{By: "bench", Reason: "the archive is being moved"}))
	}
	for i := range 40 {
		_, e := s.CreateSchedule(ctx, actors.ScheduleSpec{
			Name: fmt.Sprintf("plan-%d", i), Task: seedTypes[i%len(seedTypes)], Cron: fmt.Sprintf("%d %d * * *", i, i%24),
			Timezone: "Asia/Shanghai", Params: []byte(`{"order": "A-1", "customer": {"id": 7}}`),
		}, by)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return seed(ctx, path, n)
}

// pages measures how long the dashboard and the API take to answer on a file of many tasks, while tasks are enqueued and
// run.
func (b bench) pages(cfg pagesConfig) error {
	path := cfg.file
	if path == "" {
		dir, remove, err := b.folder()
		if err != nil {
			return err
		}
		defer remove()
		path = database(dir)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		fmt.Println("\nseeding", path)
		if err := b.makeSeeded(path, cfg.tasks); err != nil {
			return err
		}
	}
	s, err := b.openSeeded(path)
	if err != nil {
		return err
	}
	defer s.close()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})) // an export that breaks off is a warning
	site := web.New(web.Config{Runtime: s.Runtime, Ledger: s.store, Logger: logger, Version: "bench"})
	server, host, err := onLoopback(site.Handler())
	if err != nil {
		return err
	}
	defer server.Close()
	defer site.EndStreams()
	v := &visitor{base: "http://" + host, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}

	if cfg.serve {
		fmt.Println("serving", path, "at", v.base, "until interrupted")
		select {}
	}
	for range heldTasks {
		req := actors.EnqueueRequest{Type: seedTypes[0], Params: []byte(`{"order": "A-1", "customer": {"id": 7}, "hold": true}`), By: "bench"}
		if _, err := s.Enqueue(context.Background(), req); err != nil {
			return err
		}
	}
	all, err := s.addresses(context.Background())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(a *address) bool { return !strings.Contains(a.name, cfg.match) })
	if err := visitAlone(v, all); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var load sync.WaitGroup
	defer load.Wait()
	defer cancel()
	var enqueued atomic.Int64
	load.Go(func() { s.enqueueAt(ctx, cfg.load, &enqueued) })
	for range cfg.streams {
		load.Go(func() { v.listen(ctx) })
	}
	return s.visit(ctx, cfg, v, all, &enqueued)
}

// heldTasks are running all the time.
const heldTasks = 5

// enqueueAt enqueues n tasks a second until ctx ends.
func (s *system) enqueueAt(ctx context.Context, n int, enqueued *atomic.Int64) {
	if n == 0 {
		return
	}
	const callers = 10
	began := time.Now()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := caller; ; i += callers {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(n)))):
				}
				params := fmt.Sprintf(`{"customer":{"id":%d,"region":"eu"},"order":"B-%d","date":"2026-11-29"}`, i%50_000, i)
				req := actors.EnqueueRequest{Type: loadTypes[i%len(loadTypes)], Params: []byte(params), Tags: []string{"load"}, By: "bench"}
				if _, err := s.Enqueue(ctx, req); err == nil {
					enqueued.Add(1)
				}
			}
		})
	}
	wg.Wait()
}

// visitor asks for pages as a browser does.
type visitor struct {
	base   string
	client *http.Client
}

// get gives the status and the bytes of an answer. Of an export it reads the beginning only.
func (v *visitor) get(path string) (status int, size int64, err error) {
	req, err := http.NewRequest(http.MethodGet, v.base+path, nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Accept", "text/html, application/json")
	resp, err := v.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if strings.Contains(path, "/export.") { // breaks off
		_, err = io.ReadFull(resp.Body, make([]byte, 1))
		return resp.StatusCode, 0, err
	}
	size, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, size, err
}

// listen holds an event stream open.
func (v *visitor) listen(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/events", nil)
	if err != nil {
		return
	}
	if resp, err := v.client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// address is one that is asked for, and how long its answers took.
type address struct {
	name, path string
	first      time.Duration // the first answer, with nothing in memory
	cpu        time.Duration // of the process for one answer, with no load beside it

	mu     sync.Mutex
	times  []time.Duration
	size   int64
	failed int
}

func (a *address) note(took time.Duration, status int, size int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times, a.size = append(a.times, took), max(a.size, size)
	if err != nil || status >= 400 {
		a.failed++
	}
}

// visitAlone asks for each address with nothing else to do, so that the processor time is that of the answer: a figure
// that other work on the machine changes little.
func visitAlone(v *visitor, all []*address) error {
	const times = 3
	for _, a := range all {
		for i := range times + 1 {
			began := time.Now()
			status, _, err := v.get(a.path)
			if err != nil || status >= 400 {
				return fmt.Errorf("%s: GET %s: status %d, error %v", a.name, a.path, status, err)
			}
			cpu, err := cpuTime()
			if err != nil {
				return err
			}
			if i == 0 {
				a.first, a.cpu = time.Since(began), -cpu
			} else if i == times {
				a.cpu = (a.cpu + cpu) / times
			}
		}
	}
	return nil
}

// visit asks for all addresses in turn, and prints what it measured. Each is asked for at its time however long the
// others take, so that a slow answer hides nothing.
func (s *system) visit(ctx context.Context, cfg pagesConfig, v *visitor, all []*address, enqueued *atomic.Int64) error {
	cpu, err := cpuTime()
	if err != nil {
		return err
	}
	before := enqueued.Load()
	began := time.Now()
	wal := s.watchLog(ctx)
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(cfg.rate))
	defer tick.Stop()
	for i := range cfg.seconds * cfg.rate {
		<-tick.C
		a := all[i%len(all)]
		wg.Go(func() {
			asked := time.Now()
			status, size, err := v.get(a.path)
			a.note(time.Since(asked), status, size, err)
		})
	}
	wg.Wait()
	took := time.Since(began)
	after, err := cpuTime()
	if err != nil {
		return err
	}
	fmt.Printf("\n%d tasks in the file, %d requests/s for %.0f s, %.0f tasks/s enqueued meanwhile, %d event streams\n", s.total(), cfg.rate, took.Seconds(),
		float64(enqueued.Load()-before)/took.Seconds(), cfg.streams)
	printTimes(all)
	fmt.Printf("processor: %.2f cores; resident: %d MB; write-ahead log: %.1f MB at its largest\n", (after-cpu).Seconds()/took.Seconds(), residentMB(), float64(wal.Load())/(1<<20))
	return nil
}

// watchLog gives the largest size of the write-ahead log so far, in bytes.
func (s *system) watchLog(ctx context.Context) *atomic.Int64 {
	var largest atomic.Int64
	go func() {
		for ctx.Err() == nil {
			if _, wal, err := s.store.Size(); err == nil {
				largest.Store(max(largest.Load(), wal))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return &largest
}

func (s *system) total() (n int64) {
	counts, err := s.store.Counts(context.Background())
	if err != nil {
		return -1
	}
	for _, c := range counts {
		if c.State != models.CountReady {
			n += c.N
		}
	}
	return n
}

func printTimes(all []*address) {
	fmt.Println("| address | n | p50 ms | p95 ms | p99 ms | first ms | cpu ms | bytes |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	total := &address{name: "all"}
	row := func(a *address) {
		slices.Sort(a.times)
		at := func(q float64) float64 { return ms(a.times[min(int(q*float64(len(a.times))), len(a.times)-1)]) }
		note := ""
		if a.failed > 0 {
			note = fmt.Sprintf(" (%d failed)", a.failed)
		}
		fmt.Printf("| %s | %d%s | %.1f | %.1f | %.1f | %.1f | %.1f | %d |\n", a.name, len(a.times), note, at(.5), at(.95), at(.99), ms(a.first), ms(a.cpu), a.size)
	}
	all = slices.DeleteFunc(all, func(a *address) bool { return len(a.times) == 0 }) // it was not its turn
	slices.SortFunc(all, func(a, b *address) int { return cmp.Compare(slices.Max(b.times), slices.Max(a.times)) })
	for _, a := range all {
		row(a)
		total.times = append(total.times, a.times...)
		total.first, total.cpu, total.size = max(total.first, a.first), total.cpu+a.cpu/time.Duration(len(all)), max(total.size, a.size)
	}
	row(total)
}
