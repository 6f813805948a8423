package models

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

func TestScheduleStatementsUseTheirIndex(t *testing.T) {
	l := newPlanner(t)
	seen := &[]statement{}
	write := func(f func(tx *Tx) error) {
		t.Helper()
		l.write(func(tx *Tx) error {
			tx.db.Statement.ConnPool = &recorder{tx.db.Statement.ConnPool, seen}
			return f(tx)
		})
	}
	s := daily("a")
	s.Overlap = OverlapQueueOne
	s = l.save(s)[0]
	f := firing(s, 120, 200, 100, 101)
	for i := range trimEvery {
		f.Missed = append(f.Missed, Instant(50+i))
	}
	write(func(tx *Tx) error { _, err := tx.Fire([]*Firing{f}, never); return err })
	l.finish("a")
	queued := firing(l.schedule("a"), 120, 200, 101)
	queued.Queued = true
	write(func(tx *Tx) error { _, err := tx.Fire([]*Firing{queued}, never); return err })
	write(func(tx *Tx) error {
		_, err := tx.SwitchSchedule(ScheduleSwitch{ID: s.ID, Version: 1, Pause: true}, Actor{})
		return err
	})
	write(func(tx *Tx) error {
		_, err := tx.SwitchSchedule(ScheduleSwitch{ID: s.ID, Version: 1}, Actor{})
		return err
	})
	write(func(tx *Tx) error {
		_, err := tx.RunSchedule(s.ID, &NewTask{Task: Task{Type: "a", Params: "{}", TraceID: "t"}}, never, Actor{})
		return err
	})
	s = l.schedule("a")
	s.Name = "z"
	write(func(tx *Tx) error { _, err := tx.SaveSchedules([]ScheduleSave{{Row: s}}, nil, Actor{}); return err })
	write(func(tx *Tx) error {
		_, err := tx.SaveSchedules([]ScheduleSave{{Row: daily("y")}}, []int64{s.ID}, Actor{})
		return err
	})
	require.Greater(t, len(*seen), 25)
	scans := `^SCAN (tasks|schedules|occurrences|s|o)\b`
	for _, st := range *seen {
		for _, line := range explain(t, l.Store, st) {
			require.NotRegexp(t, scans, line, st.sql)
		}
	}

	l.fire(firing(l.schedule("y"), 120, 200, 100))
	reads := recordReads(t, l.Store)
	ctx := t.Context()
	for name, c := range map[string]struct {
		read func() error
		want []string
	}{
		"by name":     {func() error { _, err := l.Schedule(ctx, "y"); return err }, []string{"INDEX schedules_name (name=?)"}},
		"all":         {func() error { _, err := l.Schedules(ctx); return err }, []string{"INDEX schedules_name"}},
		"occurrences": {func() error { _, err := l.Occurrences(ctx, 1, 10); return err }, []string{"PRIMARY KEY (schedule_id=?)"}},
		"due":         {func() error { _, err := l.DueSchedules(ctx, 500, 10); return err }, []string{"INDEX schedules_next (next_at>? AND next_at<?)"}},
		"pauses":      {func() error { _, err := l.EndedPauses(ctx, 500, 10); return err }, []string{"INDEX schedules_paused_until (paused_until>? AND paused_until<?)"}},
		"verify":      {func() error { _, err := l.SchedulesAfter(ctx, 1, 10); return err }, []string{"PRIMARY KEY (rowid>?)"}},
		"faulty":      {func() error { _, err := l.FaultySchedules(ctx); return err }, []string{"INDEX schedules_error"}},
		"next": {func() error { _, err := l.NextScheduled(ctx); return err },
			[]string{"COVERING INDEX schedules_next", "COVERING INDEX schedules_paused_until"}},
	} {
		t.Run(name, func(t *testing.T) {
			*reads = nil
			require.NoError(t, c.read())
			var plan string
			for _, st := range *reads {
				for _, line := range planOf(t, l.Store, st) {
					plan += line + "\n"
					require.NotContains(t, line, "TEMP B-TREE")
				}
			}
			for _, want := range c.want {
				require.Contains(t, plan, want)
			}
		})
	}
	require.NoError(t, l.Writer().Session(&gorm.Session{}).Exec("UPDATE occurrences SET outcome = 'queued'").Error)
	*reads = nil
	_, waiting, err := l.QueuedOccurrences(ctx, 10)
	require.NoError(t, err)
	require.True(t, waiting)
	var plan string
	for _, st := range *reads {
		for _, line := range planOf(t, l.Store, st) {
			plan += line + "\n"
		}
	}
	for _, want := range []string{"INDEX occurrences_queued", "SEARCH s USING INTEGER PRIMARY KEY", "INDEX tasks_schedule (schedule=?)"} {
		require.Contains(t, plan, want)
	}
}
