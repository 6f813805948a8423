package models

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// recorder notes every statement of a transaction on its way to the database.
type recorder struct {
	gorm.ConnPool
	seen *[]statement
}

func (r *recorder) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	*r.seen = append(*r.seen, statement{text, args})
	return r.ConnPool.ExecContext(ctx, text, args...)
}

func (r *recorder) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	*r.seen = append(*r.seen, statement{text, args})
	return r.ConnPool.QueryContext(ctx, text, args...)
}

func (r *recorder) Commit() error   { return r.ConnPool.(gorm.TxCommitter).Commit() }
func (r *recorder) Rollback() error { return r.ConnPool.(gorm.TxCommitter).Rollback() }

// TestWritesReadNoMoreThanTheRowsTheyChange holds every statement of the journal against the plan that SQLite makes for
// it: a statement that walks the table is fast in every other test and stops the queue in a year.
func TestWritesReadNoMoreThanTheRowsTheyChange(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	seen := &[]statement{}
	write := func(f func(tx *Tx) error) {
		t.Helper()
		require.NoError(t, w.Write(func(tx *Tx) error {
			tx.db.Statement.ConnPool = &recorder{tx.db.Statement.ConnPool, seen}
			return f(tx)
		}))
	}
	var rows []*NewTask
	for _, key := range []string{"", "k", "", "", "", ""} {
		rows = append(rows, &NewTask{Task: Task{Type: "a", Priority: 5, Params: "{}", TraceID: "t", UniqueKey: key}})
	}
	write(func(tx *Tx) error { return tx.Insert(rows, func(string) bool { return false }) })
	ids := make([]int64, len(rows))
	wanted := make([]Candidate, len(rows))
	for i, r := range rows {
		ids[i], wanted[i] = r.ID, Candidate{ID: r.ID, PromotedAt: 1}
	}
	steps := []func(tx *Tx) error{
		func(tx *Tx) error { _, err := tx.Claim(wanted); return err },
		func(tx *Tx) error {
			_, err := tx.Finish([]*Completion{
				{ID: ids[0], Type: "a", Attempt: 1, State: StateSuccess},
				{ID: ids[1], Type: "a", Attempt: 1, State: StateRetryWait, RunAt: 1, Failures: 1, Error: "no", Outcome: OutcomeRetry},
				{ID: ids[2], Type: "a", Attempt: 1, State: StateDead, Failures: 1, Error: "no", Outcome: OutcomeDead},
			})
			return err
		},
		func(tx *Tx) error { _, err := tx.Release(ids); return err },
		func(tx *Tx) error { return tx.MarkStuck([]RunKey{{ids[3], 1}}) },
		func(tx *Tx) error { return tx.SaveProgress([]ProgressNote{{ids[3], 1, 50, "half"}}) },
		func(tx *Tx) error {
			return tx.AppendLogs([]LogLine{{TaskID: ids[3], Attempt: 1, Seq: 1, At: 1, Level: "info", Text: "x"}})
		},
		func(tx *Tx) error { _, err := tx.Lost([]RunKey{{ids[4], 1}}); return err },
		func(tx *Tx) error { _, err := tx.Change(ActionRetry, ids, Actor{Name: "p"}); return err },
		func(tx *Tx) error { _, err := tx.Change(ActionCancel, ids, Actor{Name: "p"}); return err },
		func(tx *Tx) error { _, err := tx.SetType(TypeChange{Type: "a"}, Actor{Name: "p"}); return err },
		func(tx *Tx) error { _, err := tx.Purge(ids); return err },
		func(tx *Tx) error { return tx.PurgeMinutes(1) },
		func(tx *Tx) error { _, err := tx.Recover(func(string) bool { return false }); return err },
		func(tx *Tx) error { return tx.Boot(Boot{ID: "boot", Host: "h"}) },
		func(tx *Tx) error { return tx.Leave() },
	}
	for _, step := range steps {
		write(step)
	}
	require.Greater(t, len(*seen), 25)
	for _, st := range *seen {
		for _, line := range explain(t, s, st) {
			require.NotRegexp(t, scansAll, line, st.sql)
		}
	}
}

// explain is planOf for statements with numbered parameters, which GORM would count twice.
func explain(t *testing.T, s *Store, st statement) []string {
	t.Helper()
	db, err := s.Writer().DB()
	require.NoError(t, err)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+st.sql, st.vars...)
	require.NoError(t, err, st.sql)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		lines = append(lines, detail)
	}
	require.NoError(t, rows.Err())
	return lines
}
