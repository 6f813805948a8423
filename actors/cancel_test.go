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

func TestATaskThatHasNotStartedNeverStartsOnceItIsCancelled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		policy := tasks.DefaultPolicy()
		policy.Concurrency = 1
		var ran atomic.Int64
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			ran.Add(1)
			if number(p) == 7 {
				return nil, errPlain
			}
			return waits(time.Minute)(ctx, p)
		}}), Options{})
		failing := f.enqueue("work", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 7}`) })
		pass(time.Second)
		require.Equal(t, models.StateRetryWait, f.task(failing.ID).State)
		f.enqueue("work")
		pass(time.Second)
		pending := f.enqueue("work")
		delayed := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(5 * time.Second) })
		ready := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Second) })
		pass(2 * time.Second)
		for _, id := range []int64{failing.ID, pending.ID, delayed.ID, ready.ID} {
			row, err := f.Cancel(t.Context(), id, Change{By: "ann", Reason: "wrong day"})
			require.NoError(t, err)
			require.Equal(t, models.StateCancelled, row.State)
			_, err = f.Cancel(t.Context(), id, Change{By: "ann"})
			var wrong *models.StateError
			require.ErrorAs(t, err, &wrong, "a second press is told how things are")
			require.Equal(t, models.StateCancelled, wrong.State)
		}
		f.checkCounts()
		pass(time.Hour)
		require.EqualValues(t, 2, ran.Load())
		f.checkCounts()
		_, err := f.Cancel(t.Context(), 999, Change{})
		require.ErrorIs(t, err, models.ErrNotFound)

		row, err := f.Retry(t.Context(), pending.ID, Change{By: "ann"})
		require.NoError(t, err)
		require.Equal(t, models.StatePending, row.State)
		pass(2 * time.Minute)
		require.Equal(t, models.StateSuccess, f.task(pending.ID).State, "a person may bring it back")
	})
}

func TestARunningTaskIsStoppedWithinTwoSecondsAndNotRetried(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Minute)}), Options{})
		task := f.enqueue("work")
		pass(time.Second)
		row, err := f.Cancel(t.Context(), task.ID, Change{By: "ann"})
		require.NoError(t, err)
		require.Equal(t, models.StateRunning, row.State)
		require.NotZero(t, row.CancelRequestedAt)
		pass(2 * time.Second)
		row = f.task(task.ID)
		require.Equal(t, models.StateCancelled, row.State)
		require.Equal(t, tasks.KindCancelled, row.ErrorKind)
		require.Equal(t, []string{models.OutcomeCancelled}, f.outcomes(task.ID))
		pass(time.Hour)
		require.Equal(t, 1, f.task(task.ID).Attempt)
		f.checkCounts()
	})
}

func TestAStubbornTaskIsShownAsRunningUntilItEndsAndIsThenCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.Concurrency = 1
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(_ context.Context, p json.RawMessage) (json.RawMessage, error) {
			takes(time.Duration(number(p)) * time.Minute)
			return json.RawMessage(`"done"`), nil
		}}), Options{})
		task := f.enqueue("work", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 2}`) })
		pass(time.Second)
		_, err := f.Cancel(t.Context(), task.ID, Change{By: "ann"})
		require.NoError(t, err)
		pass(2 * time.Second)
		row := f.task(task.ID)
		require.Equal(t, models.StateRunning, row.State)
		require.NotZero(t, row.CancelRequestedAt)
		pass(10 * time.Second)
		row = f.task(task.ID)
		require.Equal(t, models.StateRunning, row.State, "its code still runs, and nobody says otherwise")
		require.NotZero(t, row.StuckAt)
		pass(2 * time.Minute)
		row = f.task(task.ID)
		require.Equal(t, models.StateCancelled, row.State)
		require.Zero(t, row.StuckAt)
		require.Equal(t, 1, row.Attempt)
		f.checkCounts()
		next := f.enqueue("work")
		pass(time.Second)
		require.Equal(t, models.StateSuccess, f.task(next.ID).State, "the slot is free")
	})
}

// TestCancelAndTheEndOfARunInTheSameMomentGiveOneState: what the row says is what happened.
func TestCancelAndTheEndOfARunInTheSameMomentGiveOneState(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(2 * time.Millisecond)}), Options{})
		seen := map[models.State]int{}
		for i := range 200 {
			task := f.enqueue("work")
			takes(time.Duration(i%4) * time.Millisecond) // 2 is the very moment
			row, err := f.Cancel(t.Context(), task.ID, Change{By: "ann"})
			if err != nil {
				var wrong *models.StateError
				require.ErrorAs(t, err, &wrong)
				require.Equal(t, models.StateSuccess, wrong.State)
			}
			pass(time.Second)
			end := f.task(task.ID)
			require.Contains(t, []models.State{models.StateSuccess, models.StateCancelled}, end.State)
			require.LessOrEqual(t, end.Attempt, 1)
			if row.State == models.StateCancelled {
				require.Zero(t, end.Attempt)
			}
			if err != nil {
				require.Equal(t, models.StateSuccess, end.State)
			}
			seen[end.State]++
		}
		require.Len(t, seen, 2, "both ends are met: %v", seen)
		f.checkCounts()
	})
}

func TestRetryOfATaskThatWaitsRunsItNow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := tasks.DefaultPolicy()
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if tasks.RunOf(ctx).Attempt == 1 {
				return nil, tasks.RetryAfter(errPlain, time.Hour)
			}
			return nil, nil
		}}), Options{})
		task := f.enqueue("work")
		pass(time.Second)
		_, err := f.Retry(t.Context(), task.ID, Change{})
		require.NoError(t, err)
		pass(time.Second)
		row := f.task(task.ID)
		require.Equal(t, models.StateSuccess, row.State)
		require.Equal(t, 1, row.Failures, "it does not start the count again")
		f.checkCounts()
		_, err = f.Retry(t.Context(), task.ID, Change{})
		var wrong *models.StateError
		require.ErrorAs(t, err, &wrong)
	})
}

func TestDiscardGivesUpOnAnEndedTaskAndNeedsAReason(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, tasks.Permanent(errPlain)
		}}), Options{})
		task := f.enqueue("work")
		pass(time.Second)
		var invalid *tasks.InvalidError
		for _, reason := range []string{"", "a\x00b", "a\xffb", "line\nbreak", fmt.Sprintf("%01001d", 1)} {
			_, err := f.Discard(t.Context(), task.ID, Change{By: "ann", Reason: reason})
			require.ErrorAs(t, err, &invalid, "%q", reason)
		}
		row, err := f.Discard(t.Context(), task.ID, Change{By: "ann", Reason: "obsolete"})
		require.NoError(t, err)
		require.Equal(t, models.StateCancelled, row.State)
		var audit models.Audit
		require.NoError(t, f.store.Reader().Where("action = 'discard'").First(&audit).Error)
		require.Equal(t, "ann", audit.Actor)
		require.Equal(t, "obsolete", audit.Reason)
		require.Equal(t, string(models.StateFailed), audit.Before)
		f.checkCounts()
	})
}

func TestRepeatMakesANewTaskLinkedToTheOldOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Second)}), Options{})
		e, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work", Params: json.RawMessage(`{ "a": 1 }`), Priority: 3,
			MaxRetries: new(7), Timeout: new(time.Minute), Tags: []string{"x", "y"}, UniqueKey: "k"})
		require.NoError(t, err)
		_, err = f.Repeat(t.Context(), e.Task.ID, nil, Change{})
		var wrong *models.StateError
		require.ErrorAs(t, err, &wrong, "it has not finished")
		pass(2 * time.Second)
		again, err := f.Repeat(t.Context(), e.Task.ID, nil, Change{By: "ann", Reason: "wrong month"})
		require.NoError(t, err)
		trail, err := f.store.AuditOf(t.Context(), "task", fmt.Sprint(e.Task.ID), 10)
		require.NoError(t, err)
		require.Len(t, trail, 1, "it is in the audit as soon as it is accepted")
		require.Equal(t, "repeat wrong month", trail[0].Action+" "+trail[0].Reason)
		require.JSONEq(t, fmt.Sprintf(`{"task":"%d"}`, again.Task.ID), trail[0].After)
		row := f.task(again.Task.ID)
		require.NotEqual(t, e.Task.ID, row.ID)
		require.Equal(t, e.Task.ID, row.RepeatedFrom)
		require.Equal(t, `{ "a": 1 }`, row.Params)
		require.Equal(t, 3, row.Priority)
		require.Equal(t, 7, row.MaxRetries)
		require.Equal(t, time.Minute, row.Timeout())
		require.Equal(t, `["x","y"]`, row.Tags)
		require.NotEqual(t, e.Task.TraceID, row.TraceID)
		other, err := f.Repeat(t.Context(), e.Task.ID, json.RawMessage(`{"a": 2}`), Change{By: "ann"})
		require.NoError(t, err)
		require.Equal(t, `{"a": 2}`, f.task(other.Task.ID).Params)
		_, err = f.Repeat(t.Context(), 999, nil, Change{})
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
