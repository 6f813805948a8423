package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// recoveryWait is how long Start waits for the recovery of runs that a crash cut off.
const recoveryWait = 2 * time.Second

// Options configure a Runtime. Zero fields take the defaults.
type Options struct {
	Logger        *slog.Logger
	Version       string
	ShutdownGrace time.Duration // how long running tasks may go on after Stop; default 30 s
	HandlerGrace  time.Duration // how long a handler may ignore the end of its context; default 5 s
	PromoteBase   time.Duration // wait after which a task of priority 1 is lifted; default 300 s
	PromoteStep   time.Duration // added for each priority below; default 30 s
	Retention     Retention
	Tracer        Tracer         // nil records no spans
	SessionIdle   time.Duration  // how long a session may go unused; default 12 h
	SessionLife   time.Duration  // how long a session lasts at most; default 30 days
	FileSchedules []ScheduleSpec // as SyncSchedules takes them, before any schedule fires; nil leaves the stored ones
	Days          DayOptions     // how minutes are gathered into days; the zero value gathers none
	Alerts        AlertOptions   // the rules of the file, and who is told

	fault func(kind string, message any) // called before an actor handles a message; tests crash actors with it
	now   func() time.Time               // the wall clock of schedules; tests set it back
}

// Retention says how long finished tasks are kept, per state, and the audit. Zero means for ever.
type Retention struct{ Success, Failed, Dead, Cancelled, Audit time.Duration }

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.ShutdownGrace, shutdownGraceDefault},
		{&o.HandlerGrace, handlerGraceDefault},
		{&o.PromoteBase, promoteBaseDefault},
		{&o.PromoteStep, promoteStepDefault},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// Runtime is the whole actor tree behind ordinary methods. All of them are safe for use from many goroutines.
type Runtime struct {
	*core
	root     *actor.PID
	life     *lifecycle
	accounts *Accounts
}

// Start starts the tree and returns when tasks can be accepted. What a former process left running is recovered by the
// journal before it writes anything else. The store must stay open until Stop has returned.
func Start(ctx context.Context, store *models.Store, registry *tasks.Registry, opts Options) (*Runtime, error) {
	if err := registry.Err(); err != nil {
		return nil, fmt.Errorf("the task types are not valid: %w", err)
	}
	opts = opts.withDefaults()
	sys := kit.NewSystem(opts.Logger)
	sys.Tree.Fault = opts.fault
	c := &core{
		opts: opts, logger: opts.Logger, store: store, registry: registry, bootID: newBootID(), unwritten: &journalState{lent: map[string]int{}}, sys: sys, hub: kit.NewHub(),
		poolOf: kit.NewTable[string, *actor.PID](), runs: kit.NewTable[int64, *run](),
		reports: kit.NewTable[string, *PoolReported](), counts: kit.NewTable[countKey, int64](),
		meter: newMeter(typeNames(registry)), settings: kit.NewTable[string, models.TypeSetting](), bulkEnds: kit.NewTable[int64, chan struct{}](), faulty: kit.NewTable[int64, models.Schedule](),
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	c.stepLog = newStepLog(opts.Logger)
	ready := make(chan struct{}, 1)
	props := c.props("supervisor", newSupervisor(c, ready)).Configure(actor.WithGuardian(actor.NewRestartingStrategy()))
	root, err := sys.Root.SpawnNamed(props, "reax")
	if err != nil {
		c.stepLog.end()
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	r := &Runtime{core: c, root: root, life: newLifecycle()}
	if err := r.startAccounts(ctx); err != nil {
		return nil, errors.Join(err, r.Stop(ctx))
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("starting the runtime: %w", context.Cause(ctx))
	}
	r.awaitRecovery(ctx)
	if opts.FileSchedules != nil {
		if err := r.SyncSchedules(ctx, opts.FileSchedules); err != nil {
			return nil, errors.Join(err, r.Stop(ctx))
		}
	}
	c.synced.Store(true)
	sys.Root.Send(c.scheduler, &look{})
	return r, nil
}

// awaitRecovery waits until what a former process left running is put in order, so that nobody sees it half done. A
// ledger that cannot be written now must not keep the server from coming up and saying so.
func (r *Runtime) awaitRecovery(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, recoveryWait)
	defer cancel()
	if err := r.flush(ctx, false); err != nil {
		r.logger.Warn("the runs of a former process are not put in order yet", slog.Any("error", err))
	}
}

// load reads what the actors and the health figures start from.
func (c *core) load(ctx context.Context) error {
	settings, err := c.store.TypeSettings(ctx)
	if err != nil {
		return fmt.Errorf("reading the settings of task types: %w", err)
	}
	for _, s := range settings {
		c.settings.Put(s.Type, s)
	}
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return fmt.Errorf("reading the counts of tasks: %w", err)
	}
	for _, n := range counts {
		c.counts.Put(countKey{n.Type, n.State}, n.N)
	}
	faulty, err := c.store.FaultySchedules(ctx)
	if err != nil {
		return err
	}
	for i := range faulty {
		c.faulty.Put(faulty[i].ID, faulty[i])
	}
	c.lookAtDisk()
	c.writer = models.NewWriter(c.store, c.bootID)
	c.writer.OnMinute = c.meter.add
	c.writer.Shown = c.shownParams
	c.writer.OnCount = func(typ string, state models.State, delta int64) {
		n, _ := c.counts.Get(countKey{typ, state})
		c.counts.Put(countKey{typ, state}, n+delta)
	}
	return nil
}

// newBootID names this start of the process. It is short, for it stands in every row that this process claims.
func newBootID() string {
	return strconv.FormatInt(time.Now().UnixMilli(), 36) + "-" + strconv.FormatUint(rand.Uint64N(1<<31), 36)
}

func (c *core) boot() models.Boot {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return models.Boot{ID: c.bootID, StartedAt: models.At(time.Now()), Host: host, PID: os.Getpid(), Version: c.opts.Version}
}

func (c *core) holdsOnCrash(typ string) bool {
	def, ok := c.registry.Lookup(typ)
	return ok && def.Policy.OnCrash == tasks.Hold
}

// Registry is the set of task types that this runtime runs.
func (r *Runtime) Registry() *tasks.Registry { return r.registry }

// Tree is the live supervision tree, parents before children. It asks no actor.
func (r *Runtime) Tree() []TreeRow { return r.sys.Tree.Snapshot() }

// Subscribe calls f with the names of what changed ("tasks", "stats", "types", "schedules", "progress", "health"), at most a few
// times a second, until the returned function is called. f must not block.
func (r *Runtime) Subscribe(f func(topics []string)) (unsubscribe func()) { return r.hub.Subscribe(f) }
