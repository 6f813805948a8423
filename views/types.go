package views

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	"reax/models"
	"reax/tasks"
)

// Types is the list of task types. Its texts are in the viewer's language.
type Types struct{ Rows []TypeRow }

// TypeRow is what a task type is and does.
type TypeRow struct {
	Name        string
	Description string
	Registered  bool // this process has a handler for it
	Internal    bool // reax itself makes its tasks
	Pool        PoolFigures
	Counts      map[models.State]int64
	Finished    []float64 // runs that ended, by minute, of the last hour; oldest first
	Succeeded   int64     // of them
	Ended       int64
	RunP95      time.Duration
}

// PoolFigures is what the workers of a type do now.
type PoolFigures struct {
	Concurrency, Busy, Stuck int
	Ready                    int64
	Paused                   bool
	Reason, By               string
}

func (r TypeRow) path(more string) string { return "/types/" + Segment(r.Name) + more }

// mark is the tone, icon and word of how the type is.
func (r TypeRow) mark(ctx context.Context) (tone, icon, word string) {
	switch {
	case !r.Registered:
		return "failed", "alert", T(ctx, "types.mark.orphan")
	case r.Pool.Stuck > 0:
		return "stuck", "stuck", T(ctx, "types.mark.stuck")
	case r.Pool.Paused:
		return "paused", "pause", T(ctx, "types.mark.paused")
	case r.Pool.Busy > 0:
		return "running", "running", T(ctx, "types.mark.busy")
	}
	return "quiet", "check", T(ctx, "types.mark.idle")
}

// why is the cause of that in one line.
func (r TypeRow) why(ctx context.Context) string {
	switch {
	case !r.Registered:
		return T(ctx, "types.orphan")
	case r.Pool.Paused && r.Pool.Reason != "":
		return preview(r.Pool.Reason)
	}
	return ""
}

// success is the share of the last hour's runs that succeeded.
func (r TypeRow) success() string {
	if r.Ended == 0 {
		return ""
	}
	percent := float64(r.Succeeded) / float64(r.Ended) * 100
	if r.Succeeded < r.Ended && percent > 99.9 {
		percent = 99.9 // 100 % would be a lie
	}
	return num(float64(int(percent*10))/10) + " %"
}

func (r TypeRow) meter(ctx context.Context) string {
	return T(ctx, "types.busy_of", "busy", r.Pool.Busy, "most", r.Pool.Concurrency)
}

// TypePage is one task type with all that it is allowed.
type TypePage struct {
	TypeRow
	Kind     string
	Policy   tasks.Policy
	Schema   string
	Example  string
	Bars     Chart
	Times    []Line
	TimesTop string // what the upper edge of Times stands for
	Errors   []models.ErrorGroup
	Audit    []models.Audit
}

// delay is one row of the table of waits.
type delay struct {
	Retry string
	Wait  time.Duration
	Total time.Duration // since the first failure, without the runs
}

// shownDelays is how many waits the table lists before it says the rest in one row.
const shownDelays = 8

// delays are the waits that the policy gives, and how many more are as long as the last.
func (t TypePage) delays() (rows []delay, more int) {
	var total time.Duration
	for k := 1; k <= t.Policy.MaxRetries; k++ {
		wait := tasks.Wait(k, t.Policy.BackoffBase, t.Policy.BackoffMax, nil)
		total += wait
		rows = append(rows, delay{Retry: fmt.Sprint(k), Wait: wait, Total: total})
		if k == shownDelays {
			break
		}
	}
	return rows, t.Policy.MaxRetries - len(rows)
}

// rule is the formula of the waits in words.
func (t TypePage) rule(ctx context.Context) string {
	return T(ctx, "types.rule", "base", Duration(ctx, t.Policy.BackoffBase), "most", Duration(ctx, t.Policy.BackoffMax))
}

func (t TypePage) facts(ctx context.Context) []Fact {
	p := t.Policy
	timeout, retries := T(ctx, "types.no_timeout"), Number(int64(p.MaxRetries))
	if p.Timeout > 0 {
		timeout = Duration(ctx, p.Timeout)
	}
	which := T(ctx, "types.retry.all")
	if p.RetryOnlyMarked {
		which = T(ctx, "types.retry.marked")
	}
	return []Fact{
		{Label: T(ctx, "types.kind"), Value: T(ctx, "types.kind."+t.Kind)},
		{Label: T(ctx, "types.timeout"), Value: timeout},
		{Label: T(ctx, "types.retries"), Value: retries},
		{Label: T(ctx, "types.retried"), Value: which},
		{Label: T(ctx, "types.priority"), Value: fmt.Sprint(p.Priority)},
		{Label: T(ctx, "types.registered_size"), Value: fmt.Sprint(p.Concurrency)},
		{Label: T(ctx, "types.on_crash"), Value: T(ctx, "types.crash."+string(p.OnCrash))},
	}
}

func (t TypePage) tiles(ctx context.Context) []Tile {
	tasksIn := func(state models.State) templ.SafeURL {
		return URL(ctx, "/tasks", "type", t.Name, "state", string(state))
	}
	tile := func(state models.State, bad bool) Tile {
		one := Tile{Label: T(ctx, "state."+string(state)), Value: Number(t.Counts[state]), URL: tasksIn(state)}
		if bad && t.Counts[state] > 0 {
			one.Tone = string(state)
		}
		return one
	}
	pending := tile(models.StatePending, false)
	if t.Registered {
		pending.Note = T(ctx, "types.ready_now", "n", t.Pool.Ready)
	}
	running := tile(models.StateRunning, false)
	if t.Registered {
		running.Unit = T(ctx, "types.of_workers", "n", t.Pool.Concurrency)
	}
	success := Tile{Label: T(ctx, "types.success_hour"), Value: t.success(), URL: tasksIn(models.StateSuccess), Note: T(ctx, "types.of_runs", "n", t.Ended)}
	if success.Value == "" {
		success.Value = "–"
	}
	return []Tile{pending, running, success, tile(models.StateRetryWait, false), tile(models.StateFailed, true), tile(models.StateDead, true)}
}

// TypeAction is the form of a pause, a resume or a resize of a type.
type TypeAction struct {
	Name   string
	Action string // pause, resume or resize
	Size   Field  // of a resize
	Reason Field
}

func (a TypeAction) title(ctx context.Context) string {
	return T(ctx, "types."+a.Action+".title", "name", a.Name)
}

func (a TypeAction) path() string { return "/types/" + Segment(a.Name) }

// ready is how many tasks wait for a worker; of a type without a handler, how many wait.
func (r TypeRow) ready() int64 {
	if r.Registered {
		return r.Pool.Ready
	}
	return r.Counts[models.StatePending]
}

// worst is the state of the tasks that a link to the lost ones shows.
func (r TypeRow) worst() string {
	if r.Counts[models.StateDead] > 0 {
		return string(models.StateDead)
	}
	return string(models.StateFailed)
}

func groupURL(ctx context.Context, g models.ErrorGroup) templ.SafeURL {
	return URL(ctx, "/dead/"+Segment(g.Type)+"/"+Segment(g.Fingerprint))
}

// poolNode is where the pool of a type is in the tree of actors.
func poolNode(name string) string { return "reax/pools/" + strings.ReplaceAll(name, "/", "|") }
