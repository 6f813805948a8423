package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ledger is an open ledger with a writer, and tasks on it.
type ledger struct {
	*Store
	t *testing.T
	w *Writer
}

func newLedger(t *testing.T) *ledger {
	s := openStore(t)
	return &ledger{s, t, NewWriter(s, "boot")}
}

func (l *ledger) write(f func(tx *Tx) error) {
	l.t.Helper()
	require.NoError(l.t, l.w.Write(f))
}

func never(string) bool { return false }

// add stores tasks of type a, and change may make them special.
func (l *ledger) add(n int, change ...func(*NewTask)) []int64 {
	l.t.Helper()
	rows := make([]*NewTask, n)
	ids := make([]int64, n)
	for i := range rows {
		rows[i] = &NewTask{Task: Task{Type: "a", Priority: 5, MaxRetries: 3, Params: "{}", TraceID: "t"}}
		for _, f := range change {
			f(rows[i])
		}
	}
	l.write(func(tx *Tx) error { return tx.Insert(rows, never) })
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

func (l *ledger) claim(ids ...int64) []*Claimed {
	l.t.Helper()
	wanted := make([]Candidate, len(ids))
	for i, id := range ids {
		wanted[i].ID = id
	}
	var got []*Claimed
	l.write(func(tx *Tx) (err error) {
		got, err = tx.Claim(wanted)
		return err
	})
	return got
}

func (l *ledger) finish(done ...*Completion) []Ended {
	l.t.Helper()
	var ended []Ended
	l.write(func(tx *Tx) (err error) {
		ended, err = tx.Finish(done)
		return err
	})
	return ended
}

func (l *ledger) task(id int64) Task {
	l.t.Helper()
	got, err := l.Task(l.t.Context(), id)
	require.NoError(l.t, err)
	return got
}

func (l *ledger) attempts(id int64) []Attempt {
	l.t.Helper()
	var all []Attempt
	require.NoError(l.t, l.Reader().Raw("SELECT * FROM attempts WHERE task_id = ? ORDER BY attempt", id).Scan(&all).Error)
	return all
}

// TestALateWordOfAnEarlierRunInTheSameTransactionChangesNothing: neither the row nor the history.
func TestALateWordOfAnEarlierRunInTheSameTransactionChangesNothing(t *testing.T) {
	l := newLedger(t)
	id := l.add(1)[0]
	l.claim(id)
	now := At(time.Now())
	first := &Completion{ID: id, Type: "a", Attempt: 1, State: StatePending, Outcome: OutcomeInterrupted, FinishedAt: now}
	l.finish(first)
	l.claim(id)
	second := &Completion{ID: id, Type: "a", Attempt: 2, State: StateSuccess, Outcome: OutcomeSuccess, Result: `"second"`, FinishedAt: now}
	late := &Completion{ID: id, Type: "a", Attempt: 1, State: StateDead, Outcome: OutcomeDead, Error: "late", FinishedAt: now}
	ended := l.finish(second, late)
	require.Len(t, ended, 1)
	require.Equal(t, second, ended[0].Completion)
	row := l.task(id)
	require.Equal(t, StateSuccess, row.State)
	require.Equal(t, `"second"`, row.Result)
	require.Empty(t, row.Error)
	history := l.attempts(id)
	require.Len(t, history, 2)
	require.Equal(t, OutcomeInterrupted, history[0].Outcome)
	require.Equal(t, OutcomeSuccess, history[1].Outcome)
}

func TestASuccessAtTheFirstTryClearsWhatARunMayLeave(t *testing.T) {
	l := newLedger(t)
	for _, result := range []string{"", `{"a":1}`} {
		id := l.add(1)[0]
		l.claim(id)
		l.write(func(tx *Tx) error { return tx.MarkStuck([]RunKey{{id, 1}}) })
		require.NotZero(t, l.task(id).StuckAt)
		end := At(time.Now().Add(-3 * time.Second))
		require.Empty(t, l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateSuccess, StartedAt: end - 1, FinishedAt: end, Result: result}))
		row := l.task(id)
		require.Equal(t, StateSuccess, row.State)
		require.Equal(t, end, row.FinishedAt)
		require.Equal(t, result, row.Result)
		require.Zero(t, row.StuckAt)
		require.Empty(t, l.attempts(id))
	}
}

func TestMarksAndProgressOfAnEarlierRunDoNotTouchALaterOne(t *testing.T) {
	l := newLedger(t)
	id := l.add(1)[0]
	l.claim(id)
	l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StatePending, FinishedAt: 1})
	l.claim(id)
	l.write(func(tx *Tx) error {
		require.NoError(t, tx.MarkStuck([]RunKey{{id, 1}}))
		return tx.SaveProgress([]ProgressNote{{ID: id, Attempt: 1, Percent: 77, Note: "old"}, {ID: id, Attempt: 2, Percent: 12, Note: "new"}})
	})
	row := l.task(id)
	require.Zero(t, row.StuckAt)
	require.Equal(t, 12, row.Progress)
	require.Equal(t, "new", row.ProgressNote)
	l.finish(&Completion{ID: id, Type: "a", Attempt: 2, State: StatePending, FinishedAt: 1})
	l.claim(id)
	row = l.task(id)
	require.Zero(t, row.Progress, "a run begins at nothing")
	require.Empty(t, row.ProgressNote)
}

// TestHostileTextComesBackAsItWasGiven goes through each statement that carries text as JSON.
func TestHostileTextComesBackAsItWasGiven(t *testing.T) {
	l := newLedger(t)
	const text = `<img src=x onerror=alert(1)> "quoted" 'single' \ back\u0041 😀 \u202e ` + "\u2028\u202e\ttab\n"
	id := l.add(1, func(n *NewTask) {
		n.Params, n.UniqueKey, n.EnqueuedBy = `{"a": "`+"€"+`"}`, text, text
	})[0]
	l.claim(id)
	l.write(func(tx *Tx) error {
		require.NoError(t, tx.SaveProgress([]ProgressNote{{ID: id, Attempt: 1, Percent: 1, Note: text}}))
		require.NoError(t, tx.AppendLogs([]LogLine{{TaskID: id, Attempt: 1, Seq: 1, At: 1, Level: "info", Text: text}, {TaskID: id, Attempt: 1, Seq: 1, At: 1, Level: "info", Text: "again"}}))
		return nil
	})
	require.Equal(t, text, l.task(id).ProgressNote)
	l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateFailed, Outcome: OutcomeFailed, Error: text, Stack: text, ErrorKind: "error", Suspected: text, FinishedAt: 1})
	row := l.task(id)
	require.Equal(t, text, row.Error)
	require.Equal(t, text, row.UniqueKey)
	require.Equal(t, text, row.EnqueuedBy)
	require.Equal(t, text, row.Suspected)
	require.Equal(t, text, l.attempts(id)[0].Stack)
	var lines []LogLine
	require.NoError(t, l.Reader().Find(&lines).Error)
	require.Len(t, lines, 1)
	require.Equal(t, text, lines[0].Text)
	l.write(func(tx *Tx) error {
		_, err := tx.Change(ActionDiscard, []int64{id}, Actor{Name: text, Reason: text, Address: text, RequestID: text})
		return err
	})
	var audit Audit
	require.NoError(t, l.Reader().First(&audit).Error)
	require.Equal(t, []string{text, text, text, text}, []string{audit.Actor, audit.Reason, audit.Address, audit.RequestID})
}
