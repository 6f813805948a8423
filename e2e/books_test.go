package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the books are read past the program that keeps them
	"github.com/stretchr/testify/require"
)

// line is one line of PROBE_OUT.
type line struct {
	Event   string `json:"event"`
	TaskID  int64  `json:"task_id"`
	Type    string `json:"type"`
	TraceID string `json:"trace_id"`
	Attempt int    `json:"attempt"`
	UnixUS  int64  `json:"unix_us"`
	PID     int    `json:"pid"`
}

// lines reads what the probes wrote so far. A line that a kill cut short is left out.
func (p *place) lines(t *testing.T) (all []line) {
	t.Helper()
	text, err := os.ReadFile(p.out)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	for raw := range bytes.Lines(text) {
		var l line
		if json.Unmarshal(raw, &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// starts are the lines of the starts of one task, in their order.
func (p *place) startsOf(t *testing.T, id int64) (starts []line) {
	t.Helper()
	for _, l := range p.lines(t) {
		if l.TaskID == id && l.Event == "start" {
			starts = append(starts, l)
		}
	}
	return starts
}

// row is a task as its row has it.
type row struct {
	id                         int64
	typ, state, suspected      string
	attempt, failures, crashes int
}

// database opens the file past the program.
func (p *place) database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: p.db, RawQuery: "_busy_timeout=10000"}).String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// query reads all rows of a statement.
func query[T any](t *testing.T, db *sql.DB, text string, scan func(*sql.Rows, *T) error) (all []T) {
	t.Helper()
	rows, err := db.Query(text)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var v T
		require.NoError(t, scan(rows, &v))
		all = append(all, v)
	}
	require.NoError(t, rows.Err())
	return all
}

func rowsOf(t *testing.T, db *sql.DB) map[int64]row {
	t.Helper()
	byID := map[int64]row{}
	for _, r := range query(t, db, `SELECT id, type, state, coalesce(suspected, ''), attempt, failures, crashes FROM tasks`,
		func(rows *sql.Rows, r *row) error {
			return rows.Scan(&r.id, &r.typ, &r.state, &r.suspected, &r.attempt, &r.failures, &r.crashes)
		}) {
		byID[r.id] = r
	}
	return byID
}

// run names one run of a task.
type run struct {
	id      int64
	attempt int
}

// ready is how many tasks of a type only wait for a worker.
type ready struct {
	typ string
	n   int64
}

// unstarted are the outcomes of runs of which the handler may never have heard.
const unstarted = `'crashed', 'lost', 'interrupted', 'cancelled'`

// requireBooks compares the books of a place whose server has ended: every task that was accepted has a row in a known
// state, the counts are those of the rows, and each run that a row counts was really started once, and no other.
func (p *place) requireBooks(t *testing.T, accepted []int64) map[int64]row {
	t.Helper()
	db := p.database(t)
	require.Equal(t, []string{"ok"}, query(t, db, `PRAGMA integrity_check`, func(r *sql.Rows, s *string) error { return r.Scan(s) }))

	rows := rowsOf(t, db)
	byState := map[string]int64{}
	for _, id := range accepted {
		requireRow(t, rows, id, "a task was accepted and is missing")
	}
	for _, r := range rows {
		byState[r.typ+" "+r.state]++
	}
	for _, r := range query(t, db, `SELECT type, count(*) FROM tasks WHERE ready_at IS NOT NULL AND state IN ('pending', 'retry_wait') GROUP BY type`,
		func(rows *sql.Rows, r *ready) error { return rows.Scan(&r.typ, &r.n) }) {
		byState[r.typ+" ready"] = r.n
	}
	counts := map[string]int64{}
	query(t, db, `SELECT type, state, n FROM counts WHERE n <> 0`, func(r *sql.Rows, _ *struct{}) error {
		var typ, state string
		var n int64
		err := r.Scan(&typ, &state, &n)
		counts[typ+" "+state] = n
		return err
	})
	require.Equal(t, byState, counts, "rows by type and state, and the table of counts")
	for key, n := range byState {
		var typ, state string
		_, err := fmt.Sscan(key, &typ, &state)
		require.NoError(t, err)
		require.Contains(t, []string{"pending", "running", "retry_wait", "success", "failed", "dead", "cancelled", "ready"}, state, "%d of %s", n, typ)
	}

	excused := map[run]bool{}
	for _, r := range query(t, db, `SELECT task_id, attempt FROM attempts WHERE outcome IN (`+unstarted+`)`,
		func(rows *sql.Rows, r *run) error { return rows.Scan(&r.id, &r.attempt) }) {
		excused[r] = true
	}
	started, ended := map[run]int{}, map[run]bool{}
	for _, l := range p.lines(t) {
		r := run{l.TaskID, l.Attempt}
		if l.Event == "end" {
			ended[r] = true
			continue
		}
		started[r]++
		requireRow(t, rows, l.TaskID, "a task ran that is not in the books")
		require.LessOrEqual(t, l.Attempt, rows[l.TaskID].attempt, "task %d ran more often than its row says", l.TaskID)
		require.Equal(t, 1, started[r], "run %d of task %d was started twice", l.Attempt, l.TaskID)
	}
	for _, r := range rows {
		for k := 1; k <= r.attempt; k++ {
			key := run{r.id, k}
			if started[key] == 0 && !excused[key] && (r.state != "running" || k < r.attempt) {
				require.Fail(t, "a run is counted that never was", "run %d of %+v", k, r)
			}
		}
		if r.state == "success" {
			require.True(t, ended[run{r.id, r.attempt}], "a success without a run: %+v", r)
		}
	}
	return rows
}

// requireRow is require.Contains for thousands of rows: that one goes through the whole map each time.
func requireRow(t *testing.T, rows map[int64]row, id int64, complaint string) {
	t.Helper()
	if _, ok := rows[id]; !ok {
		require.Fail(t, complaint, "task %d", id)
	}
}
