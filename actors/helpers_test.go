package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"reax/models"
	"reax/tasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a task type of a test: any parameters, any result.
type handler = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// registryOf makes one task type a handler.
func registryOf(t testing.TB, policy tasks.Policy, handlers map[string]handler) *tasks.Registry {
	t.Helper()
	r := tasks.NewRegistry()
	for name, h := range handlers {
		require.NoError(t, r.Add(tasks.Definition{Name: name, Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: policy, Handler: tasks.Handler(h)}))
	}
	return r
}

// fixture is a runtime on a real database file.
type fixture struct {
	*Runtime
	t     testing.TB
	store *models.Store
	path  string
	ended bool // the test has ended it itself
}

// start opens a database in a folder of the test's own and starts a runtime on it. Both end with the test.
func start(t testing.TB, registry *tasks.Registry, opts Options) *fixture {
	t.Helper()
	return startOn(t, filepath.Join(t.TempDir(), "reax.db"), registry, opts)
}

func startOn(t testing.TB, path string, registry *tasks.Registry, opts Options) *fixture {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	store, err := models.Open(t.Context(), models.Config{Path: path, Durability: models.DurabilityNormal, BusyTimeout: 5 * time.Millisecond, Logger: opts.Logger})
	require.NoError(t, err)
	r, err := Start(t.Context(), store, registry, opts)
	require.NoError(t, err)
	f := &fixture{Runtime: r, t: t, store: store, path: store.Path()}
	t.Cleanup(f.end)
	return f
}

// end stops the runtime and closes the database; a second call does nothing.
func (f *fixture) end() {
	if f.ended {
		return
	}
	f.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(f.t, f.Stop(ctx))
	require.NoError(f.t, f.store.Close())
}

// enqueue stores one task of a type with parameters {"n": n}.
func (f *fixture) enqueue(typ string, change ...func(*EnqueueRequest)) models.Task {
	f.t.Helper()
	req := EnqueueRequest{Type: typ, By: "test"}
	for _, c := range change {
		c(&req)
	}
	e, err := f.Enqueue(f.t.Context(), req)
	require.NoError(f.t, err)
	return e.Task
}

// task reads a row.
func (f *fixture) task(id int64) models.Task {
	f.t.Helper()
	got, err := f.store.Task(context.Background(), id)
	require.NoError(f.t, err)
	return got
}

// waitFor waits until the task's row passes the check. It is woken by changes, and looks again now and then in case
// one was published before it listened.
func (f *fixture) waitFor(id int64, check func(models.Task) bool) models.Task {
	f.t.Helper()
	return waitUntil(f, func() (models.Task, bool) {
		row := f.task(id)
		return row, check(row)
	})
}

// waitState waits until a task is in a state.
func (f *fixture) waitState(id int64, want models.State) models.Task {
	f.t.Helper()
	return f.waitFor(id, func(row models.Task) bool { return row.State == want })
}

// waitUntil asks until the answer is true, each time something changes.
func waitUntil[T any](f *fixture, ask func() (T, bool)) T {
	f.t.Helper()
	changed := make(chan struct{}, 1)
	defer f.Subscribe(func([]string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		got, ok := ask()
		if ok {
			return got
		}
		again := time.NewTimer(50 * time.Millisecond)
		select {
		case <-changed:
		case <-again.C:
		case <-deadline.C:
			require.FailNow(f.t, "nothing changed to what was expected in a minute", "last seen: %+v", got)
		}
		again.Stop()
	}
}

func quick() tasks.Policy {
	p := tasks.DefaultPolicy()
	p.BackoffBase, p.BackoffMax = time.Millisecond, 5*time.Millisecond
	return p
}

// inBubble runs a test on a clock of its own: it moves on only when nothing is left to do, so that hours take no time and
// no deadline is missed for want of a processor.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// The last to be done: time ends with the test, and the library has a goroutine that counts letters for a second.
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		f(t)
	})
}

// pass lets time go by in a bubble, and all that falls due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// enqueueMany stores tasks in batches.
func (f *fixture) enqueueMany(reqs []EnqueueRequest) []models.Task {
	f.t.Helper()
	all := make([]models.Task, 0, len(reqs))
	for part := range slices.Chunk(reqs, MaxBatch) {
		got, err := f.EnqueueBatch(f.t.Context(), part)
		require.NoError(f.t, err)
		for _, e := range got {
			all = append(all, e.Task)
		}
	}
	return all
}

// several is n requests for a type, with parameters {"n": 0} and on.
func several(typ string, n int, change ...func(*EnqueueRequest)) []EnqueueRequest {
	reqs := make([]EnqueueRequest, n)
	for i := range reqs {
		reqs[i] = EnqueueRequest{Type: typ, By: "test", Params: fmt.Appendf(nil, `{"n": %d}`, i)}
		for _, c := range change {
			c(&reqs[i])
		}
	}
	return reqs
}

// number is the n of a task's parameters.
func number(params json.RawMessage) int {
	var p struct{ N int }
	if err := json.Unmarshal(params, &p); err != nil {
		return -1
	}
	return p.N
}

// states counts the rows of a type by state, from the rows themselves.
func (f *fixture) states(typ string) map[models.State]int {
	f.t.Helper()
	var rows []struct {
		State models.State
		N     int
	}
	require.NoError(f.t, f.store.Reader().Raw("SELECT state, count(*) AS n FROM tasks WHERE type = ? GROUP BY state", typ).Scan(&rows).Error)
	all := map[models.State]int{}
	for _, r := range rows {
		all[r.State] = r.N
	}
	return all
}

// attempts reads the history of a task.
func (f *fixture) attempts(id int64) []models.Attempt {
	f.t.Helper()
	var all []models.Attempt
	require.NoError(f.t, f.store.Reader().Raw("SELECT * FROM attempts WHERE task_id = ? ORDER BY attempt", id).Scan(&all).Error)
	return all
}

// outcomes is what attempts says of each run.
func (f *fixture) outcomes(id int64) []string {
	f.t.Helper()
	var all []string
	for _, a := range f.attempts(id) {
		all = append(all, a.Outcome)
	}
	return all
}

// checkCounts holds the counts that pages show against the rows.
func (f *fixture) checkCounts() {
	f.t.Helper()
	var rows []models.Count
	require.NoError(f.t, f.store.Reader().Raw(`SELECT type, state, count(*) AS n FROM tasks GROUP BY type, state
UNION ALL SELECT type, 'ready', count(*) FROM tasks WHERE state IN ('pending', 'retry_wait') AND ready_at IS NOT NULL GROUP BY type`).
		Scan(&rows).Error)
	want := map[string]int64{}
	for _, r := range rows {
		want[r.Type+" "+string(r.State)] = r.N
	}
	kept, err := f.store.Counts(context.Background())
	require.NoError(f.t, err)
	got := map[string]int64{}
	for _, c := range kept {
		if c.N != 0 {
			got[c.Type+" "+string(c.State)] = c.N
		}
	}
	require.Equal(f.t, want, got, "the counts kept and the rows counted")
	for _, c := range kept {
		require.Equal(f.t, c.N, f.count(c.Type, c.State), "the count in memory of %s %s", c.Type, c.State)
	}
}

// allFinal reports whether all tasks of a type are done with.
func (f *fixture) allFinal(typ string, n int) bool {
	final := 0
	for state, k := range f.states(typ) {
		if state.IsFinal() {
			final += k
		}
	}
	return final == n
}

// barrier is a handler that returns when n runs of it are in at the same time.
func barrier(n int) handler {
	var mu sync.Mutex
	in, open := 0, make(chan struct{})
	return func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		mu.Lock()
		if in++; in == n {
			close(open)
		}
		mu.Unlock()
		select {
		case <-open:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// gauge counts how many are in at one time, and the most there ever were.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (g *gauge) leave() { g.now.Add(-1) }

// tallyOf counts runs a task.
type tallyOf struct {
	mu sync.Mutex
	n  map[int64]int
}

func newTally() *tallyOf { return &tallyOf{n: map[int64]int{}} }

func (c *tallyOf) add(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[tasks.RunOf(ctx).TaskID]++
}

func (c *tallyOf) of(id int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[id]
}

// moreThanOnce lists the tasks that ran twice.
func (c *tallyOf) moreThanOnce() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []int64
	for id, n := range c.n {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// takes is work that lasts for a while. In a bubble that is no real time, and outside of one it must not be called.
func takes(d time.Duration) { time.Sleep(d) }

// elapsed is time.After, without a timer when there is nothing to wait for: the race detector crashes when several goroutines
// of one bubble take from timers that are due already.
func elapsed(d time.Duration) <-chan time.Time {
	if d > 0 {
		return time.After(d)
	}
	now := make(chan time.Time)
	close(now)
	return now
}
