package actors

import (
	"fmt"
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
	degraded := func(format string, args ...any) {
		h.Status = StatusDegraded
		h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...))
	}
	for _, p := range r.reports.Values(func(*PoolReported) bool { return true }) {
		h.WorkersTotal += p.Concurrency
		if p.Blocked != "" {
			degraded("%s takes no tasks: %s.", p.Type, p.Blocked)
		} else if p.Stuck > 0 {
			degraded("%d handlers of %s ignore the end of their context.", p.Stuck, p.Type)
		}
	}
	h.WorkersBusy = len(r.runs.Values(func(x *run) bool { return x.started.Load() && !x.stuck.Load() }))
	for _, name := range r.orphanTypes() {
		degraded("Tasks of type %s wait, and this process has no handler for it.", name)
	}
	for _, sentence := range r.scheduleFaults() {
		degraded("%s", sentence)
	}
	if n := r.figures.crashes.since(now.Add(-healthCrashWindow)); n > healthCrashes {
		degraded("Actors crashed and were restarted %d times in 5 minutes.", n)
	}
	for _, row := range r.sys.Tree.Snapshot() {
		if row.Busy > healthBusyTooLong && row.Kind != "worker" {
			degraded("%s has been busy with one message for %s.", row.ID, row.Busy.Round(100*time.Millisecond))
		}
	}
	if h.Finished5m >= healthSamples && h.SuccessRate5m < healthRate {
		degraded("Only %.0f %% of the runs of the last 5 minutes succeeded.", h.SuccessRate5m*100)
	}
	if t := r.figures.trouble.Load(); t != nil {
		h.DatabaseOK, h.DatabaseReason = false, t.reason
		degraded("Nothing can be stored since %s: %s.", t.since.UTC().Format(time.RFC3339), t.reason)
		if now.Sub(t.since) >= healthDownAfter {
			h.Status = StatusDown
		}
	}
	if r.figures.draining.Load() {
		h.Status = StatusDraining
		h.Reasons = append(h.Reasons, "reax is stopping.")
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
