package actors

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"reax/models"
)

const (
	bulkKept     = 100       // plans and reports that are remembered
	bulkSpread   = time.Hour // the longest time over which an action is spread
	bulkRetry    = time.Second
	bulkMinSteps = 5 * time.Second // between two steps of a spread action
)

// States of a BulkRun.
const (
	BulkPlanned  = "planned"
	BulkRunning  = "running"
	BulkFinished = "finished"
)

// bulkSample is how many tasks of its set a plan names.
const bulkSample = 10

// BulkRun is a bulk action in the background: its set is frozen when it is planned, so what a person confirms is what
// was counted. It is kept in memory; after a restart the same action may be asked for again, and does nothing twice.
type BulkRun struct {
	ID         string
	Action     Action
	State      string
	Report     BulkReport
	By         string
	Reason     string
	PlannedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	Spread     time.Duration
	Sample     []int64 // the first ten of its set

	change Change
}

// bulkRun is a BulkRun and what is left of it. The bulk actor alone changes it; others read the latest copy.
type bulkRun struct {
	ids []int64
	now atomic.Pointer[BulkRun]
}

// PlanBulk freezes the set of a bulk action and counts it; StartBulk does it. It fails as Bulk does, but a discard needs
// its reason only when it starts.
func (r *Runtime) PlanBulk(ctx context.Context, req BulkRequest) (BulkRun, error) {
	if err := req.Change.check(false); err != nil {
		return BulkRun{}, err
	}
	ids, err := r.freeze(ctx, req)
	if err != nil {
		return BulkRun{}, err
	}
	run := &bulkRun{ids: ids}
	plan := BulkRun{ID: uuid.NewString(), Action: req.Action, State: BulkPlanned, Report: BulkReport{Matched: len(ids)},
		By: req.Change.By, Reason: req.Change.Reason, PlannedAt: time.Now(), Sample: ids[:min(len(ids), bulkSample)]}
	run.now.Store(&plan)
	r.forgetBulk()
	r.bulks.Put(plan.ID, run)
	return plan, nil
}

// forgetBulk makes room for one more: the oldest that does not run goes.
func (r *Runtime) forgetBulk() {
	if r.bulks.Len() < bulkKept {
		return
	}
	var oldest *BulkRun
	for _, b := range r.bulks.Values(func(b *bulkRun) bool { return b.now.Load().State != BulkRunning }) {
		if s := b.now.Load(); oldest == nil || s.PlannedAt.Before(oldest.PlannedAt) {
			oldest = s
		}
	}
	if oldest != nil {
		r.bulks.Remove(oldest.ID)
	}
}

// StartBulk begins a planned action, evenly spread over a time of at most an hour; zero does it at once. The record
// names c, with the reason of the plan when it has none. Starting it twice starts it once. It fails with
// models.ErrNotFound when the plan is not remembered any more, and with *tasks.InvalidError when a reason is missing.
func (r *Runtime) StartBulk(id string, spread time.Duration, c Change) (BulkRun, error) {
	run, ok := r.bulks.Get(id)
	if !ok {
		return BulkRun{}, models.ErrNotFound
	}
	before := run.now.Load()
	if before.State != BulkPlanned {
		return *before, nil
	}
	c.Reason = cmp.Or(c.Reason, before.Reason)
	if err := c.check(before.Action == ActionDiscard); err != nil {
		return BulkRun{}, err
	}
	started := *before
	started.By, started.Reason, started.change = c.By, c.Reason, c
	started.State, started.StartedAt, started.Spread = BulkRunning, time.Now(), min(max(spread, 0), bulkSpread)
	if !run.now.CompareAndSwap(before, &started) {
		return *run.now.Load(), nil
	}
	if pid := r.bulk.Load(); pid != nil { // otherwise it finds the action when it starts
		r.sys.Root.Send(pid, &bulkStepDue{ID: id})
	}
	return started, nil
}

// BulkRun tells how far a bulk action is; false when it is not remembered.
func (r *Runtime) BulkRun(id string) (BulkRun, bool) {
	run, ok := r.bulks.Get(id)
	if !ok {
		return BulkRun{}, false
	}
	return *run.now.Load(), true
}

// bulk works through bulk actions, one step of one action at a time.
type bulk struct {
	*core
	current string   // whose step the journal has; empty when it has none
	next    []string // whose step is due
	timers  map[string]*time.Timer
}

type bulkStepDue struct{ ID string }

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*bulkStepDue) IgnoreDeadLetterLogging() {}

func newBulk(c *core) actor.Producer {
	return func() actor.Actor { return &bulk{core: c, timers: map[string]*time.Timer{}} }
}

func (b *bulk) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for _, run := range b.bulks.Values(func(r *bulkRun) bool { return r.now.Load().State == BulkRunning }) {
			b.next = append(b.next, run.now.Load().ID)
		}
		b.step(c)
	case *bulkStepDue:
		b.next = append(b.next, m.ID)
		b.step(c)
	case *models.Changed:
		b.add(c, m)
	case error:
		b.logger.Warn("a step of a bulk action could not be written", slog.Any("error", m))
		b.later(c, b.current, bulkRetry)
		b.current = ""
		b.step(c)
	case *actor.Stopping, *actor.Restarting:
		for _, t := range b.timers {
			t.Stop()
		}
	}
}

// step hands the next due part of an action to the journal.
func (b *bulk) step(c actor.Context) {
	for b.current == "" && len(b.next) > 0 {
		id := b.next[0]
		b.next = b.next[1:]
		run, ok := b.bulks.Get(id)
		if !ok || run.now.Load().State != BulkRunning {
			continue
		}
		left := run.left()
		if len(left) == 0 {
			b.finish(run)
			continue
		}
		s := run.now.Load()
		b.current = id
		c.Request(b.journal, &ChangeTasks{Ctx: context.Background(), Action: s.Action, IDs: left[:min(len(left), s.stepSize())],
			By: s.change.actor()})
	}
}

// left is what has not been done or skipped yet.
func (r *bulkRun) left() []int64 {
	report := r.now.Load().Report
	return r.ids[min(report.Done+report.SkippedTotal, len(r.ids)):]
}

// stepSize is how many tasks one step takes so that steps of at least bulkMinSteps fill the spread.
func (s *BulkRun) stepSize() int {
	if s.Spread <= 0 {
		return bulkStep
	}
	steps := max(int(s.Spread/bulkMinSteps), 1)
	return min(max((s.Report.Matched+steps-1)/steps, 1), bulkStep)
}

func (b *bulk) add(c actor.Context, changed *models.Changed) {
	id := b.current
	b.current = ""
	if run, ok := b.bulks.Get(id); ok {
		s := *run.now.Load()
		s.Report.add(changed)
		run.now.Store(&s)
		b.hub.Publish("bulk")
		pause := time.Duration(0)
		if s.Spread > 0 && s.Report.Matched > 0 {
			share := float64(s.Report.Done+s.Report.SkippedTotal) / float64(s.Report.Matched)
			pause = time.Until(s.StartedAt.Add(time.Duration(share * float64(s.Spread))))
		}
		if len(run.left()) == 0 {
			b.finish(run)
		} else {
			b.later(c, id, max(pause, 0))
		}
	}
	b.step(c)
}

func (b *bulk) later(c actor.Context, id string, pause time.Duration) {
	self, root := c.Self(), c.ActorSystem().Root
	b.timers[id] = time.AfterFunc(pause, func() { root.Send(self, &bulkStepDue{ID: id}) })
}

func (b *bulk) finish(run *bulkRun) {
	s := *run.now.Load()
	s.State, s.FinishedAt = BulkFinished, time.Now()
	run.now.Store(&s)
	delete(b.timers, s.ID)
	b.hub.Publish("bulk", "tasks")
}
