package sizes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/web"
)

// The task types of every case: that of the mass, and one whose tasks say when they start.
const (
	massType  = "bench.mass"
	probeType = "bench.probe"
)

// rig is reax in this process: runtime, ledger, and its pages on loopback.
type rig struct {
	*actors.Runtime
	store *models.Store
	base  string
	web   *http.Server
	site  *web.Server
	mass  atomic.Int64 // runs of the mass
	first chan time.Time

	mu      sync.Mutex
	probes  map[string]time.Time // by the probe's name: when its enqueue was called
	waits   []time.Duration
	running atomic.Int64
}

// options are what differs between the cases.
type options struct {
	workers int           // of the mass
	lasts   time.Duration // how long a run of the mass takes
	runtime actors.Options
}

var quiet = slog.New(slog.DiscardHandler)

func openStore(ctx context.Context, dir string) (*models.Store, error) {
	return models.Open(ctx, models.Config{Path: filepath.Join(dir, "reax.db"), Logger: quiet})
}

func open(ctx context.Context, dir string, o options) (*rig, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as reax serve sets it
	}
	r := &rig{probes: map[string]time.Time{}, first: make(chan time.Time, 1)}
	registry := tasks.NewRegistry()
	add := func(name string, workers int, h tasks.Handler) error {
		policy := tasks.DefaultPolicy()
		policy.Concurrency = workers
		return registry.Add(tasks.Definition{Name: name, Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: policy, Handler: h})
	}
	err := errors.Join(add(massType, o.workers, r.runMass(o.lasts)), add(probeType, 20, r.runProbe))
	if err != nil {
		return nil, err
	}
	if r.store, err = openStore(ctx, dir); err != nil {
		return nil, err
	}
	o.runtime.Logger, o.runtime.ShutdownGrace = quiet, time.Second
	if r.Runtime, err = actors.Start(ctx, r.store, registry, o.runtime); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.site = web.New(web.Config{Runtime: r.Runtime, Ledger: r.store, Logger: quiet, Version: "bench"})
	r.web = &http.Server{Handler: r.site.Handler(), ReadHeaderTimeout: time.Minute}
	r.base = "http://" + listener.Addr().String()
	go func() { _ = r.web.Serve(listener) }()
	return r, nil
}

func (r *rig) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.site.EndStreams()
	_ = r.web.Close()
	return errors.Join(r.Stop(ctx), r.store.Close())
}

func (r *rig) runMass(lasts time.Duration) tasks.Handler {
	return func(ctx context.Context, body json.RawMessage) (json.RawMessage, error) {
		if r.mass.Add(1) == 1 {
			r.first <- time.Now()
		}
		r.note(body)
		if lasts > 0 {
			r.running.Add(1)
			defer r.running.Add(-1)
			select {
			case <-time.After(lasts):
			case <-ctx.Done():
			}
		}
		return nil, nil
	}
}

func (r *rig) runProbe(_ context.Context, body json.RawMessage) (json.RawMessage, error) {
	r.note(body)
	return nil, nil
}

// note writes down how long a probe has waited.
func (r *rig) note(body []byte) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.probes[string(body)]; ok {
		r.waits = append(r.waits, now.Sub(at))
		delete(r.probes, string(body))
	}
}

// taken are the waits since it was last called.
func (r *rig) taken() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.waits
	r.waits = nil
	return out
}

// probe enqueues so many tasks a second for a while, evenly, and gives the times from call to start.
func (r *rig) probe(ctx context.Context, typ string, priority int, rate float64, d time.Duration) ([]time.Duration, error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range 32 {
		wg.Go(func() {
			for failed.Load() == nil && ctx.Err() == nil {
				n := next.Add(1) - 1
				at := began.Add(time.Duration(float64(n) / rate * float64(time.Second)))
				if at.Sub(began) > d {
					return
				}
				time.Sleep(time.Until(at))
				body := []byte(`{"probe":"` + began.Format(time.StampNano) + "-" + jsonInt(n) + `"}`)
				r.mu.Lock()
				r.probes[string(body)] = time.Now()
				r.mu.Unlock()
				if _, err := r.Enqueue(ctx, actors.EnqueueRequest{Type: typ, Params: body, Priority: priority, By: "bench"}); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return r.taken(), nil
}

func jsonInt(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// succeeded is how many tasks of the mass are done by the books.
func (r *rig) succeeded(ctx context.Context) (int64, error) {
	counts, err := r.store.Counts(ctx)
	for _, c := range counts {
		if c.Type == massType && c.State == models.StateSuccess {
			return c.N, err
		}
	}
	return 0, err
}
