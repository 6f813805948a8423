package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// reboot lets the process die and start again.
func (l *ledger) reboot(boot string, holds func(string) bool) Recovered {
	l.t.Helper()
	l.w = NewWriter(l.Store, boot)
	var sum Recovered
	l.write(func(tx *Tx) (err error) {
		sum, err = tx.Recover(holds)
		return err
	})
	return sum
}

func TestRecoverEndsTheRunsOfFormerProcessesOnly(t *testing.T) {
	l := newLedger(t)
	ids := l.add(4)
	l.claim(ids[0], ids[1], ids[2])
	l.change(ActionCancel, ids[2])
	sum := l.reboot("second", never)
	require.Equal(t, 2, sum.Requeued)
	require.Equal(t, 1, sum.Cancelled)
	require.Len(t, sum.Ready, 2)
	for i, r := range sum.Ready {
		row := l.task(ids[i])
		require.Equal(t, ReadyOf(&row), r)
		require.Equal(t, 1, r.Crashes)
		require.Equal(t, "boot", l.attempts(ids[i])[0].BootID)
	}
	require.Empty(t, l.task(ids[3]).Suspected)

	l.claim(ids[0])
	var again Recovered
	l.write(func(tx *Tx) (err error) {
		again, err = tx.Recover(never)
		return err
	})
	require.Equal(t, Recovered{}, again, "what this process runs is left alone")
	require.Equal(t, StateRunning, l.task(ids[0]).State)
}

func TestRecoverHoldsWhatMustNotBeRepeated(t *testing.T) {
	l := newLedger(t)
	id := l.add(1)[0]
	l.claim(id)
	sum := l.reboot("second", func(string) bool { return true })
	require.Equal(t, 1, sum.Held)
	row := l.task(id)
	require.Equal(t, StateFailed, row.State)
	require.NotEmpty(t, row.Suspected)
	require.Empty(t, l.claim(id))
}

func TestLostRunsGoBackOnlyIfTheyAreThisProcessesAndTheLatest(t *testing.T) {
	l := newLedger(t)
	ids := l.add(2)
	l.claim(ids...)
	lost := func(runs ...RunKey) (ended []Ended) {
		l.write(func(tx *Tx) (err error) {
			ended, err = tx.Lost(runs)
			return err
		})
		return ended
	}
	require.Empty(t, lost(RunKey{ids[0], 2}, RunKey{999, 1}), "another run of it, and no task at all")
	ended := lost(RunKey{ids[0], 1})
	require.Len(t, ended, 1)
	require.Equal(t, 1, ended[0].Ready.Attempt)
	require.Equal(t, l.task(ids[0]).TraceID, ended[0].TraceID)
	require.Empty(t, lost(RunKey{ids[0], 1}), "it runs no more")
	row := l.task(ids[0])
	require.Zero(t, row.Failures)
	require.Zero(t, row.Crashes)
	require.Contains(t, row.Suspected, "lost inside the process")
	l.w = NewWriter(l.Store, "second")
	require.Empty(t, lost(RunKey{ids[1], 1}), "it is a run of a former process: recovery is for those")
}
