package actors

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestABulkActionTakesWhatItsFilterShowedAndSaysWhatItLeft(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const n = 12_000
		policy := quick()
		policy.Concurrency = 50
		d := newDied(t)
		d.write(func(tx *models.Tx) {
			d.addDead(tx, "a", n)
			d.addDead(tx, "b", 100)
		})
		f := startOn(t, d.path, registryOf(t, policy, map[string]handler{"a": waits(0), "b": waits(0)}), Options{})
		require.Equal(t, map[models.State]int{models.StateDead: n}, f.states("a"))
		require.NoError(t, f.Pause(t.Context(), "a", Change{By: "ann"})) // what comes after it is not what this is about
		report, err := f.Bulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{States: []models.State{models.StateDead}, Types: []string{"a"}}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Equal(t, BulkReport{ID: report.ID, Matched: n, Done: n}, report)
		require.Equal(t, map[models.State]int{models.StatePending: n}, f.states("a"))
		require.Equal(t, map[models.State]int{models.StateDead: 100}, f.states("b"), "not more than the filter shows")
		f.checkCounts()

		again, err := f.Bulk(t.Context(), BulkRequest{Action: ActionRetry, Filter: &models.Filter{States: []models.State{models.StateDead}, Types: []string{"a"}}})
		require.NoError(t, err)
		require.Equal(t, BulkReport{}, again)

		all := make([]int64, 0, n)
		for id := range int64(n) {
			all = append(all, id+1)
		}
		report, err = f.Bulk(t.Context(), BulkRequest{Action: ActionRetry, IDs: all})
		require.NoError(t, err)
		require.Zero(t, report.Done)
		require.Equal(t, n, report.SkippedTotal)
		require.Len(t, report.Skipped, MaxBulkSkips)
	})
}

func TestABulkActionOnIDs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.Concurrency = 1
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			if number(p) == 0 {
				return nil, tasks.Permanent(errPlain)
			}
			return waits(time.Hour)(ctx, p)
		}}), Options{})
		got := f.enqueueMany(several("work", 4))
		failed, running, pending, delayed := got[0].ID, got[1].ID, got[2].ID, got[3].ID
		_ = delayed
		pass(time.Second)
		report, err := f.Bulk(t.Context(), BulkRequest{Action: ActionCancel, IDs: []int64{failed, running, pending, pending, 999, running}, Change: Change{By: "ann"}})
		require.NoError(t, err)
		require.Equal(t, 4, report.Matched, "each id once")
		require.Equal(t, 2, report.Done)
		require.Equal(t, 2, report.SkippedTotal)
		require.ElementsMatch(t, []Skip{{999, models.SkipMissing, "there is no such task"}, {failed, "failed", "it is failed"}}, report.Skipped)
		pass(time.Second)
		require.Equal(t, models.StateCancelled, f.task(running).State)
		require.Equal(t, models.StateCancelled, f.task(pending).State)

		var invalid *tasks.InvalidError
		_, err = f.Bulk(t.Context(), BulkRequest{Action: ActionDiscard, IDs: []int64{failed}})
		require.ErrorAs(t, err, &invalid, "a discard needs a reason")
		_, err = f.Bulk(t.Context(), BulkRequest{Action: "explode", IDs: []int64{failed}})
		require.ErrorAs(t, err, &invalid)
		report, err = f.Bulk(t.Context(), BulkRequest{Action: ActionDiscard, IDs: []int64{failed, pending}, Change: Change{By: "ann", Reason: "old"}})
		require.NoError(t, err)
		require.Equal(t, 1, report.Done)
		require.Equal(t, []Skip{{pending, "cancelled", "it is cancelled"}}, report.Skipped)
		_, err = f.Bulk(t.Context(), BulkRequest{Action: ActionCancel, IDs: make([]int64, MaxBulkTasks+1)})
		var large *TooLargeError
		require.ErrorAs(t, err, &large)
		f.checkCounts()
	})
}
