package actors

import (
	"maps"
	"slices"
	"time"

	"reax/models"
)

// Figures are what metrics tell of a runtime. What is counted begins with the process and never goes down; the rest is
// as it is now. Each number is right by itself; numbers that change together may be a moment apart.
type Figures struct {
	Health    Health
	Types     []TypeFigures  // by name; OtherTypes is among them
	Kinds     []ActorFigures // by name
	Journal   JournalFigures
	Schedules ScheduleFigures

	DeadLetters   int64 // messages that reached no actor
	DatabaseBytes int64
	WALBytes      int64
}

// TypeFigures are those of one task type.
type TypeFigures struct {
	Type    string
	Tasks   map[models.State]int64 // now, by state; models.CountReady is beside the states
	Workers int
	Busy    int
	Stuck   int // handlers that ignored the end of their context and still run
	Paused  bool

	Enqueued int64
	Started  int64
	Promoted int64            // that waiting lifted
	Finished map[string]int64 // runs by outcome, and tasks that were cancelled before they ran
	Wait     Timing           // from ready to start
	Run      Timing           // from start to end
}

// ActorFigures are those of one kind of actor.
type ActorFigures struct {
	Kind     string
	Actors   int
	Mailbox  int // messages that wait
	Restarts int64
}

// JournalFigures are those of the transactions that write the ledger.
type JournalFigures struct {
	Sizes   [SizeBuckets]int64 // batches by how many changes they held
	Changes int64
	Commit  Timing
}

// ScheduleFigures are those of all schedules together.
type ScheduleFigures struct {
	Occurrences map[string]int64 // by what became of them: the Occurrence constants of models
	Lateness    Timing           // from the instant of an occurrence to its task
	Faulty      int              // schedules that cannot run
	Overdue     int              // schedules whose time has passed and of which nothing came; at most a few are counted
}

// Figures reads what metrics tell. It asks no actor and makes no query.
func (r *Runtime) Figures() Figures {
	f := Figures{Health: r.Health(), DeadLetters: r.sys.DeadLetters.Load(), Kinds: r.actorFigures()}
	f.Types = r.typeFigures()
	for i := range f.Journal.Sizes {
		f.Journal.Sizes[i] = r.meter.sizes[i].Load()
	}
	f.Journal.Changes, f.Journal.Commit = r.meter.changes.Load(), r.meter.commits.read()
	f.Schedules = ScheduleFigures{
		Occurrences: r.meter.outcomes.All(), Lateness: r.meter.lateness.read(), Faulty: r.faulty.Len(), Overdue: len(r.overdue()),
	}
	f.DatabaseBytes, f.WALBytes = r.figures.databaseBytes.Load(), r.figures.walBytes.Load()
	return f
}

func (r *Runtime) typeFigures() []TypeFigures {
	byType := map[string]*TypeFigures{}
	for label, t := range r.meter.types {
		f := &TypeFigures{
			Type: label, Tasks: map[models.State]int64{models.CountReady: 0},
			Enqueued: t.enqueued.Load(), Started: t.started.Load(), Promoted: t.promoted.Load(),
			Finished: map[string]int64{
				models.OutcomeSuccess: t.succeeded.Load(), models.OutcomeRetry: t.retried.Load(), models.OutcomeFailed: t.failed.Load(),
				models.OutcomeDead: t.dead.Load(), models.OutcomeCancelled: t.cancelled.Load(),
			},
			Wait: t.wait.read(), Run: t.run.read(),
		}
		for _, state := range models.States {
			f.Tasks[state] = 0
		}
		byType[label] = f
	}
	for _, k := range r.counts.Keys() {
		label, _ := r.meter.of(k.typ)
		byType[label].Tasks[k.state] += r.count(k.typ, k.state)
	}
	busy := map[string]int{}
	for _, x := range r.runs.Values(isBusy) {
		busy[x.Type]++
	}
	for _, def := range r.registry.All() {
		f := byType[def.Name]
		if f == nil { // registered after the start
			continue
		}
		f.Workers, f.Busy = def.Policy.Concurrency, busy[def.Name]
		if p, ok := r.reports.Get(def.Name); ok {
			f.Workers, f.Stuck, f.Paused = p.Concurrency, p.Stuck, p.Blocked != ""
		}
		if set, ok := r.settings.Get(def.Name); ok && set.Paused {
			f.Paused = true
		}
	}
	all := make([]TypeFigures, 0, len(byType))
	for _, label := range slices.Sorted(maps.Keys(byType)) {
		all = append(all, *byType[label])
	}
	return all
}

func (r *Runtime) actorFigures() []ActorFigures {
	byKind := map[string]*ActorFigures{}
	of := func(kind string) *ActorFigures {
		if byKind[kind] == nil {
			byKind[kind] = &ActorFigures{Kind: kind}
		}
		return byKind[kind]
	}
	for _, row := range r.sys.Tree.Snapshot() {
		f := of(row.Kind)
		f.Actors++
		f.Mailbox += row.Mailbox
	}
	for kind, n := range r.sys.Tree.Restarts.All() {
		of(kind).Restarts = n
	}
	all := make([]ActorFigures, 0, len(byKind))
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		all = append(all, *byKind[kind])
	}
	return all
}

// isBusy reports whether a run occupies a worker.
func isBusy(x *run) bool { return x.started.Load() && !x.stuck.Load() }

// overdue are the schedules whose time has passed without a word of them, since statistics last looked.
func (r *Runtime) overdue() []overdueSchedule {
	if all := r.figures.overdue.Load(); all != nil {
		return *all
	}
	return nil
}

// overdueSchedule is a schedule whose time has passed and of which nothing came.
type overdueSchedule struct {
	name string
	due  time.Time
}
