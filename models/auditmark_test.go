package models

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuditMarksAreTheChangesOfWhatRuns(t *testing.T) {
	s := openStore(t)
	entry := func(at Instant, action, target, id string) Audit {
		return Audit{At: at, Actor: "ana", Action: action, Target: target, TargetID: id}
	}
	writeAudit(t, s, entry(9, "pause", "type", "early"), entry(10, "pause", "type", "a"), entry(11, "retry", "task", "7"), entry(12, "run", "schedule", "b"),
		entry(14, "resize", "type", "a"), entry(13, "update", "schedule", "b"), entry(20, "resume", "type", "late"))
	marks := func(limit int) (all []string) {
		found, err := s.AuditMarks(t.Context(), 10, 20, limit)
		require.NoError(t, err)
		for _, m := range found {
			require.Equal(t, "ana", m.Actor)
			all = append(all, m.Action+" "+m.Target+" "+m.TargetID)
		}
		return all
	}
	require.Equal(t, []string{"pause type a", "update schedule b", "resize type a"}, marks(10))
	require.Equal(t, []string{"update schedule b", "resize type a"}, marks(2), "the latest count")
	statements := recordReads(t, s)
	marks(10)
	plan := strings.Join(planOf(t, s, (*statements)[0]), "\n")
	require.Contains(t, plan, "USING INDEX audit_at (at>? AND at<?)")
	require.NotContains(t, plan, "TEMP B-TREE")
}

func TestTasksAreFoundByWhenTheyEnded(t *testing.T) {
	s := openStore(t)
	minute := Instant(60_000_000)
	for i := range 6 {
		at := Instant(i) * minute
		require.NoError(t, s.Writer().Exec(`INSERT INTO tasks (type, params, priority, state, max_retries, timeout_us, run_at, created_at, updated_at, finished_at, trace_id)
			VALUES ('a', '{}', 5, ?, 0, 0, 1, ?, ?, ?, ?)`, []State{StateSuccess, StateDead}[i%2], 1, at+1, at+30_000_000, strings.Repeat("a", 31)+string(rune('0'+i))).Error)
	}
	found, err := s.Tasks(t.Context(), Filter{EndedFrom: 2 * minute, EndedTo: 4 * minute}, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, task := range found {
		require.GreaterOrEqual(t, task.FinishedAt, 2*minute)
		require.Less(t, task.FinishedAt, 4*minute)
	}
	found, err = s.Tasks(t.Context(), Filter{Types: []string{"a"}, States: []State{StateDead}, EndedFrom: 2 * minute, EndedTo: 4 * minute}, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	statements := recordReads(t, s)
	_, err = s.Tasks(t.Context(), Filter{EndedFrom: 2 * minute, EndedTo: 4 * minute}, 10)
	require.NoError(t, err)
	requirePlan(t, s, *statements)
}
