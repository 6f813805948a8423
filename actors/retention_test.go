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

func TestRetentionDeletesByStateAndAgeAndNothingUnfinished(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		policy := tasks.DefaultPolicy()
		policy.Concurrency, policy.MaxRetries = 50, 0
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			tasks.RunOf(ctx).Logger.Info("a line")
			switch number(p) % 3 {
			case 0:
				return nil, nil
			case 1:
				return nil, errPlain
			default:
				return nil, tasks.Permanent(errPlain)
			}
		}, "long": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			if number(p) == 0 {
				return waits(24*30*time.Hour)(ctx, p)
			}
			return nil, tasks.RetryAfter(errPlain, 24*30*time.Hour)
		}}), Options{Retention: Retention{Success: 30 * time.Minute, Failed: 90 * time.Minute, Cancelled: 30 * time.Minute}})
		f.enqueueMany(several("work", 3_000))
		unfinished := f.enqueueMany(several("long", 2, func(r *EnqueueRequest) { r.MaxRetries = new(9) }))
		delayed := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(24 * 60 * time.Hour) })
		cancelled := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(24 * 60 * time.Hour) })
		_, err := f.Cancel(t.Context(), cancelled.ID, Change{})
		require.NoError(t, err)
		pass(20 * time.Minute) // the first sweep has been
		require.Equal(t, map[models.State]int{models.StateSuccess: 1_000, models.StateDead: 1_000, models.StateFailed: 1_000,
			models.StatePending: 1, models.StateCancelled: 1}, f.states("work"))
		pass(30 * time.Minute)
		young := f.enqueue("work", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 0}`) })
		pass(15 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 1, models.StateDead: 1_000, models.StateFailed: 1_000,
			models.StatePending: 1}, f.states("work"))
		require.Equal(t, models.StateSuccess, f.task(young.ID).State)
		pass(time.Hour)
		require.Equal(t, map[models.State]int{models.StateDead: 1_000, models.StatePending: 1}, f.states("work"), "the dead are kept for ever")
		for _, task := range append(unfinished, delayed) {
			require.False(t, f.task(task.ID).State.IsFinal())
		}
		f.checkCounts()
		for _, table := range []string{"attempts", "task_logs"} {
			var orphans int64
			require.NoError(t, f.store.Reader().Raw("SELECT count(*) FROM "+table+" WHERE task_id NOT IN (SELECT id FROM tasks)").Scan(&orphans).Error)
			require.Zero(t, orphans, "rows of %s without a task", table)
		}
	})
}

func TestRetentionOfTheAuditDeletesWhatIsOldAndNothingElse(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, tasks.DefaultPolicy(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}),
			Options{Retention: Retention{Audit: 2 * time.Hour}})
		require.NoError(t, f.Pause(t.Context(), "work", Change{By: "ana", Reason: "old"}))
		pass(90 * time.Minute)
		require.NoError(t, f.Resume(t.Context(), "work", Change{By: "ana", Reason: "young"}))
		entries := func() (reasons []string) {
			page, err := f.store.AuditPage(t.Context(), models.AuditFilter{}, 10)
			require.NoError(t, err)
			for _, e := range page.Entries {
				reasons = append(reasons, e.Reason)
			}
			return reasons
		}
		require.Equal(t, []string{"young", "old"}, entries())
		pass(100 * time.Minute)
		require.Equal(t, []string{"young"}, entries())
	})
}

func TestRetentionGivesWayWhereTheDiskIsSlow(t *testing.T) {
	require.Equal(t, retentionBreath, breathAfter(0))
	require.Equal(t, retentionBreath, breathAfter(retentionBreath/retentionShare))
	require.Equal(t, 3*time.Second, breathAfter(time.Second), "three quarters of the time are for the others")
}
