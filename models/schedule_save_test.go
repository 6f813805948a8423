package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSavingSchedulesIsAllOrNothing(t *testing.T) {
	l := newPlanner(t)
	rows := l.save(daily("a"), daily("b"))
	before := func() []Schedule {
		all, err := l.Schedules(t.Context())
		require.NoError(t, err)
		return all
	}
	was := before()
	changed, stale, unknown := rows[0], rows[1], daily("c")
	changed.Cron, stale.Version, unknown.ID = "1 1 * * *", 7, 77
	taken := daily("b")
	for _, c := range []struct {
		saves  []Schedule
		delete []int64
		want   string
	}{
		{[]Schedule{changed, stale}, nil, "schedule b was changed by ann meanwhile: it has version 1 now, and the change was made for version 7"},
		{[]Schedule{changed, unknown}, nil, "not found"},
		{[]Schedule{changed}, []int64{rows[1].ID, 78}, "not found"},
		{[]Schedule{changed, taken}, nil, "there is a schedule b already"},
	} {
		l.write(func(tx *Tx) error {
			var saves []ScheduleSave
			for _, s := range c.saves {
				saves = append(saves, ScheduleSave{Row: s, Retime: true})
			}
			saved, err := tx.SaveSchedules(saves, c.delete, Actor{Name: "bob"})
			require.NoError(t, err)
			require.EqualError(t, saved.Refused, c.want)
			require.Empty(t, saved.Rows)
			return nil
		})
		require.Equal(t, was, before())
	}
	l.write(func(tx *Tx) error { // a name is free when its schedule is deleted with the same save
		saved, err := tx.SaveSchedules([]ScheduleSave{{Row: changed}, {Row: taken}}, []int64{rows[1].ID}, Actor{Name: "bob"})
		require.NoError(t, err)
		require.NoError(t, saved.Refused)
		return nil
	})
	now := before()
	require.Equal(t, []int64{2, 1}, []int64{now[0].Version, now[1].Version})
	require.NotEqual(t, rows[1].ID, now[1].ID)
	require.Equal(t, "bob", now[0].UpdatedBy)
}

func TestRenamingKeepsHistoryAndUnfinishedTasks(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	l.fire(firing(s, 120, 200, 100))
	s = l.schedule("a")
	s.Name = "z"
	z := l.save(s)[0]
	require.Equal(t, []Instant{120, 200, 100}, []Instant{z.CursorAt, z.NextAt, z.LastAt})
	require.Equal(t, map[Instant]string{100: OccurrenceEnqueued}, l.outcomes(z.ID))
	require.Empty(t, l.fire(firing(z, 220, 300, 200))[0].Tasks, "the task of the former name still blocks")
	audit, err := l.AuditOf(t.Context(), "schedule", "z", 5)
	require.NoError(t, err)
	require.Equal(t, []string{"update", `{"name":"a"}`, `{"name":"z"}`}, []string{audit[0].Action, audit[0].Before, audit[0].After})
}

func TestPausingDropsWhatWaitsAndResumingLooksForward(t *testing.T) {
	l := newPlanner(t)
	s := daily("a")
	s.Overlap = OverlapQueueOne
	s = l.save(s)[0]
	l.fire(firing(s, 120, 200, 100, 101))
	turn := func(order ScheduleSwitch) Schedule {
		order.ID, order.Version = s.ID, 1
		var saved *SchedulesSaved
		l.write(func(tx *Tx) (err error) {
			saved, err = tx.SwitchSchedule(order, Actor{Name: "ann", Reason: "noise"})
			return err
		})
		require.NoError(t, saved.Refused)
		return saved.Rows[0]
	}
	p := turn(ScheduleSwitch{Pause: true, Until: 900})
	require.Equal(t, Schedule{Paused: true, PauseReason: "noise", PausedBy: "ann", PausedUntil: 900, OverlapCount: 1},
		Schedule{Paused: p.Paused, PauseReason: p.PauseReason, PausedBy: p.PausedBy, PausedUntil: p.PausedUntil, OverlapCount: p.OverlapCount})
	require.Equal(t, OccurrenceOverlap, l.outcomes(s.ID)[101])
	l.finish("a")
	due, err := l.DueSchedules(t.Context(), 1000, 10)
	require.NoError(t, err)
	require.Empty(t, due)
	next, err := l.NextScheduled(t.Context())
	require.NoError(t, err)
	require.Equal(t, Instant(900), next, "the end of the pause")
	ended, err := l.EndedPauses(t.Context(), 900, 10)
	require.NoError(t, err)
	require.Len(t, ended, 1)

	r := turn(ScheduleSwitch{Cursor: 700, Next: 800})
	require.Equal(t, Schedule{CursorAt: 700, NextAt: 800}, Schedule{CursorAt: r.CursorAt, NextAt: r.NextAt, Paused: r.Paused, PausedUntil: r.PausedUntil,
		PauseReason: r.PauseReason, PausedBy: r.PausedBy})
	require.Equal(t, r, turn(ScheduleSwitch{Cursor: 1, Next: 2}), "resuming what is not paused changes nothing")
}

func TestAFiringMayEndAPause(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	l.write(func(tx *Tx) error {
		_, err := tx.SwitchSchedule(ScheduleSwitch{ID: s.ID, Version: 1, Pause: true, Until: 110}, Actor{Name: "ann"})
		return err
	})
	f := firing(l.schedule("a"), 120, 200)
	f.EndsPause = 110
	require.False(t, l.fire(f)[0].Stale)
	require.False(t, l.schedule("a").Paused)
	audit, err := l.AuditOf(t.Context(), "schedule", "a", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"resume", "scheduler"}, []string{audit[0].Action, audit[0].Actor})
}

func TestDeletingAScheduleTakesItsOccurrencesAndLeavesItsTasks(t *testing.T) {
	l := newPlanner(t)
	rows := l.save(daily("a"), daily("b"))
	l.fire(firing(rows[0], 120, 200, 100), firing(rows[1], 120, 200, 100))
	l.write(func(tx *Tx) error {
		_, err := tx.SaveSchedules(nil, []int64{rows[0].ID}, Actor{Name: "ann"})
		return err
	})
	_, err := l.Schedule(t.Context(), "a")
	require.ErrorIs(t, err, ErrNotFound)
	require.Empty(t, l.outcomes(rows[0].ID))
	require.Len(t, l.outcomes(rows[1].ID), 1)
	all, err := l.Tasks(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
}
