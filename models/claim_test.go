package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClaimGivesOnlyWhatIsReadyAndNamesTheLifted(t *testing.T) {
	l := newLedger(t)
	ready := l.add(3)
	later := l.add(1, func(n *NewTask) { n.RunAt = At(time.Now().Add(time.Hour)) })[0]
	running := l.add(1)[0]
	l.claim(running)
	var got []*Claimed
	l.write(func(tx *Tx) (err error) {
		got, err = tx.Claim([]Candidate{{ID: ready[0]}, {ID: ready[1], PromotedAt: 123}, {ID: later, PromotedAt: 123}, {ID: running, PromotedAt: 123}, {ID: 999}, {ID: ready[0]}})
		return err
	})
	var ids []int64
	for _, c := range got {
		ids = append(ids, c.ID)
	}
	require.ElementsMatch(t, ready[:2], ids)
	require.Zero(t, l.task(ready[0]).PromotedAt)
	require.EqualValues(t, 123, l.task(ready[1]).PromotedAt)
	require.Zero(t, l.task(later).PromotedAt)
	require.Zero(t, l.task(running).PromotedAt, "what was not claimed is not marked")
	require.Equal(t, StatePending, l.task(later).State)
}

func TestReleaseMakesReadyWhatIsDueSinceItsTime(t *testing.T) {
	l := newLedger(t)
	ids := l.add(2)
	l.claim(ids...)
	past, future := At(time.Now().Add(-time.Second)), At(time.Now().Add(time.Hour))
	l.finish(&Completion{ID: ids[0], Type: "a", Attempt: 1, State: StateRetryWait, RunAt: past, Outcome: OutcomeRetry, FinishedAt: past},
		&Completion{ID: ids[1], Type: "a", Attempt: 1, State: StateRetryWait, RunAt: future, Outcome: OutcomeRetry, FinishedAt: past})
	for _, want := range [][]Ready{{{ID: ids[0], Type: "a", Priority: 5, ReadyAt: past, Attempt: 1}}, {}} {
		var got []Ready
		l.write(func(tx *Tx) (err error) {
			got, err = tx.Release(ids)
			return err
		})
		require.Equal(t, want, got, "each is released once")
	}
	got := l.claim(ids...)
	require.Len(t, got, 1)
	require.Equal(t, 2, got[0].Attempt)
	require.True(t, l.task(ids[0]).ClaimedRetry)
}
