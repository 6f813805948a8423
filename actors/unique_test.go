package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestFiftyCallersWithOneKeyGetOneTask(t *testing.T) {
	f := start(t, registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}), Options{ShutdownGrace: time.Millisecond})
	for round := range 20 {
		key := fmt.Sprintf("round %d", round)
		answers := make([]Enqueued, 50)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = f.Enqueue(t.Context(), EnqueueRequest{Type: "work", UniqueKey: key}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		duplicates := 0
		for _, a := range answers {
			require.Equal(t, answers[0].Task.ID, a.Task.ID)
			require.Equal(t, key, a.Task.UniqueKey)
			require.NotZero(t, a.Task.ID)
			if a.Duplicate {
				duplicates++
			}
		}
		require.Equal(t, 49, duplicates)
	}
	total := 0
	for _, n := range f.states("work") {
		total += n
	}
	require.Equal(t, 20, total)
	f.checkCounts()
}

func TestAKeyInOneBatchIsHeldByItsFirstTask(t *testing.T) {
	f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
	got, err := f.EnqueueBatch(t.Context(), []EnqueueRequest{
		{Type: "work", UniqueKey: "a", RunAt: time.Now().Add(time.Hour)}, {Type: "work"}, {Type: "work", UniqueKey: "a"}, {Type: "work", UniqueKey: "b"},
	})
	require.NoError(t, err)
	require.True(t, got[2].Duplicate)
	require.Equal(t, got[0].Task.ID, got[2].Task.ID)
	require.False(t, got[0].Duplicate || got[1].Duplicate || got[3].Duplicate)
}

// TestAKeyIsHeldExactlyWhileItsTaskIsNotFinished walks one task through every state.
func TestAKeyIsHeldExactlyWhileItsTaskIsNotFinished(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := tasks.DefaultPolicy()
		policy.MaxRetries = 1
		results := make(chan error)
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			select {
			case err := <-results:
				return nil, err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}}), Options{})
		enqueue := func(runAt time.Time) Enqueued {
			e, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work", UniqueKey: "k", RunAt: runAt})
			require.NoError(t, err)
			return e
		}
		held := func(id int64, state models.State) {
			t.Helper()
			pass(100 * time.Millisecond)
			require.Equal(t, state, f.task(id).State)
			e := enqueue(time.Time{})
			require.True(t, e.Duplicate, "the key is held in %s", state)
			require.Equal(t, id, e.Task.ID)
			require.Equal(t, state, e.Task.State, "the duplicate's answer shows the holder as it is")
		}
		first := enqueue(time.Now().Add(time.Minute)).Task.ID
		held(first, models.StatePending)
		pass(time.Minute)
		held(first, models.StateRunning)
		results <- errPlain
		held(first, models.StateRetryWait)
		pass(20 * time.Second)
		held(first, models.StateRunning)
		results <- errPlain
		pass(time.Second)
		require.Equal(t, models.StateDead, f.task(first).State)

		free := func(state models.State, end func(id int64)) int64 {
			t.Helper()
			e := enqueue(time.Time{})
			require.False(t, e.Duplicate)
			pass(time.Second)
			end(e.Task.ID)
			pass(time.Second)
			require.Equal(t, state, f.task(e.Task.ID).State)
			return e.Task.ID
		}
		free(models.StateSuccess, func(int64) { results <- nil })
		failed := free(models.StateFailed, func(int64) { results <- tasks.Permanent(errPlain) })
		cancelled := free(models.StateCancelled, func(id int64) {
			_, err := f.Cancel(t.Context(), id, Change{})
			require.NoError(t, err)
		})

		holder := enqueue(time.Time{})
		require.False(t, holder.Duplicate)
		var wrong *models.KeyHeldError
		for _, id := range []int64{first, failed, cancelled} {
			_, err := f.Retry(t.Context(), id, Change{})
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, holder.Task.ID, wrong.Holder)
		}
		pass(time.Second)
		results <- nil
		pass(time.Second)
		report, err := f.Bulk(t.Context(), BulkRequest{Action: ActionRetry, IDs: []int64{first, failed, cancelled}})
		require.NoError(t, err)
		require.Equal(t, 1, report.Done, "of several ended tasks with one key one comes back")
		require.Equal(t, 2, report.SkippedTotal)
		pass(time.Second)
		results <- nil
		pass(time.Second)
		f.checkCounts()
	})
}
