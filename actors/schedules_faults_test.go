package actors

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// TestAScheduleOfAnUnknownTypeSaysSoAndOthersGoOn: the program is started once without a type that it had.
func TestAScheduleOfAnUnknownTypeSaysSoAndOthersGoOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		f.plan(func(s *ScheduleSpec) { s.Name, s.Task, s.Cron, s.Overlap = "other", "slow", "* * * * *", "allow" })
		f.end()
		f = startOn(t, f.path, registryOf(t, quick(), map[string]handler{"slow": barrier(1)}), Options{})
		until(at(0, 3, 30))
		require.Empty(t, f.instants("s"))
		require.Len(t, f.instants("other"), 3)
		require.Equal(t, map[string]int{models.OccurrenceError: 3}, f.became("s"))
		row := f.schedule("s")
		require.Equal(t, "there is no task type of its name in this process", row.Error)
		require.Equal(t, row.Error, f.occurrences("s")[0].Note)
		require.Contains(t, f.Health().Reasons, "Schedule s cannot run: there is no task type of its name in this process.")
		require.Equal(t, StatusDegraded, f.Health().Status)
		f.end()
		f = startOn(t, f.path, instantly(t), Options{})
		require.NotEmpty(t, f.Health().Reasons, "known from the start")
		until(at(0, 4, 30))
		require.Equal(t, []time.Time{at(0, 4, 0)}, f.instants("s"))
		require.Empty(t, f.schedule("s").Error)
		require.Empty(t, f.Health().Reasons)
	})
}

func TestParametersThatNoLongerFitAreAnErrorOfTheirOccurrence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) {
			s.Cron, s.Params = "* * * * *", json.RawMessage(`{"a":"{{ if .PreviousRun.IsZero }}first{{ else }}{{ .PreviousRun.In \"No/Where\" }}{{ end }}"}`)
		})
		until(at(0, 3, 30))
		require.Equal(t, map[string]int{models.OccurrenceEnqueued: 1, models.OccurrenceError: 2}, f.became("s"))
		require.Contains(t, f.schedule("s").Error, `/params/a the template is wrong at line 1, column 58, at <.PreviousRun.In>: there is no time zone "No/Where"`)
		row := f.edit(func(p *SchedulePatch) { p.Params = json.RawMessage(`{}`) })
		require.Empty(t, row.Error, "a sound definition clears it")
		require.Empty(t, f.Health().Reasons)
	})
}

// TestOneBrokenStoredScheduleShowsItsErrorWhileOthersRun: it is not due for months, and shows it all the same.
func TestOneBrokenStoredScheduleShowsItsErrorWhileOthersRun(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		for i := range 2*scheduleVerify + 10 {
			f.plan(func(s *ScheduleSpec) { s.Name, s.Cron = fmt.Sprintf("s%d", i), "0 0 1 7 *" })
		}
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		f.end()
		store, err := models.Open(t.Context(), models.Config{Path: f.path})
		require.NoError(t, err)
		broken := []string{"s3", "s300", "s505"}
		for _, name := range broken {
			require.NoError(t, store.Writer().Exec("UPDATE schedules SET timezone = 'Mars/Base' WHERE name = ?", name).Error)
		}
		require.NoError(t, store.Writer().Exec("UPDATE schedules SET cron = 'x', next_at = 1 WHERE name = 's4'").Error)
		require.NoError(t, store.Close())

		f = startOn(t, f.path, instantly(t), Options{})
		pass(time.Second)
		for _, name := range append(broken, "s4") {
			row := f.schedule(name)
			require.Contains(t, row.Error, "the times of the schedule cannot be read: ")
			require.Zero(t, row.NextAt)
		}
		require.Empty(t, f.schedule("s5").Error)
		require.Len(t, f.Health().Reasons, healthNamed+1)
		require.Equal(t, "1 more schedules cannot run.", f.Health().Reasons[healthNamed])
		until(at(0, 1, 1))
		require.Equal(t, []time.Time{at(0, 1, 0)}, f.instants("s"))
		_, err = f.PauseSchedule(t.Context(), "s3", time.Time{}, Change{})
		require.NoError(t, err)
		_, err = f.ResumeSchedule(t.Context(), "s3", Change{})
		requireFaults(t, err, "/timezone")
		require.NoError(t, f.DeleteSchedule(t.Context(), "s4", Change{}))
		f.end()

		store, err = models.Open(t.Context(), models.Config{Path: f.path})
		require.NoError(t, err)
		require.NoError(t, store.Writer().Exec("UPDATE schedules SET timezone = 'UTC', paused = 0 WHERE timezone <> 'UTC'").Error)
		require.NoError(t, store.Close())
		f = startOn(t, f.path, instantly(t), Options{})
		pass(time.Second)
		require.Empty(t, f.Health().Reasons, "they can be read again")
		require.Equal(t, models.At(time.Date(2000, 7, 1, 0, 0, 0, 0, time.UTC)), f.schedule("s3").NextAt)
	})
}

func TestTemplatesAreFilledInFromTheOccurrence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) {
			s.Cron, s.Timezone, s.Missed, s.Overlap = "* * * * *", "Asia/Shanghai", models.MissedRunAll, models.OverlapAllow
			s.Params = json.RawMessage(`{"n": 12345678901234567890, "day": "{{ .ScheduledFor.Format \"2006-01-02 15:04\" }}", "since": "{{ .PreviousRun }}", "who": "{{ .Name }}"}`)
		})
		until(at(0, 1, 30))
		f.end()
		until(at(0, 3, 30))
		f = startOn(t, f.path, instantly(t), Options{})
		pass(time.Second)
		var params []string
		for _, o := range f.occurrences("s") {
			params = append(params, f.task(o.TaskID).Params)
		}
		require.Equal(t, []string{
			`{"n": 12345678901234567890, "day": "2000-01-01 08:01", "since": "0001-01-01T00:00:00Z", "who": "s"}`,
			`{"n": 12345678901234567890, "day": "2000-01-01 08:02", "since": "2000-01-01T08:01:00+08:00", "who": "s"}`,
			`{"n": 12345678901234567890, "day": "2000-01-01 08:03", "since": "2000-01-01T08:02:00+08:00", "who": "s"}`,
		}, params)
	})
}
