package actors

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// TestHealthSaysWhatIsWrong goes through the causes that a runtime at rest can be shown.
func TestHealthSaysWhatIsWrong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		pass(time.Second)
		require.Equal(t, StatusOK, f.Health().Status)
		for name, c := range map[string]struct {
			begin, end func()
			status     string
			code       string
			reason     string
		}{
			"a task waits for too long": {
				func() {
					f.counts.Put(countKey{"work", models.CountReady}, 3)
					f.figures.oldestReady.Store(int64(models.At(time.Now().Add(-10 * time.Minute))))
				},
				func() { f.counts.Put(countKey{"work", models.CountReady}, 0); f.figures.oldestReady.Store(0) },
				StatusDegraded, CauseWaiting, "3 tasks wait for a worker, the oldest of them for 10m0s; 0 of 4 workers are busy.",
			},
			"a type has no handler": {
				func() { f.counts.Put(countKey{"gone", models.StatePending}, 1) },
				func() { f.counts.Remove(countKey{"gone", models.StatePending}) },
				StatusDegraded, CauseNoHandler, "Tasks of type gone wait, and this process has no handler for it.",
			},
			"a schedule cannot run": {
				func() { f.faulty.Put(1, models.Schedule{Name: "nightly", Error: "no type"}) },
				func() { f.faulty.Remove(1) },
				StatusDegraded, CauseSchedule, "Schedule nightly cannot run: no type.",
			},
			"a schedule is overdue": {
				func() { f.figures.overdue.Store(&[]overdueSchedule{{"nightly", at(0, 0, 0)}}) },
				func() { f.figures.overdue.Store(nil) },
				StatusDegraded, CauseOverdue, "Schedule nightly was due at 2000-01-01T00:00:00Z and has not run.",
			},
			"a schedule missed runs": {
				func() { f.meter.missed.Put(1, missedLately{"nightly", 2, time.Now()}) },
				func() { f.meter.missed.Remove(1) },
				StatusDegraded, CauseMissed, "Schedule nightly missed 2 runs.",
			},
			"handlers are stuck": {
				func() { f.reports.Put("x", &PoolReported{Type: "x", Stuck: 2}) },
				func() { f.reports.Remove("x") },
				StatusDegraded, CauseStuck, "2 handlers of x ignore the end of their context.",
			},
			"a pool is blocked": {
				func() { f.reports.Put("x", &PoolReported{Type: "x", Stuck: 2, Blocked: "2 handlers hang"}) },
				func() { f.reports.Remove("x") },
				StatusDegraded, CauseBlocked, "x takes no tasks: 2 handlers hang.",
			},
			"most runs fail": {
				func() { f.figures.finished5m.Store(40); f.figures.succeeded5m.Store(10) },
				func() { f.figures.finished5m.Store(0) },
				StatusDegraded, CauseFailing, "Only 25 % of the runs of the last 5 minutes succeeded.",
			},
			"the disk is nearly full": {
				func() { f.figures.diskFree.Store(300 << 20); f.figures.diskTotal.Store(100 << 30) },
				func() { f.figures.diskTotal.Store(0) },
				StatusDegraded, CauseDisk, "The disk of the database is nearly full: 300 MiB are free.",
			},
			"a small disk is nearly full": {
				func() { f.figures.diskFree.Store(40 << 20); f.figures.diskTotal.Store(1 << 30) },
				func() { f.figures.diskTotal.Store(0) },
				StatusDegraded, CauseDisk, "The disk of the database is nearly full: 40 MiB are free.",
			},
			"the database has just been locked": {
				func() { f.figures.trouble.Store(&trouble{time.Now(), "the disk is full"}) },
				func() { f.figures.trouble.Store(nil) },
				StatusDegraded, CauseDatabase, "the disk is full.",
			},
			"the database has been locked for a while": {
				func() { f.figures.trouble.Store(&trouble{time.Now().Add(-healthDownAfter), "the disk is full"}) },
				func() { f.figures.trouble.Store(nil) },
				StatusDown, CauseDatabase, "the disk is full.",
			},
		} {
			c.begin()
			h := f.Health()
			c.end()
			require.Equal(t, c.status, h.Status, name)
			require.Len(t, h.Causes, 1, name)
			require.Equal(t, c.code, h.Causes[0].Code, name)
			require.True(t, strings.HasSuffix(h.Reasons[0], c.reason), "%s: %s", name, h.Reasons[0])
		}
		require.Empty(t, f.Health().Reasons)
	})
}

// Of many of one kind, health names a few, so that the others are not buried.
func TestHealthNamesAFewOfMany(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
		names := []string{"a", "b", "c", "d", "e"}
		for i, name := range names {
			f.counts.Put(countKey{name, models.StatePending}, 1)
			f.meter.missed.Put(int64(i), missedLately{name, 1, time.Now()})
		}
		h := f.Health()
		for _, name := range names {
			f.counts.Remove(countKey{name, models.StatePending})
		}
		require.Len(t, h.Reasons, 2*(healthNamed+1))
		require.Equal(t, "Tasks of 2 more types wait, and this process has no handlers for them.", h.Reasons[healthNamed])
		require.Equal(t, "2 more schedules missed runs.", h.Reasons[2*healthNamed+1])
	})
}

// TestAnActorThatHangsBringsHealthDown: with a journal or queue that does not come back, nothing works.
func TestAnActorThatHangsBringsHealthDown(t *testing.T) {
	for kind, worst := range map[string]string{"queue": StatusDown, "scheduler": StatusDegraded} {
		inBubble(t, func(t *testing.T) {
			var hang atomic.Bool
			f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{fault: func(k string, _ any) {
				if k == kind && hang.CompareAndSwap(true, false) {
					takes(time.Minute)
				}
			}})
			hang.Store(true)
			f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Second) })
			pass(10 * time.Second)
			require.Equal(t, StatusDegraded, f.Health().Status, "it is slow so far")
			require.Equal(t, CauseBusy, f.Health().Causes[0].Code)
			pass(25 * time.Second)
			require.Equal(t, worst, f.Health().Status, kind)
			pass(time.Minute)
			require.Equal(t, StatusOK, f.Health().Status, "it came back")
		})
	}
}

// TestAScheduleThatNothingCameOfIsOverdue: a scheduler that hangs must not look well.
func TestAScheduleThatNothingCameOfIsOverdue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var hang atomic.Bool
		box := &mailbox{}
		opts := rulesOf(AlertRule{Name: "late", AlertSpec: models.AlertSpec{Kind: models.AlertMissed}})
		opts.fault = func(kind string, _ any) {
			if kind == "scheduler" && hang.CompareAndSwap(true, false) {
				takes(10 * time.Minute)
			}
		}
		f := start(t, box.watched(t), opts)
		f.plan(func(s *ScheduleSpec) { s.Task, s.Cron = "work", "*/5 * * * *" })
		pass(time.Second)
		hang.Store(true)
		pass(5*time.Minute + 30*time.Second)
		require.Zero(t, f.Figures().Schedules.Overdue, "half a minute is not late")
		pass(90 * time.Second)
		h := f.Health()
		require.Equal(t, StatusDegraded, h.Status)
		require.Equal(t, []string{CauseOverdue, CauseBusy}, []string{h.Causes[0].Code, h.Causes[1].Code})
		require.Equal(t, at(0, 5, 0), h.Causes[0].Since.UTC())
		require.Equal(t, "Schedule s was due at 2000-01-01T00:05:00Z and has not run.", h.Reasons[0])
		require.Equal(t, 1, f.Figures().Schedules.Overdue)
		require.Equal(t, []string{"begin late s 0"}, box.all())
		pass(5 * time.Minute)
		require.Zero(t, f.Figures().Schedules.Overdue)
		require.Len(t, f.instants("s"), 1, "the scheduler came back, and ran what it had missed once")
		pass(20 * time.Minute)
		require.Equal(t, StatusOK, f.Health().Status)
		require.Equal(t, []string{"end late s 0"}, box.all())
	})
}
