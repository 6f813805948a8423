package actors

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestAPausedTypeStartsNothingUntilItIsResumedAlsoOverARestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		registry := registryOf(t, quick(), map[string]handler{"work": waits(10 * time.Second), "other": waits(0)})
		f := start(t, registry, Options{})
		running := f.enqueueMany(several("work", 4))
		pass(time.Second)
		require.NoError(t, f.Pause(t.Context(), "work", Change{By: "ann", Reason: "the printer burns"}))
		f.enqueueMany(several("work", 10))
		other := f.enqueue("other")
		pass(30 * time.Second)
		for _, task := range running {
			require.Equal(t, models.StateSuccess, f.task(task.ID).State, "what runs goes on")
		}
		require.Equal(t, models.StateSuccess, f.task(other.ID).State)
		require.Equal(t, 10, f.states("work")[models.StatePending])
		s, _ := f.Pool("work")
		require.Equal(t, PoolStatus{Concurrency: 4, Ready: 10, Paused: true, PauseReason: "the printer burns", PausedBy: "ann"}, s)
		require.Zero(t, f.Health().OldestWait, "they wait because a person wants it")
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.store.Close())

		f = startOn(t, f.path, registry, Options{})
		pass(time.Minute)
		require.Equal(t, 10, f.states("work")[models.StatePending])
		require.NoError(t, f.Resume(t.Context(), "work", Change{By: "ann"}))
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 14}, f.states("work"))
		f.checkCounts()
		require.ErrorIs(t, f.Pause(t.Context(), "nothing", Change{}), ErrUnknownType)
	})
}

// TestPauseHoldsFromItsAnswerOn: a task that is accepted after Pause has returned does not start.
func TestPauseHoldsFromItsAnswerOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		for range 50 {
			require.NoError(t, f.Pause(t.Context(), "work", Change{}))
			task := f.enqueue("work")
			pass(10 * time.Millisecond)
			require.Zero(t, f.task(task.ID).Attempt)
			require.NoError(t, f.Resume(t.Context(), "work", Change{}))
			pass(10 * time.Millisecond)
			require.Equal(t, 1, f.task(task.ID).Attempt)
		}
	})
}

func TestPauseHoldsForWhatTheQueueIsReadingMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var known, held atomic.Bool
		reading, goOn := make(chan struct{}), make(chan struct{})
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{fault: func(kind string, message any) {
			switch message.(type) {
			case *PoolReported:
				known.Store(true)
			case *dispatch:
				if known.Load() && held.CompareAndSwap(false, true) {
					close(reading)
					<-goOn
				}
			}
		}})
		<-reading
		require.NoError(t, f.Pause(t.Context(), "work", Change{}))
		task := f.enqueue("work")
		close(goOn)
		pass(time.Second)
		require.Zero(t, f.task(task.ID).Attempt)
		require.NoError(t, f.Resume(t.Context(), "work", Change{}))
		pass(time.Second)
		require.Equal(t, models.StateSuccess, f.task(task.ID).State)
	})
}

func TestAResizedPoolRunsAsManyAsItSaysAndNeverMore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var in gauge
		registry := registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			in.enter()
			defer in.leave()
			takes(time.Second)
			return nil, nil
		}})
		f := start(t, registry, Options{})
		f.enqueueMany(several("work", 400))
		pass(time.Second / 2)
		size := 4
		for _, n := range []int{9, 2, 16, 1, 3, 8, 5} {
			require.EqualValues(t, size, in.now.Load())
			in.most.Store(0)
			require.NoError(t, f.Resize(t.Context(), "work", n, Change{By: "ann"}))
			takes(time.Second) // those that run may end
			in.most.Store(0)
			pass(4 * time.Second)
			require.EqualValues(t, n, in.most.Load(), "at one time after a change from %d to %d", size, n)
			size = n
			s, _ := f.Pool("work")
			require.Equal(t, n, s.Concurrency)
			require.Equal(t, n, s.Busy)
		}
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.store.Close())
		f = startOn(t, f.path, registry, Options{})
		pass(time.Second)
		s, _ := f.Pool("work")
		require.Equal(t, 5, s.Concurrency, "it outlives a restart")
		pass(time.Hour)
		f.checkWorkers("work", 5)
		f.checkCounts()
		var invalid *tasks.InvalidError
		for _, n := range []int{0, -1, tasks.MaxConcurrency + 1} {
			require.ErrorAs(t, f.Resize(t.Context(), "work", n, Change{}), &invalid)
		}
	})
}

// TestTasksOfATypeThatIsGoneWaitForIt: they burn no retry, and health says what is missing.
func TestTasksOfATypeThatIsGoneWaitForIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		both := map[string]handler{"work": waits(0), "gone": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, tasks.RetryAfter(errPlain, time.Minute)
		}}
		f := start(t, registryOf(t, quick(), both), Options{})
		delayed := f.enqueueMany(several("gone", 10, func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Minute) }))
		failing := f.enqueue("gone")
		pass(time.Second)
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.store.Close())

		f = startOn(t, f.path, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		_, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "gone"})
		require.ErrorIs(t, err, ErrUnknownType)
		pass(3 * time.Minute)
		for _, task := range delayed {
			require.Equal(t, models.StatePending, f.task(task.ID).State)
			require.Zero(t, f.task(task.ID).Attempt)
		}
		require.Equal(t, 1, f.task(failing.ID).Attempt)
		h := f.Health()
		require.Equal(t, StatusDegraded, h.Status)
		require.Equal(t, []string{"Tasks of type gone wait, and this process has no handler for it."}, h.Reasons)
		_, err = f.Cancel(t.Context(), delayed[9].ID, Change{})
		require.NoError(t, err, "a person can still act on them")
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.store.Close())

		both["gone"] = waits(0)
		f = startOn(t, f.path, registryOf(t, quick(), both), Options{})
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 10, models.StateCancelled: 1}, f.states("gone"))
		require.Empty(t, f.Health().Reasons)
		f.checkCounts()
	})
}
