package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// torn is a transaction that a crash or a full disk cuts off before its commit: nothing of it has happened, in the ledger
// or in what the writer remembers.
func (m *ledgerMachine) torn(t *rapid.T) {
	ids := m.some(t)
	wanted := make([]Candidate, len(ids))
	done := make([]*Completion, len(ids))
	for i, id := range ids {
		wanted[i] = Candidate{ID: id}
		done[i] = &Completion{ID: id, Type: "a", Attempt: 1, State: StateDead, Outcome: OutcomeDead, Error: "no", FinishedAt: At(time.Now())}
		if k := m.tasks[id]; k != nil {
			done[i].Type, done[i].Attempt = k.typ, k.attempt
		}
	}
	cut := errors.New("cut off")
	require.ErrorIs(t, m.w.Write(func(tx *Tx) error {
		_, err := tx.Finish(done)
		require.NoError(t, err)
		_, err = tx.Claim(wanted)
		require.NoError(t, err)
		_, err = tx.Change(ActionRetry, ids, Actor{Name: "ann"})
		require.NoError(t, err)
		require.NoError(t, tx.Insert([]*NewTask{{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t"}}}, func(string) bool { return true }))
		_, err = tx.Purge(ids)
		require.NoError(t, err)
		return cut
	}), cut)
}

// crash lets the process die and start again, now and then on the file as the dead one left it: its log not moved, no
// word of its leaving. Type b holds what was running.
func (m *ledgerMachine) crash(t *rapid.T) {
	died := m.w.bootID
	if rapid.IntRange(0, 9).Draw(t, "reopen") == 0 {
		m.reopen(t)
	}
	m.reboot()
	m.write(t, func(tx *Tx) {
		_, err := tx.Recover(func(typ string) bool { return typ == "b" })
		require.NoError(t, err)
	})
	quarantined := false
	for _, k := range m.tasks {
		quarantined = quarantined || k.state == StateRunning && k.crashes >= aloneAfter
	}
	for _, k := range m.tasks {
		if k.state != StateRunning {
			continue
		}
		require.Equal(t, died, k.boot)
		if !quarantined || k.crashes >= aloneAfter {
			k.crashes++
		}
		switch {
		case k.cancel:
			k.state = StateCancelled
		case k.crashes >= crashLimit:
			k.state = StateDead
		case k.typ == "b":
			k.state = StateFailed
		default:
			k.state = StatePending
		}
		k.ready = k.state == StatePending
		k.due = k.ready
	}
}

// reopen goes on with a copy of the files, which is what a process that is killed leaves.
func (m *ledgerMachine) reopen(t *rapid.T) {
	next := filepath.Join(m.folder, fmt.Sprintf("%d.db", m.boots+1))
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(m.store.Path() + end)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(next+end, text, 0o600))
	}
	require.NoError(t, m.store.Close())
	require.NoError(t, os.Remove(m.store.Path()))
	m.open(t, next)
}
