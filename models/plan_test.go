package models

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// statement is one that a read sent to the database.
type statement struct {
	sql  string
	vars []any
}

// recordReads keeps every statement that the reader runs from now on.
func recordReads(t *testing.T, s *Store) *[]statement {
	t.Helper()
	var all []statement
	keep := func(db *gorm.DB) {
		all = append(all, statement{db.Statement.SQL.String(), append([]any(nil), db.Statement.Vars...)})
	}
	callbacks := s.Reader().Callback()
	require.NoError(t, callbacks.Query().After("gorm:query").Register("test:keep", keep))
	require.NoError(t, callbacks.Row().After("gorm:row").Register("test:keep", keep))
	require.NoError(t, callbacks.Raw().After("gorm:raw").Register("test:keep", keep))
	return &all
}

// planOf gives the lines of SQLite's plan of a statement.
func planOf(t *testing.T, s *Store, st statement) []string {
	t.Helper()
	var lines []struct{ Detail string }
	require.NoError(t, s.Writer().Raw("EXPLAIN QUERY PLAN "+st.sql, st.vars...).Scan(&lines).Error, st.sql)
	var details []string
	for _, line := range lines {
		details = append(details, line.Detail)
	}
	return details
}

// scansAll is a plan line that reads a whole table or index: not one of a subquery's result or of a JSON array.
var scansAll = regexp.MustCompile(`^SCAN (tasks|attempts|task_logs|audit|minute_stats)\b`)

// requirePlan fails when a plan reads all rows or sorts, and wants each index named.
func requirePlan(t *testing.T, s *Store, statements []statement, indexes ...string) {
	t.Helper()
	var plans strings.Builder
	for _, st := range statements {
		plan := planOf(t, s, st)
		plans.WriteString(st.sql + "\n  " + strings.Join(plan, "\n  ") + "\n")
		for _, line := range plan {
			if !strings.HasSuffix(st.sql, "LIMIT 1") { // the first row of an index in its order
				require.NotRegexp(t, scansAll, line, plans.String())
			}
			require.NotEqual(t, "SCAN tasks", line, plans.String())
			require.NotContains(t, line, "USE TEMP B-TREE", plans.String())
		}
	}
	for _, index := range indexes {
		require.Contains(t, plans.String(), index, plans.String())
	}
}

func TestReadsUseTheirIndexAndNeverSort(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s,
		row{"type": "a", "ready_at": 1}, row{"type": "b", "state": StateDead}, row{"type": "a", "state": StateFailed},
		row{"type": "b", "state": StateDead, "run_at": 5}, row{"type": "a", "state": StateSuccess, "trace_id": "abcdef12345"})
	statements := recordReads(t, s)
	ctx := t.Context()
	list := func(f Filter) func() error {
		return func() error { _, err := s.List(ctx, f, 10); return err }
	}
	const (
		primary   = "SEARCH tasks USING INTEGER PRIMARY KEY (rowid"
		succeeded = "USING COVERING INDEX tasks_success (type=? AND rowid>? AND rowid<?)"
		byState   = "USING COVERING INDEX tasks_state (state=? AND type=? AND rowid>? AND rowid<?)"
		looked    = "USING INDEX tasks_state (state=? AND type=? AND rowid>? AND rowid<?)"
		jumping   = "USING COVERING INDEX tasks_state (state=? AND type>?)"
		byTrace   = "USING COVERING INDEX tasks_trace (trace_id=? AND rowid>? AND rowid<?)"
	)
	for _, c := range []struct {
		name    string
		read    func() error
		indexes []string
	}{
		{"task", func() error { _, err := s.Task(ctx, 1); return err }, []string{primary}},
		{"attempts", func() error { _, err := s.Attempts(ctx, 1); return err }, []string{"INDEX attempts_task (task_id=?)"}},
		{"logs of a run", func() error { _, err := s.Logs(ctx, 1, 1, 5, 10); return err }, []string{"PRIMARY KEY (task_id=? AND attempt=? AND seq>?)"}},
		{"logs of all runs", func() error { _, err := s.Logs(ctx, 1, 0, 0, 10); return err }, []string{"PRIMARY KEY (task_id=?)"}},
		{"counts", func() error { _, err := s.Counts(ctx); return err }, nil},
		{"minute stats", func() error { _, err := s.MinuteStats(ctx, 1, 2); return err }, []string{"PRIMARY KEY (minute>? AND minute<?)"}},
		{"settings", func() error { _, err := s.TypeSettings(ctx); return err }, nil},
		{"audit", func() error { _, err := s.AuditOf(ctx, "task", "1", 10); return err }, []string{"INDEX audit_target (target=? AND target_id=?)"}},
		{"running", func() error { _, err := s.RunningOf(ctx, "boot"); return err }, []string{"INDEX tasks_state (state=?)"}},
		{"ready", func() error { _, err := s.ReadyAfter(ctx, "a", 5, 1, 1, 10); return err }, []string{"MERGE (UNION ALL)",
			"INDEX tasks_ready (type=? AND priority=? AND ready_at=? AND id>?)", "INDEX tasks_ready (type=? AND priority=? AND ready_at>?)"}},
		{"ready types", func() error { _, err := s.ReadyTypes(ctx); return err }, []string{"INDEX tasks_ready (type>?)"}},
		{"due", func() error { _, err := s.DueIDs(ctx, 9, 10); return err }, []string{"INDEX tasks_due (run_at<?)"}},
		{"next retry", func() error { _, err := s.NextRetry(ctx); return err }, []string{"INDEX tasks_due"}},
		{"boots", func() error { _, err := s.Boots(ctx, 5); return err }, []string{"SCAN boots"}},
		{"first of a trace", func() error { _, err := s.FirstOfTrace(ctx, "abcdef12345"); return err }, []string{"COVERING INDEX tasks_trace (trace_id=?)"}},
		{"next due", func() error { _, err := s.NextDue(ctx); return err }, []string{"INDEX tasks_due"}},
		{"finished", func() error { _, err := s.FinishedBefore(ctx, 1, 5000, 10); return err }, []string{primary}},

		{"list", list(Filter{}), []string{primary}},
		{"list from a cursor", list(Filter{Before: 3}), []string{primary}},
		{"pending", list(Filter{States: []State{StatePending}}), []string{byState, jumping}},
		{"running", list(Filter{States: []State{StateRunning}}), []string{jumping}},
		{"retry_wait", list(Filter{States: []State{StateRetryWait}}), []string{jumping}},
		{"success", list(Filter{States: []State{StateSuccess}}), []string{succeeded, "COVERING INDEX tasks_success (type>?)"}},
		{"failed", list(Filter{States: []State{StateFailed}}), []string{byState}},
		{"dead", list(Filter{States: []State{StateDead}}), []string{byState}},
		{"cancelled", list(Filter{States: []State{StateCancelled}}), []string{jumping}},
		{"every state", list(Filter{States: States}), []string{primary}},
		{"two states", list(Filter{States: []State{StateDead, StateFailed}}), []string{byState, "MERGE (UNION ALL)"}},
		{"two states, one success", list(Filter{States: []State{StateDead, StateSuccess}}), []string{byState, succeeded, "MERGE (UNION ALL)"}},
		{"type", list(Filter{Types: []string{"a"}}), []string{byState, succeeded, "MERGE (UNION ALL)"}},
		{"types", list(Filter{Types: []string{"a", "b", "c"}}), []string{byState, "MERGE (UNION ALL)"}},
		{"type and state", list(Filter{Types: []string{"a"}, States: []State{StateFailed}}), []string{byState}},
		{"type and success", list(Filter{Types: []string{"a"}, States: []State{StateSuccess}}), []string{succeeded}},
		{"types and states", list(Filter{Types: []string{"a", "b"}, States: []State{StateFailed, StateSuccess, StatePending}}), []string{byState}},
		{"trace", list(Filter{TraceID: "abc"}), []string{byTrace}},
		{"trace and state", list(Filter{TraceID: "abc", States: []State{StateDead}}), []string{"INDEX tasks_trace (trace_id=? AND rowid>? AND rowid<?)"}},
		{"key", list(Filter{UniqueKey: "abc"}), []string{"COVERING INDEX tasks_key (unique_key=? AND rowid>? AND rowid<?)"}},
		{"schedule", list(Filter{Schedule: "abc"}), []string{"COVERING INDEX tasks_of_schedule (schedule=? AND rowid>? AND rowid<?)"}},
		{"schedule and state", list(Filter{Schedule: "abc", States: []State{StateDead}}), []string{"INDEX tasks_of_schedule (schedule=? AND rowid>? AND rowid<?)"}},
		{"suspected", list(Filter{Suspected: true}), []string{"INDEX tasks_suspected (id>? AND id<?)"}},
		{"suspected of a type", list(Filter{Suspected: true, Types: []string{"a"}}), []string{"INDEX tasks_suspected (id>? AND id<?)"}},
		{"tag", list(Filter{Tag: "x"}), []string{primary}},
		{"tag of a type", list(Filter{Tag: "x", Types: []string{"a"}}), []string{looked}},
		{"tag and state", list(Filter{Tag: "x", States: []State{StateDead}}), []string{looked}},
		{"priorities", list(Filter{PriorityMin: 1, PriorityMax: 3}), []string{primary}},
		{"priorities of a state", list(Filter{PriorityMin: 1, States: []State{StateDead}}), []string{looked}},
		{"text", list(Filter{Text: "refused"}), []string{looked}},
		{"text that may be an id", list(Filter{Text: "1"}), []string{looked, primary}},
		{"text that may be a trace", list(Filter{Text: "abcdef"}), []string{primary, "COVERING INDEX tasks_trace (trace_id>? AND trace_id<?)"}},
		{"text of a type", list(Filter{Text: "abcdef", Types: []string{"a"}, States: []State{StateDead}}), []string{"INDEX tasks_state", "COVERING INDEX tasks_trace"}},
		{"time", list(Filter{CreatedFrom: 500, CreatedTo: 5000}), []string{primary}},
		{"time of a state", list(Filter{CreatedFrom: 500, CreatedTo: 5000, States: []State{StateDead}}), []string{looked}},
		{"time of a type", list(Filter{CreatedFrom: 500, Types: []string{"a"}}), []string{looked}},
		{"all of it", list(Filter{States: []State{StateDead, StateSuccess}, Types: []string{"a", "b"}, PriorityMin: 1, PriorityMax: 9,
			Tag: "x", Text: "123456", CreatedFrom: 500, CreatedTo: 5000, Before: 100}), []string{looked}},

		{"sorted", list(Filter{Order: "-changed"}), []string{primary}},
		{"sorted, a later page", list(Filter{Order: ByDuration, After: Place{ID: 3, Low: 1, High: 6, At: 5}}), []string{primary}},
		{"sorted, running", list(Filter{Order: "-duration", States: []State{StateRunning}}), []string{jumping}},
		{"sorted, success", list(Filter{Order: ByDuration, States: []State{StateSuccess}}), []string{"USING INDEX tasks_success (type=? AND rowid>? AND rowid<?)"}},
		{"sorted, states", list(Filter{Order: ByPriority, States: []State{StateDead, StateFailed}}), []string{looked, "MERGE (UNION ALL)"}},
		{"sorted, type", list(Filter{Order: ByPriority, Types: []string{"a"}}), []string{looked, "MERGE (UNION ALL)"}},
		{"sorted, trace", list(Filter{Order: ByChanged, TraceID: "abc"}), []string{"USING INDEX tasks_trace (trace_id=? AND rowid>? AND rowid<?)"}},
		{"sorted, key", list(Filter{Order: ByChanged, UniqueKey: "abc"}), []string{"INDEX tasks_key (unique_key=? AND rowid>? AND rowid<?)"}},
		{"sorted, schedule", list(Filter{Order: "-duration", Schedule: "abc"}), []string{"USING INDEX tasks_of_schedule (schedule=? AND rowid>? AND rowid<?)"}},
		{"sorted, suspected", list(Filter{Order: "-changed", Suspected: true}), []string{"INDEX tasks_suspected (id>? AND id<?)"}},
		{"sorted, error", list(Filter{Order: "-changed", Types: []string{"b"}, Fingerprint: "f"}), []string{"INDEX tasks_error (type=? AND fingerprint=? AND rowid>? AND rowid<?)"}},
		{"sorted, text", list(Filter{Order: "-changed", Text: "abcdef", States: []State{StateDead}}), []string{looked, "COVERING INDEX tasks_trace (trace_id>? AND trace_id<?)"}},
		{"sorted, all of it", list(Filter{Order: "-duration", States: []State{StateDead, StateSuccess}, Types: []string{"a", "b"}, PriorityMin: 1, PriorityMax: 9,
			Tag: "x", Text: "123456", CreatedFrom: 500, CreatedTo: 5000}), []string{looked}},
	} {
		t.Run(c.name, func(t *testing.T) {
			*statements = nil
			require.NoError(t, c.read())
			require.NotEmpty(t, *statements)
			requirePlan(t, s, *statements, c.indexes...)
		})
	}
}

func TestManySourcesAreMergedInSeveralStatements(t *testing.T) {
	s := openStore(t)
	var types []string
	var rows []row
	for i := range 2*unionLimit + 5 {
		typ := strings.Repeat("t", i+1)
		types = append(types, typ)
		rows = append(rows, row{"type": typ, "state": StateDead})
	}
	ids := seedTasks(t, s, rows...)
	for _, f := range []Filter{{States: []State{StateDead}}, {Types: types}, {Types: types, States: []State{StateDead, StateFailed}}} {
		page, err := s.List(context.Background(), f, 200)
		require.NoError(t, err)
		require.Len(t, page.Tasks, len(ids))
		require.Zero(t, page.Next)
		page, err = s.List(context.Background(), f, 3)
		require.NoError(t, err)
		require.Equal(t, []int64{ids[len(ids)-1], ids[len(ids)-2], ids[len(ids)-3]}, taskIDsOf(page.Tasks))
	}
}
