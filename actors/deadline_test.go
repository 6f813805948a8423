package actors

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestAHungHandlerIsMarkedFreesItsSlotAndIsNotStartedAgainBeforeItReturns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.Concurrency, policy.Timeout = 2, 10*time.Second
		var in gauge
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			if number(p) != 0 {
				return nil, nil
			}
			in.enter()
			defer in.leave()
			takes(time.Minute)
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, errPlain
			}
			return json.RawMessage(`"late"`), nil
		}}), Options{})
		task := f.enqueueMany(several("work", 1))[0]
		pass(14 * time.Second)
		require.Zero(t, f.task(task.ID).StuckAt, "it still has its grace")
		pass(2 * time.Second)
		row := f.task(task.ID)
		require.Equal(t, models.StateRunning, row.State)
		require.NotZero(t, row.StuckAt)
		s, _ := f.Pool("work")
		require.Equal(t, PoolStatus{Concurrency: 2, Stuck: 1}, s)
		require.Contains(t, strings.Join(f.Health().Reasons, " "), "1 handlers of work ignore the end of their context")
		for range 4 {
			f.enqueue("work", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 5}`) })
		}
		pass(time.Second)
		require.Equal(t, 4, f.states("work")[models.StateSuccess], "others run meanwhile")
		pass(44 * time.Second)
		require.Equal(t, 2, f.task(task.ID).Attempt, "it is retried once the old code has returned")
		require.Equal(t, []string{models.OutcomeRetry}, f.outcomes(task.ID))
		require.Equal(t, tasks.KindTimeout, f.attempts(task.ID)[0].ErrorKind)
		pass(2 * time.Minute)
		row = f.task(task.ID)
		require.Equal(t, models.StateSuccess, row.State, "a late success is a success")
		require.Equal(t, `"late"`, row.Result)
		require.Zero(t, row.StuckAt)
		require.EqualValues(t, 1, in.most.Load(), "never two of one task")
		require.Empty(t, f.Health().Reasons)
		f.checkCounts()
	})
}

func TestAPoolOfHungHandlersBlocksItselfAndRecovers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.Concurrency, policy.Timeout, policy.MaxRetries = 3, time.Second, 0
		release := make(chan struct{})
		var started atomic.Int64
		f := start(t, registryOf(t, policy, map[string]handler{
			"hangs": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				started.Add(1)
				<-release
				return nil, errPlain
			},
			"other": waits(0),
		}), Options{HandlerGrace: time.Second})
		f.enqueueMany(several("hangs", 50))
		pass(time.Minute)
		require.LessOrEqual(t, started.Load(), int64(2*3-1), "as many as may hang, and those that had begun by then")
		s, _ := f.Pool("hangs")
		require.True(t, s.Paused)
		require.GreaterOrEqual(t, s.Stuck, 3)
		require.Contains(t, s.PauseReason, "ignore the end of their context")
		h := f.Health()
		require.Equal(t, StatusDegraded, h.Status)
		other := f.enqueue("other")
		pass(time.Second)
		require.Equal(t, models.StateSuccess, f.task(other.ID).State, "it is the trouble of one type")

		close(release)
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateDead: 50}, f.states("hangs"))
		require.EqualValues(t, 50, started.Load())
		s, _ = f.Pool("hangs")
		require.Equal(t, PoolStatus{Concurrency: 3}, s)
		f.checkWorkers("hangs", 3)
		f.checkCounts()
	})
}

// TestALateOutcomeNeverOverwritesALaterRun: the completion of run 1 arrives when run 2 is there.
func TestALateOutcomeNeverOverwritesALaterRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, errPlain
			}
			takes(time.Minute)
			return json.RawMessage(`2`), nil
		}}), Options{})
		task := f.enqueue("work")
		pass(time.Second)
		require.Equal(t, 2, f.task(task.ID).Attempt)
		for _, late := range []*models.Completion{
			{ID: task.ID, Type: "work", Attempt: 1, State: models.StateSuccess, Outcome: models.OutcomeSuccess, Result: "1"},
			{ID: task.ID, Type: "work", Attempt: 1, State: models.StateDead, Outcome: models.OutcomeDead, Error: "late"},
		} {
			f.sys.Root.Send(f.journal, &FinishRuns{Completions: []*models.Completion{late}})
			pass(time.Second)
			require.Equal(t, models.StateRunning, f.task(task.ID).State)
		}
		pass(2 * time.Minute)
		row := f.task(task.ID)
		require.Equal(t, models.StateSuccess, row.State)
		require.Equal(t, "2", row.Result)
		require.Equal(t, []string{models.OutcomeRetry, models.OutcomeSuccess}, f.outcomes(task.ID))
		f.checkCounts()
	})
}

func TestALongTaskWithoutATimeoutRunsOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		runs := newTally()
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			runs.add(ctx)
			return waits(3*time.Hour)(ctx, p)
		}}), Options{})
		none := f.enqueue("work")
		longer := f.enqueue("work", func(r *EnqueueRequest) { r.Timeout = new(4 * time.Hour) })
		pass(2 * time.Hour)
		require.Equal(t, models.StateRunning, f.task(none.ID).State)
		pass(90 * time.Minute)
		for _, id := range []int64{none.ID, longer.ID} {
			require.Equal(t, models.StateSuccess, f.task(id).State)
			require.Equal(t, 1, runs.of(id))
			require.Empty(t, f.task(id).Suspected)
		}
	})
}
