package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestAClockThatJumpsForwardFollowsTheMissedPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][2]int64{models.MissedRunOnce: {1, 119}, models.MissedSkip: {1, 119}, models.MissedRunAll: {100, 20}} {
		t.Run(policy, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				clock := &shiftedClock{}
				f := start(t, instantly(t), Options{now: clock.now})
				f.plan(func(s *ScheduleSpec) { s.Cron, s.Missed, s.Overlap = "* * * * *", policy, models.OverlapAllow })
				pass(30 * time.Second)
				clock.shift(2 * time.Hour)
				pass(5 * time.Second)
				row := f.schedule("s")
				require.Equal(t, want, [2]int64{row.Runs, row.MissedCount}, "within five seconds")
				pass(time.Minute)
				require.Equal(t, want[0]+1, f.schedule("s").Runs)
				f.checkOnce("s")
			})
		})
	}
}

// TestAMachineThatSleepsRunsWhatFellDueWhenItWakes: its steady clock stands still meanwhile.
func TestAMachineThatSleepsRunsWhatFellDueWhenItWakes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		clock := &shiftedClock{}
		f := start(t, instantly(t), Options{now: clock.now})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		f.plan(func(s *ScheduleSpec) { s.Name, s.Every = "each", 30*time.Second })
		pass(10 * time.Second)
		clock.shift(3 * time.Minute)
		pass(5 * time.Second)
		require.Equal(t, []time.Time{at(0, 3, 0)}, f.instants("s"))
		require.Equal(t, []time.Time{at(0, 3, 0)}, f.instants("each"))
		require.Equal(t, []int64{2, 5}, []int64{f.schedule("s").MissedCount, f.schedule("each").MissedCount})
	})
}

func TestAClockThatIsSetBackRepeatsNothingThatRan(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			clock := &shiftedClock{}
			f := start(t, instantly(t), Options{now: clock.now})
			f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
			pass(10*time.Minute + 30*time.Second)
			require.Len(t, f.instants("s"), 10)
			if restart {
				f.end()
				clock.shift(-8 * time.Minute)
				f = startOn(t, f.path, instantly(t), Options{now: clock.now})
			} else {
				clock.shift(-8 * time.Minute)
			}
			pass(5 * time.Second)
			row := f.schedule("s")
			require.Equal(t, models.At(at(0, 3, 0)), row.NextAt, "it goes on from what the clock shows")
			pass(8 * time.Minute)
			require.Len(t, f.instants("s"), 10, "nothing is repeated")
			f.checkOnce("s")
			pass(2 * time.Minute)
			require.Len(t, f.instants("s"), 12)
			require.Equal(t, at(0, 12, 0), f.instants("s")[11])
			f.checkOnce("s")
		})
	}
}

// TestAClockThatWasWrongForAWhile goes two hours forward for five minutes, and back.
func TestAClockThatWasWrongForAWhile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		clock := &shiftedClock{}
		f := start(t, instantly(t), Options{now: clock.now})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		f.plan(func(s *ScheduleSpec) { s.Name, s.Cron = "hourly", "0 * * * *" })
		f.plan(func(s *ScheduleSpec) { s.Name, s.Cron = "daily", "0 1 * * *" })
		pass(30 * time.Second)
		clock.shift(2 * time.Hour)
		pass(5 * time.Minute)
		require.Equal(t, []time.Time{at(2, 0, 0)}, f.instants("hourly"))
		require.Equal(t, []time.Time{at(1, 0, 0)}, f.instants("daily"))
		wrong := len(f.instants("s"))
		require.Equal(t, 6, wrong)
		clock.shift(-2 * time.Hour)
		until(at(0, 10, 30))
		require.Equal(t, at(0, 6, 0), f.instants("s")[wrong], "no run waits for the clock to catch up")
		require.Len(t, f.instants("s"), wrong+5)
		until(at(1, 0, 30))
		require.Equal(t, []time.Time{at(2, 0, 0), at(1, 0, 0)}, f.instants("hourly"), "what was missed only by the clock runs after all")
		require.Equal(t, []time.Time{at(1, 0, 0)}, f.instants("daily"), "it had run")
		f.checkOnce("s")
		f.checkOnce("hourly")
		require.Zero(t, f.schedule("hourly").MissedCount)
	})
}

func TestASmallCorrectionOfTheClockChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		clock := &shiftedClock{}
		f := start(t, instantly(t), Options{now: clock.now})
		f.plan(func(s *ScheduleSpec) { s.Every = 10 * time.Second })
		pass(25 * time.Second)
		for range 20 {
			clock.shift(-time.Second)
			pass(10 * time.Second)
		}
		f.checkOnce("s")
		require.Len(t, f.instants("s"), 20)
		require.Zero(t, f.schedule("s").MissedCount)
	})
}

// TestDaylightSavingInNewYork: the day on which 02:30 does not exist, and the one on which 01:30 comes twice.
func TestDaylightSavingInNewYork(t *testing.T) {
	for _, c := range []struct {
		cron             string
		run, again, next time.Time // again is where a second run of the day could be
	}{
		{"30 2 * * *", time.Date(2027, 3, 14, 7, 0, 0, 0, time.UTC), time.Date(2027, 3, 14, 7, 30, 0, 0, time.UTC), time.Date(2027, 3, 15, 6, 30, 0, 0, time.UTC)},
		{"30 1 * * *", time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC), time.Date(2026, 11, 2, 6, 30, 0, 0, time.UTC)},
	} {
		inBubble(t, func(t *testing.T) {
			clock := &shiftedClock{}
			clock.set(c.run.Add(-time.Minute))
			f := start(t, instantly(t), Options{now: clock.now})
			f.plan(func(s *ScheduleSpec) { s.Cron, s.Timezone = c.cron, "America/New_York" })
			pass(2 * time.Minute)
			require.Equal(t, []time.Time{c.run}, f.instants("s"))
			clock.set(c.again.Add(-10 * time.Second))
			pass(time.Minute)
			require.Len(t, f.instants("s"), 1)
			require.Equal(t, models.At(c.next), f.schedule("s").NextAt)
		})
	}
}

// TestAClockThatWentBackPutsOffNoLook: what is asked for while the clock is behind arms a timer for a moment that is hours away,
// and the clock may be right again by then.
func TestAClockThatWentBackPutsOffNoLook(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		clock := &shiftedClock{}
		f := start(t, instantly(t), Options{now: clock.now})
		pass(time.Second)
		clock.shift(-3 * time.Hour)
		soon := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Second) })
		synctest.Wait()
		clock.shift(3 * time.Hour)
		later := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(2 * time.Second) })
		f.plan(func(s *ScheduleSpec) { s.Every = 10 * time.Second })
		pass(15 * time.Second)
		require.Equal(t, models.StateSuccess, f.task(soon.ID).State)
		require.Equal(t, models.StateSuccess, f.task(later.ID).State)
		require.Len(t, f.instants("s"), 1)
	})
}
