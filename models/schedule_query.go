package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// Schedules gives all schedules by name.
func (s *Store) Schedules(ctx context.Context) ([]Schedule, error) {
	var all []Schedule
	if err := s.reader.WithContext(ctx).Order("name").Find(&all).Error; err != nil {
		return nil, fmt.Errorf("reading the schedules: %w", err)
	}
	return all, nil
}

// Schedule gives one schedule, or ErrNotFound.
func (s *Store) Schedule(ctx context.Context, name string) (Schedule, error) {
	var one Schedule
	err := s.reader.WithContext(ctx).Where("name = ?", name).Take(&one).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Schedule{}, ErrNotFound
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("reading schedule %s: %w", name, err)
	}
	return one, nil
}

// Occurrences gives up to limit occurrences of a schedule, newest first.
func (s *Store) Occurrences(ctx context.Context, scheduleID int64, limit int) ([]Occurrence, error) {
	all, err := collect(s.reader.WithContext(ctx), scanOccurrence, `SELECT schedule_id, at, outcome, coalesce(task_id, 0), late, coalesce(blocked_by, 0),
 coalesce(note, ''), created_at FROM occurrences WHERE schedule_id = ? ORDER BY at DESC LIMIT ?`, scheduleID, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the occurrences of a schedule: %w", err)
	}
	return all, nil
}

// scanOccurrence reads a row by hand: a page of schedules has thousands of them.
func scanOccurrence(rows *sql.Rows) (o Occurrence, err error) {
	err = rows.Scan(&o.ScheduleID, &o.At, &o.Outcome, &o.TaskID, &o.Late, &o.BlockedBy, &o.Note, &o.CreatedAt)
	return o, err
}

// The rows of the partial indexes on schedules, word for word.
const (
	plannedRows   = "next_at IS NOT NULL AND paused = 0"
	pauseEndsRows = "paused_until IS NOT NULL AND paused = 1"
)

// DueSchedules gives up to limit schedules of which an occurrence is due, the longest due first.
func (s *Store) DueSchedules(ctx context.Context, now Instant, limit int) ([]Schedule, error) {
	return s.schedulesWhere(ctx, plannedRows+" AND next_at <= ? ORDER BY next_at LIMIT ?", int64(now), limit)
}

// EndedPauses gives up to limit paused schedules whose pause has come to its end.
func (s *Store) EndedPauses(ctx context.Context, now Instant, limit int) ([]Schedule, error) {
	return s.schedulesWhere(ctx, pauseEndsRows+" AND paused_until <= ? ORDER BY paused_until LIMIT ?", int64(now), limit)
}

// SchedulesAfter gives up to limit schedules with ids above one, by ascending id.
func (s *Store) SchedulesAfter(ctx context.Context, id int64, limit int) ([]Schedule, error) {
	return s.schedulesWhere(ctx, "id > ? ORDER BY id LIMIT ?", id, limit)
}

// SchedulesAhead gives up to limit schedules that have dealt with instants after a moment: the clock was set back. It
// reads every schedule.
func (s *Store) SchedulesAhead(ctx context.Context, moment Instant, limit int) ([]Schedule, error) {
	return s.schedulesWhere(ctx, "paused = 0 AND +cursor_at > ? ORDER BY id LIMIT ?", int64(moment), limit)
}

// FaultySchedules gives the schedules with an Error. Only ID, Name and Error are set.
func (s *Store) FaultySchedules(ctx context.Context) ([]Schedule, error) {
	var all []Schedule
	if err := s.reader.WithContext(ctx).Raw("SELECT id, name, error FROM schedules WHERE error IS NOT NULL ORDER BY id").Scan(&all).Error; err != nil {
		return nil, fmt.Errorf("reading the schedules that failed: %w", err)
	}
	return all, nil
}

// QueuedOccurrence is an occurrence that waited for the end of a task.
type QueuedOccurrence struct {
	Schedule Schedule
	At       Instant
	Late     bool
}

// QueuedOccurrences gives up to limit occurrences whose schedule has no unfinished task any more, and whether any
// occurrence waits at all.
func (s *Store) QueuedOccurrences(ctx context.Context, limit int) (free []QueuedOccurrence, waiting bool, err error) {
	db := s.reader.WithContext(ctx)
	found, err := collect(db, scanOne[int64], "SELECT schedule_id FROM occurrences WHERE outcome = 'queued' LIMIT 1")
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	var rows []struct {
		Schedule
		QueuedAt   Instant
		QueuedLate bool
	}
	err = db.Raw(`SELECT s.*, o.at AS queued_at, o.late AS queued_late FROM occurrences AS o CROSS JOIN schedules AS s ON s.id = o.schedule_id
 WHERE o.outcome = 'queued' AND s.paused = 0
 AND NOT EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_schedule WHERE schedule = s.name AND `+unfinished+`) LIMIT ?`, limit).Scan(&rows).Error
	if err != nil {
		return nil, false, fmt.Errorf("reading the occurrences that wait: %w", err)
	}
	free = make([]QueuedOccurrence, len(rows))
	for i, r := range rows {
		free[i] = QueuedOccurrence{r.Schedule, r.QueuedAt, r.QueuedLate}
	}
	return free, true, nil
}

// NextScheduled gives the earliest moment at which a schedule has something due, or none.
func (s *Store) NextScheduled(ctx context.Context) (Instant, error) {
	var next Instant
	for _, query := range []string{
		"SELECT next_at FROM schedules WHERE " + plannedRows + " ORDER BY next_at LIMIT 1",
		"SELECT paused_until FROM schedules WHERE " + pauseEndsRows + " ORDER BY paused_until LIMIT 1",
	} {
		found, err := collect(s.reader.WithContext(ctx), scanOne[Instant], query)
		if err != nil {
			return 0, fmt.Errorf("reading the next run of a schedule: %w", err)
		}
		if len(found) > 0 && (next == 0 || found[0] < next) {
			next = found[0]
		}
	}
	return next, nil
}

func (s *Store) schedulesWhere(ctx context.Context, where string, args ...any) ([]Schedule, error) {
	var all []Schedule
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM schedules WHERE "+where, args...).Scan(&all).Error; err != nil {
		return nil, fmt.Errorf("reading schedules: %w", err)
	}
	return all, nil
}
