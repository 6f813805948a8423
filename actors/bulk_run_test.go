package actors

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// failing is a runtime whose tasks fail for good until they are told to succeed.
func failing(t *testing.T, opts Options) *fixture {
	t.Helper()
	return failingOn(t, filepath.Join(t.TempDir(), "reax.db"), opts)
}

func failingOn(t *testing.T, path string, opts Options) *fixture {
	t.Helper()
	return startOn(t, path, registryOf(t, quick(), map[string]handler{
		"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, tasks.Permanent(context.Canceled)
			}
			return nil, nil
		},
	}), opts)
}

func (f *fixture) bulkRun(id int64) models.BulkRun {
	f.t.Helper()
	run, err := f.store.BulkRun(f.t.Context(), id)
	require.NoError(f.t, err)
	return run
}

func TestABulkRunDoesWhatWasPlannedAndNoMore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 1200))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{States: []models.State{models.StateFailed}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Equal(t, 1200, plan.Matched)
		f.enqueueMany(several("work", 3)) // fails after the set was frozen
		pass(time.Minute)
		for range 2 { // pressed twice
			_, err = f.StartBulk(t.Context(), plan.ID, 0, Change{By: "bob"})
			require.NoError(t, err)
		}
		pass(time.Minute)
		done := f.bulkRun(plan.ID)
		require.Equal(t, models.BulkDone, done.State)
		require.Equal(t, 1200, done.Done)
		require.Equal(t, map[models.State]int{models.StateSuccess: 1200, models.StateFailed: 3}, f.states("work"))
		_, err = f.StartBulk(t.Context(), 999, 0, Change{})
		require.ErrorIs(t, err, models.ErrNotFound)
		_, err = f.StopBulk(t.Context(), 999, Change{})
		require.ErrorIs(t, err, models.ErrNotFound)
		f.checkCounts()
	})
}

// A bulk action loses its actor, and then its process, again and again: it ends all the same, takes the time that it was
// given, and no task is retried twice.
func TestASpreadBulkRunOutlivesItsActorAndItsProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var crash atomic.Bool
		const n = 600
		opts := Options{fault: func(kind string, m any) {
			if _, ok := m.(*models.BulkStepped); ok && kind == "bulk" && crash.CompareAndSwap(true, false) {
				panic("injected")
			}
		}}
		f := failing(t, opts)
		f.enqueueMany(several("work", n))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		_, err = f.StartBulk(t.Context(), plan.ID, 10*time.Minute, Change{By: "bob"})
		require.NoError(t, err)
		pass(3 * time.Minute)
		require.InDelta(t, 180, f.states("work")[models.StateSuccess], 10)
		crash.Store(true)
		pass(2 * time.Minute)
		require.False(t, crash.Load(), "the fault was met")
		require.InDelta(t, 300, f.states("work")[models.StateSuccess], 15)

		before := f.states("work")[models.StateSuccess]
		f.end()
		pass(time.Hour)
		f = failingOn(t, f.store.Path(), opts)
		pass(time.Minute)
		require.InDelta(t, before+60, f.states("work")[models.StateSuccess], 15, "what was left out does not come all at once")
		pass(6 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: n}, f.states("work"))
		done := f.bulkRun(plan.ID)
		require.Equal(t, []any{models.BulkDone, n, 0, "bob"}, []any{done.State, done.Done, done.Skipped, done.Actor})
		var attempts []int
		require.NoError(t, f.store.Reader().Raw("SELECT DISTINCT attempt FROM tasks").Scan(&attempts).Error)
		require.Equal(t, []int{2}, attempts)
		f.checkCounts()
	})
}

// The step was written, and its answer was lost with the actor before and after; the journal crashed with one too.
func TestAStepThatWasWrittenIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var crashes atomic.Int64
		f := failing(t, Options{fault: func(kind string, m any) {
			_, answer := m.(*models.BulkStepped)
			_, question := m.(*StepBulk)
			if (kind == "bulk" && answer || kind == "journal" && question) && crashes.Add(1) <= 9 {
				panic("injected")
			}
		}})
		f.enqueueMany(several("work", 2000))
		pass(time.Minute)
		report, err := f.Bulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Equal(t, BulkReport{ID: report.ID, Matched: 2000, Done: 2000}, report)
		require.Greater(t, crashes.Load(), int64(9))
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 2000}, f.states("work"))
		f.checkCounts()
	})
}

func TestABulkRunIsStoppedWhereItIs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 600))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		_, err = f.StartBulk(t.Context(), plan.ID, time.Hour, Change{By: "ann"})
		require.NoError(t, err)
		pass(10 * time.Minute)
		stopped, err := f.StopBulk(t.Context(), plan.ID, Change{By: "bob"})
		require.NoError(t, err)
		require.Equal(t, models.BulkStopped, stopped.State)
		require.InDelta(t, 100, stopped.Done, 5)
		pass(2 * time.Hour)
		require.Equal(t, stopped, f.bulkRun(plan.ID))
		require.Equal(t, map[models.State]int{models.StateSuccess: stopped.Done, models.StateFailed: 600 - stopped.Done}, f.states("work"))
	})
}

func TestACorrectedCopyRunsInPlaceOfWhatFailed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := tasks.NewRegistry()
		schema, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"host":{"type":"string"},"only":{"type":"integer","maximum":200}},"required":["n"]}`))
		require.NoError(t, err)
		require.NoError(t, r.Add(tasks.Definition{Name: "work", Kind: tasks.KindGo, Schema: schema, Policy: quick(), Handler: func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
			var in struct{ Host string }
			if err := json.Unmarshal(p, &in); err != nil || in.Host != "new" {
				return nil, tasks.Permanent(errPlain)
			}
			return nil, nil
		}}))
		f := start(t, r, Options{})
		tagged := func(e *EnqueueRequest) { e.Tags, e.Priority = []string{"x"}, 3 }
		rows := f.enqueueMany(several("work", 120, tagged))
		pass(time.Minute)
		request := func(patch string) BulkRequest {
			return BulkRequest{Action: ActionReplace, Filter: &models.Filter{Types: []string{"work"}, States: []models.State{models.StateFailed}}, Patch: json.RawMessage(patch), Change: Change{By: "ann"}}
		}
		tried, err := f.TryPatch(t.Context(), []int64{rows[0].ID}, json.RawMessage(`{"host":"new","n":null}`))
		require.NoError(t, err)
		require.Equal(t, models.SkipInvalid, tried[0].Skip.Code)
		require.Contains(t, tried[0].Skip.Reason, "/params/n")
		report, err := f.Bulk(t.Context(), request(`{"n":null}`))
		require.NoError(t, err)
		require.Equal(t, 120, report.SkippedTotal, "what would not be valid is left alone")

		report, err = f.Bulk(t.Context(), request(`{"host":"new"}`))
		require.NoError(t, err)
		require.Equal(t, BulkReport{ID: report.ID, Matched: 120, Done: 120}, report)
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateCancelled: 120, models.StateSuccess: 120}, f.states("work"))
		var copies []models.Task
		require.NoError(t, f.store.Reader().Raw("SELECT * FROM tasks WHERE repeated_from = ?", rows[7].ID).Scan(&copies).Error)
		require.Len(t, copies, 1)
		require.Equal(t, []any{`{"host":"new","n":7}`, `["x"]`, 3, "ann"}, []any{copies[0].Params, copies[0].Tags, copies[0].Priority, copies[0].EnqueuedBy})
		f.checkCounts()

		for _, bad := range []BulkRequest{request(`{}`), request(`[1]`), request(`{"a"`), request(``), {Action: ActionReplace, IDs: []int64{1}, Patch: json.RawMessage(`{"a":1}`)}} {
			_, err = f.PlanBulk(t.Context(), bad)
			var invalid *tasks.InvalidError
			require.ErrorAs(t, err, &invalid)
		}
		large := request(`{"a":"` + strings.Repeat("x", maxBulkPatch) + `"}`)
		_, err = f.PlanBulk(t.Context(), large)
		require.ErrorAs(t, err, new(*TooLargeError))
	})
}

// Who no longer waits for the answer of a bulk action has not stopped it.
func TestABulkActionGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 1200))
		pass(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		unsubscribe := f.Subscribe(func(topics []string) {
			if slices.Contains(topics, "bulk") {
				cancel()
			}
		})
		defer unsubscribe()
		report, err := f.Bulk(ctx, BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		if err != nil { // it may have been done before its caller could go
			require.ErrorIs(t, err, ErrUnavailable)
		}
		pass(time.Minute)
		require.Equal(t, 1200, f.bulkRun(report.ID).Done)
	})
}

func TestOldBulkRunsAreDeletedByAndBy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 3))
		pass(time.Second)
		request := BulkRequest{Action: ActionCancel, IDs: []int64{1, 2}, Change: Change{By: "ann"}}
		report, err := f.Bulk(t.Context(), request)
		require.NoError(t, err)
		plan, err := f.PlanBulk(t.Context(), request)
		require.NoError(t, err)
		longAgo := time.Now().Add(-bulkPlanKept).UnixMicro()
		require.NoError(t, f.store.Writer().Exec("UPDATE bulk_runs SET planned_at = ?", longAgo).Error)
		pass(bulkSweepFirst)
		_, err = f.store.BulkRun(t.Context(), plan.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
		require.Equal(t, 2, f.bulkRun(report.ID).Skipped)
	})
}

func TestWhatIsSaidOfAnErrorIsChecked(t *testing.T) {
	t.Parallel()
	f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
	for _, m := range []models.GroupMark{
		{Name: strings.Repeat("x", MaxGroupNameBytes+1)}, {Note: strings.Repeat("x", MaxReasonBytes+1)}, {Name: "a\nb"},
		{Link: "javascript:alert(1)"}, {Link: "//example.org"}, {Muted: true, MutedUntil: 1},
	} {
		_, err := f.MarkGroup(t.Context(), m, Change{By: "ann"})
		var invalid *tasks.InvalidError
		require.ErrorAs(t, err, &invalid, "%+v", m)
	}
	_, err := f.MarkGroup(t.Context(), models.GroupMark{Type: "work", Fingerprint: "x", Link: "https://example.org/1"}, Change{By: "ann"})
	require.ErrorIs(t, err, models.ErrNotFound)
}

func TestADiscardThatWasPlannedNeedsItsReasonWhenItStarts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 12))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionDiscard, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		_, err = f.StartBulk(t.Context(), plan.ID, 0, Change{By: "bob"})
		var bad *tasks.InvalidError
		require.ErrorAs(t, err, &bad)
		run, err := f.StartBulk(t.Context(), plan.ID, 0, Change{By: "bob", Reason: "no use"})
		require.NoError(t, err)
		require.Equal(t, "bob", run.Actor)
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateCancelled: 12}, f.states("work"))
		audit, err := f.store.AuditOf(t.Context(), "task", "1", 1)
		require.NoError(t, err)
		require.Equal(t, "bob", audit[0].Actor)
		require.Equal(t, "no use", audit[0].Reason)
	})
}
