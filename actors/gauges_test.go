package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestGaugesKeepAnHourByTheMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Hour)}), Options{})
		f.enqueueMany(several("work", 10))
		pass(2 * time.Minute)
		all := f.Gauges()
		now := all[len(all)-1]
		require.Equal(t, models.At(time.Now().Truncate(time.Minute)), now.Minute)
		require.EqualValues(t, 4, now.Running)
		require.EqualValues(t, 6, now.Ready)
		require.Len(t, all, 3, "nothing is known of the time before the start")

		pass(2 * time.Hour)
		all = f.Gauges()
		require.Len(t, all, gaugeMinutes)
		for i := range all[1:] {
			require.Equal(t, all[i].Minute.Add(time.Minute), all[i+1].Minute)
		}
	})
}

func TestEveryReasonOfHealthHasACause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		require.Empty(t, f.Health().Causes)
		for _, name := range []string{"a", "b", "c", "d"} {
			f.faulty.Put(int64(name[0]), models.Schedule{Name: name, Error: "no <b>luck</b>"})
		}
		since := time.Now()
		for range healthCrashes + 1 {
			f.figures.crashes.add(since)
		}
		f.figures.trouble.Store(&trouble{since: since, reason: "the disk is full"})
		pass(time.Second)
		h := f.Health()
		f.figures.trouble.Store(nil)
		require.Len(t, h.Causes, len(h.Reasons))
		require.Equal(t, []Cause{
			{Code: CauseSchedule, Args: map[string]any{"name": "a", "error": "no <b>luck</b>"}},
			{Code: CauseSchedule, Args: map[string]any{"name": "b", "error": "no <b>luck</b>"}},
			{Code: CauseSchedule, Args: map[string]any{"name": "c", "error": "no <b>luck</b>"}},
			{Code: CauseSchedules, Args: map[string]any{"n": 1}},
			{Code: CauseCrashes, Args: map[string]any{"n": healthCrashes + 1}, Since: h.Causes[4].Since},
			{Code: CauseDatabase, Args: map[string]any{"error": "the disk is full"}, Since: since},
		}, h.Causes)
		require.True(t, since.Equal(h.Causes[4].Since))
	})
}
