package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// ending is a way for a handler to end, and what it must lead to when one retry is allowed.
type ending struct {
	name     string
	share    int // of 1,000 tasks
	run      func(ctx context.Context) (json.RawMessage, error)
	state    models.State
	kind     string
	runs     int
	outcomes []string
}

var (
	errPlain = errors.New("no route to host")
	huge     = strings.Repeat("x", 1<<20)
)

func panicsWithNil() { panic(nil) } //nolint:govet // what a handler must not do

func endings() []ending {
	const timeout = time.Second
	dead := []string{models.OutcomeRetry, models.OutcomeDead}
	stubborn := func(err error) func(context.Context) (json.RawMessage, error) {
		return func(ctx context.Context) (json.RawMessage, error) {
			takes(timeout + 3*time.Second) // past the deadline and the grace
			return nil, err
		}
	}
	return []ending{
		{"ok", 600, func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"a":1}`), nil }, models.StateSuccess, "", 1, nil},
		{"error", 50, func(context.Context) (json.RawMessage, error) { return nil, errPlain }, models.StateDead, tasks.KindError, 2, dead},
		{"flaky", 100, func(ctx context.Context) (json.RawMessage, error) {
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, errPlain
			}
			return nil, nil
		}, models.StateSuccess, "", 2, []string{models.OutcomeRetry, models.OutcomeSuccess}},
		{"permanent", 100, func(context.Context) (json.RawMessage, error) { return nil, tasks.Permanent(errPlain) }, models.StateFailed, tasks.KindPermanent, 1, []string{models.OutcomeFailed}},
		{"panic", 70, func(context.Context) (json.RawMessage, error) { panic("boom") }, models.StateDead, tasks.KindPanic, 2, dead},
		{"nil panic", 20, func(context.Context) (json.RawMessage, error) { panicsWithNil(); return nil, nil }, models.StateDead, tasks.KindPanic, 2, dead},
		{"huge panic", 5, func(context.Context) (json.RawMessage, error) { panic(huge) }, models.StateDead, tasks.KindPanic, 2, dead},
		{"error panic", 10, func(context.Context) (json.RawMessage, error) { panic(errPlain) }, models.StateDead, tasks.KindPanic, 2, dead},
		{"goexit", 20, func(context.Context) (json.RawMessage, error) { runtime.Goexit(); return nil, nil }, models.StateDead, tasks.KindGoexit, 2, dead},
		{"hang", 15, func(ctx context.Context) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() }, models.StateDead, tasks.KindTimeout, 2, dead},
		{"stubborn", 5, stubborn(nil), models.StateSuccess, "", 1, nil},
		{"stubborn and failing", 5, stubborn(errPlain), models.StateDead, tasks.KindTimeout, 2, dead},
	}
}

func TestEveryWayToEndIsAccountedOnceAndLeavesAllWorkers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const workers, n = 8, 10_000
		kinds := map[string]ending{}
		var names []string // one a task in a thousand
		for _, e := range endings() {
			kinds[e.name] = e
			for range e.share {
				names = append(names, e.name)
			}
		}
		require.Len(t, names, 1_000)
		policy := quick()
		policy.Concurrency, policy.MaxRetries = workers, 1
		var in gauge
		runs, all := newTally(), barrier(workers)
		f := start(t, registryOf(t, policy, map[string]handler{
			"mixed": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
				in.enter()
				defer in.leave()
				runs.add(ctx)
				if number(p) < 0 {
					return all(ctx, p)
				}
				return kinds[names[number(p)*37%1_000]].run(ctx)
			},
		}), Options{HandlerGrace: time.Second})
		accepted := f.enqueueMany(several("mixed", n, func(r *EnqueueRequest) { r.Timeout = new(time.Second) }))
		for !f.allFinal("mixed", n) {
			pass(time.Second)
		}
		want := map[models.State]int{}
		for i, task := range accepted {
			e := kinds[names[i*37%1_000]]
			want[e.state]++
			if i%10 == 0 { // the totals tell of all; the details of each tenth are enough
				f.checkEnding(e, f.task(task.ID))
			}
			require.Equal(t, e.runs, runs.of(task.ID), "runs of a task that ends with %s", e.name)
		}
		require.Equal(t, want, f.states("mixed"))
		f.checkCounts()
		require.Zero(t, f.runs.Len(), "runs are still in the table")
		require.Zero(t, in.now.Load())
		require.Greater(t, in.most.Load(), int64(workers), "slots are free again while stubborn handlers still run")

		h := f.Health()
		require.Equal(t, StatusOK, h.Status, "%v", h.Reasons)
		require.Equal(t, workers, h.WorkersTotal)
		require.Zero(t, h.WorkersBusy)
		f.checkWorkers("mixed", workers)
		for range workers { // none of these returns before all are in
			f.enqueue("mixed", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": -2}`) })
		}
		for !f.allFinal("mixed", n+workers) {
			pass(time.Second)
		}
		require.Equal(t, want[models.StateSuccess]+workers, f.states("mixed")[models.StateSuccess])
	})
}

func (f *fixture) checkEnding(e ending, row models.Task) {
	f.t.Helper()
	what := fmt.Sprintf("task %d that ends with %s", row.ID, e.name)
	require.Equal(f.t, e.state, row.State, what)
	require.Equal(f.t, e.runs, row.Attempt, what)
	require.Equal(f.t, e.kind, row.ErrorKind, what)
	require.Equal(f.t, e.outcomes, f.outcomes(row.ID), what)
	require.Zero(f.t, row.StuckAt, what)
	require.Empty(f.t, row.Suspected, what)
	require.LessOrEqual(f.t, len(row.Error), MaxErrorBytes, what)
	for _, a := range f.attempts(row.ID) {
		require.Equal(f.t, a.ErrorKind == tasks.KindPanic, a.Stack != "", what)
		if e.name == "nil panic" {
			require.Contains(f.t, a.Stack, "panicsWithNil", what)
		}
	}
}

// checkWorkers looks whether a pool has so many workers, all of them idle.
func (f *fixture) checkWorkers(typ string, workers int) {
	f.t.Helper()
	found := map[string]bool{}
	for _, row := range f.Tree() {
		if row.Kind == "worker" && strings.Contains(row.ID, "/"+typ+"/") {
			found[row.ID] = true
			require.Zero(f.t, row.Busy, "worker %s is busy", row.ID)
		}
	}
	require.Len(f.t, found, workers, "%v", maps.Keys(found))
}
