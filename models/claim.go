package models

import (
	"database/sql"
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

// claimReady turns waiting rows into running ones. RETURNING knows the new row only, so claimed_retry carries over from
// which state it came, which counts needs. The unary plus keeps SQLite from choosing the state index, which
// would read every waiting task to find a few ids.
var claimReady = `UPDATE tasks SET state = 'running', attempt = attempt + 1, started_at = ?1, updated_at = ?1, boot_id = ?2,
 finished_at = NULL, progress = NULL, progress_note = NULL, claimed_retry = (state = 'retry_wait')
WHERE id IN (SELECT value FROM json_each(?3)) AND +state IN (` + quoted(sourcesOf(StateRunning)) + `) AND ready_at IS NOT NULL
RETURNING id, type, priority, attempt, failures, crashes, max_retries, timeout_us, ready_at, claimed_retry, trace_id, params`

// Claim starts the run of each candidate that is still ready, in no promised order. Those it does not return were
// taken, ended or put off since the queue last saw them.
func (tx *Tx) Claim(candidates []Candidate) ([]*Claimed, error) {
	ids := make([]int64, len(candidates))
	lifted := map[int64]Instant{}
	for i, c := range candidates {
		ids[i] = c.ID
		if c.PromotedAt != 0 {
			lifted[c.ID] = c.PromotedAt
		}
	}
	claimed := make([]*Claimed, 0, len(candidates))
	var promotions [][2]int64
	err := tx.query("claiming tasks", claimReady, func(rows *sql.Rows) error {
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
		m.WaitHist.Add(tx.now.Sub(c.ReadyAt))
		if at, ok := lifted[c.ID]; ok {
			m.Promoted++
			promotions = append(promotions, [2]int64{c.ID, int64(at)})
		}
		return nil
	}, int64(tx.now), tx.w.bootID, list(ids))
	if err != nil || len(promotions) == 0 {
		return claimed, err
	}
	_, err = tx.exec("noting lifted tasks", `UPDATE tasks SET promoted_at = o.at
 FROM (SELECT value->>0 AS id, value->>1 AS at FROM json_each(?)) AS o WHERE tasks.id = o.id`, list(promotions))
	return claimed, err
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
