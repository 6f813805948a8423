package models

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errNo = errors.New("no")

// TestAFailedTransactionLeavesNothing: neither rows, nor counts, nor a word to whoever follows them, nor what it had put
// into the tasks it was given.
func TestAFailedTransactionLeavesNothing(t *testing.T) {
	l := newLedger(t)
	told := map[State]int64{}
	l.w.OnCount = func(_ string, s State, delta int64) { told[s] += delta }
	first := &NewTask{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t", UniqueKey: "k"}}
	second := &NewTask{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t", UniqueKey: "k"}}
	err := l.w.Write(func(tx *Tx) error {
		require.NoError(t, tx.Insert([]*NewTask{first, second}, func(string) bool { return true }))
		return errNo
	})
	require.ErrorIs(t, err, errNo)
	require.False(t, IsUnavailable(err))
	require.Empty(t, told)
	counts, err := l.Counts(t.Context())
	require.NoError(t, err)
	require.Empty(t, counts)

	// The same tasks once more, and the one that was a duplicate alone: it is none now.
	l.write(func(tx *Tx) error { return tx.Insert([]*NewTask{second}, never) })
	require.Nil(t, second.Held)
	require.Equal(t, StatePending, l.task(second.ID).State)
	require.Zero(t, second.Attempt)
	require.Equal(t, map[State]int64{StatePending: 1, CountReady: 1}, told)
}

// TestAPanicInATransactionUndoesIt, and the writer is of use afterwards.
func TestAPanicInATransactionUndoesIt(t *testing.T) {
	l := newLedger(t)
	require.Panics(t, func() {
		_ = l.w.Write(func(tx *Tx) error {
			require.NoError(t, tx.Insert([]*NewTask{{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t"}}}, never))
			panic("boom")
		})
	})
	id := l.add(1)[0]
	require.EqualValues(t, 1, id)
}

// TestMinuteStatisticsAddUp over transactions, minutes, and a restart inside a minute.
func TestMinuteStatisticsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		round := func() {
			ids := l.add(5)
			l.claim(ids...)
			time.Sleep(time.Second)
			l.finish(&Completion{ID: ids[0], Type: "a", Attempt: 1, State: StateSuccess, StartedAt: At(time.Now()) - 1e6, FinishedAt: At(time.Now())},
				&Completion{ID: ids[1], Type: "a", Attempt: 1, State: StateRetryWait, RunAt: At(time.Now()), FinishedAt: At(time.Now())},
				&Completion{ID: ids[2], Type: "a", Attempt: 1, State: StateFailed, FinishedAt: At(time.Now())},
				&Completion{ID: ids[3], Type: "a", Attempt: 1, State: StateDead, FinishedAt: At(time.Now())},
				&Completion{ID: ids[4], Type: "a", Attempt: 1, State: StateCancelled, FinishedAt: At(time.Now())})
		}
		round()
		round()
		l.w = NewWriter(l.Store, "second boot")
		var told MinuteStat
		l.w.OnMinute = func(delta *MinuteStat) { told.add(delta); told.RunSum += delta.RunSum }
		round()
		require.Equal(t, []int64{5, 5, 1, 1}, []int64{told.Enqueued, told.Started, told.Succeeded, told.RunHist.Total()}, "what the second boot added, and nothing of the first")
		require.Equal(t, time.Second, told.RunSum)
		require.Error(t, l.w.Write(func(tx *Tx) error {
			require.NoError(t, tx.Insert([]*NewTask{{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t"}}}, never))
			return ErrNotFound
		}))
		require.EqualValues(t, 5, told.Enqueued, "what is not durable is not told")
		time.Sleep(time.Minute)
		round()
		stats, err := l.MinuteStats(t.Context(), 0, At(time.Now().Add(time.Hour)))
		require.NoError(t, err)
		require.Len(t, stats, 2)
		for i, times := range []int64{3, 1} {
			s := stats[i]
			require.Equal(t, []int64{5 * times, 5 * times, times, times, times, times, times},
				[]int64{s.Enqueued, s.Started, s.Succeeded, s.Retried, s.Failed, s.Dead, s.Cancelled})
			require.Equal(t, 5*times, s.WaitHist.Total())
			require.Equal(t, times, s.RunHist.Total(), "of runs whose start is known")
		}
	})
}
