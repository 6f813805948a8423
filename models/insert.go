package models

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// NewTask is a task to be stored, with every default already filled in. Insert sets ID or Held.
type NewTask struct {
	Task
	Parent string // the caller's span, as W3C Trace Context names it; it is not stored
	Held   *Task  // the task that holds UniqueKey, when one does; then nothing was stored
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

// insertShape is a kind of row. Nearly every task is plain, and is stored with a third of the arguments of one that uses
// all that there is: binding them costs as much as storing the row.
type insertShape int

const (
	shapePlain   insertShape = iota // ready now, without a key, tags or origin
	shapeStarted                    // the same, stored as running
	shapeFull
)

func shapeOf(t *NewTask) insertShape {
	switch {
	case t.UniqueKey != "" || t.Schedule != "" || t.RepeatedFrom != 0 || t.Tags != "" || t.ReadyAt == 0:
		return shapeFull
	case t.State == StateRunning:
		return shapeStarted
	default:
		return shapePlain
	}
}

// The first two arguments of every INSERT are the instant of the transaction and the boot id; rows share them. Neighbours
// that are alike in what the caller did not choose anew for each share that as well: a third of the arguments is left.
const (
	insertShared  = 2
	alikeColumns  = "type, priority, max_retries, timeout_us, enqueued_by"
	alikeArgs     = 5
	plainColumns  = alikeColumns + ", trace_id, params"
	plainArgs     = 7
	fullColumns   = plainColumns + ", state, attempt, started_at, boot_id, run_at, ready_at, unique_key, schedule, scheduled_for, repeated_from, tags"
	fullArgs      = 18
	plainSuffix   = ", state, attempt, started_at, boot_id, run_at, ready_at, created_at, updated_at"
	pendingValues = ", 'pending', 0, NULL, NULL, ?1, ?1, ?1, ?1)"
	startedValues = ", 'running', 1, ?1, ?2, ?1, ?1, ?1, ?1)"
)

// alikeRows is from how many neighbours on it is worth a statement of their own that they are alike.
const alikeRows = 4

func isAlike(a, b *NewTask) bool {
	return a.Type == b.Type && a.Priority == b.Priority && a.MaxRetries == b.MaxRetries && a.TimeoutUS == b.TimeoutUS &&
		a.EnqueuedBy == b.EnqueuedBy
}

type insertKey struct {
	shape insertShape
	alike bool
	rows  int
}

var insertTexts = func() map[insertKey]string {
	texts := map[insertKey]string{}
	for _, n := range insertSizes {
		for shape, values := range map[insertShape]string{shapePlain: pendingValues, shapeStarted: startedValues} {
			texts[insertKey{shape, false, n}] = insertText(plainColumns+plainSuffix, 0, plainArgs, values, n)
			texts[insertKey{shape, true, n}] = insertText(plainColumns+plainSuffix, alikeArgs, plainArgs-alikeArgs, values, n)
		}
		texts[insertKey{shapeFull, false, n}] = insertText(fullColumns+", created_at, updated_at", 0, fullArgs, ", ?1, ?1)", n)
	}
	return texts
}()

// insertText is an INSERT of so many rows, each of which begins with the alike arguments and goes on with args of its own.
func insertText(columns string, alike, args int, suffix string, rows int) string {
	var b strings.Builder
	b.WriteString(insertTasks + " (" + columns + ") VALUES ")
	for r := range rows {
		for a := range alike + args {
			n := insertShared + 1 + a
			if a >= alike {
				n += r * args
			}
			b.WriteString(map[bool]string{true: "(", false: ", "}[a == 0] + "?" + strconv.Itoa(n))
		}
		b.WriteString(suffix)
		if r < rows-1 {
			b.WriteString(", ")
		}
	}
	return b.String()
}

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
		tx.moved(t.Type, "", t.State)
		m := tx.minute(t.Type)
		m.Enqueued++
		if t.Attempt > 0 {
			m.Started++
			m.waited(0)
		}
	}
	if err := tx.insertRows(fresh); err != nil {
		return err
	}
	return tx.fillHeld(tasks)
}

// insertRows stores runs of neighbours of one shape together, so that ids ascend in the order of the tasks.
func (tx *Tx) insertRows(tasks []*NewTask) error {
	args := make([]any, 0, insertShared+insertSizes[0]*fullArgs)
	for len(tasks) > 0 {
		key := nextInsert(tasks)
		n := key.rows
		args = append(args[:0], int64(tx.now), tx.w.bootID)
		for i, t := range tasks[:n] {
			if i == 0 || !key.alike {
				args = append(args, t.Type, t.Priority, t.MaxRetries, t.TimeoutUS, textOrNull(t.EnqueuedBy))
			}
			args = append(args, t.TraceID, t.Params)
			if key.shape == shapeFull {
				args = append(args, string(t.State), t.Attempt, t.StartedAt.orNull(), textOrNull(t.BootID), int64(t.RunAt),
					t.ReadyAt.orNull(), textOrNull(t.UniqueKey), textOrNull(t.Schedule), t.ScheduledFor.orNull(),
					numberOrNull(t.RepeatedFrom), textOrNull(t.Tags))
			}
		}
		res, err := tx.exec("storing new tasks", insertTexts[key], args...)
		if err != nil {
			return err
		}
		last, err := res.LastInsertId()
		if err != nil {
			return fmt.Errorf("reading the ids of new tasks: %w", err)
		}
		// There is one writer and ids only ascend, so the rows of one statement have consecutive ids.
		for i, t := range tasks[:n] {
			t.ID = last - int64(n-1-i)
		}
		tasks = tasks[n:]
	}
	return nil
}

// nextInsert chooses the statement for the first of the tasks, and for how many.
func nextInsert(tasks []*NewTask) insertKey {
	shape, same, alike := shapeOf(tasks[0]), 1, 1
	for same < min(len(tasks), insertSizes[0]) && shapeOf(tasks[same]) == shape {
		if alike == same && isAlike(tasks[0], tasks[same]) {
			alike++
		}
		same++
	}
	if shape != shapeFull && alike >= alikeRows {
		return insertKey{shape, true, insertSize(alike)}
	}
	return insertKey{shape, false, insertSize(same)}
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
