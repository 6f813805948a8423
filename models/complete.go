package models

import (
	"cmp"
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

// Completion is how one run ended. The writer trusts it only for the row's current attempt: a late word about an
// earlier run changes nothing.
type Completion struct {
	ID         int64
	Type       string
	TraceID    string // for the log; the row has its own
	Attempt    int
	State      State // what the task becomes; pending means that the run was cut off and is to be repeated
	Outcome    string
	Failures   int     // counted runs that failed, this one included
	RunAt      Instant // of the next run, for retry_wait
	RetryRule  string
	StartedAt  Instant
	FinishedAt Instant
	Worker     string
	BootID     string // the process start that ran it; empty means this one
	Result     string // JSON
	ErrorKind  string
	Error      string
	Stack      string
	Suspected  string // set when the run may have to be repeated although it did its work
	CrashCount int    // crashes counted so far, this one included; 0 leaves the row's number
	Written    bool   // set by Finish when a success at the first try is in its row; Ended has the others

	normal string // of Error, once it was asked for
}

// Ended is a run whose end has been written, and was not a first-try success: those need no further thought.
type Ended struct {
	*Completion
	Ready Ready // for a task that is pending again
}

// Finish writes how runs ended. It returns what became of those that were not a success at the first try, in no promised
// order; a completion that no longer fits its row changes nothing and is left out.
func (tx *Tx) Finish(done []*Completion) ([]Ended, error) {
	var bare, rich, other []*Completion
	for _, c := range done {
		c.Written, c.normal = false, "" // an earlier transaction with it may have failed
		switch {
		case c.State != StateSuccess || c.Attempt != 1:
			other = append(other, c)
		case c.Result == "" && c.Suspected == "":
			bare = append(bare, c)
		default:
			rich = append(rich, c)
		}
	}
	if err := tx.succeedBare(bare); err != nil {
		return nil, err
	}
	if err := tx.succeed(rich); err != nil {
		return nil, err
	}
	return tx.end(other)
}

const succeededSet = `state = 'success', updated_at = ?1, stuck_at = NULL, error = NULL, error_kind = NULL, fingerprint = NULL`

// succeedBare is Finish for what almost every run is: a success at the first try without a result. Its argument is a JSON
// object of ids and the microseconds since each finished, which SQLite reads without parsing a value of its own a row.
func (tx *Tx) succeedBare(done []*Completion) error {
	if len(done) == 0 {
		return nil
	}
	ages := make([]byte, 0, 24*len(done))
	for i, c := range done {
		ages = append(ages, map[bool]byte{true: '{', false: ','}[i == 0], '"')
		ages = strconv.AppendInt(ages, c.ID, 10)
		ages = append(ages, '"', ':')
		ages = strconv.AppendInt(ages, int64(tx.now-c.FinishedAt), 10)
	}
	ages = append(ages, '}')
	return tx.succeeded(done, updateTasks+` SET `+succeededSet+`, finished_at = ?1 - o.value FROM json_each(?2) AS o
WHERE tasks.id = CAST(o.key AS INTEGER) AND +tasks.state = 'running' AND tasks.attempt = 1`, string(ages))
}

// succeed is Finish for a success at the first try with a result.
func (tx *Tx) succeed(done []*Completion) error {
	if len(done) == 0 {
		return nil
	}
	rows := make([][4]any, len(done))
	for i, c := range done {
		rows[i] = [4]any{c.ID, int64(c.FinishedAt), textOrNull(c.Result), textOrNull(c.Suspected)}
	}
	return tx.succeeded(done, updateTasks+` SET `+succeededSet+`, finished_at = o.finished, result = o.result,
 suspected = coalesce(o.suspected, tasks.suspected)
FROM (SELECT value->>0 AS id, value->>1 AS finished, value->>2 AS result, value->>3 AS suspected FROM json_each(?2)) AS o
WHERE tasks.id = o.id AND +tasks.state = 'running' AND tasks.attempt = 1`, list(rows))
}

// succeeded runs one of the two statements. Nearly always all rows are as they should be, and then their number says it
// all; reading each one back would cost as much as writing it.
func (tx *Tx) succeeded(done []*Completion, text, rows string) error {
	const doing = "writing successful runs"
	res, err := tx.exec(doing, text, int64(tx.now), rows)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n != int64(len(done)) {
		if done, err = tx.justSucceeded(done); err != nil {
			return err
		}
	}
	for _, c := range done {
		c.Written = true
		tx.noteFinish(c, StateSuccess)
	}
	return nil
}

// justSucceeded leaves out the completions that no longer fitted their row, and what stands there twice.
func (tx *Tx) justSucceeded(done []*Completion) ([]*Completion, error) {
	byID := make(map[int64]*Completion, len(done))
	ids := make([]int64, len(done))
	for i, c := range done {
		byID[c.ID], ids[i] = c, c.ID
	}
	var written []*Completion
	err := tx.query("reading successful runs back", `SELECT id FROM tasks
 WHERE id IN (SELECT value FROM json_each(?1)) AND +state = 'success' AND attempt = 1 AND updated_at = ?2`, func(r *sql.Rows) error {
		var id int64
		if err := r.Scan(&id); err != nil {
			return err
		}
		written = append(written, byID[id])
		return nil
	}, list(ids), int64(tx.now))
	return written, err
}

// end is Finish for every other way a run ends. A person's wish to stop the task, written while the run was ending,
// wins over anything but success.
func (tx *Tx) end(done []*Completion) ([]Ended, error) {
	if len(done) == 0 {
		return nil, nil
	}
	rows := make([][]any, len(done))
	byRun := make(map[RunKey]*Completion, len(done))
	for i, c := range done {
		var runAt, readyAt Instant
		switch c.State {
		case StateRetryWait:
			runAt = c.RunAt
		case StatePending:
			runAt, readyAt = tx.now, tx.now
		}
		rows[i] = []any{c.ID, c.Attempt, c.State, c.Failures, runAt.orNull(), readyAt.orNull(), int64(c.FinishedAt),
			textOrNull(c.Worker), textOrNull(c.Result), textOrNull(c.ErrorKind), textOrNull(c.fingerprint()), textOrNull(c.Error),
			textOrNull(c.Suspected), numberOrNull(int64(c.CrashCount))}
		byRun[RunKey{c.ID, c.Attempt}] = c
	}
	var ended []Ended
	err := tx.query("writing ended runs", `UPDATE tasks SET
 state = CASE WHEN cancel_requested_at IS NOT NULL AND o.state <> 'success' THEN 'cancelled' ELSE o.state END,
 failures = o.failures, run_at = coalesce(o.run_at, tasks.run_at), ready_at = o.ready_at, finished_at = o.finished,
 updated_at = ?1, worker = o.worker, result = o.result, error_kind = o.kind, fingerprint = o.fingerprint, error = o.error,
 suspected = coalesce(o.suspected, tasks.suspected), crashes = coalesce(o.crashes, tasks.crashes), stuck_at = NULL
FROM (SELECT value->>0 AS id, value->>1 AS attempt, value->>2 AS state, value->>3 AS failures, value->>4 AS run_at,
 value->>5 AS ready_at, value->>6 AS finished, value->>7 AS worker, value->>8 AS result, value->>9 AS kind,
 value->>10 AS fingerprint, value->>11 AS error, value->>12 AS suspected, value->>13 AS crashes FROM json_each(?2)) AS o
WHERE tasks.id = o.id AND +tasks.state = 'running' AND tasks.attempt = o.attempt
RETURNING id, attempt, state, priority, ready_at, crashes`, func(r *sql.Rows) error {
		var ready Ready
		var state State
		var readyAt sql.NullInt64
		if err := r.Scan(&ready.ID, &ready.Attempt, &state, &ready.Priority, &readyAt, &ready.Crashes); err != nil {
			return err
		}
		c := *byRun[RunKey{ready.ID, ready.Attempt}]
		if state != c.State { // a person's cancel came first
			c.State, c.Outcome, c.RunAt, c.RetryRule = state, OutcomeCancelled, 0, ""
		}
		if state == StatePending {
			ready.Type, ready.ReadyAt = c.Type, Instant(readyAt.Int64)
			tx.ready(c.Type, 1)
		}
		tx.noteFinish(&c, state)
		ended = append(ended, Ended{&c, ready})
		return nil
	}, int64(tx.now), list(rows))
	if err != nil {
		return nil, err
	}
	return ended, tx.insertAttempts(ended)
}

func (c *Completion) fingerprint() string {
	if c.Error == "" {
		return ""
	}
	return fingerprintOf(c.Type, c.ErrorKind, c.normalised())
}

func (c *Completion) normalised() string {
	if c.normal == "" {
		c.normal = NormaliseMessage(c.Error)
	}
	return c.normal
}

func (tx *Tx) noteFinish(c *Completion, state State) {
	tx.moved(c.Type, StateRunning, state)
	m := tx.minute(c.Type)
	switch state {
	case StateSuccess:
		m.Succeeded++
	case StateRetryWait:
		m.Retried++
	case StateFailed:
		m.Failed++
		tx.grouped(c)
	case StateDead:
		m.Dead++
		tx.grouped(c)
	case StateCancelled:
		m.Cancelled++
	}
	if c.StartedAt != 0 {
		m.ran(c.FinishedAt.Sub(c.StartedAt))
	}
}

// insertAttempts writes the history rows of runs that were not a first-try success.
func (tx *Tx) insertAttempts(runs []Ended) error {
	if len(runs) == 0 {
		return nil
	}
	rows := make([][]any, len(runs))
	for i, c := range runs {
		rows[i] = []any{c.ID, c.Attempt, c.Outcome, textOrNull(c.ErrorKind), textOrNull(c.fingerprint()), textOrNull(c.Worker),
			cmp.Or(c.BootID, tx.w.bootID), c.StartedAt.orNull(), c.FinishedAt.orNull(), c.RunAt.orNull(), textOrNull(c.RetryRule),
			textOrNull(c.Error), textOrNull(c.Stack)}
	}
	_, err := tx.exec("writing the history of runs", `INSERT INTO attempts
 (task_id, attempt, outcome, error_kind, fingerprint, worker, boot_id, started_at, finished_at, retry_at, retry_rule, error, stack)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
 value->>10, value->>11, value->>12 FROM json_each(?) WHERE true
ON CONFLICT (task_id, attempt) DO NOTHING`, list(rows))
	return err
}

// MarkStuck notes that the handlers of these runs ignored the end of their context and still run.
func (tx *Tx) MarkStuck(runs []RunKey) error {
	_, err := tx.exec("marking stuck runs", `UPDATE tasks SET stuck_at = ?1, updated_at = ?1
FROM (SELECT value->>0 AS id, value->>1 AS attempt FROM json_each(?2)) AS o
WHERE tasks.id = o.id AND tasks.attempt = o.attempt AND +tasks.state = 'running'`, int64(tx.now), list(pairs(runs)))
	return err
}

// RunKey names one run for good.
type RunKey struct {
	ID      int64
	Attempt int
}

func pairs(runs []RunKey) [][2]int64 {
	out := make([][2]int64, len(runs))
	for i, r := range runs {
		out[i] = [2]int64{r.ID, int64(r.Attempt)}
	}
	return out
}

// Lost puts back running rows of this process that nobody runs: they were claimed and then lost with a crashed actor.
// Whoever calls it has made sure that no handler works on them. It returns what became of those that it knew.
func (tx *Tx) Lost(runs []RunKey) ([]Ended, error) {
	rows, err := tx.tasksByID(idsOf(runs))
	if err != nil {
		return nil, err
	}
	attempt := map[int64]int{}
	for _, r := range runs {
		attempt[r.ID] = r.Attempt
	}
	var done []*Completion
	for i := range rows {
		t := &rows[i]
		if t.State != StateRunning || t.BootID != tx.w.bootID || t.Attempt != attempt[t.ID] {
			continue
		}
		done = append(done, &Completion{
			ID: t.ID, Type: t.Type, TraceID: t.TraceID, Attempt: t.Attempt, State: StatePending, Outcome: OutcomeLost, Failures: t.Failures,
			StartedAt: t.StartedAt, FinishedAt: tx.now, Worker: t.Worker,
			Suspected: fmt.Sprintf("run %d was claimed at %s and lost inside the process; it may have done its work",
				t.Attempt, t.StartedAt.Time().Format(time.RFC3339)),
		})
	}
	return tx.Finish(done)
}

func idsOf(runs []RunKey) []int64 {
	ids := make([]int64, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	return ids
}
