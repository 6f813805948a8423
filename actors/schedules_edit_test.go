package actors

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// edit changes the schedule s as it is now.
func (f *fixture) edit(change func(*SchedulePatch)) models.Schedule {
	f.t.Helper()
	patch := SchedulePatch{Version: f.schedule("s").Version}
	change(&patch)
	row, err := f.UpdateSchedule(f.t.Context(), "s", patch, Change{By: "bob"})
	require.NoError(f.t, err)
	return row
}

func TestChangingTheTimesFiresNothingAndLooksForward(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		until(at(13, 20, 0))
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "30 13 * * *" })
		until(at(14, 0, 0))
		require.Equal(t, []time.Time{at(13, 30, 0)}, f.instants("s"))
		for _, c := range []struct {
			cron string
			next time.Time
		}{{"0 16 * * *", at(16, 0, 0)}, {"0 12 * * *", at(12, 0, 0).AddDate(0, 0, 1)}, {"0 14 * * *", at(14, 0, 0).AddDate(0, 0, 1)}} {
			require.Equal(t, models.At(c.next), f.edit(func(p *SchedulePatch) { p.Cron = &c.cron }).NextAt)
			pass(10 * time.Second)
			require.Len(t, f.instants("s"), 1)
		}
		row := f.edit(func(p *SchedulePatch) { p.Timezone = new("Asia/Shanghai") })
		require.Equal(t, models.At(at(6, 0, 0).AddDate(0, 0, 1)), row.NextAt)
		row = f.edit(func(p *SchedulePatch) { p.Every = new(time.Hour) })
		require.Empty(t, row.Cron)
		require.Equal(t, models.At(at(15, 0, 30)), row.NextAt, "one interval from now, the first time")
		row = f.edit(func(p *SchedulePatch) { p.At = new(at(20, 0, 0)) })
		require.Equal(t, []any{int64(0), models.Instant(0), models.At(at(20, 0, 0))}, []any{row.EveryUS, row.Anchor, row.NextAt})
		require.Len(t, f.instants("s"), 1)
		require.Equal(t, int64(1), row.Runs)
		require.Equal(t, models.At(at(13, 30, 0)), row.LastAt)
		require.Zero(t, row.MissedCount)
	})
}

func TestAPausedScheduleMissesNothingAndResumesWithItsNextTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		until(at(0, 50, 0))
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "0 * * * *" })
		row, err := f.PauseSchedule(t.Context(), "s", time.Time{}, Change{By: "bob", Reason: "flood"})
		require.NoError(t, err)
		require.Equal(t, []any{true, "flood", "bob", int64(1)}, []any{row.Paused, row.PauseReason, row.PausedBy, row.Version})
		until(at(1, 30, 0))
		f.end()
		f = startOn(t, f.path, instantly(t), Options{})
		until(at(1, 55, 0))
		require.Empty(t, f.instants("s"))
		row, err = f.ResumeSchedule(t.Context(), "s", Change{By: "bob"})
		require.NoError(t, err)
		require.Equal(t, models.At(at(2, 0, 0)), row.NextAt)
		pass(10 * time.Second)
		require.Empty(t, f.instants("s"))
		until(at(2, 0, 1))
		require.Equal(t, []time.Time{at(2, 0, 0)}, f.instants("s"))
		require.Zero(t, f.schedule("s").MissedCount)
	})
}

func TestAPauseEndsByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		_, err := f.PauseSchedule(t.Context(), "s", at(0, 3, 30), Change{By: "bob"})
		require.NoError(t, err)
		until(at(0, 3, 29))
		require.True(t, f.schedule("s").Paused)
		until(at(0, 3, 31))
		row := f.schedule("s")
		require.Equal(t, []any{false, "", models.Instant(0), models.At(at(0, 4, 0))}, []any{row.Paused, row.PausedBy, row.PausedUntil, row.NextAt})
		require.Empty(t, f.instants("s"))
		until(at(0, 4, 1))
		require.Equal(t, []time.Time{at(0, 4, 0)}, f.instants("s"))
		require.Zero(t, f.schedule("s").MissedCount)

		_, err = f.PauseSchedule(t.Context(), "s", at(0, 5, 30), Change{By: "bob"})
		require.NoError(t, err)
		f.end()
		until(at(0, 8, 30))
		f = startOn(t, f.path, instantly(t), Options{})
		pass(time.Second)
		require.Equal(t, at(0, 8, 0), f.instants("s")[1], "what came after the end of the pause was missed")
		require.Equal(t, int64(2), f.schedule("s").MissedCount)
		for _, until := range []time.Time{at(0, 8, 0), at(0, 8, 30).AddDate(11, 0, 0)} {
			_, err = f.PauseSchedule(t.Context(), "s", until, Change{})
			requireFaults(t, err, "/until")
		}
	})
}

func TestEditingAnythingButTheTimesKeepsPlanAndHistory(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Every = 7 * time.Minute })
		until(at(0, 10, 0))
		before := f.schedule("s")
		f.edit(func(p *SchedulePatch) {
			p.Params, p.Priority, p.Tags, p.Missed, p.Overlap = json.RawMessage(`{"a":1}`), new(3), new([]string{"x"}), new("skip"), new("allow")
		})
		row := f.edit(func(p *SchedulePatch) { p.Name = new("renamed") })
		require.Equal(t, int64(3), row.Version)
		for _, s := range []models.Schedule{before, row} {
			require.Equal(t, []models.Instant{models.At(at(0, 0, 0)), models.At(at(0, 7, 0)), models.At(at(0, 14, 0))}, []models.Instant{s.Anchor, s.LastAt, s.NextAt})
			require.Equal(t, int64(1), s.Runs)
			require.Equal(t, before.CursorAt, s.CursorAt)
		}
		require.Len(t, f.occurrences("renamed"), 1)
		until(at(0, 14, 1))
		task := f.task(f.schedule("renamed").LastTaskID)
		require.Equal(t, []any{"renamed", `{"a":1}`, 3, `["x"]`}, []any{task.Schedule, task.Params, task.Priority, task.Tags})
		f.end()
		f = startOn(t, f.path, instantly(t), Options{})
		require.Equal(t, models.At(at(0, 21, 0)), f.schedule("renamed").NextAt, "a restart does not move an interval")
	})
}

func TestTheSecondOfTwoEditorsIsRefused(t *testing.T) {
	f := start(t, instantly(t), Options{})
	f.plan(func(s *ScheduleSpec) { s.Cron = "0 0 1 1 *" })
	f.edit(func(p *SchedulePatch) { p.Priority = new(3) })
	_, err := f.UpdateSchedule(t.Context(), "s", SchedulePatch{Version: 1, Priority: new(4)}, Change{By: "carol"})
	var conflict *models.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []any{int64(1), int64(2), 3, "bob"}, []any{conflict.Version, conflict.Current.Version, conflict.Current.Priority, conflict.Current.UpdatedBy})
	require.Equal(t, 3, f.schedule("s").Priority)

	row := f.edit(func(p *SchedulePatch) { p.Priority = new(3) })
	require.Equal(t, int64(2), row.Version, "a change that changes nothing is none")
}

func TestManyEditorsAtOnceMakeOneVersionEach(t *testing.T) {
	f := start(t, instantly(t), Options{})
	f.plan(func(s *ScheduleSpec) { s.Cron = "0 0 1 1 *" })
	const n = 20
	results := make(chan error, n)
	for i := range n {
		go func() {
			_, err := f.UpdateSchedule(context.Background(), "s", SchedulePatch{Version: 1, Name: new(strings.Repeat("x", i+1))}, Change{By: "x"})
			results <- err
		}()
	}
	saved := 0
	for range n {
		err := <-results
		var conflict *models.ConflictError
		switch {
		case err == nil:
			saved++
		default:
			if !strings.Contains(err.Error(), "not found") { // the name that they looked for is gone
				require.ErrorAs(t, err, &conflict)
			}
		}
	}
	require.Equal(t, 1, saved)
}

// requireFaults holds the places that an error names.
func requireFaults(t testing.TB, err error, places ...string) {
	t.Helper()
	var invalid *tasks.InvalidError
	require.ErrorAs(t, err, &invalid)
	var got []string
	for _, f := range invalid.Fields {
		got = append(got, f.Location)
		require.NotEmpty(t, f.Message)
	}
	require.Equal(t, places, got, "%v", err)
}

func TestBadSchedulesAreRefusedAtTheirField(t *testing.T) {
	schema, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","required":["date"],"properties":{"date":{"type":"string","format":"date"}}}`))
	require.NoError(t, err)
	registry := instantly(t)
	require.NoError(t, registry.Add(tasks.Definition{Name: "strict", Kind: tasks.KindGo, Schema: schema, Policy: quick(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}))
	f := start(t, registry, Options{})
	f.plan(func(s *ScheduleSpec) { s.Name, s.Cron = "taken", "0 0 * * *" })
	for name, c := range map[string]struct {
		change func(*ScheduleSpec)
		places []string
	}{
		"name":            {func(s *ScheduleSpec) { s.Name = "a b" }, []string{"/name"}},
		"taken name":      {func(s *ScheduleSpec) { s.Name = "taken" }, []string{"/name"}},
		"no time":         {func(s *ScheduleSpec) { s.Cron = "" }, []string{"/cron"}},
		"impossible date": {func(s *ScheduleSpec) { s.Cron = "0 0 31 2 *" }, []string{"/cron"}},
		"two kinds":       {func(s *ScheduleSpec) { s.Every = time.Hour }, []string{"/every"}},
		"no interval":     {func(s *ScheduleSpec) { s.Cron, s.Every = "", -5*time.Second }, []string{"/every"}},
		"tiny interval":   {func(s *ScheduleSpec) { s.Cron, s.Every = "", time.Nanosecond }, []string{"/every"}},
		"past":            {func(s *ScheduleSpec) { s.Cron, s.At = "", time.Now().Add(-time.Hour) }, []string{"/at"}},
		"zone":            {func(s *ScheduleSpec) { s.Timezone = "Europe/Berln" }, []string{"/timezone"}},
		"words":           {func(s *ScheduleSpec) { s.Missed, s.Overlap = "x", "y" }, []string{"/missed", "/overlap"}},
		"priority":        {func(s *ScheduleSpec) { s.Priority = 11 }, []string{"/priority"}},
		"tags":            {func(s *ScheduleSpec) { s.Tags = []string{"a", ""} }, []string{"/tags/1"}},
		"no JSON":         {func(s *ScheduleSpec) { s.Params = json.RawMessage(`{"a":`) }, []string{"/params"}},
		"no object":       {func(s *ScheduleSpec) { s.Params = json.RawMessage(`[1]`) }, []string{"/params"}},
		"template":        {func(s *ScheduleSpec) { s.Params = json.RawMessage(`{"a":[0,{"b/c":"{{ .Foo }}"}]}`) }, []string{"/params/a/1/b~1c"}},
		"schema":          {func(s *ScheduleSpec) { s.Task = "strict" }, []string{"/params/date"}},
		"rendered": {func(s *ScheduleSpec) {
			s.Task, s.Params = "strict", json.RawMessage(`{"date":"{{ .ScheduledFor.Format \"2006-13\" }}"}`)
		}, []string{"/params/date"}},
		"several": {func(s *ScheduleSpec) { s.Name, s.Timezone, s.Missed = "", "x", "y" }, []string{"/name", "/missed", "/timezone"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := ScheduleSpec{Name: "s", Task: "work", Cron: "0 0 * * *"}
			c.change(&spec)
			_, err := f.CreateSchedule(t.Context(), spec, Change{})
			requireFaults(t, err, c.places...)
			all, err := f.store.Schedules(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 1)
		})
	}
	_, err = f.CreateSchedule(t.Context(), ScheduleSpec{Name: "s", Task: "none", Cron: "0 0 * * *"}, Change{})
	require.ErrorIs(t, err, ErrUnknownType)
	_, err = f.CreateSchedule(t.Context(), ScheduleSpec{Name: "s", Task: "strict", Cron: "0 0 * * *", Params: json.RawMessage(`{"date":"{{ .ScheduledFor.Format \"2006-01-02\" }}"}`)}, Change{})
	require.NoError(t, err)
	_, err = f.UpdateSchedule(t.Context(), "s", SchedulePatch{Priority: new(3)}, Change{})
	requireFaults(t, err, "/version")
	_, err = f.UpdateSchedule(t.Context(), "s", SchedulePatch{Version: 1, Params: json.RawMessage(`{"date":"x"}`)}, Change{})
	requireFaults(t, err, "/params/date")
	_, err = f.UpdateSchedule(t.Context(), "s", SchedulePatch{Version: 1, Name: new("taken")}, Change{})
	requireFaults(t, err, "/name")
	_, err = f.UpdateSchedule(t.Context(), "none", SchedulePatch{Version: 1}, Change{})
	require.ErrorIs(t, err, models.ErrNotFound)
	require.ErrorIs(t, f.DeleteSchedule(t.Context(), "none", Change{}), models.ErrNotFound)
	require.NoError(t, f.DeleteSchedule(t.Context(), "s", Change{By: "bob"}))
	_, err = f.store.Schedule(t.Context(), "s")
	require.ErrorIs(t, err, models.ErrNotFound)
}
