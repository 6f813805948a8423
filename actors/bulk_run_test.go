package actors

import (
	"context"
	"encoding/json"
	"fmt"
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
	return start(t, registryOf(t, quick(), map[string]handler{
		"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, tasks.Permanent(context.Canceled)
			}
			return nil, nil
		},
	}), opts)
}

func TestABulkRunDoesWhatWasPlannedAndNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 1200))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{States: []models.State{models.StateFailed}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Equal(t, 1200, plan.Report.Matched)
		f.enqueueMany(several("work", 3)) // fails after the set was frozen
		pass(time.Minute)
		for range 2 { // pressed twice
			_, err = f.StartBulk(plan.ID, 0, Change{By: "bob"})
			require.NoError(t, err)
		}
		pass(time.Minute)
		done, ok := f.BulkRun(plan.ID)
		require.True(t, ok)
		require.Equal(t, BulkFinished, done.State)
		require.Equal(t, 1200, done.Report.Done)
		require.Equal(t, map[models.State]int{models.StateSuccess: 1200, models.StateFailed: 3}, f.states("work"))
		_, err = f.StartBulk("unknown", 0, Change{})
		require.ErrorIs(t, err, models.ErrNotFound)
		f.checkCounts()
	})
}

func TestASpreadBulkRunTakesItsTimeAndSurvivesACrash(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var crash atomic.Bool
		f := failing(t, Options{fault: func(kind string, m any) {
			if _, ok := m.(*models.Changed); ok && kind == "bulk" && crash.CompareAndSwap(true, false) {
				panic("injected")
			}
		}})
		f.enqueueMany(several("work", 600))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		_, err = f.StartBulk(plan.ID, 10*time.Minute, Change{By: "bob"})
		require.NoError(t, err)
		pass(5 * time.Minute)
		half := f.states("work")[models.StateSuccess]
		require.InDelta(t, 300, half, 30)
		crash.Store(true)
		pass(10 * time.Minute)
		require.False(t, crash.Load(), "the fault was met")
		require.Equal(t, map[models.State]int{models.StateSuccess: 600}, f.states("work"))
		done, _ := f.BulkRun(plan.ID)
		require.Equal(t, BulkFinished, done.State)
		require.Equal(t, 600, done.Report.Done+done.Report.SkippedTotal)
	})
}

func TestADiscardThatWasPlannedNeedsItsReasonWhenItStarts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := failing(t, Options{})
		f.enqueueMany(several("work", 12))
		pass(time.Minute)
		plan, err := f.PlanBulk(t.Context(), BulkRequest{Action: ActionDiscard, Filter: &models.Filter{Types: []string{"work"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Len(t, plan.Sample, bulkSample)
		_, err = f.StartBulk(plan.ID, 0, Change{By: "bob"})
		var bad *tasks.InvalidError
		require.ErrorAs(t, err, &bad)
		run, err := f.StartBulk(plan.ID, 0, Change{By: "bob", Reason: "no use"})
		require.NoError(t, err)
		require.Equal(t, "bob", run.By)
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateCancelled: 12}, f.states("work"))
		audit, err := f.store.AuditOf(t.Context(), "task", fmt.Sprint(plan.Sample[0]), 1)
		require.NoError(t, err)
		require.Equal(t, "bob", audit[0].Actor)
		require.Equal(t, "no use", audit[0].Reason)
	})
}
