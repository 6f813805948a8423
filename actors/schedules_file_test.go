package actors

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestTheFileOwnsItsSchedules(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		keep := ScheduleSpec{Name: "keep", Task: "work", Every: 7 * time.Minute}
		change := ScheduleSpec{Name: "change", Task: "work", Cron: "*/5 * * * *"}
		vanish := ScheduleSpec{Name: "vanish", Task: "work", Cron: "*/5 * * * *"}
		require.NoError(t, f.SyncSchedules(t.Context(), []ScheduleSpec{keep, change, vanish}))
		f.plan(func(s *ScheduleSpec) { s.Cron = "*/5 * * * *" })
		until(at(0, 10, 30))
		_, err := f.PauseSchedule(t.Context(), "keep", time.Time{}, Change{By: "bob"})
		require.NoError(t, err)
		kept := f.schedule("keep")
		require.Equal(t, int64(1), kept.Runs)
		f.end()

		f = startOn(t, f.path, instantly(t), Options{})
		change.Params = json.RawMessage(`{"a":2}`)
		specs := []ScheduleSpec{keep, change, {Name: "new", Task: "work", Cron: "0 0 * * *"}, {Name: "past", Task: "work", At: at(0, 1, 0)}}
		require.NoError(t, f.SyncSchedules(t.Context(), specs))
		require.Equal(t, kept, f.schedule("keep"), "what did not change keeps everything, its pause too")
		changed := f.schedule("change")
		require.Equal(t, []any{int64(2), int64(2), models.At(at(0, 15, 0)), "configuration file"}, []any{changed.Version, changed.Runs, changed.NextAt, changed.UpdatedBy})
		require.Zero(t, f.schedule("past").NextAt)
		_, err = f.store.Schedule(t.Context(), "vanish")
		require.ErrorIs(t, err, models.ErrNotFound)
		require.Equal(t, models.OwnerAPI, f.schedule("s").Owner, "those of the API are left alone")
		before := f.schedule("new")
		require.NoError(t, f.SyncSchedules(t.Context(), specs))
		require.Equal(t, before, f.schedule("new"))

		var owned *models.OwnedError
		_, err = f.UpdateSchedule(t.Context(), "new", SchedulePatch{Version: 1, Priority: new(2)}, Change{})
		require.ErrorAs(t, err, &owned)
		require.ErrorAs(t, f.DeleteSchedule(t.Context(), "new", Change{}), &owned)
		require.Equal(t, "schedule new belongs to the configuration file: change it there", owned.Error())
		_, err = f.ResumeSchedule(t.Context(), "keep", Change{By: "bob"})
		require.NoError(t, err)
		_, err = f.RunSchedule(t.Context(), "new", Change{By: "bob"})
		require.NoError(t, err)
		_, err = f.CreateSchedule(t.Context(), ScheduleSpec{Name: "new", Task: "work", Cron: "0 0 * * *"}, Change{})
		requireFaults(t, err, "/name")
	})
}

func TestAFileWithABadScheduleChangesNothing(t *testing.T) {
	f := start(t, instantly(t), Options{})
	good := ScheduleSpec{Name: "good", Task: "work", Cron: "0 0 * * *"}
	require.NoError(t, f.SyncSchedules(t.Context(), []ScheduleSpec{good}))
	f.plan(func(s *ScheduleSpec) { s.Cron = "0 0 * * *" })
	was, err := f.store.Schedules(t.Context())
	require.NoError(t, err)

	err = f.SyncSchedules(t.Context(), []ScheduleSpec{
		{Name: "bad", Task: "work", Cron: "0 0 31 2 *"}, {Name: "zone", Task: "work", Cron: "0 0 * * *", Timezone: "x"}, {Name: "type", Task: "none", Cron: "0 0 * * *"},
		{Name: "fine", Task: "work", Cron: "0 0 * * *"}, {Name: "fine", Task: "work", Cron: "0 0 * * *"},
	})
	requireFaults(t, err, "/schedules/bad/cron", "/schedules/zone/timezone", "/schedules/type/task", "/schedules/fine")

	err = f.SyncSchedules(t.Context(), []ScheduleSpec{{Name: "s", Task: "work", Cron: "0 0 * * *"}})
	var owned *models.OwnedError
	require.ErrorAs(t, err, &owned)
	require.Equal(t, "schedule s stands in the configuration file, and a schedule of that name was made through the API: rename one of the two", err.Error())

	is, err := f.store.Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, was, is)
}

// TestWhatTheFileSaysComesBeforeAnythingFires: a schedule that was due while the server was down, and that the file no
// longer has, or has otherwise now, must not run as it was once more.
func TestWhatTheFileSaysComesBeforeAnythingFires(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		gone := ScheduleSpec{Name: "gone", Task: "work", Every: time.Second}
		changed := ScheduleSpec{Name: "changed", Task: "work", Every: time.Second}
		f := start(t, instantly(t), Options{FileSchedules: []ScheduleSpec{gone, changed}})
		until(at(0, 0, 10))
		f.end()
		until(at(0, 5, 0))
		ran := func(name string) int { return len(f.instants(name)) }

		changed.Every = time.Hour
		f = startOn(t, f.path, instantly(t), Options{FileSchedules: []ScheduleSpec{changed}})
		before := [2]int{ran("gone"), ran("changed")}
		pass(10 * time.Minute)
		after := [2]int{ran("gone"), ran("changed")}
		require.Equal(t, before, after)
		require.Positive(t, before[0])
		_, err := f.store.Schedule(t.Context(), "gone")
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
