package actors

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// TestACrashBetweenAnyTwoStepsKeepsOneTaskAnOccurrence crashes each actor on the way at each of its messages.
func TestACrashBetweenAnyTwoStepsKeepsOneTaskAnOccurrence(t *testing.T) {
	t.Parallel()
	for _, c := range []*crasher{
		{kind: "scheduler", message: "*actors.look", step: 1, most: 2},
		{kind: "scheduler", message: "*actors.look", step: 7, most: 5},
		{kind: "scheduler", message: "*actors.ScheduleFired", step: 1, most: 2},
		{kind: "scheduler", message: "*actors.ScheduleFired", step: 5, most: 5},
		{kind: "scheduler", message: "*actors.TasksWaiting", step: 1, most: 2},
		{kind: "scheduler", message: "*actors.verify", step: 1, most: 1},
		{kind: "journal", message: "*actors.SaveSchedules", step: 1, most: 1},
		{kind: "journal", message: "*actors.FireSchedule", step: 1, most: 2},
		{kind: "journal", message: "*actors.FireSchedule", step: 1, most: journalTries + 1}, // after which it is dropped
		{kind: "journal", message: "*actors.FireSchedule", step: 9, most: 4},
		{kind: "journal", message: "*actors.flush", step: 1, most: 2},
		{kind: "journal", message: "*actors.flush", step: 10, most: 5},
		{kind: "queue", message: "*actors.TasksStarted", step: 1, most: 2},
	} {
		t.Run(fmt.Sprintf("%s at %s %d", c.kind, c.message[strings.Index(c.message, ".")+1:], c.step), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c.disarmed = true
				f := start(t, instantly(t), Options{fault: c.fault})
				if c.message == "*actors.SaveSchedules" || c.message == "*actors.TasksWaiting" || c.message == "*actors.verify" {
					c.arm()
				}
				if c.message == "*actors.verify" {
					f.sys.Root.Send(f.scheduler, &verify{})
				}
				for i := range 3 {
					f.plan(func(s *ScheduleSpec) {
						s.Name, s.Every, s.Missed, s.Overlap = fmt.Sprintf("s%d", i), time.Duration(i+1)*time.Second, models.MissedRunAll, models.OverlapAllow
					})
				}
				c.arm()
				until(at(0, 2, 0))
				require.Equal(t, c.most, c.count(), "the crashes that this test is about")
				for i := range 3 {
					name := fmt.Sprintf("s%d", i)
					require.Len(t, f.instants(name), 120/(i+1), name)
					f.checkOnce(name)
					require.Zero(t, f.schedule(name).MissedCount)
				}
				f.checkCounts()
			})
		})
	}
}

// TestAProcessThatDiesBetweenTheStepsLeavesAllOrNothing: before the commit nothing has happened, and after it everything
// although nobody was told.
func TestAProcessThatDiesBetweenTheStepsLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		t.Run(fmt.Sprint(committed), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, instantly(t), Options{})
				f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
				until(at(0, 0, 59))
				row := f.schedule("s")
				s := &scheduler{core: f.core, schedules: schedules{tables: map[int64]versioned{}}}
				firing := s.firingOf(&row, at(0, 1, 0))
				f.end()
				until(at(0, 1, 0))
				store, err := models.Open(t.Context(), models.Config{Path: f.path})
				require.NoError(t, err)
				died := fmt.Errorf("killed")
				err = models.NewWriter(store, "dead").Write(func(tx *models.Tx) error {
					fired, err := tx.Fire([]*models.Firing{firing}, func(string) bool { return false })
					require.NoError(t, err)
					require.Len(t, fired[0].Tasks, 1)
					if committed {
						return nil
					}
					return died
				})
				require.Equal(t, committed, err == nil)
				require.NoError(t, store.Close())
				for range 2 {
					f = startOn(t, f.path, instantly(t), Options{})
					pass(5 * time.Second)
					require.Equal(t, []time.Time{at(0, 1, 0)}, f.instants("s"))
					f.checkOnce("s")
					require.Equal(t, 1, f.states("work")[models.StateSuccess])
					f.end()
				}
			})
		})
	}
}

// TestALedgerThatCannotBeWrittenDelaysOccurrencesAndDoublesNone: another process holds the lock for a minute.
func TestALedgerThatCannotBeWrittenDelaysOccurrencesAndDoublesNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron, s.Overlap = "* * * * *", models.OverlapAllow })
		until(at(0, 0, 50))
		foreign, err := sql.Open("sqlite3", f.path+"?_txlock=immediate")
		require.NoError(t, err)
		defer foreign.Close()
		hold, err := foreign.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		until(at(0, 1, 15))
		require.False(t, f.Health().DatabaseOK)
		until(at(0, 1, 50))
		require.Empty(t, f.instants("s"))
		require.NoError(t, hold.Rollback())
		require.NoError(t, foreign.Close())
		until(at(0, 1, 58))
		require.Equal(t, StatusOK, f.Health().Status)
		require.Equal(t, []time.Time{at(0, 1, 0)}, f.instants("s"))
		until(at(0, 3, 30))
		require.Equal(t, []time.Time{at(0, 1, 0), at(0, 2, 0), at(0, 3, 0)}, f.instants("s"))
		f.checkOnce("s")
	})
}
