package actors

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// Each task of type slow takes ten minutes, and the schedule wants one every three.
func TestOverlapFollowsThePolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy            string
		made              []int // minutes
		overlaps, waiting int
	}{
		{models.OverlapSkip, []int{3, 15, 27}, 6, 0},
		{models.OverlapAllow, []int{3, 6, 9, 12, 15, 18, 21, 24, 27}, 0, 0},
		{models.OverlapQueueOne, []int{3, 6, 15}, 5, 1}, // 6 waits until 13, 15 until 23
	} {
		t.Run(c.policy, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := start(t, instantly(t), Options{})
				f.plan(func(s *ScheduleSpec) { s.Task, s.Every, s.Overlap = "slow", 3*time.Minute, c.policy })
				until(at(0, 29, 0))
				var made []int
				for _, instant := range f.instants("s") {
					made = append(made, instant.Minute())
				}
				require.Equal(t, c.made, made)
				became := f.became("s")
				require.Equal(t, c.overlaps, became[models.OccurrenceOverlap])
				require.Equal(t, c.waiting, became[models.OccurrenceQueued])
				require.Equal(t, int64(c.overlaps), f.schedule("s").OverlapCount)
				for _, o := range f.occurrences("s") {
					if o.Outcome != models.OccurrenceOverlap {
						continue
					}
					blocker := f.task(o.BlockedBy)
					require.Equal(t, "s", blocker.Schedule, "a skip names the task that blocked it")
					require.LessOrEqual(t, blocker.CreatedAt, o.CreatedAt)
				}
				f.checkOnce("s")
				if c.policy == models.OverlapQueueOne {
					created := f.task(f.occurrences("s")[1].TaskID).CreatedAt.Time()
					require.WithinDuration(t, at(0, 13, 0), created, 2*time.Second, "as soon as its blocker has ended")
				}
			})
		})
	}
}

func TestQueuedOccurrencesSurviveARestart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{ShutdownGrace: time.Second})
		f.plan(func(s *ScheduleSpec) { s.Task, s.Every, s.Overlap = "slow", 4*time.Minute, models.OverlapQueueOne })
		until(at(0, 8, 30))
		require.Equal(t, 1, f.became("s")[models.OccurrenceQueued])
		f.end() // the running task goes back to pending
		f = startOn(t, f.path, instantly(t), Options{})
		until(at(0, 18, 0))
		require.Equal(t, 1, f.became("s")[models.OccurrenceQueued])
		until(at(0, 19, 0))
		require.Equal(t, []time.Time{at(0, 4, 0), at(0, 8, 0)}, f.instants("s"))
		f.checkOnce("s")
	})
}

// TestATaskLostWithItsProcessBlocksNoLongerThanItsRecovery: the process dies while the blocker runs.
func TestATaskLostWithItsProcessBlocksNoLongerThanItsRecovery(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		until(at(0, 1, 30))
		f.end()
		d := &died{t: t, path: f.path, ids: map[string]int64{}}
		d.write(func(tx *models.Tx) {
			task := &models.NewTask{Task: models.Task{Type: "work", Params: "{}", Priority: 5, TraceID: newTraceID(), Schedule: "s"}}
			require.NoError(t, tx.Insert([]*models.NewTask{task}, func(string) bool { return true }))
			d.ids["lost"] = task.ID
		})
		f = startOn(t, f.path, instantly(t), Options{})
		until(at(0, 2, 30))
		require.Equal(t, models.StateSuccess, f.task(d.ids["lost"]).State, "it was recovered and has run")
		require.Equal(t, at(0, 2, 0), f.instants("s")[2], "and the next occurrence was not blocked")
		require.Zero(t, f.schedule("s").OverlapCount)
	})
}

func TestRunNowDoesNotMoveThePlanAndBlocksWhatComes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, instantly(t), Options{})
		f.plan(func(s *ScheduleSpec) {
			s.Task, s.Cron, s.Params, s.Priority, s.Tags = "slow", "5 * * * *", json.RawMessage(`{"at":"{{ .ScheduledFor }}"}`), 2, []string{"x"}
		})
		until(at(0, 1, 0))
		before := f.schedule("s")
		e, err := f.RunSchedule(t.Context(), "s", Change{By: "bob", Reason: "now"})
		require.NoError(t, err)
		require.Equal(t, before, f.schedule("s"))
		row := f.task(e.Task.ID)
		require.Equal(t, []any{"s", models.Instant(0), "bob", `{"at":"2000-01-01T00:01:00Z"}`, 2, `["x"]`},
			[]any{row.Schedule, row.ScheduledFor, row.EnqueuedBy, row.Params, row.Priority, row.Tags})
		until(at(0, 6, 0))
		o := f.occurrences("s")
		require.Equal(t, []any{models.OccurrenceOverlap, row.ID}, []any{o[0].Outcome, o[0].BlockedBy})
		audit, err := f.store.AuditOf(t.Context(), "schedule", "s", 1)
		require.NoError(t, err)
		require.Equal(t, []string{"run", "bob", "now"}, []string{audit[0].Action, audit[0].Actor, audit[0].Reason})

		_, err = f.PauseSchedule(t.Context(), "s", time.Time{}, Change{By: "bob"})
		require.NoError(t, err)
		_, err = f.RunSchedule(t.Context(), "s", Change{By: "bob"})
		require.NoError(t, err, "paused or not")
		_, err = f.RunSchedule(t.Context(), "none", Change{By: "bob"})
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

func TestAnOccurrenceIsNotBlockedByTasksThatEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.MaxRetries = 0
		f := start(t, registryOf(t, policy, map[string]handler{
			"work": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errPlain },
		}), Options{})
		f.plan(func(s *ScheduleSpec) { s.Cron = "* * * * *" })
		until(at(0, 5, 30))
		require.Len(t, f.instants("s"), 5, "dead tasks block nothing")
		require.Equal(t, 5, f.states("work")[models.StateDead])
	})
}
