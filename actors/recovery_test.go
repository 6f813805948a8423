package actors

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// died is a ledger as a process leaves it that is killed while it runs.
type died struct {
	t    *testing.T
	path string
	boot int
	ids  map[string]int64 // by unique key
}

func newDied(t *testing.T) *died {
	return &died{t: t, path: filepath.Join(t.TempDir(), "reax.db"), ids: map[string]int64{}}
}

// write opens the ledger as one more start of the process, changes it, and dies.
func (d *died) write(f func(tx *models.Tx)) {
	d.t.Helper()
	d.boot++
	store, err := models.Open(d.t.Context(), models.Config{Path: d.path, Durability: models.DurabilityNormal, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(d.t, err)
	w := models.NewWriter(store, string(rune('a'+d.boot)))
	require.NoError(d.t, w.Write(func(tx *models.Tx) error {
		_, err := tx.Recover(func(string) bool { return false })
		require.NoError(d.t, err)
		f(tx)
		return nil
	}))
	require.NoError(d.t, store.Close())
}

// add stores tasks of a type, each named by its unique key.
func (d *died) add(tx *models.Tx, typ string, keys ...string) {
	d.t.Helper()
	for _, key := range keys {
		n := &models.NewTask{Task: models.Task{Type: typ, Params: "{}", Priority: 5, MaxRetries: 0, TraceID: newTraceID(), UniqueKey: key}}
		require.NoError(d.t, tx.Insert([]*models.NewTask{n}, func(string) bool { return false }))
		d.ids[key] = n.ID
	}
}

// addDead stores tasks of a type that have used up their retries.
func (d *died) addDead(tx *models.Tx, typ string, n int) {
	d.t.Helper()
	rows := make([]*models.NewTask, n)
	ends := make([]*models.Completion, n)
	for i := range rows {
		rows[i] = &models.NewTask{Task: models.Task{Type: typ, Params: "{}", Priority: 5, TraceID: newTraceID()}}
	}
	require.NoError(d.t, tx.Insert(rows, func(string) bool { return true }))
	for i, r := range rows {
		ends[i] = &models.Completion{ID: r.ID, Type: typ, Attempt: 1, State: models.StateDead, Outcome: models.OutcomeDead, Failures: 1, Error: "no", FinishedAt: tx.Now()}
	}
	ended, err := tx.Finish(ends)
	require.NoError(d.t, err)
	require.Len(d.t, ended, n)
}

// run makes tasks running.
func (d *died) run(tx *models.Tx, keys ...string) {
	d.t.Helper()
	var wanted []models.Candidate
	for _, key := range keys {
		wanted = append(wanted, models.Candidate{ID: d.ids[key]})
	}
	got, err := tx.Claim(wanted)
	require.NoError(d.t, err)
	require.Len(d.t, got, len(keys))
}

// crash lets the process die while these run.
func (d *died) crash(keys ...string) { d.write(func(tx *models.Tx) { d.run(tx, keys...) }) }

func TestRunsOfADeadProcessAreRequeuedMarkedAndUseNoRetry(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDied(t)
		d.write(func(tx *models.Tx) {
			d.add(tx, "work", "a", "b", "c")
			d.add(tx, "careful", "held")
			d.run(tx, "a", "b", "held")
		})
		runs := newTally()
		policy := quick()
		careful := policy
		careful.OnCrash = tasks.Hold
		registry := registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			runs.add(ctx)
			return nil, nil
		}})
		require.NoError(t, registry.Add(tasks.Definition{Name: "careful", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: careful,
			Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("must not run") }}))
		f := startOn(t, d.path, registry, Options{})
		pass(time.Second)
		for _, key := range []string{"a", "b"} {
			row := f.task(d.ids[key])
			require.Equal(t, models.StateSuccess, row.State)
			require.Contains(t, row.Suspected, "the process died during run 1")
			require.Equal(t, 1, row.Crashes)
			require.Zero(t, row.Failures)
			require.Equal(t, 1, runs.of(row.ID))
			history := f.attempts(row.ID)
			require.Len(t, history, 2)
			require.Equal(t, models.OutcomeCrashed, history[0].Outcome)
			require.Equal(t, tasks.KindCrash, history[0].ErrorKind)
			require.Equal(t, "b", history[0].BootID, "the boot that died")
			require.Equal(t, models.OutcomeSuccess, history[1].Outcome)
			require.Equal(t, f.bootID, history[1].BootID)
		}
		require.Empty(t, f.task(d.ids["c"]).Suspected)
		held := f.task(d.ids["held"])
		require.Equal(t, models.StateFailed, held.State)
		require.Contains(t, held.Error, "for a person to decide")
		require.NotEmpty(t, held.Suspected)
		require.Zero(t, held.ReadyAt)
		f.checkCounts()

		_, err := f.Retry(t.Context(), held.ID, Change{By: "test"})
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, 2, f.task(held.ID).Attempt, "a person may decide to run it")
	})
}

func TestTheThirdCrashOfATaskParksItAsDead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDied(t)
		d.write(func(tx *models.Tx) { d.add(tx, "work", "guilty") })
		for range 3 {
			d.crash("guilty")
		}
		f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		row := f.waitState(d.ids["guilty"], models.StateDead)
		require.Equal(t, 3, row.Crashes)
		require.Contains(t, row.Error, "the process died 3 times while this task ran")
		require.Equal(t, []string{models.OutcomeCrashed, models.OutcomeCrashed, models.OutcomeCrashed}, f.outcomes(row.ID))
		f.checkCounts()

		_, err := f.Retry(t.Context(), row.ID, Change{By: "test"})
		require.NoError(t, err)
		row = f.waitState(row.ID, models.StateSuccess)
		require.Zero(t, row.Crashes, "a person's retry starts the count again")
	})
}

func TestOnlyTheQuarantinedTaskIsBlamedForACrash(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDied(t)
		d.write(func(tx *models.Tx) { d.add(tx, "work", "guilty", "old", "young") })
		d.crash("guilty", "old")
		d.crash("guilty", "young")
		// guilty has two crashes now; the others one. It dies again while all of them run.
		d.crash("guilty", "old", "young")
		f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		require.Equal(t, 3, f.waitState(d.ids["guilty"], models.StateDead).Crashes)
		for _, key := range []string{"old", "young"} {
			row := f.waitState(d.ids[key], models.StateSuccess)
			require.Equal(t, 1, row.Crashes, "an innocent task is not blamed again")
			require.Equal(t, []string{models.OutcomeCrashed, models.OutcomeCrashed, models.OutcomeSuccess}, f.outcomes(row.ID))
		}
		f.checkCounts()
	})
}

func TestTasksOfTwoCrashesRunOneAtATimeAndOthersBesideThem(t *testing.T) {
	for _, crash := range []bool{false, true} {
		name := "calm"
		if crash {
			name = "while the queue crashes"
		}
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				d := newDied(t)
				d.write(func(tx *models.Tx) {
					d.add(tx, "one", "a", "b", "c")
					d.add(tx, "two", "d", "e", "f", "plain", "simple")
				})
				d.crash("a", "b", "c", "d", "e", "f")
				d.crash("a", "b", "c", "d", "e", "f")
				var in, all gauge
				var mu sync.Mutex
				suspects := map[int64]bool{}
				for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
					suspects[d.ids[key]] = true
				}
				work := func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					all.enter()
					defer all.leave()
					mu.Lock()
					suspect := suspects[tasks.RunOf(ctx).TaskID]
					mu.Unlock()
					if suspect {
						in.enter()
						defer in.leave()
					}
					takes(10 * time.Second)
					return nil, nil
				}
				c := &crasher{kind: "queue", message: "*actors.PoolQuery", step: 1, most: 1}
				c.message = "*actors.IdleQuery"
				f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{"one": work, "two": work}), Options{fault: c.fault})
				if crash {
					pass(5 * time.Second)
					f.sys.Root.Send(f.queue, &IdleQuery{})
					pass(time.Second)
					require.Equal(t, 1, c.count())
				}
				pass(2 * time.Minute)
				require.Equal(t, map[models.State]int{models.StateSuccess: 3}, f.states("one"))
				require.Equal(t, map[models.State]int{models.StateSuccess: 5}, f.states("two"))
				require.EqualValues(t, 1, in.most.Load(), "tasks of two crashes in at one time")
				require.EqualValues(t, 3, all.most.Load(), "the others do not wait for them")
				f.checkCounts()
			})
		})
	}
}

func TestACancelFromBeforeTheCrashHolds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDied(t)
		d.write(func(tx *models.Tx) {
			d.add(tx, "work", "a")
			d.run(tx, "a")
			changed, err := tx.Change(models.ActionCancel, []int64{d.ids["a"]}, models.Actor{Name: "test"})
			require.NoError(t, err)
			require.Len(t, changed.Stop, 1)
		})
		f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		row := f.waitState(d.ids["a"], models.StateCancelled)
		require.Equal(t, 1, row.Attempt)
		require.Equal(t, []string{models.OutcomeCancelled}, f.outcomes(row.ID))
		require.NotEmpty(t, row.Suspected, "it may have done its work")
		f.checkCounts()
		e, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work", UniqueKey: "a"})
		require.NoError(t, err)
		require.False(t, e.Duplicate, "its unique key is free")
	})
}

// TestTheKeyOfACrashedTaskFollowsIt: it is held until the recovered task ends, and free from then on.
func TestTheKeyOfACrashedTaskFollowsIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := newDied(t)
		d.write(func(tx *models.Tx) {
			d.add(tx, "work", "a")
			d.run(tx, "a")
		})
		f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{"work": waits(10 * time.Second)}), Options{})
		pass(time.Second)
		e, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work", UniqueKey: "a"})
		require.NoError(t, err)
		require.True(t, e.Duplicate)
		require.Equal(t, d.ids["a"], e.Task.ID)
		pass(10 * time.Second)
		e, err = f.Enqueue(t.Context(), EnqueueRequest{Type: "work", UniqueKey: "a"})
		require.NoError(t, err)
		require.False(t, e.Duplicate)
	})
}
