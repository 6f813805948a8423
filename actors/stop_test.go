package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// waits is a handler that works for a time and obeys its context.
func waits(d time.Duration) handler {
	return func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-elapsed(d):
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func TestStopLetsRunningTasksFinishAndStartsNoneAfterIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(20 * time.Second)}), Options{})
		all := f.enqueueMany(several("work", 20))
		pass(5 * time.Second)
		begun := time.Now()
		done := make(chan error, 1)
		go func() { done <- f.Stop(context.Background()) }()
		pass(5 * time.Second)
		require.Equal(t, StatusDraining, f.Health().Status)
		require.NoError(t, <-done)
		require.InDelta(t, 15, time.Since(begun).Seconds(), 1, "it waits for what runs and no longer")
		require.Equal(t, map[models.State]int{models.StateSuccess: 4, models.StatePending: 16}, f.states("work"))
		for _, task := range all {
			require.LessOrEqual(t, f.task(task.ID).StartedAt, models.At(begun))
		}
		f.checkCounts()
		var boot models.Boot
		require.NoError(t, f.store.Reader().First(&boot).Error)
		require.NotZero(t, boot.StoppedAt)
	})
}

func TestATaskCutOffByStopGoesBackWithoutUsingARetryAndRunsAtTheNextStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.MaxRetries = 0
		var first atomic.Bool
		first.Store(true)
		registry := registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			if first.Load() {
				return waits(time.Hour)(ctx, p)
			}
			return nil, nil
		}})
		f := start(t, registry, Options{ShutdownGrace: 10 * time.Second})
		all := f.enqueueMany(several("work", 4))
		pass(time.Second)
		begun := time.Now()
		require.NoError(t, f.Stop(t.Context()))
		require.InDelta(t, 10, time.Since(begun).Seconds(), 1)
		for _, task := range all {
			row := f.task(task.ID)
			require.Equal(t, models.StatePending, row.State)
			require.Zero(t, row.Failures)
			require.NotZero(t, row.ReadyAt)
			require.Empty(t, row.Suspected)
			require.Equal(t, []string{models.OutcomeInterrupted}, f.outcomes(task.ID))
			require.Equal(t, tasks.KindShutdown, f.attempts(task.ID)[0].ErrorKind)
		}
		f.checkCounts()
		require.NoError(t, f.store.Close())

		first.Store(false)
		f = startOn(t, f.path, registry, Options{})
		pass(time.Second)
		require.Equal(t, map[models.State]int{models.StateSuccess: 4}, f.states("work"))
		f.checkCounts()
	})
}

func TestAStubbornTaskIsLeftBehindByStopAndSuspectedAtTheNextStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var second atomic.Bool
		registry := registryOf(t, quick(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			if !second.Load() {
				takes(2 * time.Minute)
			}
			return nil, nil
		}})
		f := start(t, registry, Options{ShutdownGrace: 10 * time.Second, HandlerGrace: 5 * time.Second})
		all := f.enqueueMany(several("work", 6))
		pass(time.Second)
		begun := time.Now()
		require.NoError(t, f.Stop(t.Context()))
		require.Less(t, time.Since(begun), 30*time.Second, "it does not wait for a handler that does not end")
		require.Equal(t, map[models.State]int{models.StateRunning: 4, models.StatePending: 2}, f.states("work"))
		require.NoError(t, f.store.Close())
		pass(5 * time.Minute) // the old handlers return to a tree that is gone

		second.Store(true)
		f = startOn(t, f.path, registry, Options{})
		pass(time.Second)
		require.Equal(t, map[models.State]int{models.StateSuccess: 6}, f.states("work"))
		suspected := 0
		for _, task := range all {
			if row := f.task(task.ID); row.Suspected != "" {
				suspected++
				require.Equal(t, []string{models.OutcomeCrashed, models.OutcomeSuccess}, f.outcomes(task.ID))
			}
		}
		require.Equal(t, 4, suspected)
		f.checkCounts()
	})
}

func TestStopTwiceAndAfterIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Second)}), Options{})
		task := f.enqueue("work")
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := f.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, f.Stop(t.Context()))
		require.NoError(t, f.Drain(t.Context()))
		_, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work"})
		require.ErrorIs(t, err, ErrStopped)
		_, err = f.Cancel(t.Context(), task.ID, Change{})
		require.ErrorIs(t, err, ErrStopped)
		require.ErrorIs(t, f.Pause(t.Context(), "work", Change{}), ErrStopped)
		_, err = f.Bulk(t.Context(), BulkRequest{Action: ActionCancel, IDs: []int64{task.ID}})
		require.ErrorIs(t, err, ErrStopped)
		require.Equal(t, StatusDraining, f.Health().Status)
		require.Empty(t, f.Tree(), "no actor is left")
	})
}

func TestDrainStillAcceptsTasksAndStartsNone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Second)}), Options{})
		pass(time.Second)
		require.NoError(t, f.Drain(t.Context()))
		task := f.enqueue("work")
		delayed := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Second) })
		pass(time.Minute)
		require.Equal(t, models.StatePending, f.task(task.ID).State)
		require.Zero(t, f.task(task.ID).Attempt)
		require.Zero(t, f.task(delayed.ID).Attempt)
	})
}

// TestAClaimThatIsOnItsWayWhenStopComesIsNeitherRunNorLost: it was asked for before.
func TestAClaimThatIsOnItsWayWhenStopComesIsNeitherRunNorLost(t *testing.T) {
	for _, late := range []string{"journal *actors.ClaimTasks", "queue *actors.TasksClaimed", "pool *actors.RunTask"} {
		t.Run(late, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var ran atomic.Int64
				f := start(t, registryOf(t, quick(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
					ran.Add(1)
					return nil, nil
				}}), Options{fault: func(kind string, message any) {
					if fmt.Sprintf("%s %T", kind, message) == late {
						takes(time.Second)
					}
				}})
				require.NoError(t, f.Pause(t.Context(), "work", Change{})) // so that the tasks are claimed, and not begun as they are stored
				all := f.enqueueMany(several("work", 4))
				require.NoError(t, f.Resume(t.Context(), "work", Change{}))
				takes(500 * time.Millisecond)
				require.NoError(t, f.Stop(t.Context()))
				require.Zero(t, ran.Load())
				require.Equal(t, map[models.State]int{models.StatePending: 4}, f.states("work"))
				for _, task := range all {
					require.Zero(t, f.task(task.ID).Failures)
				}
				f.checkCounts()
			})
		})
	}
}

func TestDrainGivesUpWithItsCallerAndGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(20 * time.Second)}), Options{})
		task := f.enqueue("work")
		pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, f.Drain(ctx), context.DeadlineExceeded)
		require.NoError(t, f.Drain(t.Context()))
		require.Equal(t, models.StateSuccess, f.task(task.ID).State)
	})
}

// TestStopAtAnyMomentLosesNothing stops while tasks come and go: what was accepted is there, and nothing is left running.
func TestStopAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	for i := range 25 {
		inBubble(t, func(t *testing.T) {
			f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(3 * time.Millisecond)}), Options{})
			var accepted atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { // without a deadline: each must be answered all the same
					for {
						_, err := f.Enqueue(context.Background(), EnqueueRequest{Type: "work"})
						if err != nil {
							if !errors.Is(err, ErrStopped) {
								t.Errorf("the error after Stop: %v", err)
							}
							return
						}
						accepted.Add(1)
						takes(time.Millisecond)
					}
				})
			}
			takes(time.Duration(i) * 700 * time.Microsecond)
			require.NoError(t, f.Stop(context.Background()))
			wg.Wait()
			synctest.Wait()
			states := f.states("work")
			require.EqualValues(t, accepted.Load(), states[models.StatePending]+states[models.StateSuccess], "%v", states)
			require.Zero(t, states[models.StateRunning])
			f.checkCounts()
		})
	}
}
