package actors

import (
	"slices"
	"time"

	"reax/models"
	"reax/timetable"
)

const (
	lateAfter  = time.Minute // an occurrence that is dealt with later than this counts as late
	missedRows = 100         // missed occurrences of one outage that get rows of their own, the latest; the others are counted

)

// timetableOf reads the times of a schedule. The error is a *timetable.FieldError.
func timetableOf(s *models.Schedule) (*timetable.Timetable, error) {
	return timetable.Parse(timetable.Spec{Cron: s.Cron, Every: s.Every(), At: s.At.Time(), Timezone: s.Timezone, Anchor: s.Anchor.Time()})
}

// due is what there is to do about the occurrences of a schedule that have come.
type due struct {
	run    []time.Time // oldest first
	missed []time.Time // oldest first: the latest ones, with rows of their own
	more   int         // further missed ones, which are only counted
}

// dueBetween sorts the occurrences after one moment, up to and including another, by a schedule's policy.
func dueBetween(table *timetable.Timetable, policy string, after, now time.Time) due {
	all, more := table.Between(after, now, MaxCatchUp+missedRows)
	if more > 0 {
		more += len(all)
		all = latest(table, after, now, MaxCatchUp+missedRows)
		more -= len(all)
	}
	runs := 1
	switch {
	case policy == models.MissedRunAll:
		runs = MaxCatchUp
	case policy == models.MissedSkip && len(all) > 0 && isLate(all[len(all)-1], now):
		runs = 0
	}
	first := max(len(all)-runs, 0)
	from := max(first-missedRows, 0)
	return due{run: all[first:], missed: all[from:first], more: more + from}
}

func isLate(at, now time.Time) bool { return now.Sub(at) > lateAfter }

// latest gives the last n runs of a stretch that has more. The look back doubles, so that a year of runs every minute
// costs little more than what is asked for.
func latest(table *timetable.Timetable, after, now time.Time, n int) []time.Time {
	for width := time.Minute; ; width *= 2 {
		from := now.Add(-width)
		if width <= 0 || !from.After(after) {
			from = after
		}
		if _, have := table.Between(from, now, 0); have >= n || from.Equal(after) {
			all, _ := table.Between(from, now, have)
			return slices.Clone(all[max(len(all)-n, 0):])
		}
	}
}

// scheduledTask makes the task of an occurrence, or of a person's wish when at is no occurrence. The error is one of
// Enqueue's.
func (c *core) scheduledTask(s *models.Schedule, at, previous time.Time) (*models.NewTask, error) {
	if !previous.IsZero() {
		previous = previous.In(at.Location())
	}
	params, err := renderParams(s.Params, occurrence{ScheduledFor: moment{at}, PreviousRun: moment{previous}, Name: s.Name})
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(s)
	if err != nil {
		return nil, err
	}
	t, err := c.prepare(&EnqueueRequest{Type: s.Task, Params: params, Priority: s.Priority, Tags: tags, By: enqueuedByUs})
	if err != nil {
		return nil, err
	}
	t.Schedule = s.Name
	return t, nil
}
