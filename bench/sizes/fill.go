package sizes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver that reax uses too

	"reax/models"
)

// fillStep is how many tasks one statement makes.
const fillStep = 200_000

// insertPending makes the waiting tasks of the ids after ?1 up to ?2, ready since ?3; of priority 2 to 10, so that one of
// priority 1 stands before all.
const insertPending = `WITH RECURSIVE ids(id) AS (SELECT ?1 + 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?2)
INSERT INTO tasks (id, type, state, priority, max_retries, timeout_us, run_at, ready_at, created_at, updated_at, trace_id, enqueued_by, params)
SELECT id, '` + massType + `', 'pending', 2 + id % 9, 3, 60000000, ?3, ?3, ?3, ?3, printf('%012x%020x', ?3 / 1000, id), 'bench',
	printf('{"user_id":1001,"date":"2026-11-29","seq":"%015d"}', id) FROM ids`

// insertFinished makes tasks that succeeded at ?3.
const insertFinished = `WITH RECURSIVE ids(id) AS (SELECT ?1 + 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ?2)
INSERT INTO tasks (id, type, state, priority, attempt, max_retries, timeout_us, run_at, ready_at, created_at, started_at, finished_at, updated_at, trace_id, enqueued_by, params)
SELECT id, '` + massType + `', 'success', 5, 1, 3, 60000000, ?3, ?3, ?3, ?3, ?3, ?3, printf('%012x%020x', ?3 / 1000, id), 'bench',
	printf('{"user_id":1001,"date":"2026-11-29","seq":"%015d"}', id) FROM ids`

const countMass = `INSERT INTO counts (type, state, n) SELECT type, state, count(*) FROM tasks WHERE true GROUP BY type, state
UNION ALL SELECT type, 'ready', count(*) FROM tasks WHERE ready_at IS NOT NULL AND state IN ('pending', 'retry_wait') GROUP BY type
ON CONFLICT DO UPDATE SET n = excluded.n`

func fillPending(j job) error { return fill(j, insertPending, models.StatePending, time.Now()) }

func fillFinished(j job) error {
	return fill(j, insertFinished, models.StateSuccess, time.Now().Add(-3*time.Hour))
}

// fill adds tasks until the file has so many in the state. It writes through a handle of its own and without a log: a
// crash leaves no file to use.
func fill(j job, insert string, state models.State, at time.Time) (err error) {
	store, err := openStore(j.ctx, j.dir) // makes the tables
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", "file:"+store.Path()+"?_journal=OFF&_synchronous=OFF&_cache_size=-1048576")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var last, has int64
	if err := db.QueryRowContext(j.ctx, "SELECT coalesce(max(id), 0) FROM tasks").Scan(&last); err != nil {
		return err
	}
	if err := db.QueryRowContext(j.ctx, "SELECT coalesce(sum(n), 0) FROM counts WHERE type = ? AND state = ?", massType, state).Scan(&has); err != nil {
		return err
	}
	end := last + int64(j.size) - has
	for from := last; from < end; from += fillStep {
		if _, err := db.ExecContext(j.ctx, insert, from, min(from+fillStep, end), models.At(at)); err != nil {
			return fmt.Errorf("making tasks: %w", err)
		}
	}
	_, err = db.ExecContext(j.ctx, countMass)
	return err
}

// until looks every 5 ms whether something has come true.
func until(ctx context.Context, limit time.Duration, what string, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if yes, err := ok(); yes || err != nil {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s did not come within %s", what, limit)
		}
	}
}
