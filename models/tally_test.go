package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAStepThatTheStateMachineLacksFailsItsTransaction: whatever statement took it, nothing of the transaction stays.
func TestAStepThatTheStateMachineLacksFailsItsTransaction(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	task := &NewTask{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t"}}
	err := w.Write(func(tx *Tx) error {
		if err := tx.Insert([]*NewTask{task}, func(string) bool { return false }); err != nil {
			return err
		}
		tx.moved("a", StateSuccess, StateRunning)
		return nil
	})
	require.ErrorContains(t, err, "cannot become running while it is success")
	counts, err := s.Counts(t.Context())
	require.NoError(t, err)
	require.Empty(t, counts)
}
