package actors

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/models"
	"reax/tasks"
)

// move is one thing that happens in a walk through the runtime.
type move struct {
	Kind     string
	Type     string
	Task     int // which of those that were asked for
	Priority int
	Delay    time.Duration
	Key      string
	Retries  int
	Runs     []scripted
	N        int // messages until something crashes, or workers
	Of       string
}

// scripted is what one run of a task does; the last one is also what all further runs do.
type scripted struct {
	For  time.Duration
	Ends string // success, fail, permanent, panic
}

// moves draws a walk. In half of them actors crash: there a task may start later than its place says.
func moves(t *rapid.T) []move {
	kinds := []string{"enqueue", "enqueue", "enqueue", "enqueue", "time", "time", "cancel", "retry", "discard", "pause", "resume", "resize", "process dies"}
	if rapid.Bool().Draw(t, "actors crash") {
		kinds = append(kinds, "actor crashes", "actor crashes")
	}
	script := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scripted {
		return scripted{time.Duration(rapid.IntRange(0, 30).Draw(t, "for")) * 100 * time.Millisecond,
			rapid.SampledFrom([]string{"success", "success", "fail", "permanent", "panic"}).Draw(t, "ends")}
	}), 1, 3)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Type: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"),
			Task: rapid.IntRange(0, 50).Draw(t, "task"), Priority: rapid.IntRange(1, 10).Draw(t, "priority"),
			Delay: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5, 60}).Draw(t, "delay")) * time.Second,
			Key:   rapid.SampledFrom([]string{"", "", "", "x", "y"}).Draw(t, "key"), Retries: rapid.IntRange(0, 3).Draw(t, "retries"),
			Runs: script.Draw(t, "runs"), N: rapid.IntRange(1, 5).Draw(t, "n"),
			Of: rapid.SampledFrom([]string{"journal", "queue", "scheduler", "pool", "worker", "reconciler"}).Draw(t, "of"),
		}
	}), 10, 60).Draw(t, "moves")
}

// TestTheRuntimeDoesWhatAModelWould walks through all that callers, people, failing actors and a dying process do, in any
// order, on a clock of its own. A process dies between two commits of the journal: the next one gets the files as they
// were then.
func TestTheRuntimeDoesWhatAModelWould(t *testing.T) {
	t.Parallel()
	fewer(t, 12)
	folders, walks := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		walk := moves(rt)
		walks++
		folder := filepath.Join(folders, fmt.Sprint(walks))
		require.NoError(t, os.Mkdir(folder, 0o700))
		var wrong string
		inBubble(t, func(t *testing.T) { wrong = walkThrough(t, folder, walk) })
		require.NoError(t, os.RemoveAll(folder))
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// fewer sets how many walks a test tries, unless the command line says it.
func fewer(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue {
		require.NoError(t, checks.Value.Set(fmt.Sprint(n)))
		t.Cleanup(func() { require.NoError(t, checks.Value.Set(before)) })
	}
}

// seenRun is what a handler has seen of one of its runs.
type seenRun struct {
	boot  int
	ended string // how; empty while it goes on
}

type runKeyed struct {
	id      int64
	attempt int
}

// model is what the test knows.
type model struct {
	t      *testing.T
	folder string
	f      *fixture

	mu       sync.Mutex
	boot     int
	up       bool            // f is of this boot
	since    time.Time       // when it was: what fell due while no process was there is made ready in that moment
	dead     bool            // the process of this boot died; what its actors still do never was
	dieIn    int             // messages of the journal until then; 0 for never
	crashIn  map[string]int  // the same for actors that crash, by kind
	crashed  bool            // an actor has
	asked    []int64         // ids that were accepted
	unsure   map[int64]bool  // a person's word about it may or may not have been taken
	reset    map[int64][]int // attempts after which a person has had it begin anew
	cancels  map[int64]bool
	runs     map[runKeyed]*seenRun
	paused   map[string]bool // and no move to change that is under way
	problems []string
}

func walkThrough(t *testing.T, folder string, walk []move) string {
	m := &model{t: t, folder: folder, crashIn: map[string]int{}, unsure: map[int64]bool{}, reset: map[int64][]int{}, cancels: map[int64]bool{},
		runs: map[runKeyed]*seenRun{}, paused: map[string]bool{}}
	m.start()
	for i := range walk {
		m.do(&walk[i])
		if m.isDead() {
			m.reboot()
		}
	}
	m.mu.Lock()
	m.dieIn, m.crashIn = 0, map[string]int{}
	m.mu.Unlock()
	for _, typ := range []string{"a", "b"} {
		m.do(&move{Kind: "resume", Type: typ})
	}
	for minutes := 0; minutes < 60 && !(m.f.allFinal("a", m.rows("a")) && m.f.allFinal("b", m.rows("b"))); minutes++ {
		pass(time.Minute)
	}
	m.check()
	m.f.end()
	return strings.Join(m.problems, "\n")
}

func (m *model) path() string { return filepath.Join(m.folder, fmt.Sprintf("%d.db", m.boot)) }

func (m *model) start() {
	policy := quick()
	policy.Concurrency, policy.BackoffBase, policy.BackoffMax = 2, time.Second, 4*time.Second
	registry := registryOf(m.t, policy, map[string]handler{"a": m.handle, "b": m.handle})
	f := startOn(m.t, m.path(), registry, Options{fault: m.fault, PromoteBase: 20 * time.Second, PromoteStep: 2 * time.Second})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.f, m.up, m.since = f, true, time.Now()
}

func (m *model) rows(typ string) (n int) {
	for _, k := range m.f.states(typ) {
		n += k
	}
	return n
}

func (m *model) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *model) wrong(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// fault stands before every message of every actor. The journal's own goroutine is between two commits here.
func (m *model) fault(kind string, message any) {
	if strings.HasPrefix(fmt.Sprintf("%T", message), "*actor.") {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind == "journal" && m.dieIn > 0 && !m.dead {
		if m.dieIn--; m.dieIn == 0 {
			m.dead = true
			next := filepath.Join(m.folder, fmt.Sprintf("%d.db", m.boot+1))
			for _, end := range []string{"", "-wal"} {
				text, err := os.ReadFile(m.path() + end)
				require.NoError(m.t, err)
				require.NoError(m.t, os.WriteFile(next+end, text, 0o600))
			}
		}
	}
	if n := m.crashIn[kind]; n > 0 {
		if m.crashIn[kind]--; n == 1 {
			m.crashed = true
			panic("the walk crashes " + kind)
		}
	}
}

// reboot ends what is left of the process that died, and starts the next one on what it has left.
func (m *model) reboot() {
	m.mu.Lock()
	m.dieIn, m.crashIn = 0, map[string]int{}
	m.mu.Unlock()
	m.f.end()
	m.mu.Lock()
	m.boot++
	m.dead, m.up = false, false
	m.mu.Unlock()
	m.start()
	settings, err := m.f.store.TypeSettings(context.Background())
	require.NoError(m.t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = map[string]bool{}
	for _, s := range settings {
		m.paused[s.Type] = s.Paused
	}
}

// handle does what the script of its task says.
func (m *model) handle(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var script []scripted
	require.NoError(m.t, json.Unmarshal(params, &struct{ Runs *[]scripted }{&script}))
	run := tasks.RunOf(ctx)
	key := runKeyed{run.TaskID, run.Attempt}
	seen := m.begin(key, run.Type)
	s := script[min(run.Attempt, len(script))-1]
	ends := s.Ends
	select {
	case <-elapsed(s.For):
	case <-ctx.Done():
		ends = "stopped"
	}
	m.mu.Lock()
	if seen.boot == m.boot && !m.dead {
		seen.ended = ends
	}
	m.mu.Unlock()
	switch ends {
	case "fail":
		return nil, errPlain
	case "permanent":
		return nil, tasks.Permanent(errPlain)
	case "panic":
		panic("as the script says")
	case "stopped":
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// begin notes a start, and looks at what it may not start beside and before.
func (m *model) begin(key runKeyed, typ string) *seenRun {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := &seenRun{boot: m.boot}
	if m.dead {
		return seen
	}
	if m.runs[key] != nil {
		m.wrong("run %d of task %d was started twice", key.attempt, key.id)
	}
	for other, r := range m.runs {
		if other.id == key.id && r.boot == m.boot && r.ended == "" {
			m.wrong("runs %d and %d of task %d at the same time", other.attempt, key.attempt, key.id)
		}
	}
	if m.paused[typ] {
		m.wrong("task %d of a paused type was started", key.id)
	}
	m.runs[key] = seen
	if !m.crashed && m.up && time.Since(m.since) > time.Second {
		m.checkPlace(key.id)
	}
	return seen
}

// checkPlace: what runs is lifted or has the best priority, of all that waited before it was claimed.
func (m *model) checkPlace(id int64) {
	const rule = `SELECT y.id FROM tasks x, tasks y WHERE x.id = ?1 AND y.type = x.type AND y.id <> x.id AND y.state IN ('pending', 'retry_wait')
 AND y.ready_at < x.started_at AND y.crashes < 2 AND x.crashes < 2 AND x.promoted_at IS NULL
 AND (y.priority < x.priority OR y.ready_at + 20000000 + (y.priority - 1) * 2000000 < x.started_at)`
	var better []int64
	require.NoError(m.t, m.f.store.Reader().Raw(rule, id).Scan(&better).Error)
	if len(better) > 0 {
		m.wrong("task %d was started before %v", id, better)
	}
}

// do makes one move. Errors are part of it; what they may have changed all the same is not counted on.
func (m *model) do(v *move) {
	ctx, by := m.t.Context(), Change{By: "walk"}
	switch v.Kind {
	case "enqueue":
		m.enqueue(v)
	case "time":
		pass(v.Delay + time.Duration(v.N)*200*time.Millisecond)
	case "cancel", "retry", "discard":
		m.change(v)
	case "pause":
		if err := m.f.Pause(ctx, v.Type, by); err == nil {
			synctest.Wait() // what was claimed before has begun by then
			m.setPaused(v.Type, true)
		}
	case "resume":
		m.setPaused(v.Type, false)
		_ = m.f.Resume(ctx, v.Type, by)
	case "resize":
		_ = m.f.Resize(ctx, v.Type, v.N, by)
	case "process dies":
		m.mu.Lock()
		m.dieIn = v.N
		m.mu.Unlock()
	case "actor crashes":
		m.mu.Lock()
		m.crashIn[v.Of] = v.N
		m.mu.Unlock()
	}
}

func (m *model) setPaused(typ string, paused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused[typ] = paused && !m.dead && !m.crashed
}

func (m *model) enqueue(v *move) {
	params, err := json.Marshal(map[string]any{"Runs": v.Runs})
	require.NoError(m.t, err)
	req := EnqueueRequest{Type: v.Type, Params: params, Priority: v.Priority, MaxRetries: new(v.Retries), UniqueKey: v.Key, By: "walk"}
	if v.Delay > 0 {
		req.RunAt = time.Now().Add(v.Delay)
	}
	got, err := m.f.Enqueue(m.t.Context(), req)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		if !errors.Is(err, ErrUnavailable) {
			m.wrong("enqueue: %v", err)
		}
	case m.dead: // nobody has heard this answer
	case got.Duplicate:
		if got.Task.UniqueKey != v.Key {
			m.wrong("a duplicate of another key: %+v", got.Task)
		}
	default:
		m.asked = append(m.asked, got.Task.ID)
	}
}

func (m *model) change(v *move) {
	if len(m.asked) == 0 {
		return
	}
	id := m.asked[v.Task%len(m.asked)]
	act := map[string]func(context.Context, int64, Change) (models.Task, error){"cancel": m.f.Cancel, "retry": m.f.Retry, "discard": m.f.Discard}[v.Kind]
	row, err := act(m.t.Context(), id, Change{By: "walk"})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.dead:
		m.unsure[id] = true
	case err != nil:
	case v.Kind == "retry" && row.Failures == 0:
		m.reset[id] = append(m.reset[id], row.Attempt)
	case v.Kind != "retry":
		m.cancels[id] = true
	}
}

// check compares the books with the model once nothing is left to do.
func (m *model) check() {
	m.f.checkCounts()
	require.Zero(m.t, m.f.runs.Len())
	for _, id := range m.asked {
		row, err := m.f.store.Task(context.Background(), id)
		if err != nil {
			m.wrong("task %d was accepted and is lost: %v", id, err)
			continue
		}
		m.checkTask(&row)
	}
}

func (m *model) checkTask(row *models.Task) {
	if !row.State.IsFinal() {
		m.wrong("task %d is %s though nothing is left to wait for: %+v", row.ID, row.State, row)
		return
	}
	told := map[int]models.Attempt{}
	for _, a := range m.f.attempts(row.ID) {
		told[a.Attempt] = a
	}
	failures, last := 0, ""
	for k := 1; k <= row.Attempt; k++ {
		for _, r := range m.reset[row.ID] {
			if r == k-1 {
				failures = 0
			}
		}
		seen := m.runs[runKeyed{row.ID, k}]
		last = told[k].Outcome
		if last == "" && k == 1 && row.Attempt == 1 && row.State == models.StateSuccess {
			last = models.OutcomeSuccess
		}
		if why := m.outcomeFits(row, last, seen); why != "" {
			m.wrong("run %d of task %d is told as %q, and %s: %+v", k, row.ID, last, why, seen)
		}
		if last == models.OutcomeRetry || last == models.OutcomeDead || last == models.OutcomeFailed {
			failures++
		}
	}
	if !m.unsure[row.ID] && row.State == models.StateDead && last == models.OutcomeDead && failures != row.MaxRetries+1 {
		m.wrong("task %d is dead after %d failures of %d", row.ID, failures, row.MaxRetries+1)
	}
	for key, seen := range m.runs {
		if key.id == row.ID && key.attempt > row.Attempt {
			m.wrong("run %d of task %d is not in the books: %+v", key.attempt, row.ID, seen)
		}
	}
}

// outcomeFits says what is wrong with what is told of a run, given what its handler has seen of it; nil if it was not given it.
func (m *model) outcomeFits(row *models.Task, outcome string, seen *seenRun) string {
	saw := ""
	if seen != nil {
		saw = seen.ended
	}
	switch outcome {
	case models.OutcomeSuccess:
		if saw != "success" {
			return "it was none"
		}
	case models.OutcomeRetry, models.OutcomeDead:
		if saw != "fail" && saw != "panic" {
			return "it did not fail"
		}
	case models.OutcomeFailed:
		if saw != "permanent" {
			return "it was not for ever"
		}
	case models.OutcomeCancelled:
		if !m.cancels[row.ID] && !m.unsure[row.ID] {
			return "nobody has cancelled it"
		}
	case models.OutcomeCrashed:
		if seen != nil && seen.boot == m.boot {
			return "its process lives"
		}
		if row.Suspected == "" {
			return "there is no mark"
		}
	case models.OutcomeLost:
		if !m.crashed || seen != nil {
			return "it was not"
		}
	default:
		return "that is nothing"
	}
	return ""
}
