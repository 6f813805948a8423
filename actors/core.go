package actors

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// core is what all actors of one Runtime share and none of them owns: the handles, each other's PIDs, the runs that
// outlive a pool's crash, and the figures that are read without asking an actor.
type core struct {
	opts     Options
	logger   *slog.Logger
	store    *models.Store
	registry *tasks.Registry
	writer   *models.Writer
	bootID   string
	sys      *kit.System
	hub      *kit.Hub

	// Set by the supervisor before it sends begin, and not changed until the tree is rebuilt.
	journal, queue, scheduler, pools *actor.PID

	unwritten *journalState // the journal's own; it stands here so that no crash in the tree loses it

	wired    atomic.Bool
	synced   atomic.Bool                       // the schedules of the file are in the ledger: those there may fire
	poolOf   *kit.Table[string, *actor.PID]    // by task type
	runs     *kit.Table[int64, *run]           // by task id: every run that a pool was given and whose end is not yet reported
	reports  *kit.Table[string, *PoolReported] // by task type: the last word of each pool
	counts   *kit.Table[countKey, int64]       // as the ledger's counts; written by the journal
	settings *kit.Table[string, models.TypeSetting]
	bulkEnds *kit.Table[int64, chan struct{}]   // by bulk action: closed when it has ended
	bulk     atomic.Pointer[actor.PID]          // set when housekeeping has spawned it
	alerts   atomic.Pointer[actor.PID]          // set when housekeeping has spawned it
	faulty   *kit.Table[int64, models.Schedule] // schedules with an Error, by id

	figures figures
	meter   *meter
	stepLog *stepLog
}

type countKey struct {
	typ   string
	state models.State
}

// figures are written by the actors they are about and read by Health.
type figures struct {
	draining    atomic.Bool
	trouble     atomic.Pointer[trouble]
	oldestReady atomic.Int64 // models.Instant
	succeeded5m atomic.Int64
	finished5m  atomic.Int64
	gauges      atomic.Pointer[[]Gauge]
	crashes     crashLog

	// By statistics, which may look at the disk; health may not.
	databaseBytes, walBytes atomic.Int64
	diskFree, diskTotal     atomic.Int64 // bytes; 0 and 0 when that is not known
	overdue                 atomic.Pointer[[]overdueSchedule]
}

// trouble is why the ledger cannot be written now.
type trouble struct {
	since  time.Time
	reason string
}

// crashLog remembers when actors crashed, for health. Old entries are overwritten.
type crashLog struct {
	at   [64]atomic.Int64
	next atomic.Int64
}

func (l *crashLog) add(now time.Time) {
	l.at[l.next.Add(1)%int64(len(l.at))].Store(now.UnixNano())
}

// since tells how many there were since t, and when the first of them was.
func (l *crashLog) since(t time.Time) (n int, first time.Time) {
	for i := range l.at {
		at := time.Unix(0, l.at[i].Load())
		if at.Before(t) {
			continue
		}
		if n++; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return n, first
}

// now is the wall clock that schedules go by.
func (c *core) now() time.Time {
	if c.opts.now != nil {
		return c.opts.now()
	}
	return time.Now()
}

// restarter is how each of our supervisors treats failing children.
func (c *core) restarter() kit.Restarter {
	return kit.Restarter{Logger: c.logger, OnCrash: func(string) { c.figures.crashes.add(time.Now()) }}
}

// spawn makes the Props of one actor of the tree.
func (c *core) props(kind string, produce actor.Producer) *actor.Props {
	return c.sys.Tree.Props(kind, produce)
}

// mayOpen reports whether an actor begins its work with this message: with begin when the tree is built, and with
// Started when it is restarted in a tree that stands. An actor opens once in its life, whichever comes first.
func (c *core) mayOpen(message any, opened *bool) bool {
	_, started := message.(*actor.Started)
	if *opened || started && !c.wired.Load() {
		return false
	}
	*opened = true
	return true
}
