package actors

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// lock holds the database's write lock, as another program may, until the returned function is called.
func (f *fixture) lock() (unlock func()) {
	f.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+f.path+"?_txlock=immediate&_busy_timeout=5000")
	require.NoError(f.t, err)
	tx, err := db.Begin()
	require.NoError(f.t, err)
	return sync.OnceFunc(func() {
		require.NoError(f.t, tx.Rollback())
		require.NoError(f.t, db.Close())
	})
}

// TestManyEnqueuesShareATransaction: what comes while the journal is busy is one group.
func TestManyEnqueuesShareATransaction(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 500
		open := make(chan struct{})
		var gate atomic.Bool
		var flushes atomic.Int64
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{fault: func(_ string, message any) {
			if _, ok := message.(*flush); ok && gate.Load() {
				flushes.Add(1)
				<-open
			}
		}})
		require.NoError(t, f.Pause(t.Context(), "work", Change{}))
		pass(time.Second)
		gate.Store(true)
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if _, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "work"}); err != nil {
					t.Error(err)
				}
			})
		}
		pass(time.Millisecond)
		close(open)
		wg.Wait()
		require.LessOrEqual(t, flushes.Load(), int64(3), "transactions for %d enqueues", n)
		require.EqualValues(t, n, f.count("work", models.CountReady))
	})
}

// TestABadChangeIsRefusedWithoutItsNeighbours: it shares a transaction with good ones.
func TestABadChangeIsRefusedWithoutItsNeighbours(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		entered, open := make(chan struct{}, 100), make(chan struct{})
		var gate atomic.Bool
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Second)}), Options{fault: func(kind string, message any) {
			if _, ok := message.(*flush); ok && gate.Load() {
				entered <- struct{}{}
				<-open
			}
		}})
		running := f.enqueue("work")
		pass(100 * time.Millisecond)
		gate.Store(true)
		errs := make(chan error, 10)
		enqueue := func() {
			_, err := f.Enqueue(context.Background(), EnqueueRequest{Type: "work"})
			errs <- err
		}
		bad := make(chan error, 1)
		go enqueue()
		<-entered
		for range 4 {
			go enqueue()
		}
		go func() {
			_, err := kit.Ask[*TasksEnqueued](context.Background(), f.sys, f.journal, &EnqueueTasks{Ctx: context.Background(), Tasks: []*models.NewTask{nil}})
			bad <- err
		}()
		for range 4 {
			go enqueue()
		}
		pass(2 * time.Second) // the run ends meanwhile, so that its end is in the group too
		gate.Store(false)
		close(open)
		require.ErrorIs(t, <-bad, ErrRefused)
		for range 9 {
			require.NoError(t, <-errs)
		}
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 10}, f.states("work"))
		require.Equal(t, 1, f.task(running.ID).Attempt)
		require.True(t, f.Health().DatabaseOK)
		f.checkCounts()
	})
}

// TestALockedDatabaseStopsNothingForGood: callers wait or are told at their deadline; what was accepted is there afterwards,
// what was not is not; and health tells.
func TestALockedDatabaseStopsNothingForGood(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(3 * time.Second), "idle": waits(time.Hour)}), Options{})
		running := f.enqueueMany(several("work", 4))
		pass(time.Second)
		unlock := f.lock()
		defer unlock()
		var patient, hurried atomic.Int64
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				if i%2 == 0 {
					ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
				}
				defer cancel()
				_, err := f.Enqueue(ctx, EnqueueRequest{Type: "idle", Params: json.RawMessage(fmt.Sprintf(`{"n": %d}`, i))})
				switch {
				case i%2 == 1 && err == nil:
					patient.Add(1)
				case i%2 == 0:
					if err == nil {
						t.Error("an enqueue succeeded while nothing could be written")
					}
					hurried.Add(1)
				}
			})
		}
		pass(4 * time.Second)
		require.EqualValues(t, 25, hurried.Load(), "they were told at their deadline")
		require.Zero(t, patient.Load())
		h := f.Health()
		require.False(t, h.DatabaseOK)
		require.Equal(t, StatusDegraded, h.Status)
		require.Equal(t, "another process holds a lock on the database", h.DatabaseReason)
		_, err := f.Cancel(withDeadline(t, time.Second), running[0].ID, Change{})
		require.ErrorIs(t, err, ErrUnavailable)
		pass(10 * time.Second)
		require.Equal(t, StatusDown, f.Health().Status)

		unlock()
		pass(2 * time.Second)
		wg.Wait()
		require.EqualValues(t, 25, patient.Load())
		require.True(t, f.Health().DatabaseOK)
		require.Equal(t, StatusOK, f.Health().Status, "%v", f.Health().Reasons)
		total := 0
		for _, n := range f.states("idle") {
			total += n
		}
		require.Equal(t, 25, total, "whoever was told no has stored nothing")
		for _, task := range running {
			row := f.task(task.ID)
			require.Equal(t, models.StateSuccess, row.State, "the end of a run is kept for as long as it takes")
			require.Equal(t, 1, row.Attempt)
			require.Empty(t, row.Suspected)
		}
		f.checkCounts()
	})
}

// TestTheJournalGoesOnAfterABadChangeInATimeOfTrouble: a group that is refused when the lock is gone must not leave it waiting.
func TestTheJournalGoesOnAfterABadChangeInATimeOfTrouble(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		unlock := f.lock()
		defer unlock()
		errs := make(chan error, 2)
		go func() {
			_, err := f.Enqueue(context.Background(), EnqueueRequest{Type: "work"})
			errs <- err
		}()
		pass(time.Second)
		go func() {
			_, err := kit.Ask[*TasksEnqueued](context.Background(), f.sys, f.journal, &EnqueueTasks{Ctx: context.Background(), Tasks: []*models.NewTask{nil}})
			errs <- err
		}()
		pass(time.Second)
		unlock()
		pass(5 * time.Second)
		first, second := <-errs, <-errs
		require.NotEqual(t, first == nil, second == nil, "one is stored and one is refused")
		_, err := f.Enqueue(withDeadline(t, 5*time.Second), EnqueueRequest{Type: "work"})
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, map[models.State]int{models.StateSuccess: 2}, f.states("work"))
		require.True(t, f.Health().DatabaseOK)
	})
}

func withDeadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestWhatWaitsForALockedDatabaseIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Hour)}), Options{})
		pass(time.Second)
		unlock := f.lock()
		defer unlock()
		var stored, refused atomic.Int64
		for range 25 {
			go func() {
				_, err := f.EnqueueBatch(context.Background(), several("work", MaxBatch))
				switch {
				case err == nil:
					stored.Add(1)
				case errors.Is(err, ErrUnavailable):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}()
			takes(200 * time.Millisecond)
		}
		synctest.Wait()
		require.InDelta(t, 5, refused.Load(), 1, "refused at once")
		unlock()
		pass(5 * time.Second)
		require.EqualValues(t, 25, stored.Load()+refused.Load())
		require.EqualValues(t, stored.Load()*MaxBatch, f.states("work")[models.StatePending]+f.states("work")[models.StateRunning])
		pass(time.Second)
		f.enqueue("work") // the count of what waits is back to zero
		f.checkCounts()
	})
}

func TestACallerWhoseContextHasEndedIsNotServed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.Enqueue(ctx, EnqueueRequest{Type: "work"})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, f.Pause(ctx, "work", Change{}), context.Canceled)
		pass(time.Second)
		require.Empty(t, f.states("work"))
		s, _ := f.Pool("work")
		require.False(t, s.Paused)
	})
}

// TestStopWithALockedDatabaseEndsAndSaysSo: what could not be written is found at the next start.
func TestStopWithALockedDatabaseEndsAndSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		registry := registryOf(t, quick(), map[string]handler{"work": waits(time.Second)})
		f := start(t, registry, Options{})
		task := f.enqueue("work")
		pass(100 * time.Millisecond)
		unlock := f.lock()
		defer unlock()
		begun := time.Now()
		require.Error(t, f.Stop(context.Background()))
		require.Less(t, time.Since(begun), time.Minute)
		unlock()
		require.NoError(t, f.store.Close())
		f.ended = true
		f = startOn(t, f.path, registry, Options{})
		pass(5 * time.Second)
		row := f.task(task.ID)
		require.Equal(t, models.StateSuccess, row.State)
		require.NotEmpty(t, row.Suspected, "its end was lost, and it may have run twice")
		f.checkCounts()
	})
}

func TestProgressAndLogsAreKeptAndTheLatestWordWins(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			run := tasks.RunOf(ctx)
			run.Logger.Info("begun", "a", "b\x00\xff")
			run.Progress(1, 10, "first")
			takes(time.Second)
			for i := range 100 {
				run.Progress(int64(i), 100, "quick")
			}
			takes(time.Minute)
			run.Progress(99, 100, "nearly")
			run.Progress(100, 100, "all")
			run.Output("stdout", "done")
			return nil, nil
		}}), Options{})
		task := f.enqueue("work")
		pass(500 * time.Millisecond)
		row := f.task(task.ID)
		require.Equal(t, 10, row.Progress)
		require.Equal(t, "first", row.ProgressNote)
		pass(2 * time.Minute)
		row = f.task(task.ID)
		require.Equal(t, models.StateSuccess, row.State)
		require.Equal(t, 100, row.Progress)
		require.Equal(t, "all", row.ProgressNote)
		var lines []models.LogLine
		require.NoError(t, f.store.Reader().Raw("SELECT * FROM task_logs ORDER BY seq").Scan(&lines).Error)
		require.Len(t, lines, 2)
		require.Contains(t, lines[0].Text, "begun")
		require.Equal(t, "stdout", lines[1].Level)
		require.Equal(t, "done", lines[1].Text)
	})
}
