package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reax/models"
)

// row is a task as its row has it.
type row struct {
	id                           int64
	typ, state, suspected, sched string
	attempt                      int
	scheduledFor                 int64
}

// run names one run of a task.
type run struct {
	id      int64
	attempt int
}

// unfinished counts the tasks that were asked for and have not ended. The schedule goes on, and is left out.
func (r *round) unfinished(ctx context.Context) (n int, err error) {
	db, err := sql.Open("sqlite3", source(r.database, "mode=ro&_busy_timeout=5000"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM tasks WHERE schedule IS NULL AND state IN ('pending', 'running', 'retry_wait')`).Scan(&n)
	return n, err
}

// query reads all rows of a statement.
func query[T any](db *sql.DB, text string, scan func(*sql.Rows, *T) error) (all []T, err error) {
	rows, err := db.QueryContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// books is what the database of a round says once its last server has ended, beside what the witness says.
type books struct {
	r        *round
	tasks    map[int64]row
	outcomes map[run]string
	lines    []line
	wrong    []string
}

func (b *books) fault(format string, args ...any) {
	if len(b.wrong) < 10 {
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
}

// requireBooks compares the books with what the handlers saw and with what the callers were told.
func (r *round) requireBooks() error {
	db, err := sql.Open("sqlite3", source(r.database, "mode=ro"))
	if err != nil {
		return fmt.Errorf("opening the books: %w", err)
	}
	defer db.Close()
	b := &books{r: r, tasks: map[int64]row{}, outcomes: map[run]string{}, wrong: r.load.wrong}
	if b.lines, err = r.witness.all(); err != nil {
		return err
	}
	for _, check := range []func(*sql.DB) error{b.integrity, b.read, b.counts} {
		if err := check(db); err != nil {
			return fmt.Errorf("reading the books: %w", err)
		}
	}
	b.states()
	b.runs()
	b.attempts()
	r.sum.tasks = len(r.load.accepted)
	if len(b.wrong) > 0 {
		return errors.New(strings.Join(b.wrong, "\n  "))
	}
	return nil
}

func (b *books) integrity(db *sql.DB) error {
	said, err := query(db, `PRAGMA integrity_check`, func(rows *sql.Rows, s *string) error { return rows.Scan(s) })
	if err == nil && !slices.Equal(said, []string{"ok"}) {
		b.fault("the database is damaged: %v", said)
	}
	return err
}

func (b *books) read(db *sql.DB) error {
	tasks, err := query(db, `SELECT id, type, state, coalesce(suspected, ''), attempt, coalesce(schedule, ''), coalesce(scheduled_for, 0) FROM tasks`,
		func(rows *sql.Rows, t *row) error {
			return rows.Scan(&t.id, &t.typ, &t.state, &t.suspected, &t.attempt, &t.sched, &t.scheduledFor)
		})
	if err != nil {
		return err
	}
	occurrences := map[int64]bool{}
	for _, t := range tasks {
		b.tasks[t.id] = t
		if t.sched != "" && occurrences[t.scheduledFor] {
			b.fault("two tasks of one time of the schedule: %+v", t)
		}
		occurrences[t.scheduledFor] = true
	}
	_, err = query(db, `SELECT task_id, attempt, outcome FROM attempts`, func(rows *sql.Rows, k *run) error {
		var outcome string
		err := rows.Scan(&k.id, &k.attempt, &outcome)
		b.outcomes[*k] = outcome
		return err
	})
	return err
}

// counts holds the counts that pages show against the rows.
func (b *books) counts(db *sql.DB) error {
	type count struct {
		key string
		n   int64
	}
	scan := func(rows *sql.Rows, c *count) error {
		var typ, state string
		err := rows.Scan(&typ, &state, &c.n)
		c.key = typ + " " + state
		return err
	}
	kept, err := query(db, `SELECT type, state, n FROM counts WHERE n <> 0 ORDER BY 1, 2`, scan)
	if err != nil {
		return err
	}
	counted, err := query(db, `SELECT type, state, count(*) FROM tasks GROUP BY 1, 2 UNION ALL
SELECT type, 'ready', count(*) FROM tasks WHERE ready_at IS NOT NULL AND state IN ('pending', 'retry_wait') GROUP BY 1 ORDER BY 1, 2`, scan)
	if err == nil && !slices.Equal(kept, counted) {
		b.fault("the counts are %v and the rows %v", kept, counted)
	}
	return err
}

// states: what was accepted is there and has ended.
func (b *books) states() {
	for id := range b.r.load.accepted {
		t, found := b.tasks[id]
		if !found || !models.State(t.state).IsFinal() {
			b.r.sum.lost++
			b.fault("task %d was accepted and is lost: %+v", id, t)
		}
	}
	for id := range b.r.load.cancelled {
		if t := b.tasks[id]; t.state != string(models.StateCancelled) {
			b.fault("task %d was cancelled and is not: %+v", id, t)
		}
	}
	for _, t := range b.tasks {
		if t.state == string(models.StateRunning) {
			b.fault("a task is running and no server is: %+v", t)
		}
	}
}

// runs: each run that a handler saw is in the books and was started once; a second run of a task has its reason, and says
// so when the first may have done the work.
func (b *books) runs() {
	started, ended := map[run]line{}, map[run]bool{}
	for _, l := range b.lines {
		key := run{l.TaskID, l.Attempt}
		t, found := b.tasks[l.TaskID]
		switch _, again := started[key]; {
		case !found:
			b.fault("a task ran that is not in the books: %+v", l)
		case l.Attempt > t.attempt:
			b.fault("a run that is not in the books: %+v of %+v", l, t)
		case l.Event == "end":
			ended[key] = true
		case again:
			b.r.sum.unmarked++
			b.fault("a run was started twice: %+v", l)
		default:
			b.r.sum.runs++
			started[key] = l
			b.secondRun(t, l, started, ended)
		}
	}
	for _, t := range b.tasks {
		if _, ran := started[run{t.id, t.attempt}]; t.state == string(models.StateSuccess) && !ran {
			b.fault("a success that nobody saw run: %+v", t)
		}
	}
}

// secondRun looks at a run whose task had been started before.
func (b *books) secondRun(t row, l line, started map[run]line, ended map[run]bool) {
	marked := false
	for k := 1; k < l.Attempt; k++ {
		former := run{t.id, k}
		first, ran := started[former]
		if !ran {
			continue
		}
		if first.PID == l.PID && first.PID != 0 && !ended[former] {
			b.fault("two runs of a task at the same time: %+v and %+v", first, l)
		}
		switch outcome := b.outcomes[former]; outcome {
		case models.OutcomeRetry, models.OutcomeInterrupted:
		case models.OutcomeCrashed, models.OutcomeLost:
			if t.suspected != "" {
				marked = true
				continue
			}
			fallthrough
		default:
			b.r.sum.unmarked++
			b.fault("a second run without a mark, after run %d with outcome %q: %+v", k, outcome, t)
		}
	}
	if marked {
		b.r.sum.marked++
	}
}

// attempts: each run before a task's last is told, and no run that a Go handler was given was left out of the witness.
func (b *books) attempts() {
	seen := map[run]bool{}
	for _, l := range b.lines {
		seen[run{l.TaskID, l.Attempt}] = true
	}
	excused := []string{models.OutcomeCrashed, models.OutcomeLost, models.OutcomeInterrupted, models.OutcomeCancelled}
	for _, t := range b.tasks {
		for k := 1; k <= t.attempt; k++ {
			key := run{t.id, k}
			outcome, told := b.outcomes[key]
			if !told && (k < t.attempt || t.state != string(models.StateSuccess) || k > 1) {
				b.fault("run %d is not told: %+v", k, t)
			}
			if strings.HasPrefix(t.typ, "P.") && !seen[key] && !slices.Contains(excused, outcome) {
				b.fault("run %d is counted and never was: %+v", k, t)
			}
		}
	}
}
