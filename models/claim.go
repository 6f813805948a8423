package models

import (
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Candidate is a task that the queue wants to start.
type Candidate struct {
	ID         int64
	PromotedAt Instant // when waiting lifted it; none when it was not lifted
}

// Claimed is a task that now belongs to this process: its row is running and durable, and its run may start.
type Claimed struct {
	ID         int64
	Type       string
	Priority   int
	Attempt    int
	Failures   int
	Crashes    int
	MaxRetries int
	Timeout    time.Duration
	ReadyAt    Instant
	StartedAt  Instant
	TraceID    string
	Params     string
}

// isReady is what a task must be to be claimed. The unary plus keeps SQLite from choosing the state index, which would
// read every waiting task to find a few ids.
var isReady = idIn + " AND +state IN (" + quoted(sourcesOf(StateRunning)) + ") AND ready_at IS NOT NULL"

// claimReady turns waiting rows into running ones.
var claimReady = updateTasks + ` SET state = 'running', attempt = attempt + 1, started_at = ?1, updated_at = ?1, boot_id = ?2,
 finished_at = NULL, progress = NULL, progress_note = NULL, claimed_retry = (state = 'retry_wait') WHERE ` + isReady

// Claim starts the run of each candidate that is still ready, in no promised order. Those it does not return were
// taken, ended or put off since the queue last saw them. To read the rows before they are changed costs half of what
// RETURNING does.
func (tx *Tx) Claim(candidates []Candidate) ([]*Claimed, error) {
	const doing = "claiming tasks"
	claimed, err := tx.claimable(candidates)
	if err != nil || len(claimed) == 0 {
		return claimed, err
	}
	ids := make([]int64, len(claimed))
	for i, c := range claimed {
		ids[i] = c.ID
	}
	res, err := tx.exec(doing, claimReady, int64(tx.now), tx.w.bootID, list(ids))
	if err != nil {
		return nil, err
	}
	if n, err := res.RowsAffected(); err != nil || n != int64(len(ids)) {
		return nil, errors.Join(fmt.Errorf("%s: %d of %d rows were changed", doing, n, len(ids)), err)
	}
	return claimed, tx.notePromotions(candidates, claimed)
}

// claimable reads the candidates that are ready, as they will be when they are claimed, and tallies that.
func (tx *Tx) claimable(candidates []Candidate) ([]*Claimed, error) {
	ids := make([]int64, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	claimed := make([]*Claimed, 0, len(candidates))
	err := tx.query("looking for tasks to claim", `SELECT id, type, priority, attempt + 1, failures, crashes, max_retries, timeout_us,
 ready_at, state = 'retry_wait', trace_id, params FROM tasks WHERE `+isReady, func(rows *sql.Rows) error {
		c := &Claimed{StartedAt: tx.now}
		var timeout int64
		var retry bool
		err := rows.Scan(&c.ID, &c.Type, &c.Priority, &c.Attempt, &c.Failures, &c.Crashes, &c.MaxRetries, &timeout, &c.ReadyAt,
			&retry, &c.TraceID, &c.Params)
		if err != nil {
			return err
		}
		c.Timeout = time.Duration(timeout) * time.Microsecond
		claimed = append(claimed, c)
		from := StatePending
		if retry {
			from = StateRetryWait
		}
		tx.moved(c.Type, from, StateRunning)
		tx.ready(c.Type, -1)
		m := tx.minute(c.Type)
		m.Started++
		m.waited(tx.now.Sub(c.ReadyAt))
		return nil
	}, list(ids))
	return claimed, err
}

// notePromotions stores which of the claimed tasks waiting had lifted.
func (tx *Tx) notePromotions(candidates []Candidate, claimed []*Claimed) error {
	lifted := map[int64]Instant{}
	for _, c := range candidates {
		if c.PromotedAt != 0 {
			lifted[c.ID] = c.PromotedAt
		}
	}
	if len(lifted) == 0 {
		return nil
	}
	var promotions [][2]int64
	for _, c := range claimed {
		if at, ok := lifted[c.ID]; ok {
			tx.minute(c.Type).Promoted++
			promotions = append(promotions, [2]int64{c.ID, int64(at)})
		}
	}
	if len(promotions) == 0 {
		return nil
	}
	_, err := tx.exec("noting lifted tasks", `UPDATE tasks SET promoted_at = o.at
 FROM (SELECT value->>0 AS id, value->>1 AS at FROM json_each(?)) AS o WHERE tasks.id = o.id`, list(promotions))
	return err
}

// Release makes waiting tasks ready whose time has come, and returns them. A task that is not due, or no longer waits,
// is left alone.
func (tx *Tx) Release(ids []int64) ([]Ready, error) {
	released := make([]Ready, 0, len(ids))
	err := tx.query("releasing due tasks", `UPDATE tasks SET ready_at = run_at, updated_at = ?1
 WHERE id IN (SELECT value FROM json_each(?2)) AND ready_at IS NULL AND +state IN ('pending', 'retry_wait') AND run_at <= ?1
 RETURNING id, type, priority, ready_at, crashes, attempt`, func(rows *sql.Rows) error {
		var r Ready
		if err := rows.Scan(&r.ID, &r.Type, &r.Priority, &r.ReadyAt, &r.Crashes, &r.Attempt); err != nil {
			return err
		}
		released = append(released, r)
		tx.ready(r.Type, 1)
		return nil
	}, int64(tx.now), list(ids))
	return released, err
}

// Ready is what the queue keeps in memory of a task that only waits for a worker.
type Ready struct {
	ID       int64
	Type     string
	Priority int
	ReadyAt  Instant
	Crashes  int
	Attempt  int // runs it has had; tells new word of a task from old
}

// ReadyOf is t as the queue keeps it.
func ReadyOf(t *Task) Ready {
	return Ready{ID: t.ID, Type: t.Type, Priority: t.Priority, ReadyAt: t.ReadyAt, Crashes: t.Crashes, Attempt: t.Attempt}
}
