package models

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// planner is a store with its writer.
type planner struct {
	*Store
	t *testing.T
	w *Writer
}

func newPlanner(t *testing.T) *planner {
	s := openStore(t)
	return &planner{Store: s, t: t, w: NewWriter(s, "boot")}
}

func (l *planner) write(f func(tx *Tx) error) {
	l.t.Helper()
	require.NoError(l.t, l.w.Write(f))
}

// save stores schedules and gives their rows.
func (l *planner) save(rows ...Schedule) []Schedule {
	l.t.Helper()
	var saves []ScheduleSave
	for _, row := range rows {
		saves = append(saves, ScheduleSave{Row: row})
	}
	var saved *SchedulesSaved
	l.write(func(tx *Tx) (err error) {
		saved, err = tx.SaveSchedules(saves, nil, Actor{Name: "ann"})
		return err
	})
	require.NoError(l.t, saved.Refused)
	return saved.Rows
}

// daily is a definition that is due at 100.
func daily(name string) Schedule {
	return Schedule{Name: name, Owner: OwnerAPI, Task: "report", Cron: "0 7 * * *", Timezone: "UTC", Missed: MissedRunOnce, Overlap: OverlapSkip,
		Params: "{}", CursorAt: 50, NextAt: 100}
}

// firing makes one task at each instant.
func firing(s Schedule, cursor, next Instant, at ...Instant) *Firing {
	f := &Firing{ID: s.ID, Version: s.Version, CursorAt: s.CursorAt, LastAt: s.LastAt, Name: s.Name, Overlap: s.Overlap, Cursor: cursor, Next: next}
	for _, a := range at {
		f.Due = append(f.Due, &DueTask{At: a, Task: &NewTask{Task: Task{Type: s.Task, Priority: 5, Params: "{}", TraceID: "t", Schedule: s.Name, ScheduledFor: a}}})
	}
	return f
}

func (l *planner) fire(firings ...*Firing) []*Fired {
	l.t.Helper()
	var fired []*Fired
	l.write(func(tx *Tx) (err error) {
		fired, err = tx.Fire(firings, never)
		return err
	})
	return fired
}

func (l *planner) schedule(name string) Schedule {
	l.t.Helper()
	row, err := l.Schedule(l.t.Context(), name)
	require.NoError(l.t, err)
	return row
}

// outcomes is what became of each instant of a schedule.
func (l *planner) outcomes(id int64) map[Instant]string {
	l.t.Helper()
	all, err := l.Occurrences(l.t.Context(), id, 2*KeptOccurrences)
	require.NoError(l.t, err)
	found := map[Instant]string{}
	for _, o := range all {
		found[o.At] = o.Outcome
	}
	return found
}

// finish ends the tasks of a schedule.
func (l *planner) finish(name string) {
	l.t.Helper()
	require.NoError(l.t, l.Writer().Exec("UPDATE tasks SET state = 'success', ready_at = NULL WHERE schedule = ?", name).Error)
}

func TestFiringStoresTaskOccurrenceAndPlanTogether(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	f := firing(s, 120, 200, 100)
	f.Missed, f.MissedMore = []Instant{70, 80}, 40
	fired := l.fire(f)
	require.False(t, fired[0].Stale)
	require.Len(t, fired[0].Tasks, 1)
	id := fired[0].Tasks[0].ID
	task, err := l.Task(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "a", task.Schedule)
	require.Equal(t, Instant(100), task.ScheduledFor)
	row := l.schedule("a")
	require.Equal(t, []int64{120, 200, 100, id, 1, 42, 0}, []int64{int64(row.CursorAt), int64(row.NextAt), int64(row.LastAt), row.LastTaskID, row.Runs,
		row.MissedCount, row.OverlapCount})
	require.Equal(t, map[Instant]string{70: OccurrenceMissed, 80: OccurrenceMissed, 100: OccurrenceEnqueued}, l.outcomes(s.ID))
	page, err := l.Tasks(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Equal(t, Instant(100), page[0].ScheduledFor, "in a list too")
}

func TestFiringOfAScheduleThatHasChangedIsDropped(t *testing.T) {
	for name, change := range map[string]func(f *Firing){
		"version":  func(f *Firing) { f.Version++ },
		"cursor":   func(f *Firing) { f.CursorAt++ },
		"last run": func(f *Firing) { f.LastAt = 7 },
		"gone":     func(f *Firing) { f.ID = 99 },
		"resumed":  func(f *Firing) { f.EndsPause = 60 },
	} {
		t.Run(name, func(t *testing.T) {
			l := newPlanner(t)
			s := l.save(daily("a"))[0]
			f := firing(s, 120, 200, 100)
			change(f)
			fired := l.fire(f)
			require.True(t, fired[0].Stale)
			require.Empty(t, fired[0].Tasks)
			require.Equal(t, s, l.schedule("a"))
			require.Empty(t, l.outcomes(s.ID))
		})
	}
	t.Run("paused", func(t *testing.T) {
		l := newPlanner(t)
		s := l.save(daily("a"))[0]
		l.write(func(tx *Tx) error {
			_, err := tx.SwitchSchedule(ScheduleSwitch{ID: s.ID, Version: 1, Pause: true}, Actor{Name: "ann"})
			return err
		})
		require.True(t, l.fire(firing(s, 120, 200, 100))[0].Stale)
	})
	t.Run("twice in one transaction", func(t *testing.T) {
		l := newPlanner(t)
		s := l.save(daily("a"))[0]
		fired := l.fire(firing(s, 120, 200, 100), firing(s, 120, 200, 100))
		require.False(t, fired[0].Stale)
		require.True(t, fired[1].Stale)
		require.Equal(t, int64(1), l.schedule("a").Runs)
	})
}

func TestTheUniqueKeyRefusesASecondTaskOfAnInstant(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	insert := "INSERT INTO occurrences (schedule_id, at, outcome, created_at) VALUES (?, 100, 'enqueued', 1)"
	require.NoError(t, l.Writer().Exec(insert, s.ID).Error)
	require.ErrorContains(t, l.Writer().Exec(insert, s.ID).Error, "duplicated key")
	fired := l.fire(firing(s, 120, 200, 100))
	require.False(t, fired[0].Stale)
	require.Empty(t, fired[0].Tasks, "an instant that has its task is passed over")
	require.Equal(t, Instant(120), l.schedule("a").CursorAt)
}

func TestOverlapIsDecidedAgainstTheLedger(t *testing.T) {
	for _, c := range []struct {
		overlap  string
		blocked  bool // a task of before is unfinished
		due      int
		outcomes []string
	}{
		{OverlapSkip, false, 1, []string{"enqueued"}},
		{OverlapSkip, false, 3, []string{"enqueued", "overlap", "overlap"}},
		{OverlapSkip, true, 2, []string{"overlap", "overlap"}},
		{OverlapAllow, false, 3, []string{"enqueued", "enqueued", "enqueued"}},
		{OverlapAllow, true, 1, []string{"enqueued"}},
		{OverlapQueueOne, false, 1, []string{"enqueued"}},
		{OverlapQueueOne, false, 3, []string{"enqueued", "queued", "overlap"}},
		{OverlapQueueOne, true, 3, []string{"queued", "overlap", "overlap"}},
	} {
		t.Run(fmt.Sprintf("%s %v %d", c.overlap, c.blocked, c.due), func(t *testing.T) {
			l := newPlanner(t)
			s := daily("a")
			s.Overlap = c.overlap
			s = l.save(s)[0]
			blocker := int64(0)
			if c.blocked {
				blocker = l.fire(firing(s, 60, 100, 55))[0].Tasks[0].ID
				s = l.schedule("a")
			}
			var at []Instant
			for i := range c.due {
				at = append(at, Instant(100+i))
			}
			fired := l.fire(firing(s, 120, 200, at...))[0]
			if !c.blocked {
				blocker = fired.Tasks[0].ID
			}
			rows, err := l.Occurrences(t.Context(), s.ID, c.due)
			require.NoError(t, err)
			overlaps := int64(0)
			for i, o := range rows {
				require.Equal(t, c.outcomes[c.due-1-i], o.Outcome, "at %d", o.At)
				switch o.Outcome {
				case OccurrenceOverlap, OccurrenceQueued:
					require.Equal(t, blocker, o.BlockedBy)
				case OccurrenceEnqueued:
					require.NotZero(t, o.TaskID)
				}
				if o.Outcome == OccurrenceOverlap {
					overlaps++
				}
			}
			require.Equal(t, overlaps, l.schedule("a").OverlapCount)
		})
	}
}

func TestAQueuedOccurrenceRunsOnceItsBlockerHasEnded(t *testing.T) {
	l := newPlanner(t)
	s := daily("a")
	s.Overlap = OverlapQueueOne
	s = l.save(s)[0]
	l.fire(firing(s, 120, 200, 100, 101))
	s = l.schedule("a")
	free, waiting, err := l.QueuedOccurrences(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, waiting)
	require.Empty(t, free)

	release := func() *Fired {
		f := firing(l.schedule("a"), s.CursorAt, s.NextAt, 101)
		f.Queued = true
		return l.fire(f)[0]
	}
	require.Empty(t, release().Tasks, "while the blocker is unfinished")
	require.Equal(t, OccurrenceQueued, l.outcomes(s.ID)[101])

	l.finish("a")
	free, _, err = l.QueuedOccurrences(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []QueuedOccurrence{{Schedule: l.schedule("a"), At: 101}}, free)
	require.Len(t, release().Tasks, 1)
	require.Equal(t, OccurrenceEnqueued, l.outcomes(s.ID)[101])
	l.finish("a")
	require.Empty(t, release().Tasks, "a second word changes nothing")
	row := l.schedule("a")
	require.Equal(t, []int64{2, 0, 101, 120, 200}, []int64{row.Runs, row.OverlapCount, int64(row.LastAt), int64(row.CursorAt), int64(row.NextAt)})
}

func TestNothingOvertakesAQueuedOccurrence(t *testing.T) {
	l := newPlanner(t)
	s := daily("a")
	s.Overlap = OverlapQueueOne
	s = l.save(s)[0]
	l.fire(firing(s, 120, 200, 100, 101))
	l.finish("a")
	require.Empty(t, l.fire(firing(l.schedule("a"), 220, 300, 200))[0].Tasks)
	require.Equal(t, OccurrenceOverlap, l.outcomes(s.ID)[200])
}

func TestAClockSetBackRepeatsNothingAndCorrectsTheCounts(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	f := firing(s, 400, 500, 300)
	f.Missed = []Instant{100, 200}
	l.fire(f)
	l.finish("a")
	s = l.schedule("a")
	require.Equal(t, int64(2), s.MissedCount)
	l.fire(firing(s, 90, 100)) // set back
	s = l.schedule("a")
	require.Equal(t, []Instant{90, 100}, []Instant{s.CursorAt, s.NextAt})
	for _, at := range []Instant{100, 200, 300} {
		l.fire(firing(l.schedule("a"), at, at+100, at))
		l.finish("a")
	}
	s = l.schedule("a")
	require.Equal(t, []int64{3, 0}, []int64{s.Runs, s.MissedCount}, "what was missed has run after all, what had run did not again")
	for _, outcome := range l.outcomes(s.ID) {
		require.Equal(t, OccurrenceEnqueued, outcome)
	}
}

func TestErrorsOfASchedule(t *testing.T) {
	l := newPlanner(t)
	s := l.save(daily("a"))[0]
	bad := firing(s, 120, 200)
	bad.Due = []*DueTask{{At: 100, Fault: "no such type"}}
	require.Equal(t, "no such type", l.fire(bad)[0].Error)
	s = l.schedule("a")
	require.Equal(t, "no such type", s.Error)
	require.Equal(t, []Instant{120, 200}, []Instant{s.CursorAt, s.NextAt}, "it goes on")
	rows, err := l.Occurrences(t.Context(), s.ID, 1)
	require.NoError(t, err)
	require.Equal(t, []string{OccurrenceError, "no such type"}, []string{rows[0].Outcome, rows[0].Note})
	faulty, err := l.FaultySchedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Schedule{{ID: s.ID, Name: "a", Error: "no such type"}}, faulty)

	require.Empty(t, l.fire(firing(s, 220, 300, 200))[0].Error)
	require.Empty(t, l.schedule("a").Error, "a success clears it")

	s = l.schedule("a")
	broken := firing(s, s.CursorAt, 0)
	broken.Fault = "unreadable"
	l.fire(broken)
	s = l.schedule("a")
	require.Equal(t, "unreadable", s.Error)
	require.Zero(t, s.NextAt)
	mended := firing(s, 400, 500)
	mended.Sound = true
	l.fire(mended)
	require.Empty(t, l.schedule("a").Error)
	require.Equal(t, Instant(500), l.schedule("a").NextAt)
}

func TestOnlyTheLatestOccurrencesAreKept(t *testing.T) {
	l := newPlanner(t)
	s := daily("a")
	s.Overlap = OverlapQueueOne
	s = l.save(s, daily("b"))[0]
	l.fire(firing(s, 60, 100, 54, 55)) // the second waits
	const n = 250
	for round := range 6 {
		s = l.schedule("a")
		f := firing(s, Instant(100+(round+1)*n), 10_000)
		for i := range n {
			f.Missed = append(f.Missed, Instant(100+round*n+i))
		}
		l.fire(f, firing(l.schedule("b"), Instant(100+(round+1)*n), 10_000, Instant(100+round)))
	}
	kept := l.outcomes(s.ID)
	require.Len(t, kept, KeptOccurrences+1)
	require.Equal(t, OccurrenceQueued, kept[55], "what waits is never dropped")
	require.NotContains(t, kept, Instant(54))
	require.NotContains(t, kept, Instant(100+6*n-1-KeptOccurrences))
	require.Contains(t, kept, Instant(100+6*n-KeptOccurrences))
	require.Equal(t, int64(6*n), l.schedule("a").MissedCount, "all are counted")
	require.Len(t, l.outcomes(l.schedule("b").ID), 6, "those of others stay")
}
