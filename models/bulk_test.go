package models

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bulkSet is one row of bulk_sets.
type bulkSet struct {
	RunID int64  `gorm:"primaryKey"`
	Set   string `gorm:"column:ids"`
}

var ann = Actor{Name: "ann", Reason: "why", Address: "::1", RequestID: "r"}

// plan stores a bulk action.
func (l *ledger) plan(action string, ids ...int64) BulkRun {
	l.t.Helper()
	var run BulkRun
	l.write(func(tx *Tx) (err error) {
		run, err = tx.PlanBulk(BulkRun{Action: action, Actor: "ann"}, ids)
		return err
	})
	return run
}

// going stores a bulk action that runs.
func (l *ledger) going(action string, ids ...int64) BulkRun {
	l.t.Helper()
	run := l.plan(action, ids...)
	l.write(func(tx *Tx) (err error) {
		run, err = tx.StartBulk(run.ID, time.Minute, ann)
		return err
	})
	require.Equal(l.t, BulkRunning, run.State)
	return run
}

func (l *ledger) step(s BulkStep) *BulkStepped {
	l.t.Helper()
	var out *BulkStepped
	l.write(func(tx *Tx) (err error) {
		out, err = tx.StepBulk(&s)
		return err
	})
	return out
}

func TestASetComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.Int64Range(1, 1<<40), rapid.ID).Draw(t, "ids")
		got, err := decodeSet(encodeSet(ids))
		require.NoError(t, err)
		require.ElementsMatch(t, ids, got)
		for i := 1; i < len(got); i++ {
			require.Less(t, got[i], got[i-1], "highest first")
		}
	})
	_, err := decodeSet("7 x")
	require.Error(t, err)
}

// A step is done once however often it comes, and each task has its part of the record although the audit has one row.
func TestABulkActionIsOneLineOfTheAuditAndAPartOfEachTasksRecord(t *testing.T) {
	l := newLedger(t)
	dead, running, late := l.inState(StateDead), l.inState(StateRunning), l.inState(StateDead)
	run := l.going(ActionRetry, dead, running, late)
	first := BulkStep{RunID: run.ID, From: 0, IDs: []int64{dead, running}}
	out := l.step(first)
	require.Len(t, out.Changed.Tasks, 1)
	require.Len(t, out.Changed.Ready, 1)
	require.Equal(t, 1, out.Run.Done)
	require.Equal(t, 1, out.Run.Skipped)
	require.Equal(t, BulkRunning, out.Run.State)

	l.claim(dead) // it fails again, and the step comes a second time
	l.finish(&Completion{ID: dead, Type: "a", Attempt: 2, State: StateDead, Failures: 1, Outcome: OutcomeDead, FinishedAt: At(time.Now())})
	again := l.step(first)
	require.Empty(t, again.Changed.Tasks)
	require.Equal(t, StateDead, l.task(dead).State, "it is not retried twice")

	out = l.step(BulkStep{RunID: run.ID, From: 2, IDs: []int64{late}})
	require.Equal(t, BulkDone, out.Run.State)
	require.NotZero(t, out.Run.FinishedAt)
	stored, err := l.BulkRun(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, out.Run, stored)
	require.Equal(t, time.Minute, stored.Spread())
	skips, err := l.BulkSkips(t.Context(), run.ID, 10)
	require.NoError(t, err)
	require.Equal(t, []BulkSkip{{run.ID, running, "running", "it is running"}}, skips)
	set, err := l.BulkSet(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{late, running, dead}, set)

	var all []Audit
	require.NoError(t, l.Reader().Find(&all).Error)
	require.Len(t, all, 1)
	require.Equal(t, []string{"retry", TargetBulk, strconv.FormatInt(run.ID, 10), `{"tasks":3,"spread_s":60}`, "why"},
		[]string{all[0].Action, all[0].Target, all[0].TargetID, all[0].After, all[0].Reason})
	l.change(ActionCancel, late)
	entries, err := l.AuditOf(t.Context(), "task", strconv.FormatInt(late, 10), 10)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, ActionCancel, entries[0].Action)
	require.Equal(t, Audit{ID: all[0].ID, At: stored.FinishedAt, Actor: "ann", Action: ActionRetry, Target: "task", TargetID: strconv.FormatInt(late, 10),
		Reason: "why", Before: "dead", Address: "::1", RequestID: "r", Bulk: run.ID}, entries[1])
	entries, err = l.AuditOf(t.Context(), "task", strconv.FormatInt(running, 10), 10)
	require.NoError(t, err)
	require.Empty(t, entries, "it was left alone")
}

func TestABulkActionThatIsStoppedDoesNoMore(t *testing.T) {
	l := newLedger(t)
	one, two := l.inState(StateDead), l.inState(StateDead)
	run := l.going(ActionDiscard, one, two)
	l.step(BulkStep{RunID: run.ID, IDs: []int64{two}})
	stop := func(id int64) (run BulkRun) {
		l.write(func(tx *Tx) (err error) {
			run, err = tx.StopBulk(id, Actor{Name: "bob"})
			return err
		})
		return run
	}
	for range 2 {
		run = stop(run.ID)
		require.Equal(t, []any{BulkStopped, "bob", 1}, []any{run.State, run.StoppedBy, run.Done})
	}
	require.Empty(t, l.step(BulkStep{RunID: run.ID, From: 1, IDs: []int64{one}}).Changed.Tasks)
	require.Equal(t, StateDead, l.task(one).State)
	entries, err := l.AuditOf(t.Context(), TargetBulk, strconv.FormatInt(run.ID, 10), 10)
	require.NoError(t, err)
	require.Len(t, entries, 2, "its start and its stop, once")
	require.Equal(t, `{"done":1,"skipped":0,"left":1}`, entries[0].After)
	history, err := l.AuditOf(t.Context(), "task", strconv.FormatInt(two, 10), 10)
	require.NoError(t, err)
	require.Len(t, history, 1)
	require.Equal(t, "ann", history[0].Actor, "who stopped it did not discard the task")

	plan := stop(l.plan(ActionRetry, one).ID)
	require.Equal(t, BulkStopped, plan.State)
	l.write(func(tx *Tx) (err error) {
		plan, err = tx.StartBulk(plan.ID, 0, ann)
		return err
	})
	require.Equal(t, BulkStopped, plan.State, "what was given up does not start")
	require.Equal(t, BulkStopped, l.step(BulkStep{RunID: 999}).Run.State, "what is gone does nothing")
}

func TestACopyTakesThePlaceOfTheOldTaskOrNeitherHappens(t *testing.T) {
	l := newLedger(t)
	keyed := func() int64 {
		id := l.add(1, func(n *NewTask) { n.UniqueKey = "k" })[0]
		l.claim(id)
		l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateDead, Failures: 1, Outcome: OutcomeDead, FinishedAt: 1})
		return id
	}
	copyOf := func(id int64, key string) Replacement {
		return Replacement{ID: id, New: &NewTask{Task: Task{Type: "a", Priority: 5, MaxRetries: 3, Params: `{"b":1}`, TraceID: "t", UniqueKey: key, RepeatedFrom: id}}}
	}
	one, two, failed, waits, bad := keyed(), keyed(), l.inState(StateFailed), l.inState(StatePending), l.inState(StateDead)
	run := l.going(ActionReplace, one, two, failed, waits, bad, 999)
	out := l.step(BulkStep{RunID: run.ID, Replace: []Replacement{copyOf(one, "k"), copyOf(two, "k"), copyOf(failed, ""), copyOf(waits, ""), copyOf(999, "")},
		Refused: []Refused{{bad, &UnfitError{SkipInvalid, "/b: must be a string"}}}})
	require.Equal(t, BulkDone, out.Run.State)
	require.Equal(t, 2, out.Run.Done)
	require.Equal(t, 4, out.Run.Skipped)
	require.Len(t, out.Made, 2)
	require.Empty(t, out.Changed.Ready, "what is discarded does not run")
	for i, old := range []int64{one, failed} {
		require.Equal(t, StateCancelled, l.task(old).State)
		made := l.task(out.Made[i].ID)
		require.Equal(t, []any{StatePending, old, `{"b":1}`}, []any{made.State, made.RepeatedFrom, made.Params})
		history, err := l.AuditOf(t.Context(), "task", strconv.FormatInt(old, 10), 1)
		require.NoError(t, err)
		require.Equal(t, []string{ActionReplace, strconv.FormatInt(made.ID, 10)}, []string{history[0].Action, history[0].After})
	}
	skips, err := l.BulkSkips(t.Context(), run.ID, 10)
	require.NoError(t, err)
	codes := map[int64]string{}
	for _, s := range skips {
		codes[s.TaskID] = s.Code
	}
	require.Equal(t, map[int64]string{two: SkipKeyHeld, waits: "pending", bad: SkipInvalid, 999: SkipMissing}, codes)
	require.Equal(t, StateDead, l.task(two).State)
}

func TestOldBulkActionsGoAndTheRecordOfTheirTasksStays(t *testing.T) {
	l := newLedger(t)
	dead, skipped := l.inState(StateDead), l.inState(StateSuccess)
	run := l.going(ActionRetry, dead, skipped)
	l.step(BulkStep{RunID: run.ID, IDs: []int64{dead, skipped}})
	on, plan := l.going(ActionRetry, dead), l.plan(ActionRetry, dead)
	purge := func(ended, planned Instant) (n int) {
		l.write(func(tx *Tx) (err error) {
			n, err = tx.PurgeBulk(ended, planned)
			return err
		})
		return n
	}
	later := At(time.Now().Add(time.Hour))
	require.Zero(t, purge(1, 1))
	require.Equal(t, 1, purge(later, 1))
	_, err := l.BulkRun(t.Context(), run.ID)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = l.BulkSet(t.Context(), run.ID)
	require.ErrorIs(t, err, ErrNotFound)
	skips, err := l.BulkSkips(t.Context(), run.ID, 10)
	require.NoError(t, err)
	require.Empty(t, skips)
	history, err := l.AuditOf(t.Context(), "task", strconv.FormatInt(dead, 10), 10)
	require.NoError(t, err)
	require.Len(t, history, 1)
	require.Equal(t, 1, purge(later, later), "the plan, and not what runs")
	_, err = l.BulkRun(t.Context(), plan.ID)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = l.BulkRun(t.Context(), on.ID)
	require.NoError(t, err)
	l.change(ActionCancel, dead)
	l.write(func(tx *Tx) error { _, err := tx.Purge([]int64{dead}); return err })
	var rows []BulkChange
	require.NoError(t, l.Reader().Find(&rows).Error)
	require.Empty(t, rows, "the record of a task goes with it")

	for range bulkPlans + 3 {
		plan = l.plan(ActionRetry, 1)
	}
	var plans []int64
	require.NoError(t, l.Reader().Raw("SELECT id FROM bulk_runs WHERE state = 'planned' ORDER BY id").Scan(&plans).Error)
	require.Len(t, plans, bulkPlans, "plans that nobody starts do not pile up")
	require.Equal(t, plan.ID, plans[len(plans)-1])
	runs, err := l.BulkRuns(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, runs, 1, "a plan is no bulk action yet")
	runs, err = l.BulkRuns(t.Context(), runs[0].ID, 10)
	require.NoError(t, err)
	require.Empty(t, runs)
}

func TestTheSkipsOfABulkActionAreBounded(t *testing.T) {
	l := newLedger(t)
	ids := make([]int64, bulkSkips+500)
	for i := range ids {
		ids[i] = int64(i + 100)
	}
	run := l.going(ActionRetry, ids...)
	l.step(BulkStep{RunID: run.ID, IDs: ids[:700]})
	out := l.step(BulkStep{RunID: run.ID, From: 700, IDs: ids[700:]})
	require.Equal(t, len(ids), out.Run.Skipped)
	skips, err := l.BulkSkips(t.Context(), run.ID, 5000)
	require.NoError(t, err)
	require.Len(t, skips, bulkSkips)
}

func TestReadsOfBulkActionsUseTheirIndex(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	for range 2 {
		require.NoError(t, w.Write(func(tx *Tx) error {
			run, err := tx.PlanBulk(BulkRun{Action: ActionRetry, Actor: "ann"}, []int64{1, 2})
			if err == nil {
				_, err = tx.StartBulk(run.ID, 0, ann)
			}
			return err
		}))
	}
	statements := recordReads(t, s)
	ctx := t.Context()
	for name, c := range map[string]struct {
		read  func() error
		index string
	}{
		"one":     {func() error { _, err := s.BulkRun(ctx, 1); return err }, "SEARCH bulk_runs USING INTEGER PRIMARY KEY"},
		"list":    {func() error { _, err := s.BulkRuns(ctx, 9, 5); return err }, "SEARCH bulk_runs USING INTEGER PRIMARY KEY"},
		"running": {func() error { _, err := s.RunningBulk(ctx); return err }, "INDEX bulk_runs_open (state=?)"},
		"set":     {func() error { _, err := s.BulkSet(ctx, 1); return err }, "SEARCH bulk_sets USING INTEGER PRIMARY KEY"},
		"skips":   {func() error { _, err := s.BulkSkips(ctx, 1, 5); return err }, "SEARCH bulk_skips USING PRIMARY KEY (run_id=?)"},
		"tasks":   {func() error { _, err := s.WholeTasks(ctx, []int64{1}); return err }, "SEARCH tasks USING INTEGER PRIMARY KEY"},
		"history": {func() error { _, err := s.AuditOf(ctx, "task", "1", 5); return err }, "SEARCH b USING PRIMARY KEY (task_id=?)"},
		"latest":  {func() error { _, err := s.LatestFailure(ctx, 5); return err }, "INDEX error_groups_open"},
		"groups":  {func() error { _, err := s.ErrorGroups(ctx, 5); return err }, "INDEX error_groups_open"},
	} {
		t.Run(name, func(t *testing.T) {
			*statements = nil
			require.NoError(t, c.read())
			requirePlan(t, s, *statements, c.index)
		})
	}
}
