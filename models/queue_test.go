package models

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadyTasksComeInTheOrderOfReadinessAndThenID(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s,
		row{"ready_at": 30}, row{"ready_at": 10, "crashes": 2}, row{"ready_at": 20}, row{"ready_at": 20}, row{"ready_at": 20},
		row{},                                  // waits for its time
		row{"ready_at": 1, "priority": 4},      // another lane
		row{"ready_at": 1, "type": "z"},        // another type
		row{"ready_at": 1, "state": "running"}, // no longer ready, whatever its time says
		row{"ready_at": 40, "state": StateRetryWait},
	)
	read := func(after Instant, afterID int64, limit int) []int64 {
		tasks, err := s.ReadyAfter(t.Context(), "report", 5, after, afterID, limit)
		require.NoError(t, err)
		ids := make([]int64, 0, len(tasks))
		for _, r := range tasks {
			ids = append(ids, r.ID)
		}
		return ids
	}
	want := []int64{2, 3, 4, 5, 1, 10}
	require.Equal(t, want, read(0, 0, 100))
	require.Equal(t, want[:2], read(0, 0, 2))
	require.Empty(t, read(40, 10, 100))
	require.Empty(t, read(0, 0, 0))

	// From each task on come exactly those after it.
	all, err := s.ReadyAfter(t.Context(), "report", 5, 0, 0, 100)
	require.NoError(t, err)
	for i, task := range all {
		require.Equal(t, want[i+1:], append([]int64{}, read(task.ReadyAt, task.ID, 100)...))
	}
	require.Equal(t, Ready{ID: 2, Type: "report", Priority: 5, ReadyAt: 10, Crashes: 2}, all[0])
}

func TestReadyTypesAreDistinct(t *testing.T) {
	s := openStore(t)
	types, err := s.ReadyTypes(t.Context())
	require.NoError(t, err)
	require.Empty(t, types)
	seedTasks(t, s, row{"type": "b", "ready_at": 1}, row{"type": "a", "ready_at": 1}, row{"type": "b", "ready_at": 2, "priority": 1},
		row{"type": "c"}, row{"type": "d", "state": StateDead, "ready_at": 1}, row{"type": "é", "ready_at": 1, "state": StateRetryWait})
	types, err = s.ReadyTypes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "é"}, types)
}

func TestDueTasksComeSoonestFirstAndNoneBeforeItsTime(t *testing.T) {
	s := openStore(t)
	next, err := s.NextDue(t.Context())
	require.NoError(t, err)
	require.True(t, next.IsZero())
	seedTasks(t, s, row{"run_at": 300}, row{"run_at": 100, "state": StateRetryWait}, row{"run_at": 200}, row{"run_at": 100},
		row{"run_at": 50, "ready_at": 50}, row{"run_at": 10, "state": StateDead})
	next, err = s.NextDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, Instant(100), next)
	for _, c := range []struct {
		now   Instant
		limit int
		want  []int64
	}{{99, 10, nil}, {100, 10, []int64{2, 4}}, {299, 10, []int64{2, 4, 3}}, {1000, 10, []int64{2, 4, 3, 1}}, {1000, 3, []int64{2, 4, 3}}} {
		ids, err := s.DueIDs(t.Context(), c.now, c.limit)
		require.NoError(t, err)
		require.Equal(t, c.want, ids)
	}
}

func TestRunningTasksAreThoseOfTheBoot(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s, row{"state": StateRunning, "boot_id": "one", "attempt": 3, "worker": "w", "started_at": 7},
		row{"state": StateRunning, "boot_id": "two"}, row{"state": StateSuccess, "boot_id": "one"})
	tasks, err := s.RunningOf(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, []Task{{ID: 1, Type: "report", State: StateRunning, Priority: 5, Attempt: 3, StartedAt: 7, Worker: "w", BootID: "one",
		TraceID: "0123456789abcdef0123456789abcdef"}}, tasks)
}

func TestFinishedTasksAreWalkedByID(t *testing.T) {
	s := openStore(t)
	for i, state := range slices.Concat(States, States) {
		seedTasks(t, s, row{"state": state, "created_at": int64(minute) * int64(i+1), "finished_at": 9})
	}
	var walked []int64
	var after int64
	for {
		tasks, err := s.FinishedBefore(t.Context(), after, 12*minute, 3)
		require.NoError(t, err)
		if len(tasks) == 0 {
			break
		}
		for _, task := range tasks {
			require.True(t, task.State.IsFinal())
			require.Equal(t, Instant(9), task.FinishedAt)
		}
		walked = append(walked, taskIDsOf(tasks)...)
		after = walked[len(walked)-1]
	}
	require.Equal(t, []int64{4, 5, 6, 7, 11}, walked)
}
