package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInsertGivesEveryTaskTheIDOfItsRow for every size of batch that is put together of the fixed statements.
func TestInsertGivesEveryTaskTheIDOfItsRow(t *testing.T) {
	l := newLedger(t)
	for _, n := range []int{1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 200} {
		rows := make([]*NewTask, n)
		for i := range rows {
			rows[i] = &NewTask{Task: Task{Type: "a", Priority: 1 + i%10, MaxRetries: i, TimeoutUS: int64(i), Params: fmt.Sprintf(`{"n": %d}`, i),
				TraceID: fmt.Sprint("t", i), EnqueuedBy: "ann", Tags: `["x"]`, RepeatedFrom: int64(i)}}
		}
		l.write(func(tx *Tx) error { return tx.Insert(rows, never) })
		for i, r := range rows {
			got := l.task(r.ID)
			require.Equal(t, r.Task, got)
			require.Equal(t, fmt.Sprintf(`{"n": %d}`, i), got.Params)
		}
	}
}

// TestNeighboursAreStoredAsEachWas, however many of them are alike and share the arguments of a statement.
func TestNeighboursAreStoredAsEachWas(t *testing.T) {
	l := newLedger(t)
	var rows []*NewTask
	for run, n := range []int{1, 3, 4, 5, 70, 2, 20, 1, 1, 64} {
		for i := range n {
			rows = append(rows, &NewTask{Task: Task{Type: string(rune('a' + run%3)), Priority: 1 + run, MaxRetries: run, TimeoutUS: int64(run),
				Params: fmt.Sprintf(`{"n": %d}`, i), TraceID: fmt.Sprint(run, "-", i), EnqueuedBy: map[bool]string{true: "ann"}[run%2 == 0]}})
		}
	}
	started := 0
	l.write(func(tx *Tx) error {
		return tx.Insert(rows, func(typ string) bool {
			if typ != "b" {
				return false
			}
			started++
			return started%30 != 0 // among those that start is one that does not
		})
	})
	for i, r := range rows {
		require.Equal(t, r.Task, l.task(r.ID))
		require.Equal(t, rows[0].ID+int64(i), r.ID, "in the order of the tasks")
	}
	require.Equal(t, 74, started, "every task of the type was asked about")
}

func TestAnInsertedTaskIsReadyWhenItsTimeHasCome(t *testing.T) {
	l := newLedger(t)
	future := At(time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		runAt Instant
		ready bool
	}{"no time": {0, true}, "the past": {1000, true}, "the future": {future, false}} {
		row := l.task(l.add(1, func(n *NewTask) { n.RunAt = c.runAt })[0])
		require.Equal(t, c.ready, row.ReadyAt != 0, name)
		require.Equal(t, StatePending, row.State)
		if c.ready {
			require.GreaterOrEqual(t, row.RunAt, row.CreatedAt-1)
		} else {
			require.Equal(t, future, row.RunAt)
		}
	}
}

// TestATaskThatMayStartAtOnceIsStoredAsRunning, as a claim would have made it.
func TestATaskThatMayStartAtOnceIsStoredAsRunning(t *testing.T) {
	l := newLedger(t)
	rows := []*NewTask{
		{Task: Task{Type: "a", Priority: 3, MaxRetries: 2, TimeoutUS: 5_000_000, Params: "{}", TraceID: "t", UniqueKey: "k"}},
		{Task: Task{Type: "a", Priority: 3, Params: "{}", TraceID: "t", UniqueKey: "k"}},
		{Task: Task{Type: "a", Priority: 3, Params: "{}", TraceID: "t", RunAt: At(time.Now().Add(time.Hour))}},
		{Task: Task{Type: "b", Priority: 3, Params: "{}", TraceID: "t"}},
	}
	asked := 0
	l.write(func(tx *Tx) error {
		return tx.Insert(rows, func(typ string) bool { asked++; return typ == "a" })
	})
	require.Equal(t, 2, asked, "not for the duplicate, and not for the one that is to wait")
	require.True(t, rows[0].IsStarted())
	require.NotNil(t, rows[1].Held)
	require.False(t, rows[1].IsStarted())
	require.False(t, rows[2].IsStarted())
	require.False(t, rows[3].IsStarted())
	row := l.task(rows[0].ID)
	require.Equal(t, StateRunning, row.State)
	require.Equal(t, "boot", row.BootID)
	require.Equal(t, &Claimed{ID: row.ID, Type: "a", Priority: 3, Attempt: 1, MaxRetries: 2, Timeout: 5 * time.Second,
		ReadyAt: row.ReadyAt, StartedAt: row.StartedAt, TraceID: "t", Params: "{}"}, rows[0].Claimed())
	require.Empty(t, l.claim(row.ID), "it cannot be claimed again")
}

func TestADuplicateShowsTheHolderAsItIs(t *testing.T) {
	l := newLedger(t)
	id := l.add(1, func(n *NewTask) { n.UniqueKey = "k" })[0]
	l.claim(id)
	again := &NewTask{Task: Task{Type: "a", Priority: 5, Params: `{"other": 1}`, TraceID: "u", UniqueKey: "k"}}
	l.write(func(tx *Tx) error { return tx.Insert([]*NewTask{again}, never) })
	require.Equal(t, l.task(id), *again.Held)
}
