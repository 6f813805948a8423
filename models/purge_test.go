package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPurgeDeletesFinishedTasksWithAllThatIsTheirs(t *testing.T) {
	l := newLedger(t)
	byState := map[State]int64{}
	var ids []int64
	for _, s := range States {
		id := l.inState(s)
		byState[s] = id
		ids = append(ids, id)
		l.write(func(tx *Tx) error {
			return tx.AppendLogs([]LogLine{{TaskID: id, Attempt: 1, Seq: 1, At: 1, Level: "info", Text: "x"}})
		})
	}
	purge := func() (n int64) {
		l.write(func(tx *Tx) (err error) {
			n, err = tx.Purge(append(ids, 999))
			return err
		})
		return n
	}
	require.EqualValues(t, 4, purge())
	require.Zero(t, purge())
	for s, id := range byState {
		_, err := l.Task(t.Context(), id)
		var lines, attempts int64
		require.NoError(t, l.Reader().Model(&LogLine{}).Where("task_id = ?", id).Count(&lines).Error)
		require.NoError(t, l.Reader().Model(&Attempt{}).Where("task_id = ?", id).Count(&attempts).Error)
		if s.IsFinal() {
			require.ErrorIs(t, err, ErrNotFound, s)
			require.Zero(t, lines+attempts)
		} else {
			require.NoError(t, err, s)
			require.EqualValues(t, 1, lines)
		}
	}
	counts, err := l.Counts(t.Context())
	require.NoError(t, err)
	for _, c := range counts {
		if c.State.IsFinal() {
			require.Zero(t, c.N, c.State)
		}
	}
	require.Greater(t, l.add(1)[0], ids[len(ids)-1], "the id of a deleted task is not given again")
}

func TestPurgeMinutesDeletesOldStatistics(t *testing.T) {
	l := newLedger(t)
	l.add(1)
	l.write(func(tx *Tx) error { return tx.PurgeMinutes(tx.Now() - 90e6) })
	stats, err := l.MinuteStats(t.Context(), 0, 1<<62)
	require.NoError(t, err)
	require.Len(t, stats, 1)
	l.write(func(tx *Tx) error { return tx.PurgeMinutes(tx.Now() + 90e6) })
	stats, err = l.MinuteStats(t.Context(), 0, 1<<62)
	require.NoError(t, err)
	require.Empty(t, stats)
}
