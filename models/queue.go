package models

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"
)

// The rows of the partial indexes on the time of readiness, on the due time and on the state. SQLite uses a partial index
// only for a query that repeats its condition word for word.
const (
	readyRows     = "ready_at IS NOT NULL AND state IN ('pending', 'retry_wait')"
	dueRows       = "ready_at IS NULL AND state IN ('pending', 'retry_wait')"
	unlessSuccess = "state <> 'success'"
)

// ReadyAfter gives up to limit tasks of a type and priority that may run now, in the order (ReadyAt, ID), from after
// the one named.
func (s *Store) ReadyAfter(ctx context.Context, typ string, priority int, afterReady Instant, afterID int64, limit int) ([]Ready, error) {
	scan := func(rows *sql.Rows) (t Ready, err error) {
		t.Type, t.Priority = typ, priority
		err = rows.Scan(&t.ID, &t.ReadyAt, &t.Crashes, &t.Attempt)
		return t, err
	}
	// Two ranges and not (ready_at, id) > (?, ?): for that SQLite would read again all that became ready in the same
	// moment, which is a whole batch.
	const lane = "SELECT id, ready_at, crashes, attempt FROM tasks WHERE " + readyRows + " AND type = ? AND priority = ? AND "
	tasks, err := collect(s.reader.WithContext(ctx), scan,
		lane+"ready_at = ? AND id > ? UNION ALL "+lane+"ready_at > ? ORDER BY ready_at, id LIMIT ?",
		typ, priority, int64(afterReady), afterID, typ, priority, int64(afterReady), max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the ready tasks of %s: %w", typ, err)
	}
	return tasks, nil
}

// ReadyTypes gives the types that have tasks which may run now. It jumps from type to type and does not read the rows
// between.
func (s *Store) ReadyTypes(ctx context.Context) ([]string, error) {
	types, err := collect(s.reader.WithContext(ctx), scanOne[string],
		jump("SELECT type FROM tasks WHERE "+readyRows+" AND type > found.type ORDER BY type LIMIT 1"))
	if err != nil {
		return nil, fmt.Errorf("reading the types with ready tasks: %w", err)
	}
	return types, nil
}

// jump is a query for the distinct types of an index, which next looks up in the index one after the other.
func jump(next string) string {
	return "WITH RECURSIVE found(type) AS (VALUES ('') UNION ALL SELECT (" + next +
		") FROM found WHERE found.type IS NOT NULL) SELECT type FROM found WHERE type > ''"
}

// DueIDs gives up to limit tasks that waited for a time which has come, soonest first.
func (s *Store) DueIDs(ctx context.Context, now Instant, limit int) ([]int64, error) {
	ids, err := collect(s.reader.WithContext(ctx), scanOne[int64],
		"SELECT id FROM tasks WHERE "+dueRows+" AND run_at <= ? ORDER BY run_at, id LIMIT ?", int64(now), max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the due tasks: %w", err)
	}
	return ids, nil
}

// NextDue gives the earliest time for which a task waits, or none.
func (s *Store) NextDue(ctx context.Context) (Instant, error) {
	times, err := collect(s.reader.WithContext(ctx), scanOne[Instant], "SELECT run_at FROM tasks WHERE "+dueRows+" ORDER BY run_at LIMIT 1")
	if err != nil {
		return 0, fmt.Errorf("reading the next due time: %w", err)
	}
	if len(times) == 0 {
		return 0, nil
	}
	return times[0], nil
}

// RunningOf gives the tasks that run and were claimed by one start of the process. Only ID, Type, State, Priority,
// Attempt, TraceID, StartedAt, CancelRequestedAt, StuckAt, Worker and BootID are set.
func (s *Store) RunningOf(ctx context.Context, bootID string) ([]Task, error) {
	var tasks []Task
	err := s.reader.WithContext(ctx).
		Select("id", "type", "state", "priority", "attempt", "trace_id", "started_at", "cancel_requested_at", "stuck_at", "worker", "boot_id").
		Where("state = ? AND "+unlessSuccess+" AND boot_id = ?", StateRunning, bootID).Find(&tasks).Error
	if err != nil {
		return nil, fmt.Errorf("reading the running tasks: %w", err)
	}
	return tasks, nil
}

// FinishedBefore gives up to limit finished tasks with ids above afterID that were created before a moment, by
// ascending id. Only ID, Type, State, CreatedAt and FinishedAt are set.
func (s *Store) FinishedBefore(ctx context.Context, afterID int64, createdBefore Instant, limit int) ([]Task, error) {
	end, err := firstCreatedAt(s.reader.WithContext(ctx), createdBefore.Add(createdSlack))
	if err != nil {
		return nil, fmt.Errorf("reading the finished tasks: %w", err)
	}
	tasks, err := collect(s.reader.WithContext(ctx), func(rows *sql.Rows) (t Task, err error) {
		var finished sql.NullInt64
		err = rows.Scan(&t.ID, &t.Type, &t.State, &t.CreatedAt, &finished)
		t.FinishedAt = Instant(finished.Int64)
		return t, err
	}, `SELECT id, type, state, created_at, finished_at FROM tasks WHERE id > ? AND id < ? AND created_at < ?
		AND +state IN ('success', 'failed', 'dead', 'cancelled') ORDER BY id LIMIT ?`,
		afterID, end, int64(createdBefore), max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the finished tasks: %w", err)
	}
	return tasks, nil
}

// collect reads all rows of a query with scan, which costs a tenth of what filling structs by reflection does.
func collect[T any](db *gorm.DB, scan func(*sql.Rows) (T, error), query string, args ...any) (_ []T, err error) {
	rows, err := db.Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// scanOne reads a row of one column.
func scanOne[T any](rows *sql.Rows) (one T, err error) {
	err = rows.Scan(&one)
	return one, err
}
