package actors

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestAClaimThatIsLostOnItsWayIsPutBackWithin5Seconds(t *testing.T) {
	for _, c := range []*crasher{
		{kind: "queue", message: "*actors.TasksClaimed", step: 1, most: 1},
		{kind: "queue", message: "*actors.TasksStarted", step: 1, most: 1},
		{kind: "pool", message: "*actors.RunTask", step: 1, most: 1},
	} {
		t.Run(c.kind+" "+c.message, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := quick()
				policy.Concurrency = 2
				runs := newTally()
				f := start(t, registryOf(t, policy, map[string]handler{
					"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
						runs.add(ctx)
						return nil, nil
					},
				}), Options{fault: c.fault})
				if c.message == "*actors.TasksStarted" {
					pass(time.Second) // until the queue has lent its slots
				}
				f.enqueueMany(several("work", 20))
				pass(5 * time.Second)
				require.Equal(t, 1, c.count())
				require.Equal(t, map[models.State]int{models.StateSuccess: 20}, f.states("work"))
				require.Empty(t, runs.moreThanOnce())
				f.checkCounts()

				lost := 0
				for id := range runs.n {
					row := f.task(id)
					if row.Attempt == 1 {
						continue
					}
					lost++
					require.Contains(t, row.Suspected, "lost inside the process")
					require.Equal(t, []string{models.OutcomeLost, models.OutcomeSuccess}, f.outcomes(id))
					require.Zero(t, row.Failures, "it costs no retry")
				}
				require.Positive(t, lost)
			})
		})
	}
}

// TestASlowQueueOrPoolNeverLeadsToASecondRun: what is only late must not be taken for lost.
func TestASlowQueueOrPoolNeverLeadsToASecondRun(t *testing.T) {
	for _, kind := range []string{"queue", "pool", "journal"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				runs := newTally()
				f := start(t, registryOf(t, quick(), map[string]handler{
					"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
						runs.add(ctx)
						takes(time.Second)
						return nil, nil
					},
				}), Options{fault: func(k string, _ any) {
					if k == kind {
						takes(700 * time.Millisecond) // each message
					}
				}})
				tasks := f.enqueueMany(several("work", 30))
				for !f.allFinal("work", 30) {
					pass(10 * time.Second)
				}
				require.Equal(t, map[models.State]int{models.StateSuccess: 30}, f.states("work"))
				require.Empty(t, runs.moreThanOnce())
				for _, task := range tasks {
					require.Empty(t, f.task(task.ID).Suspected)
					require.Equal(t, 1, f.task(task.ID).Attempt)
				}
			})
		})
	}
}

// TestALostRunIsPutBackAlsoWhenTheQueueIsAlwaysLate: the answer to a probe comes long after the next look.
func TestALostRunIsPutBackAlsoWhenTheQueueIsAlwaysLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := &crasher{kind: "pool", message: "*actors.RunTask", step: 1, most: 1}
		var late atomic.Bool
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{fault: func(kind string, message any) {
			if _, ok := message.(*ProbeRuns); ok && late.Load() {
				takes(3 * time.Second)
			}
			c.fault(kind, message)
		}})
		late.Store(true)
		task := f.enqueue("work")
		pass(20 * time.Second)
		require.Equal(t, models.StateSuccess, f.task(task.ID).State)
		require.Equal(t, 2, f.task(task.ID).Attempt)
	})
}

// TestACancelThatIsLostOnItsWayIsSentAgain: the person has been told that the task is being stopped.
func TestACancelThatIsLostOnItsWayIsSentAgain(t *testing.T) {
	for _, kind := range []string{"queue", "pool"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := &crasher{kind: kind, message: "*actors.StopRun", step: 1, most: 1}
				f := start(t, registryOf(t, quick(), map[string]handler{
					"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
						<-ctx.Done()
						return nil, context.Cause(ctx)
					},
				}), Options{fault: c.fault})
				task := f.enqueue("work")
				pass(time.Second)
				_, err := f.Cancel(t.Context(), task.ID, Change{By: "test"})
				require.NoError(t, err)
				pass(5 * time.Second)
				require.Equal(t, 1, c.count())
				require.Equal(t, models.StateCancelled, f.task(task.ID).State)
			})
		})
	}
}

// TestAResizeThatIsLostOnItsWayHolds: what is stored about a type is what is done.
func TestAResizeThatIsLostOnItsWayHolds(t *testing.T) {
	for _, c := range []*crasher{
		{kind: "queue", message: "*actors.TypeChanged", step: 1, most: 1},
		{kind: "pool", message: "*actors.ResizePool", step: 1, most: 1},
	} {
		t.Run(c.kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, registryOf(t, quick(), map[string]handler{"work": barrier(9)}), Options{fault: c.fault})
				if c.kind == "pool" {
					pass(time.Second)
				}
				require.NoError(t, f.Resize(t.Context(), "work", 9, Change{By: "test"}))
				f.enqueueMany(several("work", 9))
				pass(time.Second)
				require.Equal(t, 1, c.count())
				require.Equal(t, map[models.State]int{models.StateSuccess: 9}, f.states("work"))
				f.checkWorkers("work", 9)
			})
		})
	}
}
