package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestAScheduleRunsAtEachOfItsTimesOnceAndInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		pass(30 * time.Second)
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		f.plan(func(s *ScheduleSpec) { s.Name, s.Every = "each", 10*time.Second })
		f.plan(func(s *ScheduleSpec) { s.Name, s.At = "once", at(0, 2, 17) })
		require.Empty(t, f.instants("s"), "making one fires nothing")
		until(at(0, 5, 0))
		require.Equal(t, []time.Time{at(0, 1, 0), at(0, 2, 0), at(0, 3, 0), at(0, 4, 0), at(0, 5, 0)}, f.instants("s"))
		require.Len(t, f.instants("each"), 27)
		require.Equal(t, at(0, 0, 40), f.instants("each")[0], "one interval after it was made")
		require.Equal(t, []time.Time{at(0, 2, 17)}, f.instants("once"))
		for _, name := range []string{"s", "each", "once"} {
			f.checkOnce(name)
			for _, o := range f.occurrences(name) {
				require.False(t, o.Late)
				row := f.task(o.TaskID)
				require.Less(t, row.CreatedAt.Sub(o.At), time.Second)
				require.Equal(t, models.StateSuccess, row.State)
				require.Equal(t, []string{name, "scheduler"}, []string{row.Schedule, row.EnqueuedBy})
			}
		}
		row := f.schedule("s")
		require.Equal(t, models.At(at(0, 6, 0)), row.NextAt)
		require.Equal(t, models.At(at(0, 5, 0)), row.LastAt)
		require.Zero(t, f.schedule("once").NextAt, "it will not run again")
		f.checkCounts()
	})
}

// TestMissedRunsFollowThePolicy: the process is down for ten minutes and a half.
func TestMissedRunsFollowThePolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy string
		made   []time.Time
		missed int64
	}{
		{models.MissedRunOnce, []time.Time{at(0, 15, 0)}, 9},
		{models.MissedSkip, nil, 10},
		{models.MissedRunAll, []time.Time{at(0, 6, 0), at(0, 7, 0), at(0, 8, 0), at(0, 9, 0), at(0, 10, 0), at(0, 11, 0), at(0, 12, 0), at(0, 13, 0),
			at(0, 14, 0), at(0, 15, 0)}, 0},
	} {
		t.Run(c.policy, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, instantly(t), Options{})
				f.plan(func(s *ScheduleSpec) { s.Cron, s.Missed, s.Overlap = "* * * * *", c.policy, "allow" })
				until(at(0, 5, 30))
				before := f.instants("s")
				require.Len(t, before, 5)
				f.end()
				until(at(0, 16, 0))
				f = startOn(t, f.path, instantly(t), Options{})
				pass(100 * time.Millisecond)
				made := f.instants("s")[5:]
				// 00:16:00 has just come; it is in time, whatever the policy.
				now := at(0, 16, 0)
				switch c.policy {
				case models.MissedRunOnce: // the latest runs, and stands for those before it
					require.Equal(t, []time.Time{now}, made)
					require.Equal(t, int64(10), f.schedule("s").MissedCount)
				case models.MissedSkip:
					require.Equal(t, []time.Time{now}, made)
					require.Equal(t, c.missed, f.schedule("s").MissedCount)
				default:
					require.Equal(t, append(c.made, now), made)
					require.Zero(t, f.schedule("s").MissedCount)
				}
				f.checkOnce("s")
			})
		})
		t.Run(c.policy+" late", func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, instantly(t), Options{})
				f.plan(func(s *ScheduleSpec) { s.Cron, s.Missed, s.Overlap = "0 * * * *", c.policy, "allow" })
				until(at(0, 30, 0))
				f.end()
				until(at(10, 30, 0))
				f = startOn(t, f.path, instantly(t), Options{})
				pass(100 * time.Millisecond)
				made := f.instants("s")
				require.Len(t, made, len(c.made))
				require.Equal(t, c.missed, f.schedule("s").MissedCount)
				require.Equal(t, int(c.missed), f.became("s")[models.OccurrenceMissed], "each is visible")
				for _, o := range f.occurrences("s") {
					require.True(t, o.Late)
				}
				if c.policy == models.MissedRunOnce {
					require.Equal(t, []time.Time{at(10, 0, 0)}, made)
				}
				if c.policy == models.MissedRunAll {
					require.Equal(t, at(1, 0, 0), made[0], "oldest first")
				}
				require.Equal(t, models.At(at(11, 0, 0)), f.schedule("s").NextAt)
				until(at(11, 0, 1))
				require.Len(t, f.instants("s"), len(made)+1)
				f.checkOnce("s")
			})
		})
	}
}

func TestALongOutageIsMadeUpForWithinLimits(t *testing.T) {
	t.Parallel()
	for policy, tasks := range map[string]int{models.MissedRunOnce: 1, models.MissedSkip: 0, models.MissedRunAll: MaxCatchUp} {
		t.Run(policy, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, instantly(t), Options{})
				f.plan(func(s *ScheduleSpec) { s.Every, s.Missed, s.Overlap = time.Second, policy, "allow" })
				f.end()
				pass(10 * 24 * time.Hour)
				f = startOn(t, f.path, instantly(t), Options{})
				pass(100 * time.Millisecond)
				row := f.schedule("s")
				require.InDelta(t, 10*24*3600, row.Runs+row.MissedCount, 2, "all are accounted for")
				made := f.instants("s")
				if policy == models.MissedSkip {
					tasks = 1 // the one that is in time
				}
				require.Len(t, made, tasks)
				require.Equal(t, missedRows, f.became("s")[models.OccurrenceMissed])
				for i := 1; i < len(made); i++ {
					require.Equal(t, time.Second, made[i].Sub(made[i-1]), "the latest ones, oldest first")
				}
				f.checkOnce("s")
			})
		})
	}
}

func TestADailyTimeIsKeptByAProcessThatWasDownAroundIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		until(at(6, 50, 0))
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "0 7 * * *" })
		until(at(6, 59, 40))
		f.end()
		until(at(7, 0, 20))
		f = startOn(t, f.path, instantly(t), Options{})
		pass(time.Second)
		require.Equal(t, []time.Time{at(7, 0, 0)}, f.instants("s"))
		require.False(t, f.occurrences("s")[0].Late, "20 seconds are not late")
		require.Zero(t, f.schedule("s").MissedCount)
	})
}

func TestAOneOffThatWasMissedFollowsThePolicyToo(t *testing.T) {
	t.Parallel()
	for policy, runs := range map[string]int{models.MissedRunOnce: 1, models.MissedRunAll: 1, models.MissedSkip: 0} {
		inBubble(t, func(t *testing.T) {
			f := start(t, instantly(t), Options{})
			f.plan(func(s *ScheduleSpec) { s.At, s.Missed = at(1, 0, 0), policy })
			f.end()
			until(at(2, 0, 0))
			for range 2 {
				f = startOn(t, f.path, instantly(t), Options{})
				pass(time.Second)
				require.Len(t, f.instants("s"), runs, policy)
				require.Equal(t, int64(1-runs), f.schedule("s").MissedCount)
				require.Zero(t, f.schedule("s").NextAt)
				f.end()
			}
		})
	}
}

func TestThreeRestartsInsideAMinuteRunItOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		for minute := 1; minute <= 3; minute++ {
			for _, second := range []int{5, 20, 40} {
				until(at(0, minute, second))
				f.end()
				f = startOn(t, f.path, instantly(t), Options{})
			}
		}
		until(at(0, 4, 30))
		require.Equal(t, []time.Time{at(0, 1, 0), at(0, 2, 0), at(0, 3, 0), at(0, 4, 0)}, f.instants("s"))
		f.checkOnce("s")
	})
}

func TestARestartAtTheDueSecondRunsItOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		for minute := 1; minute <= 10; minute++ {
			pass(time.Until(at(0, minute, 0)) - time.Duration(minute%3)*time.Millisecond)
			f.end()
			f = startOn(t, f.path, instantly(t), Options{})
			f.end()
			f = startOn(t, f.path, instantly(t), Options{})
		}
		until(at(0, 10, 30))
		require.Len(t, f.instants("s"), 10)
		f.checkOnce("s")
	})
}
