package models

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// known is what a test thinks of a task.
type known struct {
	typ      string
	state    State
	ready    bool
	due      bool // its time has come
	attempt  int
	failures int
	crashes  int
	cancel   bool // a person wants the run stopped
	key      string
	boot     string
}

func (k known) holdsKey() bool {
	return k.key != "" && (k.state == StatePending || k.state == StateRunning || k.state == StateRetryWait)
}

// ledgerMachine does the same to a ledger and to a map.
type ledgerMachine struct {
	folder string
	store  *Store
	w      *Writer
	boots  int
	tasks  map[int64]*known
}

func (m *ledgerMachine) reboot() {
	m.boots++
	m.w = NewWriter(m.store, fmt.Sprintf("boot %d", m.boots))
}

func (m *ledgerMachine) open(t require.TestingT, path string) {
	store, err := Open(context.Background(), Config{Path: path, Durability: DurabilityNormal, Logger: silent})
	require.NoError(t, err)
	m.store = store
}

func (m *ledgerMachine) write(t *rapid.T, f func(tx *Tx)) {
	require.NoError(t, m.w.Write(func(tx *Tx) error {
		f(tx)
		return nil
	}))
}

// some draws ids, of tasks that are there and of one that is not.
func (m *ledgerMachine) some(t *rapid.T) []int64 {
	ids := []int64{1_000_000}
	for id := range m.tasks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	picked := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, 6, rapid.ID).Draw(t, "ids")
	return picked
}

func (m *ledgerMachine) holder(key string) (int64, bool) {
	for id, k := range m.tasks {
		if key != "" && k.key == key && k.holdsKey() {
			return id, true
		}
	}
	return 0, false
}

func (m *ledgerMachine) insert(t *rapid.T) {
	var rows []*NewTask
	start := rapid.Bool().Draw(t, "start at once")
	for range rapid.IntRange(1, 80).Draw(t, "n") {
		n := &NewTask{Task: Task{Type: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"), Priority: 5, MaxRetries: 3, Params: "{}", TraceID: "t",
			UniqueKey: rapid.SampledFrom([]string{"", "", "", "x", "y"}).Draw(t, "key")}}
		if rapid.IntRange(0, 3).Draw(t, "later") == 0 {
			n.RunAt = At(time.Now().Add(time.Hour))
		}
		rows = append(rows, n)
	}
	m.write(t, func(tx *Tx) {
		require.NoError(t, tx.Insert(rows, func(typ string) bool { return start && typ == "a" }))
	})
	for _, n := range rows {
		if id, held := m.holder(n.UniqueKey); held {
			require.NotNil(t, n.Held)
			require.Equal(t, id, n.Held.ID)
			continue
		}
		require.Nil(t, n.Held)
		require.Nil(t, m.tasks[n.ID], "an id is given once")
		k := &known{typ: n.Type, state: StatePending, key: n.UniqueKey}
		k.due = n.RunAt <= At(time.Now())
		k.ready = k.due
		if k.ready && start && n.Type == "a" {
			k.state, k.ready, k.attempt, k.boot = StateRunning, false, 1, m.w.bootID
			require.True(t, n.IsStarted())
		}
		m.tasks[n.ID] = k
	}
}

func (m *ledgerMachine) claim(t *rapid.T) {
	ids := m.some(t)
	var wanted []Candidate
	for _, id := range ids {
		wanted = append(wanted, Candidate{ID: id, PromotedAt: Instant(rapid.IntRange(0, 1).Draw(t, "lifted"))})
	}
	var got []*Claimed
	m.write(t, func(tx *Tx) {
		var err error
		got, err = tx.Claim(wanted)
		require.NoError(t, err)
	})
	var want, have []int64
	for _, id := range ids {
		if k := m.tasks[id]; k != nil && k.ready && k.state.IsWaiting() {
			k.state, k.ready, k.attempt, k.boot = StateRunning, false, k.attempt+1, m.w.bootID
			want = append(want, id)
		}
	}
	for _, c := range got {
		have = append(have, c.ID)
		require.Equal(t, m.tasks[c.ID].attempt, c.Attempt)
		require.Equal(t, m.tasks[c.ID].failures, c.Failures)
		require.Equal(t, m.tasks[c.ID].crashes, c.Crashes)
		require.Equal(t, m.tasks[c.ID].typ, c.Type)
	}
	require.ElementsMatch(t, want, have)
}

func (m *ledgerMachine) finish(t *rapid.T) {
	var done []*Completion
	for _, id := range m.some(t) {
		k := m.tasks[id]
		if k == nil {
			k = &known{typ: "a", attempt: 1}
		}
		c := &Completion{ID: id, Type: k.typ, Attempt: max(k.attempt-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "late"), 1), Failures: k.failures,
			State:     rapid.SampledFrom([]State{StateSuccess, StateRetryWait, StateFailed, StateDead, StateCancelled, StatePending}).Draw(t, "state"),
			StartedAt: 1000, FinishedAt: At(time.Now()), Outcome: "outcome", Error: rapid.SampledFrom([]string{"", "no"}).Draw(t, "error")}
		if c.State == StateRetryWait {
			c.Failures++
			c.RunAt = At(time.Now().Add(rapid.SampledFrom([]time.Duration{-time.Second, time.Hour}).Draw(t, "wait")))
		}
		if c.State == StateSuccess {
			c.Error, c.Result = "", rapid.SampledFrom([]string{"", `"r"`}).Draw(t, "result")
		}
		done = append(done, c)
		if rapid.IntRange(0, 4).Draw(t, "twice") == 0 { // the same end may be reported twice
			again := *c
			done = append(done, &again)
		}
		if rapid.IntRange(0, 4).Draw(t, "and an old one") == 0 && k.attempt > 1 {
			done = append(done, &Completion{ID: id, Type: k.typ, Attempt: k.attempt - 1, State: StateDead, Outcome: "old"})
		}
	}
	m.write(t, func(tx *Tx) {
		_, err := tx.Finish(done)
		require.NoError(t, err)
	})
	for _, c := range done {
		k := m.tasks[c.ID]
		if k == nil || k.state != StateRunning || k.attempt != c.Attempt || c.Outcome == "old" {
			continue
		}
		k.state, k.failures = c.State, c.Failures
		if k.cancel && c.State != StateSuccess {
			k.state = StateCancelled
		}
		k.ready = k.state == StatePending
		k.due = k.ready || c.RunAt <= At(time.Now())
		var history []Attempt
		require.NoError(t, m.store.Reader().Raw("SELECT * FROM attempts WHERE task_id = ? AND attempt = ?", c.ID, c.Attempt).Scan(&history).Error)
		if k.state == StateSuccess && c.Attempt == 1 {
			require.Empty(t, history, "a success at the first try needs no row")
			continue
		}
		require.Len(t, history, 1, "run %d of task %d", c.Attempt, c.ID)
		want := c.Outcome
		if k.cancel && k.state == StateCancelled {
			want = OutcomeCancelled
		}
		if k.state != c.State || want == OutcomeCancelled {
			require.Contains(t, []string{OutcomeCancelled, c.Outcome}, history[0].Outcome)
			continue
		}
		require.Equal(t, want, history[0].Outcome)
	}
}

func (m *ledgerMachine) change(t *rapid.T) {
	action := rapid.SampledFrom([]string{ActionRetry, ActionCancel, ActionDiscard}).Draw(t, "action")
	ids := m.some(t)
	var changed *Changed
	if rapid.Bool().Draw(t, "in bulk") {
		changed = &m.bulk(t, action, ids, BulkStep{IDs: ids}).Changed
	} else {
		m.write(t, func(tx *Tx) {
			var err error
			changed, err = tx.Change(action, ids, Actor{Name: "ann"})
			require.NoError(t, err)
		})
	}
	done := map[int64]bool{}
	for i := range changed.Tasks {
		done[changed.Tasks[i].ID] = true
	}
	require.Len(t, changed.Refused, len(ids)-len(done))
	slices.Sort(ids)
	for _, id := range ids {
		k := m.tasks[id]
		if k == nil {
			require.False(t, done[id])
			continue
		}
		_, held := m.holder(k.key)
		ended := k.state == StateFailed || k.state == StateDead
		switch {
		case action == ActionRetry && (ended || k.state == StateCancelled) && !held:
			k.state, k.ready, k.due, k.failures, k.crashes, k.cancel = StatePending, true, true, 0, 0, false
		case action == ActionRetry && (k.state == StateRetryWait || k.state == StatePending && !k.ready):
			k.state, k.ready, k.due = StatePending, true, true
		case action == ActionCancel && k.state.IsWaiting(), action == ActionDiscard && ended:
			k.state, k.ready = StateCancelled, false
		case action == ActionCancel && k.state == StateRunning:
			k.cancel = true
		default:
			require.False(t, done[id], "%s of a task that is %s", action, k.state)
			continue
		}
		require.True(t, done[id], "%s of a task that was refused", action)
	}
}

// bulk does one step of a new bulk action, twice: the second time it must do nothing.
func (m *ledgerMachine) bulk(t *rapid.T, action string, ids []int64, step BulkStep) *BulkStepped {
	var first *BulkStepped
	m.write(t, func(tx *Tx) {
		run, err := tx.PlanBulk(BulkRun{Action: action, Actor: "ann"}, ids)
		require.NoError(t, err)
		_, err = tx.StartBulk(run.ID, 0, Actor{Name: "ann"})
		require.NoError(t, err)
		step.RunID = run.ID
	})
	for range 2 {
		m.write(t, func(tx *Tx) {
			out, err := tx.StepBulk(&step)
			require.NoError(t, err)
			require.Equal(t, BulkDone, out.Run.State)
			if first == nil {
				first = out
			} else {
				require.Empty(t, out.Changed.Tasks)
				require.Empty(t, out.Changed.Stop)
			}
		})
	}
	require.Equal(t, len(ids), first.Run.Done+first.Run.Skipped)
	return first
}

// replace discards ended tasks for copies of them.
func (m *ledgerMachine) replace(t *rapid.T) {
	ids := m.some(t)
	var pairs []Replacement
	for _, id := range ids {
		k := m.tasks[id]
		if k == nil {
			k = &known{typ: "a"}
		}
		pairs = append(pairs, Replacement{ID: id, New: &NewTask{Task: Task{Type: k.typ, Priority: 5, MaxRetries: 3, Params: "{}", TraceID: "t", UniqueKey: k.key, RepeatedFrom: id}}})
	}
	out := m.bulk(t, ActionReplace, ids, BulkStep{Replace: pairs})
	made := map[int64]*NewTask{}
	for _, n := range out.Made {
		made[n.RepeatedFrom] = n
	}
	for _, id := range ids {
		k := m.tasks[id]
		if k == nil || k.state != StateFailed && k.state != StateDead {
			require.Nil(t, made[id])
			continue
		}
		if _, held := m.holder(k.key); held {
			require.Nil(t, made[id])
			continue
		}
		require.NotNil(t, made[id])
		k.state, k.ready = StateCancelled, false
		m.tasks[made[id].ID] = &known{typ: k.typ, key: k.key, state: StatePending, ready: true, due: true}
	}
}

func (m *ledgerMachine) release(t *rapid.T) {
	ids := m.some(t)
	var got []Ready
	m.write(t, func(tx *Tx) {
		var err error
		got, err = tx.Release(ids)
		require.NoError(t, err)
	})
	var want, have []int64
	for _, id := range ids {
		if k := m.tasks[id]; k != nil && k.state.IsWaiting() && !k.ready && k.due {
			k.ready = true
			want = append(want, id)
		}
	}
	for _, r := range got {
		have = append(have, r.ID)
		require.Equal(t, m.tasks[r.ID].attempt, r.Attempt)
	}
	require.ElementsMatch(t, want, have)
}

func (m *ledgerMachine) lost(t *rapid.T) {
	var keys []RunKey
	for _, id := range m.some(t) {
		attempt := 1
		if k := m.tasks[id]; k != nil {
			attempt = k.attempt - rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "late")
		}
		keys = append(keys, RunKey{id, attempt})
	}
	var ready []Ready
	m.write(t, func(tx *Tx) {
		require.NoError(t, tx.MarkStuck(keys))
		ended, err := tx.Lost(keys)
		require.NoError(t, err)
		ready = nil
		for _, e := range ended {
			if e.State == StatePending {
				ready = append(ready, e.Ready)
			}
		}
	})
	var want, have []int64
	for _, key := range keys {
		k := m.tasks[key.ID]
		if k == nil || k.state != StateRunning || k.attempt != key.Attempt || k.boot != m.w.bootID {
			continue
		}
		k.state = StatePending
		if k.cancel {
			k.state = StateCancelled
		} else {
			want = append(want, key.ID)
		}
		k.ready = k.state == StatePending
		k.due = k.ready
	}
	for _, r := range ready {
		have = append(have, r.ID)
	}
	require.ElementsMatch(t, want, have)
}

func (m *ledgerMachine) purge(t *rapid.T) {
	ids := m.some(t)
	var n int64
	m.write(t, func(tx *Tx) {
		var err error
		n, err = tx.Purge(ids)
		require.NoError(t, err)
	})
	want := 0
	for _, id := range ids {
		if k := m.tasks[id]; k != nil && k.state.IsFinal() {
			delete(m.tasks, id)
			want++
		}
	}
	require.EqualValues(t, want, n)
}

// check holds the ledger against the map.
func (m *ledgerMachine) check(t *rapid.T, before map[int64]State) {
	var rows []Task
	// By name, since scanning the other columns costs more than all the rest of the walk.
	require.NoError(t, m.store.Reader().Select("id, type, state, attempt, failures, crashes, cancel_requested_at, ready_at").Find(&rows).Error)
	require.Len(t, rows, len(m.tasks))
	counts := map[countKey]int64{}
	for i := range rows {
		row := &rows[i]
		k := m.tasks[row.ID]
		require.NotNil(t, k)
		require.Equal(t, k.state, row.State, "task %d", row.ID)
		require.Equal(t, k.attempt, row.Attempt)
		require.Equal(t, k.failures, row.Failures)
		require.Equal(t, k.crashes, row.Crashes)
		require.Equal(t, k.cancel, row.CancelRequestedAt != 0)
		if row.State.IsWaiting() {
			require.Equal(t, k.ready, row.ReadyAt != 0)
		} else {
			require.False(t, k.ready)
		}
		if old := before[row.ID]; old != "" && old != row.State {
			require.True(t, old.CanBecome(row.State), "task %d went from %s to %s", row.ID, old, row.State)
		}
		counts[countKey{row.Type, row.State}]++
		if k.ready {
			counts[countKey{row.Type, CountReady}]++
		}
	}
	var kept []Count
	require.NoError(t, m.store.Reader().Find(&kept).Error)
	for _, c := range kept {
		require.Equal(t, counts[countKey{c.Type, c.State}], c.N, "the count of %s %s", c.Type, c.State)
		delete(counts, countKey{c.Type, c.State})
	}
	require.Empty(t, counts)
}

// TestTheLedgerDoesWhatAMapWouldDo walks through everything the journal can ask for, in any order.
func TestTheLedgerDoesWhatAMapWouldDo(t *testing.T) {
	last := &ledgerMachine{folder: t.TempDir()}
	last.open(t, filepath.Join(last.folder, "0.db"))
	defer func() { require.NoError(t, last.store.Close()) }()
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"tasks", "attempts", "task_logs", "counts", "minute_stats", "bulk_runs", "bulk_sets", "bulk_tasks", "bulk_skips"} {
			require.NoError(rt, last.store.Writer().Exec("DELETE FROM "+table).Error)
		}
		m := &ledgerMachine{folder: last.folder, store: last.store, tasks: map[int64]*known{}, boots: last.boots}
		last = m
		m.reboot()
		before := map[int64]State{}
		rt.Repeat(map[string]func(*rapid.T){
			"insert": m.insert, "claim": m.claim, "claim more": m.claim, "finish": m.finish, "finish more": m.finish, "change": m.change, "replace": m.replace,
			"release": m.release, "lost": m.lost, "crash": m.crash, "torn": m.torn, "purge": m.purge,
			"": func(rt *rapid.T) {
				m.check(rt, before)
				clear(before)
				for id, k := range m.tasks {
					before[id] = k.state
				}
			},
		})
	})
}
