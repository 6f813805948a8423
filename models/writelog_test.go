package models

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// TestTheLogStaysSmallThoughSomebodyAlwaysReads has readers of which the next begins before the last one ends, so that
// SQLite never finds a moment to begin its log anew.
func TestTheLogStaysSmallThoughSomebodyAlwaysReads(t *testing.T) {
	l := newLedger(t)
	seedTasks(t, l.Store, row{})
	l.w.logTrim = 256 << 10
	var stop atomic.Bool
	var rounds atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			var last *gorm.DB
			for !stop.Load() {
				next := l.Reader().Begin()
				if err := next.Exec("SELECT count(*) FROM tasks").Error; err != nil {
					return err
				}
				if last != nil {
					last.Rollback()
				}
				last = next
				rounds.Add(1)
			}
			return last.Rollback().Error
		}()
	}()
	line := strings.Repeat("x", 60_000)
	largest := int64(0)
	for i := range 40 {
		for before := rounds.Load(); rounds.Load() < before+2; runtime.Gosched() { // a reader that began after the last write is on
		}
		l.w.lookAt = l.w.lookAt.Add(-logRest) // so that the time plays no part
		l.write(func(tx *Tx) error { return tx.AppendLogs([]LogLine{{1, 1, i + 1, 1, "info", line}}) })
		_, size, err := l.Size()
		require.NoError(t, err)
		largest = max(largest, size)
	}
	stop.Store(true)
	require.NoError(t, <-ended)
	require.Less(t, largest, int64(1<<20), "2.4 MB were written")
}
