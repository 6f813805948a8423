package models

import (
	"database/sql"
	"fmt"
	"strings"
)

// NewTask is a task to be stored, with every default already filled in. Insert sets ID or Held.
type NewTask struct {
	Task
	Held *Task // the task that holds UniqueKey, when one does; then nothing was stored
}

// IsStarted reports whether Insert stored the task as running already.
func (t *NewTask) IsStarted() bool { return t.Held == nil && t.State == StateRunning }

// Claimed is a task that IsStarted, as Claim would have given it.
func (t *NewTask) Claimed() *Claimed {
	return &Claimed{ID: t.ID, Type: t.Type, Priority: t.Priority, Attempt: t.Attempt, MaxRetries: t.MaxRetries,
		Timeout: t.Timeout(), ReadyAt: t.ReadyAt, StartedAt: t.StartedAt, TraceID: t.TraceID, Params: t.Params}
}

// insertSizes are the numbers of rows that one INSERT may carry. A few fixed sizes keep every statement prepared; a
// statement a batch size would be compiled anew each time.
var insertSizes = []int{64, 16, 4, 1}

const insertColumns = 19

var insertTexts = func() map[int]string {
	texts := map[int]string{}
	for _, n := range insertSizes {
		row := "(?" + strings.Repeat(",?", insertColumns-1) + ")"
		texts[n] = `INSERT INTO tasks (state, attempt, started_at, boot_id, type, priority, max_retries, timeout_us, run_at, ready_at, created_at, updated_at,
 trace_id, unique_key, enqueued_by, schedule, repeated_from, tags, params) VALUES ` + row + strings.Repeat(","+row, n-1)
	}
	return texts
}()

// Insert stores tasks in their order. One whose unique key is held, in the ledger or by one before it in tasks, is not
// stored: its Held is set instead. A RunAt after Now makes the task wait for its time. A task that is ready and for whose
// type start says yes is stored as running: insert and claim are one, which saves a commit before its run may begin.
func (tx *Tx) Insert(tasks []*NewTask, start func(typ string) bool) error {
	for _, t := range tasks { // an earlier transaction with them may have failed
		t.Held, t.ID, t.Attempt, t.StartedAt, t.BootID = nil, 0, 0, 0, ""
	}
	fresh, err := tx.withoutHeld(tasks)
	if err != nil {
		return err
	}
	for _, t := range fresh {
		t.State, t.CreatedAt, t.UpdatedAt, t.ReadyAt = StatePending, tx.now, tx.now, 0
		if t.RunAt <= tx.now {
			t.RunAt, t.ReadyAt = tx.now, tx.now
			if start(t.Type) {
				t.State, t.Attempt, t.StartedAt, t.BootID = StateRunning, 1, tx.now, tx.w.bootID
			} else {
				tx.ready(t.Type, 1)
			}
		}
		tx.moved(t.Type, "", t.State, 1)
		m := tx.minute(t.Type)
		m.Enqueued++
		if t.Attempt > 0 {
			m.Started++
			m.WaitHist.Add(0)
		}
	}
	args := make([]any, 0, insertSizes[0]*insertColumns)
	for rest := fresh; len(rest) > 0; {
		n := insertSize(len(rest))
		args = args[:0]
		for _, t := range rest[:n] {
			args = append(args, string(t.State), t.Attempt, t.StartedAt.orNull(), textOrNull(t.BootID), t.Type, t.Priority, t.MaxRetries, t.TimeoutUS, int64(t.RunAt), t.ReadyAt.orNull(),
				int64(t.CreatedAt), int64(t.UpdatedAt), t.TraceID, textOrNull(t.UniqueKey), textOrNull(t.EnqueuedBy),
				textOrNull(t.Schedule), numberOrNull(t.RepeatedFrom), textOrNull(t.Tags), t.Params)
		}
		res, err := tx.exec("storing new tasks", insertTexts[n], args...)
		if err != nil {
			return err
		}
		last, err := res.LastInsertId()
		if err != nil {
			return fmt.Errorf("reading the ids of new tasks: %w", err)
		}
		// There is one writer and ids only ascend, so the rows of one statement have consecutive ids.
		for i, t := range rest[:n] {
			t.ID = last - int64(n-1-i)
		}
		rest = rest[n:]
	}
	return tx.fillHeld(tasks)
}

func insertSize(rows int) int {
	for _, n := range insertSizes {
		if n <= rows {
			return n
		}
	}
	return 1
}

func numberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// withoutHeld returns the tasks to store and points Held of the others at their holder, of which fillHeld reads the rest.
func (tx *Tx) withoutHeld(tasks []*NewTask) ([]*NewTask, error) {
	var keys []string
	for _, t := range tasks {
		if t.UniqueKey != "" {
			keys = append(keys, t.UniqueKey)
		}
	}
	if len(keys) == 0 {
		return tasks, nil
	}
	holders, err := tx.holdersOf(keys)
	if err != nil {
		return nil, err
	}
	fresh := make([]*NewTask, 0, len(tasks))
	for _, t := range tasks {
		if t.UniqueKey == "" {
			fresh = append(fresh, t)
			continue
		}
		if holder := holders[t.UniqueKey]; holder != nil {
			t.Held = holder
			continue
		}
		holders[t.UniqueKey] = &t.Task
		fresh = append(fresh, t)
	}
	return fresh, nil
}

// holdersOf finds which tasks hold which of the unique keys; only their ids are set.
func (tx *Tx) holdersOf(keys []string) (map[string]*Task, error) {
	holders := map[string]*Task{}
	err := tx.query("looking for the holders of unique keys", `SELECT id, unique_key FROM tasks
 WHERE unique_key IN (SELECT value FROM json_each(?)) AND unique_key IS NOT NULL
 AND state IN ('pending', 'running', 'retry_wait')`, func(rows *sql.Rows) error {
		t := &Task{}
		if err := rows.Scan(&t.ID, &t.UniqueKey); err != nil {
			return err
		}
		holders[t.UniqueKey] = t
		return nil
	}, list(keys))
	return holders, err
}

func (tx *Tx) fillHeld(tasks []*NewTask) error {
	var ids []int64
	for _, t := range tasks {
		if t.Held != nil {
			ids = append(ids, t.Held.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := tx.tasksByID(ids)
	if err != nil {
		return err
	}
	byID := map[int64]*Task{}
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	for _, t := range tasks {
		if t.Held != nil {
			t.Held = byID[t.Held.ID]
		}
	}
	return nil
}
