package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadsOfAlertsUseTheirIndexAndNeverSort(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s, row{"type": "a", "ready_at": 1}, row{"type": "b", "state": StateDead, "fingerprint": "f"})
	statements := recordReads(t, s)
	ctx := t.Context()
	for name, c := range map[string]struct {
		read func() error
		plan string
	}{
		"rules":   {func() error { _, err := s.AlertRules(ctx); return err }, "SCAN alert_rules"},
		"rule":    {func() error { _, _ = s.AlertRule(ctx, "a"); return nil }, "PRIMARY KEY (name=?)"},
		"mutes":   {func() error { _, err := s.AlertMutes(ctx); return err }, "SCAN alert_mutes"},
		"open":    {func() error { _, err := s.OpenAlerts(ctx); return err }, "INDEX alerts_open"},
		"history": {func() error { _, err := s.AlertHistory(ctx, 9, 10); return err }, "SEARCH alerts USING INTEGER PRIMARY KEY (rowid<?)"},
		"fresh":   {func() error { _, err := s.FreshGroups(ctx, 1, 2, 10); return err }, "INDEX error_groups_open (last_at>?)"},
		"example": {func() error { _, err := s.LatestOfGroup(ctx, "b", "f"); return err }, "INDEX tasks_error (type=? AND fingerprint=?)"},
		"oldest":  {func() error { _, err := s.OldestReady(ctx, "a"); return err }, "INDEX tasks_ready (type=? AND priority=? AND ready_at>?)"},
	} {
		t.Run(name, func(t *testing.T) {
			*statements = nil
			require.NoError(t, c.read())
			require.NotEmpty(t, *statements)
			requirePlan(t, s, *statements, c.plan)
		})
	}
	oldest, err := s.OldestReady(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, Instant(1), oldest)
}

func TestAStepOfAnAlertIsTakenOnceWithItsTasks(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	step := func(c AlertChange) (made int) {
		t.Helper()
		require.NoError(t, w.Write(func(tx *Tx) error {
			tasks, err := tx.ChangeAlerts([]AlertChange{c})
			made = len(tasks)
			return err
		}))
		return made
	}
	open := func() []Alert {
		t.Helper()
		all, err := s.OpenAlerts(t.Context())
		require.NoError(t, err)
		return all
	}
	task := func() []*NewTask {
		return []*NewTask{{Task: Task{Type: "reax.alert", Params: "{}", Priority: 1, TraceID: "0123456789abcdef0123456789abcdef", EnqueuedBy: "alerts"}}}
	}
	fresh := AlertChange{Alert: Alert{Rule: "r", Kind: AlertBacklog, Since: 5, Facts: "{}"}}
	for range 2 {
		require.Zero(t, step(fresh))
	}
	require.Len(t, open(), 1, "one open alert of a rule and key")
	was := open()[0]
	began := was
	began.BeganAt, began.ToldAt, began.ToldTo = 6, 6, NewTypeNames([]string{"ops"})
	require.Equal(t, 1, step(AlertChange{Was: was, Alert: began, Tasks: task()}))
	require.Zero(t, step(AlertChange{Was: was, Alert: began, Tasks: task()}), "asked for twice, told once")
	require.Equal(t, began, open()[0])
	require.Zero(t, step(AlertChange{Was: was, Forget: true}))
	require.Len(t, open(), 1, "what has begun is not forgotten")
	ended := began
	ended.EndedAt, ended.ToldAt = 9, 9
	for _, want := range []int{1, 0} {
		require.Equal(t, want, step(AlertChange{Was: began, Alert: ended, Tasks: task()}))
	}
	require.Empty(t, open())
	history, err := s.AlertHistory(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, []Alert{ended}, history)
	require.Zero(t, step(fresh))
	require.Len(t, open(), 1, "the next one of the same kind")
	ids, err := s.TaskIDs(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, ids, 2)
}

func TestAMuteHoldsUntilItsTime(t *testing.T) {
	now := At(time.Now())
	require.False(t, (&AlertMute{}).Holds(now))
	require.True(t, (&AlertMute{Rule: "r"}).Holds(now))
	require.True(t, (&AlertMute{Rule: "r", Until: now + 1}).Holds(now))
	require.False(t, (&AlertMute{Rule: "r", Until: now}).Holds(now))
}
