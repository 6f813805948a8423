package models

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (l *ledger) change(action string, ids ...int64) *Changed {
	l.t.Helper()
	var changed *Changed
	l.write(func(tx *Tx) (err error) {
		changed, err = tx.Change(action, ids, Actor{Name: "ann", Reason: "why", Address: "::1", RequestID: "r"})
		return err
	})
	return changed
}

// inState makes a task of each state.
func (l *ledger) inState(s State) int64 {
	l.t.Helper()
	id := l.add(1)[0]
	if s == StatePending {
		return id
	}
	l.claim(id)
	if s != StateRunning {
		l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: s, Failures: 1, Outcome: "x", FinishedAt: At(time.Now()), RunAt: At(time.Now().Add(time.Hour))})
	}
	require.Equal(l.t, s, l.task(id).State)
	return id
}

// TestEachActionInEachState: what a person may do to a task, and what comes of it.
func TestEachActionInEachState(t *testing.T) {
	l := newLedger(t)
	results := map[string]map[State]State{
		ActionRetry:   {StateRetryWait: StatePending, StateFailed: StatePending, StateDead: StatePending, StateCancelled: StatePending},
		ActionCancel:  {StatePending: StateCancelled, StateRetryWait: StateCancelled, StateRunning: StateRunning},
		ActionDiscard: {StateFailed: StateCancelled, StateDead: StateCancelled},
	}
	for action, results := range results {
		for _, state := range States {
			id := l.inState(state)
			before := l.task(id)
			changed := l.change(action, id)
			after := l.task(id)
			want, ok := results[state]
			if !ok {
				require.Empty(t, changed.Tasks)
				require.Equal(t, &StateError{ID: id, State: state, Action: action}, changed.Refused[0].Err)
				require.Equal(t, before, after, "%s of a %s task changes nothing", action, state)
				continue
			}
			require.Equal(t, want, after.State, "%s of a %s task", action, state)
			require.Equal(t, []Task{after}, changed.Tasks)
			require.Empty(t, changed.Refused)
			var audit Audit
			require.NoError(t, l.Reader().Last(&audit).Error)
			require.Equal(t, []string{"ann", action, "task", "why", string(state), "::1", "r"},
				[]string{audit.Actor, audit.Action, audit.Target, audit.Reason, audit.Before, audit.Address, audit.RequestID})
			if want == StatePending {
				require.Equal(t, []Ready{ReadyOf(&after)}, changed.Ready)
				require.NotZero(t, after.ReadyAt)
				require.Zero(t, after.PromotedAt)
				require.Equal(t, before.Attempt, after.Attempt, "runs are counted for good")
				require.Equal(t, state == StateRetryWait, after.Failures == 1, "only a task that had ended starts its count again")
			}
			if state == StateRunning {
				require.NotZero(t, after.CancelRequestedAt)
				require.Equal(t, []*StopOrder{{ID: id, Type: "a", Attempt: 1}}, changed.Stop)
				again := l.change(action, id)
				require.Len(t, again.Stop, 1)
				require.Equal(t, after.CancelRequestedAt, l.task(id).CancelRequestedAt, "it is asked for once")
			}
		}
	}
}

// TestAPersonsCancelWinsOverAllButSuccess when it was written while the run was ending.
func TestAPersonsCancelWinsOverAllButSuccess(t *testing.T) {
	l := newLedger(t)
	for _, state := range []State{StateSuccess, StateRetryWait, StateFailed, StateDead, StatePending, StateCancelled} {
		id := l.add(1)[0]
		l.claim(id)
		l.change(ActionCancel, id)
		end := &Completion{ID: id, Type: "a", Attempt: 1, State: state, Outcome: string(state), FinishedAt: 1}
		if state == StateRetryWait {
			end.RunAt = At(time.Now())
		}
		l.finish(end)
		want := StateCancelled
		if state == StateSuccess {
			want = StateSuccess
		}
		require.Equal(t, want, l.task(id).State, "a run that ended as %s", state)
		if want == StateCancelled {
			require.Equal(t, OutcomeCancelled, l.attempts(id)[0].Outcome)
			require.Zero(t, l.attempts(id)[0].RetryAt)
			require.Empty(t, l.claim(id))
		}
	}
}

// TestATaskThatWaitsForItsTimeIsRunNow: it is ready at once, keeps its state, and its history says who wanted it.
func TestATaskThatWaitsForItsTimeIsRunNow(t *testing.T) {
	l := newLedger(t)
	id := l.add(1, func(n *NewTask) { n.RunAt = At(time.Now().Add(time.Hour)) })[0]
	require.Empty(t, l.claim(id))
	changed := l.change(ActionRetry, id)
	after := l.task(id)
	require.Equal(t, []Task{after}, changed.Tasks)
	require.Equal(t, []Ready{ReadyOf(&after)}, changed.Ready)
	require.Equal(t, StatePending, after.State)
	require.Equal(t, after.UpdatedAt, after.RunAt)
	require.Equal(t, after.RunAt, after.ReadyAt)
	entries, err := l.AuditOf(t.Context(), "task", strconv.FormatInt(id, 10), 5)
	require.NoError(t, err)
	require.Equal(t, []string{ActionRetry, "pending"}, []string{entries[0].Action, entries[0].Before})
	require.Len(t, l.change(ActionRetry, id).Refused, 1, "now it waits for a worker, and no more can be done")
	require.Len(t, l.claim(id), 1)
}

func TestOfTwoEndedTasksWithOneKeyOneComesBack(t *testing.T) {
	l := newLedger(t)
	var ids []int64
	for range 3 {
		id := l.add(1, func(n *NewTask) { n.UniqueKey = "k" })[0]
		l.claim(id)
		l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateDead, Outcome: OutcomeDead, FinishedAt: 1})
		ids = append(ids, id)
	}
	changed := l.change(ActionRetry, ids...)
	require.Len(t, changed.Tasks, 1)
	require.Len(t, changed.Refused, 2)
	for _, r := range changed.Refused {
		require.Equal(t, &KeyHeldError{Key: "k", Holder: changed.Tasks[0].ID}, r.Err)
	}
	require.Len(t, l.change(ActionRetry, ids...).Refused, 3)
}

func TestATypeKeepsWhatAPersonDidNotChange(t *testing.T) {
	l := newLedger(t)
	set := func(c TypeChange) TypeSetting {
		var s TypeSetting
		l.write(func(tx *Tx) (err error) {
			c.Type = "a"
			s, err = tx.SetType(c, Actor{Name: "ann", Reason: "why"})
			return err
		})
		return s
	}
	yes, no, seven := true, false, 7
	require.True(t, set(TypeChange{Paused: &yes}).Paused)
	s := set(TypeChange{Concurrency: &seven})
	require.True(t, s.Paused)
	require.Equal(t, 7, s.Concurrency)
	s = set(TypeChange{Paused: &no})
	require.False(t, s.Paused)
	require.Equal(t, 7, s.Concurrency)
	stored, err := l.TypeSettings(t.Context())
	require.NoError(t, err)
	require.Equal(t, []TypeSetting{s}, stored)
	var audit []Audit
	require.NoError(t, l.Reader().Order("id").Find(&audit).Error)
	require.Equal(t, []string{"pause", "resize", "resume"}, []string{audit[0].Action, audit[1].Action, audit[2].Action})
	require.Empty(t, audit[1].Before, "it was as registered")
	require.Equal(t, "7", audit[1].After)
}
