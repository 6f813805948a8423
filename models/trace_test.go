package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATraceHasItsTasksTheirCopiesAndTheEndOfTheirLogs(t *testing.T) {
	l := newLedger(t)
	seedTasks(t, l.Store, row{"trace_id": "a"}, row{"trace_id": "b", "repeated_from": 1}, row{"trace_id": "a"}, row{"trace_id": "c", "repeated_from": 1}, row{"trace_id": "a"})
	l.write(func(tx *Tx) error {
		return tx.AppendLogs([]LogLine{{1, 1, 1, 1, "info", "a"}, {1, 1, 2, 1, "info", "b"}, {1, 2, 1, 1, "info", "c"}, {3, 1, 1, 1, "info", "other"}})
	})
	ctx := t.Context()
	traced, err := l.Traced(ctx, "a", 2)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 3}, taskIDsOf(traced))
	repeats, err := l.Repeats(ctx, 1, 9)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4}, taskIDsOf(repeats))
	lines, err := l.LatestLogs(ctx, 1, 2)
	require.NoError(t, err)
	require.Equal(t, []LogLine{{1, 1, 2, 1, "info", "b"}, {1, 2, 1, 1, "info", "c"}}, lines, "the latest, in order")
	for _, none := range []func() ([]Task, error){
		func() ([]Task, error) { return l.Traced(ctx, "z", 9) }, func() ([]Task, error) { return l.Repeats(ctx, 5, 9) },
		func() ([]Task, error) { return l.Traced(ctx, "a", -1) },
	} {
		tasks, err := none()
		require.NoError(t, err)
		require.Empty(t, tasks)
	}

	statements := recordReads(t, l.Store)
	for name, read := range map[string]func() error{
		"COVERING INDEX tasks_trace (trace_id=?)":         func() error { _, err := l.Traced(ctx, "a", 9); return err },
		"COVERING INDEX tasks_repeated (repeated_from=?)": func() error { _, err := l.Repeats(ctx, 1, 9); return err },
		"PRIMARY KEY (task_id=?)":                         func() error { _, err := l.LatestLogs(ctx, 1, 9); return err },
	} {
		*statements = nil
		require.NoError(t, read())
		requirePlan(t, l.Store, *statements, name)
	}
}
