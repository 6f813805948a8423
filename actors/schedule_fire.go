package actors

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
	"reax/tasks"
	"reax/timetable"
)

const (
	scheduleBatch   = 1_000            // schedules of one look
	scheduleVerify  = 250              // schedules that are checked in one go after a start
	scheduleQueued  = time.Second      // how soon the end of a task is seen that an occurrence waits for
	scheduleAnswers = 30 * time.Second // after which a firing counts as lost
	clockBack       = 30 * time.Second // by which the clock must have gone back to be noticed
	clockAhead      = time.Minute      // by which a schedule must be ahead of the clock at a start
	enqueuedByUs    = "scheduler"
)

// schedules is what the scheduler knows of recurring work: nothing that the ledger does not know better. Tables saves
// reading the same pattern again and again.
type schedules struct {
	tables  map[int64]versioned
	firing  int       // firings that the journal has and has not answered
	since   time.Time // of the oldest of them
	looked  time.Time // of the last look, by the steady clock
	shown   time.Time // what the wall clock showed then
	opening bool
	rewind  bool          // there may be schedules that are ahead of the clock
	ahead   time.Duration // by so much
}

type versioned struct {
	version int64
	table   *timetable.Timetable
}

// verify asks for a look at the definitions of stored schedules with ids above after.
type verify struct{ after int64 }

// IgnoreDeadLetterLogging marks a message whose loss means only that the scheduler is gone.
func (*verify) IgnoreDeadLetterLogging() {}

// lookAtSchedules has the journal deal with every occurrence that is due, and arms the timer for the next.
func (s *scheduler) lookAtSchedules(c actor.Context, now time.Time) {
	s.watchClock(now)
	if !s.synced.Load() {
		return
	}
	if s.firing > 0 && (s.figures.trouble.Load() != nil || time.Since(s.since) < scheduleAnswers) {
		return
	}
	s.firing, s.since = 0, time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), schedulerRead)
	defer cancel()
	if err := s.fireDue(ctx, c, now); err != nil {
		s.logger.Error("the scheduler cannot read the schedules", slog.Any("error", err))
		s.wakeAt(c, models.At(now.Add(schedulerRetry)))
	}
}

func (s *scheduler) fireDue(ctx context.Context, c actor.Context, now time.Time) error {
	if err := s.rewindSchedules(ctx, c, now); err != nil || s.firing > 0 {
		return err
	}
	// First what has waited, before what would wait in its place.
	free, waiting, err := s.store.QueuedOccurrences(ctx, scheduleBatch)
	if err != nil {
		return err
	}
	for i := range free {
		s.fire(c, s.queuedFiring(&free[i]))
	}
	if waiting {
		s.wakeAt(c, models.At(now.Add(scheduleQueued)))
	}
	ended, err := s.store.EndedPauses(ctx, models.At(now), scheduleBatch)
	if err != nil {
		return err
	}
	rows, err := s.store.DueSchedules(ctx, models.At(now), scheduleBatch)
	if err != nil {
		return err
	}
	for _, group := range [][]models.Schedule{ended, rows} {
		for i := range group {
			s.fire(c, s.firingOf(&group[i], now))
		}
	}
	if s.firing > 0 {
		return nil // the answers bring on the next look
	}
	next, err := s.store.NextScheduled(ctx)
	if err == nil && next != 0 {
		s.wakeAt(c, next)
	}
	return err
}

func (s *scheduler) fire(c actor.Context, f *models.Firing) {
	s.firing++
	c.Request(s.journal, &FireSchedule{Firing: f})
}

// answered takes the journal's word on a firing, also that it was refused: then the schedule is still due.
func (s *scheduler) answered(c actor.Context, pause time.Duration) {
	if s.firing > 0 {
		s.firing--
	}
	if s.firing == 0 {
		s.wakeAt(c, models.At(s.now().Add(pause)))
	}
}

// table is the timetable of a schedule.
func (s *scheduler) table(row *models.Schedule) (*timetable.Timetable, error) {
	if known, ok := s.tables[row.ID]; ok && known.version == row.Version {
		return known.table, nil
	}
	table, err := timetableOf(row)
	if err == nil {
		s.tables[row.ID] = versioned{row.Version, table}
	}
	return table, err
}

// firingOf says what is to become of a schedule of which something is due.
func (s *scheduler) firingOf(row *models.Schedule, now time.Time) *models.Firing {
	f := firingFor(row)
	f.Cursor = models.At(now)
	from := row.CursorAt
	if row.Paused { // what came up since the end of the pause is due, what came up before is not
		f.EndsPause, from = row.PausedUntil, row.PausedUntil
	}
	table, err := s.table(row)
	if err != nil {
		f.Cursor, f.Fault = from, brokenSchedule(err)
		return f
	}
	f.Next = models.At(table.Next(now))
	d := dueBetween(table, row.Missed, from.Time(), now)
	f.MissedMore = int64(d.more)
	for _, at := range d.missed {
		f.Missed = append(f.Missed, models.At(at))
	}
	previous := row.LastAt.Time()
	for _, at := range d.run {
		one := &models.DueTask{At: models.At(at), Late: isLate(at, now)}
		if one.Task, one.Fault = s.dueTask(row, at, previous); one.Task != nil {
			previous = at
		}
		f.Due = append(f.Due, one)
	}
	return f
}

// queuedFiring lets the occurrence run that waited for the end of a task. The plan stays where it is.
func (s *scheduler) queuedFiring(q *models.QueuedOccurrence) *models.Firing {
	row := &q.Schedule
	f := firingFor(row)
	f.Queued, f.Cursor, f.Next = true, row.CursorAt, row.NextAt
	one := &models.DueTask{At: q.At, Late: q.Late}
	at := q.At.Time()
	if zone, err := time.LoadLocation(row.Timezone); err == nil {
		at = at.In(zone)
	}
	one.Task, one.Fault = s.dueTask(row, at, row.LastAt.Time())
	f.Due = []*models.DueTask{one}
	return f
}

func firingFor(row *models.Schedule) *models.Firing {
	return &models.Firing{ID: row.ID, Version: row.Version, CursorAt: row.CursorAt, LastAt: row.LastAt, Name: row.Name, Overlap: row.Overlap}
}

// dueTask is the task of an occurrence, or why there is none.
func (s *scheduler) dueTask(row *models.Schedule, at, previous time.Time) (*models.NewTask, string) {
	task, err := s.scheduledTask(row, at, previous)
	if err != nil {
		return nil, models.CutText(scheduleFault(err), MaxReasonBytes)
	}
	task.ScheduledFor = models.At(at)
	return task, ""
}

// scheduleFault is why no task could be made of an occurrence, as a sentence for the schedule's page.
func scheduleFault(err error) string {
	if errors.Is(err, ErrUnknownType) {
		return "there is no task type of its name in this process"
	}
	var invalid *tasks.InvalidError
	if errors.As(err, &invalid) && len(invalid.Fields) > 0 {
		first := invalid.Fields[0]
		return first.Location + " " + first.Message
	}
	return err.Error()
}

func brokenSchedule(err error) string {
	return models.CutText("the times of the schedule cannot be read: "+err.Error(), MaxReasonBytes)
}

// watchClock notices a wall clock that was set back: it has gone less far than the steady clock.
func (s *scheduler) watchClock(now time.Time) {
	now = now.Round(0)
	switch {
	case s.opening:
		s.rewind, s.ahead, s.opening = true, clockAhead, false
	case now.Sub(s.shown)-time.Since(s.looked) < -clockBack:
		s.logger.Warn("the clock was set back; schedules go on from what it shows now", slog.Time("before", s.shown), slog.Time("now", now))
		s.rewind, s.ahead = true, 0
	}
	s.shown, s.looked = now, time.Now()
}

// rewindSchedules sets back the schedules that have dealt with what is now the future again. An occurrence that has its
// task keeps it, and makes no second one.
func (s *scheduler) rewindSchedules(ctx context.Context, c actor.Context, now time.Time) error {
	if !s.rewind {
		return nil
	}
	rows, err := s.store.SchedulesAhead(ctx, models.At(now.Add(s.ahead)), scheduleBatch)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		s.rewind = false
	}
	for i := range rows {
		f := firingFor(&rows[i])
		f.Cursor = models.At(now)
		if table, err := s.table(&rows[i]); err != nil {
			f.Fault = brokenSchedule(err)
		} else {
			f.Next = models.At(table.Next(now))
		}
		s.fire(c, f)
	}
	return nil
}

// verify looks for stored schedules whose definition this program cannot read, so that each shows its own error before
// it is due, and for those that it can read again.
func (s *scheduler) verify(c actor.Context, after int64) {
	ctx, cancel := context.WithTimeout(context.Background(), schedulerRead)
	defer cancel()
	rows, err := s.store.SchedulesAfter(ctx, after, scheduleVerify)
	if err != nil {
		s.logger.Warn("the stored schedules cannot be checked", slog.Any("error", err))
		return
	}
	now := s.now()
	for i := range rows {
		row := &rows[i]
		if row.Paused {
			continue
		}
		table, err := s.table(row)
		f := firingFor(row)
		switch {
		case err != nil && row.NextAt != 0:
			f.Cursor, f.Fault = row.CursorAt, brokenSchedule(err)
		case err == nil && row.NextAt == 0 && row.Error != "" && !table.Next(now).IsZero():
			f.Cursor, f.Next, f.Sound = models.At(now), models.At(table.Next(now)), true
		default:
			continue
		}
		s.fire(c, f)
	}
	if len(rows) == scheduleVerify {
		c.Send(c.Self(), &verify{after: rows[len(rows)-1].ID})
	}
}
