package actors

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// mixed is a type that succeeds, one whose tasks die at the second failure, and one that fails for good.
func mixed(t testing.TB) *tasks.Registry {
	t.Helper()
	policy := quick()
	policy.MaxRetries = 1
	return registryOf(t, policy, map[string]handler{
		"good": waits(0),
		"weak": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") },
		"bad": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, tasks.Permanent(errors.New("no"))
		},
	})
}

func figuresOf(t testing.TB, all []TypeFigures, typ string) TypeFigures {
	t.Helper()
	for _, f := range all {
		if f.Type == typ {
			return f
		}
	}
	require.Fail(t, "no figures", typ)
	return TypeFigures{}
}

func TestFiguresAgreeWithTheLedgerAtRest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, mixed(t), Options{})
		f.enqueueMany(several("good", 300))
		f.enqueueMany(several("weak", 7))
		f.enqueueMany(several("bad", 5))
		f.enqueueMany(several("good", 4, func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Hour) }))
		pass(time.Minute)
		all := f.Figures()
		require.Len(t, all.Types, 4, "the three, and one for all others")

		good := figuresOf(t, all.Types, "good")
		require.Equal(t, []int64{304, 300, 300, 4, 0}, []int64{good.Enqueued, good.Started, good.Finished["success"], good.Tasks[models.StatePending], good.Tasks[models.CountReady]})
		require.EqualValues(t, 300, good.Wait.Total())
		require.EqualValues(t, 300, good.Run.Total())
		weak := figuresOf(t, all.Types, "weak")
		require.Equal(t, []int64{7, 14, 7, 7, 7}, []int64{weak.Enqueued, weak.Started, weak.Finished["retry"], weak.Finished["dead"], weak.Tasks[models.StateDead]})
		bad := figuresOf(t, all.Types, "bad")
		require.Equal(t, []int64{5, 5, 5}, []int64{bad.Started, bad.Finished["failed"], bad.Tasks[models.StateFailed]})
		for _, typ := range []string{"good", "weak", "bad"} {
			tasks := figuresOf(t, all.Types, typ).Tasks
			for state, n := range f.states(typ) {
				require.EqualValues(t, n, tasks[state], "%s %s", typ, state)
			}
		}
		require.Positive(t, all.DatabaseBytes)
		require.Positive(t, all.Health.DiskTotal)

		var batches int64
		for _, n := range all.Journal.Sizes {
			batches += n
		}
		require.Equal(t, batches, all.Journal.Commit.Total(), "each batch has a size and a time")
		require.GreaterOrEqual(t, all.Journal.Changes, batches)
	})
}

func TestCountersNeverGoDownWhileTasksRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"good": waits(time.Millisecond)}), Options{})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				var last [4]int64
				for ctx.Err() == nil {
					typ := figuresOf(t, f.Figures().Types, "good")
					now := [4]int64{typ.Enqueued, typ.Started, typ.Finished["success"], typ.Run.Total()}
					for i := range now {
						if now[i] < last[i] {
							t.Errorf("from %v to %v", last, now)
						}
					}
					last = now
					takes(time.Millisecond)
				}
			})
		}
		for range 5 {
			f.enqueueMany(several("good", 40))
			pass(20 * time.Millisecond)
		}
		pass(time.Second)
		stop()
		wg.Wait()
		require.EqualValues(t, 200, figuresOf(t, f.Figures().Types, "good").Finished["success"])
	})
}

func TestARestartWithinAMinuteCountsNothingTwice(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, mixed(t), Options{})
		f.enqueueMany(several("good", 10))
		pass(time.Second)
		f.end()
		f = startOn(t, f.path, mixed(t), Options{})
		require.Zero(t, figuresOf(t, f.Figures().Types, "good").Enqueued, "it counts from the start of the process")
		f.enqueueMany(several("good", 3))
		pass(time.Second)
		good := figuresOf(t, f.Figures().Types, "good")
		require.Equal(t, []int64{3, 3, 13}, []int64{good.Enqueued, good.Finished["success"], good.Tasks[models.StateSuccess]})
	})
}

// A ledger may be full of types that this process does not know, whoever made them.
func TestUnknownTypesAreCountedTogether(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, mixed(t), Options{})
		f.end()
		store, err := models.Open(t.Context(), models.Config{Path: f.path})
		require.NoError(t, err)
		require.NoError(t, store.Writer().Exec(`INSERT INTO counts (type, state, n)
 SELECT 'evil"' || value || x'0a' || '{}', 'dead', 2 FROM json_each('[1,2,3,4,5,6,7,8,9]')`).Error)
		require.NoError(t, store.Close())
		f = startOn(t, f.path, mixed(t), Options{})
		all := f.Figures().Types
		require.Len(t, all, 4)
		require.EqualValues(t, 18, figuresOf(t, all, OtherTypes).Tasks[models.StateDead])
	})
}

func TestRestartsAreCountedByKind(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := &crasher{kind: "statistics", message: "*actors.measure", step: 1, most: 2}
		f := start(t, registryOf(t, quick(), map[string]handler{
			"panics": func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("boom") },
		}), Options{fault: c.fault})
		f.enqueue("panics", func(r *EnqueueRequest) { none := 0; r.MaxRetries = &none })
		pass(time.Minute)
		restarts := map[string]int64{}
		for _, k := range f.Figures().Kinds {
			restarts[k.Kind] = k.Restarts
			require.Positive(t, k.Actors, k.Kind)
		}
		require.EqualValues(t, 2, restarts["statistics"])
		require.EqualValues(t, 1, restarts["worker"])
		require.Zero(t, restarts["journal"])
	})
}

func TestARunIsAnExampleOfItsBucket(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(3 * time.Second)}), Options{})
		task := f.enqueue("work")
		pass(time.Minute)
		run := figuresOf(t, f.Figures().Types, "work").Run
		require.Equal(t, []Exemplar{{TraceID: task.TraceID, Took: 3 * time.Second, At: f.task(task.ID).FinishedAt.Time()}}, run.Exemplars)
		require.EqualValues(t, 1, run.Histogram[models.HistogramBucket(3*time.Second)])
		require.Equal(t, 3*time.Second, run.Sum)
	})
}

func TestWhatBecameOfSchedulesIsCounted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		clock := &shiftedClock{}
		f := start(t, instantly(t), Options{now: clock.now})
		f.plan(func(s *ScheduleSpec) { s.Every = time.Hour })
		pass(2*time.Hour + time.Second)
		require.Equal(t, map[string]int64{"enqueued": 2}, f.Figures().Schedules.Occurrences)
		before := f.Figures().Schedules
		require.EqualValues(t, 2, before.Lateness.Total())
		require.Empty(t, f.Health().Reasons)

		clock.shift(5 * time.Hour) // as if the machine had slept
		pass(time.Minute)
		got := f.Figures().Schedules
		became := f.became("s")
		require.Equal(t, map[string]int64{"enqueued": int64(became["enqueued"]), "missed": int64(became["missed"])}, got.Occurrences)
		require.EqualValues(t, 4, got.Occurrences["missed"])
		require.Equal(t, []string{"Schedule s missed 4 runs."}, f.Health().Reasons)
		pass(healthMissedWindow + time.Minute)
		require.Empty(t, f.Health().Reasons, "it is no news any more")
		require.Zero(t, f.meter.missed.Len())
	})
}
