package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// crasher makes actors of one kind panic on messages of one type: the first after arming, and each step-th that follows.
type crasher struct {
	kind, message string
	step, most    int

	mu       sync.Mutex
	seen     int
	crashed  int
	disarmed bool
}

func (c *crasher) fault(kind string, message any) {
	if kind != c.kind || fmt.Sprintf("%T", message) != c.message {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	if c.disarmed || c.crashed == c.most || c.seen%c.step != 0 {
		return
	}
	c.crashed++
	panic("injected into " + kind + " at " + c.message)
}

func (c *crasher) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashed
}

// TestCrashOfAnyActorLosesAndDoublesNothing crashes each kind of actor at each of its messages while tasks are in flight.
func TestCrashOfAnyActorLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []*crasher{
		{kind: "journal", message: "*actors.EnqueueTasks", step: 2, most: 3},
		{kind: "journal", message: "*actors.ClaimTasks", step: 3, most: 5},
		{kind: "journal", message: "*actors.FinishRuns", step: 3, most: 5},
		{kind: "journal", message: "*actors.ReleaseTasks", step: 2, most: 3},
		{kind: "journal", message: "*actors.flush", step: 5, most: 5},
		{kind: "journal", message: "*actors.LendSlots", step: 1, most: 1},
		{kind: "journal", message: "*actors.RecallSlots", step: 1, most: 2},
		{kind: "queue", message: "*actors.TasksReady", step: 2, most: 5},
		{kind: "queue", message: "*actors.TasksClaimed", step: 3, most: 5},
		{kind: "queue", message: "*actors.TasksStarted", step: 1, most: 2},
		{kind: "queue", message: "*actors.RunsSettled", step: 3, most: 5},
		{kind: "queue", message: "*actors.PoolReported", step: 1, most: 2},
		{kind: "queue", message: "*actors.SlotsReturned", step: 1, most: 2},
		{kind: "queue", message: "*actors.dispatch", step: 5, most: 5},
		{kind: "queue", message: "*actor.Started", step: 1, most: 2},
		{kind: "scheduler", message: "*actors.look", step: 2, most: 5},
		{kind: "scheduler", message: "*actors.TasksWaiting", step: 2, most: 5},
		{kind: "scheduler", message: "*actors.TasksReleased", step: 2, most: 5},
		{kind: "pool", message: "*actors.RunTask", step: 30, most: 5},
		{kind: "pool", message: "*actors.runReturned", step: 30, most: 5},
		{kind: "pool", message: "*actors.report", step: 20, most: 5},
		{kind: "worker", message: "*actors.run", step: 30, most: 6},
		{kind: "worker", message: "*actor.Started", step: 2, most: 2},
		{kind: "pools", message: "*actors.begin", step: 1, most: 1},
		{kind: "housekeeping", message: "*actors.begin", step: 1, most: 1},
		{kind: "reconciler", message: "*actors.reconcile", step: 1, most: 3},
		{kind: "statistics", message: "*actors.measure", step: 1, most: 3},
		{kind: "retention", message: "*actors.sweep", step: 1, most: 3},
	} {
		t.Run(c.kind+" at "+c.message[strings.Index(c.message, ".")+1:], func(t *testing.T) {
			inBubble(t, func(t *testing.T) { survives(t, 240, c) })
		})
	}
}

// TestCrashesOfManyActorsTogetherLoseAndDoubleNothing crashes queue, scheduler, a pool and housekeeping while 1,000 tasks
// are in flight.
func TestCrashesOfManyActorsTogetherLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		survives(t, 1_000,
			&crasher{kind: "queue", message: "*actors.TasksClaimed", step: 5, most: 3},
			&crasher{kind: "queue", message: "*actors.RunsSettled", step: 7, most: 3},
			&crasher{kind: "scheduler", message: "*actors.look", step: 2, most: 3},
			&crasher{kind: "pool", message: "*actors.runReturned", step: 90, most: 3},
			&crasher{kind: "pool", message: "*actors.RunTask", step: 70, most: 3},
			&crasher{kind: "reconciler", message: "*actors.reconcile", step: 1, most: 2},
			&crasher{kind: "statistics", message: "*actors.measure", step: 1, most: 2})
	})
}

// survives runs n tasks while actors crash. Each third fails once and is retried.
func survives(t *testing.T, n int, crashers ...*crasher) {
	t.Helper()
	fault := func(kind string, message any) {
		for _, c := range crashers {
			c.fault(kind, message)
		}
	}
	crashes := 0
	policy := quick()
	policy.Concurrency = 8
	runs, all := newTally(), barrier(8)
	f := start(t, registryOf(t, policy, map[string]handler{
		"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			runs.add(ctx)
			if number(p) < 0 {
				return all(ctx, p)
			}
			takes(time.Duration(number(p)%7) * time.Millisecond)
			if number(p)%3 == 0 && runs.of(tasks.RunOf(ctx).TaskID) == 1 {
				return nil, errPlain
			}
			return nil, nil
		},
	}), Options{fault: fault, Retention: Retention{Dead: time.Hour}})
	pass(time.Second)
	accepted := make([]models.Task, 0, n)
	for part := range 20 {
		accepted = append(accepted, f.enqueueMany(several("work", n/20, func(r *EnqueueRequest) {
			if part%4 == 3 {
				r.RunAt = time.Now().Add(time.Duration(part) * 10 * time.Millisecond)
			}
		}))...)
		takes(5 * time.Millisecond)
	}
	pass(30 * time.Second) // for what has to be found missing
	for _, c := range crashers {
		if c.kind == "retention" || c.kind == "statistics" {
			pass(2 * time.Hour)
		}
		require.Equal(t, c.most, c.count(), "the crashes that this test is about: %s at %s", c.kind, c.message)
		crashes += c.most
	}
	require.Equal(t, map[models.State]int{models.StateSuccess: n}, f.states("work"))
	for i, task := range accepted {
		number := i % (n / 20)
		want := 1
		if number%3 == 0 {
			want = 2
		}
		require.Equal(t, want, runs.of(task.ID), "runs of task %d", task.ID)
		if want == 2 {
			require.Contains(t, f.outcomes(task.ID), models.OutcomeRetry)
		}
	}
	f.checkCounts()
	require.Zero(t, f.runs.Len())
	f.checkWorkers("work", 8)
	if crashes > healthCrashes && len(crashers) == 1 {
		require.Contains(t, strings.Join(f.Health().Reasons, " "), "Actors crashed")
		pass(healthCrashWindow)
	}
	require.Empty(t, f.Health().Reasons, "when the crashes are forgotten")

	together := f.enqueueMany(several("work", 8, func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": -1}`) }))
	pass(time.Second)
	for _, task := range together { // each waits for the others, so all slots are needed
		require.Equal(t, models.StateSuccess, f.task(task.ID).State)
	}
}

// TestCrashOfAPoolLeavesItsHandlersAlone: they go on, their outcomes are kept, and they are not taken for stuck.
func TestCrashOfAPoolLeavesItsHandlersAlone(t *testing.T) {
	for _, c := range []*crasher{
		{kind: "pool", message: "*actors.PoolQuery", step: 1, most: 1},
		{kind: "pools", message: "*actors.StopRuns", step: 1, most: 1},
	} {
		t.Run(c.kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := quick()
				policy.Concurrency = 4
				runs := newTally()
				c.disarmed = true
				f := start(t, registryOf(t, policy, map[string]handler{
					"long": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
						runs.add(ctx)
						select {
						case <-time.After(time.Minute):
							return json.RawMessage(`"done"`), nil
						case <-ctx.Done():
							return nil, context.Cause(ctx)
						}
					},
					"hangs": func(context.Context, json.RawMessage) (json.RawMessage, error) {
						takes(5 * time.Minute)
						return nil, nil
					},
				}), Options{fault: c.fault})
				long := f.enqueueMany(several("long", 10))
				hangs := f.enqueue("hangs", func(r *EnqueueRequest) { r.Timeout = new(30 * time.Second) })
				pass(10 * time.Second)
				c.arm()
				f.sys.Root.Send(f.sendTo(c), map[string]any{"pool": &PoolQuery{}, "pools": &StopRuns{}}[c.kind])
				pass(10 * time.Second)
				require.Equal(t, 1, c.count())
				for _, task := range long[:4] {
					row := f.task(task.ID)
					require.Equal(t, models.StateRunning, row.State)
					require.Zero(t, row.StuckAt)
				}
				require.Equal(t, models.StatePending, f.task(long[5].ID).State)
				s, _ := f.Pool("long")
				require.Equal(t, PoolStatus{Concurrency: 4, Busy: 4, Ready: 6}, s)

				_, err := f.Cancel(t.Context(), long[0].ID, Change{By: "test"})
				require.NoError(t, err)
				pass(time.Second)
				require.Equal(t, models.StateCancelled, f.task(long[0].ID).State, "the next instance can stop a run of the former")

				pass(20 * time.Second)
				require.NotZero(t, f.task(hangs.ID).StuckAt, "the next instance sees that a handler of the former hangs")

				pass(5 * time.Minute)
				require.Equal(t, models.StateSuccess, f.task(hangs.ID).State)
				for _, task := range long[1:] {
					row := f.task(task.ID)
					require.Equal(t, models.StateSuccess, row.State)
					require.Equal(t, `"done"`, row.Result)
					require.Equal(t, 1, row.Attempt)
				}
				require.Empty(t, runs.moreThanOnce())
				f.checkWorkers("long", 4)
				f.checkCounts()
			})
		})
	}
}

func (c *crasher) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disarmed = false
}

// sendTo is the actor that c crashes.
func (f *fixture) sendTo(c *crasher) *actor.PID {
	if c.kind == "pools" {
		return f.pools
	}
	pid, _ := f.poolOf.Get("long")
	return pid
}
