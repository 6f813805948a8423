package actors

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reax/models"
)

const (
	healthDownAfter    = 10 * time.Second // of an unwritable ledger
	healthBusyTooLong  = time.Second      // an actor that handles one message for longer is stuck
	healthHung         = 30 * time.Second // one that no task can do without, and that is stuck for longer, has hung
	healthCrashWindow  = 5 * time.Minute
	healthCrashes      = 3
	healthSamples      = 20
	healthRate         = 0.5
	healthMissedWindow = 15 * time.Minute
	healthDiskLeast    = 1 << 30 // bytes; on a small disk it is a twentieth of it
	healthNamed        = 3       // of one kind of trouble, health names so many and counts the others
)

// Cause is one of Health.Reasons as a stable code and what its sentence speaks of.
type Cause struct {
	Code  string
	Args  map[string]any
	Since time.Time // when it began; zero when that is not known
}

// The codes of causes, with their arguments.
const (
	CauseBlocked    = "blocked"     // type, n: so many handlers hang that the type takes no tasks
	CauseStuck      = "stuck"       // type, n: handlers hang
	CauseWaiting    = "waiting"     // n, wait, busy, total: a task has waited for longer than waiting lifts it
	CauseNoHandler  = "no_handler"  // type: its tasks wait and nothing can run them
	CauseNoHandlers = "no_handlers" // n: that many more types
	CauseSchedule   = "schedule"    // name, error: a schedule cannot run
	CauseSchedules  = "schedules"   // n: that many more
	CauseOverdue    = "overdue"     // name: the time of a schedule has come and nothing of it
	CauseMissed     = "missed"      // name, n: a schedule missed runs lately
	CauseMissedMore = "missed_more" // n: that many more schedules
	CauseCrashes    = "crashes"     // n: of actors, in five minutes
	CauseBusy       = "busy"        // actor: it has been busy with one message for too long
	CauseHung       = "hung"        // actor: the same, for so long that nothing works
	CauseFailing    = "failing"     // percent: of the runs of five minutes that succeeded
	CauseDisk       = "disk"        // free: the disk is nearly full
	CauseDatabase   = "database"    // error: nothing can be stored
	CauseStopping   = "stopping"
)

// CauseCodes lists the codes of causes.
func CauseCodes() []string {
	return []string{
		CauseBlocked, CauseStuck, CauseWaiting, CauseNoHandler, CauseNoHandlers, CauseSchedule, CauseSchedules, CauseOverdue, CauseMissed,
		CauseMissedMore, CauseCrashes, CauseBusy, CauseHung, CauseFailing, CauseDisk, CauseDatabase, CauseStopping,
	}
}

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

// degraded notes a cause of trouble that work goes on with.
func (h *Health) degraded(c Cause, format string, args ...any) {
	if h.Status == StatusOK {
		h.Status = StatusDegraded
	}
	h.Causes, h.Reasons = append(h.Causes, c), append(h.Reasons, fmt.Sprintf(format, args...))
}

// down notes a cause of trouble that no task gets past.
func (h *Health) down(c Cause, format string, args ...any) {
	h.degraded(c, format, args...)
	h.Status = StatusDown
}

// Health says how the runtime is. It asks no actor and reads no database, so it answers when they cannot.
func (r *Runtime) Health() Health {
	now := time.Now()
	h := Health{
		Status: StatusOK, DatabaseOK: true, Finished5m: r.figures.finished5m.Load(),
		DiskFree: r.figures.diskFree.Load(), DiskTotal: r.figures.diskTotal.Load(),
	}
	if h.Finished5m > 0 {
		h.SuccessRate5m = float64(r.figures.succeeded5m.Load()) / float64(h.Finished5m)
	}
	for _, def := range r.registry.All() {
		h.Backlog += r.count(def.Name, models.CountReady)
	}
	first := models.Instant(r.figures.oldestReady.Load())
	if first != 0 && h.Backlog > 0 {
		h.OldestWait = max(now.Sub(first.Time()), 0)
	}
	r.poolHealth(&h)
	if late := r.opts.PromoteBase + 9*r.opts.PromoteStep; h.OldestWait > late {
		wait := h.OldestWait.Round(time.Second)
		h.degraded(cause(CauseWaiting, "n", h.Backlog, "wait", wait, "busy", h.WorkersBusy, "total", h.WorkersTotal).from(first.Time()),
			"%d tasks wait for a worker, the oldest of them for %s; %d of %d workers are busy.", h.Backlog, wait, h.WorkersBusy, h.WorkersTotal)
	}
	orphans := r.orphanTypes()
	for i, name := range orphans {
		if i == healthNamed {
			n := len(orphans) - i
			h.degraded(cause(CauseNoHandlers, "n", n), "Tasks of %d more types wait, and this process has no handlers for them.", n)
			break
		}
		h.degraded(cause(CauseNoHandler, "type", name), "Tasks of type %s wait, and this process has no handler for it.", name)
	}
	r.scheduleHealth(&h, now)
	r.actorHealth(&h, now)
	if h.Finished5m >= healthSamples && h.SuccessRate5m < healthRate {
		h.degraded(cause(CauseFailing, "percent", int(math.Round(h.SuccessRate5m*100))), "Only %.0f %% of the runs of the last 5 minutes succeeded.", h.SuccessRate5m*100)
	}
	if h.DiskTotal > 0 && h.DiskFree < min(h.DiskTotal/20, healthDiskLeast) {
		free := fmt.Sprintf("%d MiB", h.DiskFree>>20)
		h.degraded(cause(CauseDisk, "free", free), "The disk of the database is nearly full: %s are free.", free)
	}
	if t := r.figures.trouble.Load(); t != nil {
		h.DatabaseOK, h.DatabaseReason = false, t.reason
		note := h.degraded
		if now.Sub(t.since) >= healthDownAfter {
			note = h.down
		}
		note(cause(CauseDatabase, "error", t.reason).from(t.since), "Nothing can be stored since %s: %s.", t.since.UTC().Format(time.RFC3339), t.reason)
	}
	if r.figures.draining.Load() {
		h.degraded(cause(CauseStopping), "reax is stopping.")
		h.Status = StatusDraining
	}
	return h
}

// poolHealth counts the workers, and names the types whose handlers hang.
func (r *Runtime) poolHealth(h *Health) {
	for _, p := range r.reports.Values(func(*PoolReported) bool { return true }) {
		h.WorkersTotal += p.Concurrency
		if p.Blocked != "" {
			h.degraded(cause(CauseBlocked, "type", p.Type, "n", p.Stuck), "%s takes no tasks: %s.", p.Type, p.Blocked)
		} else if p.Stuck > 0 {
			h.degraded(cause(CauseStuck, "type", p.Type, "n", p.Stuck), "%d handlers of %s ignore the end of their context.", p.Stuck, p.Type)
		}
	}
	h.WorkersBusy = len(r.runs.Values(isBusy))
}

// actorHealth names actors that crash again and again, or do not come back from one message.
func (r *Runtime) actorHealth(h *Health, now time.Time) {
	if n, first := r.figures.crashes.since(now.Add(-healthCrashWindow)); n > healthCrashes {
		h.degraded(cause(CauseCrashes, "n", n).from(first), "Actors crashed and were restarted %d times in 5 minutes.", n)
	}
	for _, row := range r.sys.Tree.Snapshot() {
		if row.Busy <= healthBusyTooLong || row.Kind == "worker" {
			continue
		}
		code, note := CauseBusy, h.degraded
		if row.Busy > healthHung && (row.Kind == "journal" || row.Kind == "queue") {
			code, note = CauseHung, h.down
		}
		note(cause(code, "actor", row.ID).from(now.Add(-row.Busy)), "%s has been busy with one message for %s.", row.ID, row.Busy.Round(100*time.Millisecond))
	}
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
	s.Busy = len(r.runs.Values(func(x *run) bool { return x.Type == typ && isBusy(x) }))
	if set, ok := r.settings.Get(typ); ok && set.Paused {
		s.Paused, s.PauseReason, s.PausedBy = true, set.Reason, set.ChangedBy
	}
	return s, true
}
