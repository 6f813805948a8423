package models

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheLogIsMovedBesideTheWriter before a commit has to do it.
func TestTheLogIsMovedBesideTheWriter(t *testing.T) {
	l := newLedger(t)
	require.NoError(t, l.Writer().Exec("PRAGMA wal_autocheckpoint = 0").Error)
	line := strings.Repeat("x", 60_000)
	seq := 0
	write := func(commits, lines int) {
		for range commits {
			rows := make([]LogLine, lines)
			for i := range rows {
				seq++
				rows[i] = LogLine{1, 1, seq, 1, "info", line}
			}
			l.write(func(tx *Tx) error { return tx.AppendLogs(rows) })
		}
	}
	left := func() int {
		at, err := checkpoint(l.checkpoints.db, "NOOP")
		require.NoError(t, err)
		return at.Log - at.Checkpointed
	}
	write(checkpointCommits, 1)
	require.Positive(t, left(), "a short log is left alone")
	write(checkpointCommits, 10) // 15 pages a line
	require.Eventually(t, func() bool { return left() == 0 }, time.Minute, time.Millisecond)
}
