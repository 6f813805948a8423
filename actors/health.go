package actors

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reax/models"
)

const (
	healthDownAfter   = 10 * time.Second // of an unwritable ledger
	healthBusyTooLong = time.Second      // an actor that handles one message for longer is stuck
	healthCrashWindow = 5 * time.Minute
	healthCrashes     = 3
	healthSamples     = 20
	healthRate        = 0.5
)

// Cause is one of Health.Reasons as a stable code and what its sentence speaks of.
type Cause struct {
	Code  string
	Args  map[string]any
	Since time.Time // when it began; zero when that is not known
}

// The codes of causes, with their arguments.
const (
	CauseBlocked   = "blocked"    // type, n: so many handlers hang that the type takes no tasks
	CauseStuck     = "stuck"      // type, n: handlers hang
	CauseNoHandler = "no_handler" // type: its tasks wait and nothing can run them
	CauseSchedule  = "schedule"   // name, error: a schedule cannot run
	CauseSchedules = "schedules"  // n: that many more
	CauseCrashes   = "crashes"    // n: of actors, in five minutes
	CauseBusy      = "busy"       // actor: it has been busy with one message for too long
	CauseFailing   = "failing"    // percent: of the runs of five minutes that succeeded
	CauseDatabase  = "database"   // error: nothing can be stored
	CauseStopping  = "stopping"
)

// cause takes the names and values of its arguments in turn.
func cause(code string, pairs ...any) Cause {
	c := Cause{Code: code, Args: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Args[pairs[i].(string)] = pairs[i+1]
	}
	return c
}

func (c Cause) from(since time.Time) Cause {
	c.Since = since
	return c
}

func (h *Health) add(c Cause, sentence string) {
	h.Causes, h.Reasons = append(h.Causes, c), append(h.Reasons, sentence)
}

// Health says how the runtime is. It asks no actor and reads no database, so it answers when they cannot.
func (r *Runtime) Health() Health {
	now := time.Now()
	h := Health{Status: StatusOK, DatabaseOK: true, Finished5m: r.figures.finished5m.Load()}
	if h.Finished5m > 0 {
		h.SuccessRate5m = float64(r.figures.succeeded5m.Load()) / float64(h.Finished5m)
	}
	for _, def := range r.registry.All() {
		h.Backlog += r.count(def.Name, models.CountReady)
	}
	if first := models.Instant(r.figures.oldestReady.Load()); first != 0 && h.Backlog > 0 {
		h.OldestWait = max(now.Sub(first.Time()), 0)
	}
	degraded := func(c Cause, format string, args ...any) {
		h.Status = StatusDegraded
		h.add(c, fmt.Sprintf(format, args...))
	}
	for _, p := range r.reports.Values(func(*PoolReported) bool { return true }) {
		h.WorkersTotal += p.Concurrency
		if p.Blocked != "" {
			degraded(cause(CauseBlocked, "type", p.Type, "n", p.Stuck), "%s takes no tasks: %s.", p.Type, p.Blocked)
		} else if p.Stuck > 0 {
			degraded(cause(CauseStuck, "type", p.Type, "n", p.Stuck), "%d handlers of %s ignore the end of their context.", p.Stuck, p.Type)
		}
	}
	h.WorkersBusy = len(r.runs.Values(func(x *run) bool { return x.started.Load() && !x.stuck.Load() }))
	for _, name := range r.orphanTypes() {
		degraded(cause(CauseNoHandler, "type", name), "Tasks of type %s wait, and this process has no handler for it.", name)
	}
	r.scheduleFaults(degraded)
	if n, first := r.figures.crashes.since(now.Add(-healthCrashWindow)); n > healthCrashes {
		degraded(cause(CauseCrashes, "n", n).from(first), "Actors crashed and were restarted %d times in 5 minutes.", n)
	}
	for _, row := range r.sys.Tree.Snapshot() {
		if row.Busy > healthBusyTooLong && row.Kind != "worker" {
			degraded(cause(CauseBusy, "actor", row.ID).from(now.Add(-row.Busy)), "%s has been busy with one message for %s.", row.ID, row.Busy.Round(100*time.Millisecond))
		}
	}
	if h.Finished5m >= healthSamples && h.SuccessRate5m < healthRate {
		degraded(cause(CauseFailing, "percent", int(math.Round(h.SuccessRate5m*100))), "Only %.0f %% of the runs of the last 5 minutes succeeded.", h.SuccessRate5m*100)
	}
	if t := r.figures.trouble.Load(); t != nil {
		h.DatabaseOK, h.DatabaseReason = false, t.reason
		degraded(cause(CauseDatabase, "error", t.reason).from(t.since), "Nothing can be stored since %s: %s.", t.since.UTC().Format(time.RFC3339), t.reason)
		if now.Sub(t.since) >= healthDownAfter {
			h.Status = StatusDown
		}
	}
	if r.figures.draining.Load() {
		h.Status = StatusDraining
		h.add(cause(CauseStopping), "reax is stopping.")
	}
	return h
}

// orphanTypes lists the types that have waiting tasks and no handler in this process.
func (r *Runtime) orphanTypes() []string {
	var names []string
	for _, k := range r.counts.Keys() {
		if _, known := r.registry.Lookup(k.typ); !known && k.state.IsWaiting() && r.count(k.typ, k.state) > 0 {
			names = append(names, k.typ)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *Runtime) count(typ string, state models.State) int64 {
	n, _ := r.counts.Get(countKey{typ, state})
	return n
}

// Pool says what a type's pool does now; false when the type is not registered.
func (r *Runtime) Pool(typ string) (PoolStatus, bool) {
	def, ok := r.registry.Lookup(typ)
	if !ok {
		return PoolStatus{}, false
	}
	s := PoolStatus{Concurrency: def.Policy.Concurrency, Ready: r.count(typ, models.CountReady)}
	if p, ok := r.reports.Get(typ); ok {
		s.Concurrency, s.Stuck = p.Concurrency, p.Stuck
		s.Paused, s.PauseReason = p.Blocked != "", p.Blocked
	}
	s.Busy = len(r.runs.Values(func(x *run) bool { return x.Type == typ && x.started.Load() && !x.stuck.Load() }))
	if set, ok := r.settings.Get(typ); ok && set.Paused {
		s.Paused, s.PauseReason, s.PausedBy = true, set.Reason, set.ChangedBy
	}
	return s, true
}
