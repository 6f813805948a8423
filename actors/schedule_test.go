package actors

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// TestDelayedTasksStartInTheirTimeAndOnceAlsoOverARestart: thousands that are far away hide none that is near.
func TestDelayedTasksStartInTheirTimeAndOnceAlsoOverARestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		began := map[int64][]time.Time{}
		registry := registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			id := tasks.RunOf(ctx).TaskID
			began[id] = append(began[id], time.Now())
			return nil, nil
		}})
		f := start(t, registry, Options{})
		begun := time.Now()
		var reqs []EnqueueRequest
		for i := range 5_000 {
			reqs = append(reqs, EnqueueRequest{Type: "work", Priority: 1 + i%10, RunAt: begun.Add(30 * 24 * time.Hour)})
		}
		f.enqueueMany(reqs)
		soon := f.enqueue("work", func(r *EnqueueRequest) { r.Priority, r.RunAt = 10, begun.Add(20*time.Second) })
		due := f.enqueueMany(several("work", 200, func(r *EnqueueRequest) { r.RunAt = begun.Add(10 * time.Second) }))
		farther := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = begun.Add(400 * 24 * time.Hour) })
		past := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = begun.Add(-time.Hour) })
		pass(5 * time.Second)
		require.Len(t, began, 1, "only the one of the past has run")
		require.Len(t, began[past.ID], 1)
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.store.Close())
		f = startOn(t, f.path, registry, Options{})
		pass(20 * time.Second)

		within := func(id int64, at time.Time) {
			t.Helper()
			require.Len(t, began[id], 1)
			require.False(t, began[id][0].Before(at), "not before its time")
			require.Less(t, began[id][0].Sub(at), 2*time.Second)
		}
		within(soon.ID, begun.Add(20*time.Second))
		for _, task := range due {
			within(task.ID, begun.Add(10*time.Second))
		}
		require.Len(t, began, 202)
		require.Equal(t, 5_001, f.states("work")[models.StatePending])
		require.Equal(t, models.At(begun.Add(400*24*time.Hour)), f.task(farther.ID).RunAt)
		f.checkCounts()
	})
}

func TestATaskForTomorrowRunsTomorrow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var at atomic.Int64
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			at.Store(time.Now().UnixNano())
			return nil, nil
		}}), Options{})
		when := time.Now().Add(2 * time.Hour)
		f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = when.In(time.FixedZone("far", 9*3600)) })
		pass(2*time.Hour - time.Second)
		require.Zero(t, at.Load())
		pass(2 * time.Second)
		require.WithinDuration(t, when, time.Unix(0, at.Load()), time.Second)
	})
}
