package actors

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	queueRefill   = 2 * time.Second  // how long a read of the ledger may take
	queueAudit    = 30 * time.Second // how often the window is held against the ledger's count
	queueReadSize = laneWindow
)

// queue decides what runs next. It gives out work by credit: it knows how many slots each pool has and which tasks hold
// them, and asks the journal to claim no more than that. What it knows is a window on the ledger and is rebuilt from
// there after a crash.
type queue struct {
	*core
	types    map[string]*typeQueue
	suspects []models.Ready // tasks that were in two crashes: one of them runs at a time
	alone    int64          // the suspect that is claimed or runs; 0 when none does
	opened   bool
	asked    bool // a dispatch message is on its way
	stopped  bool
	timer    *time.Timer
}

// typeQueue is what the queue knows of one task type.
type typeQueue struct {
	name    string
	waiting *lanes
	size    int
	blocked bool
	paused  bool
	holding map[int64]int // claimed, or asked to be claimed, and not settled: the runs each had had before
	lent    int           // free slots on which the journal may start new tasks as it stores them
	recall  bool
	pid     *actor.PID
}

// free is how many slots can be given out; less than zero when more are given out than there are.
func (t *typeQueue) free() int {
	if t.paused || t.blocked || t.pid == nil {
		return -t.lent
	}
	return t.size - len(t.holding) - t.lent
}

// Messages of the queue to itself.
type (
	dispatch struct{}
	audit    struct{}
)

// IgnoreDeadLetterLogging marks messages whose loss means only that the queue is gone.
func (*dispatch) IgnoreDeadLetterLogging() {}
func (*audit) IgnoreDeadLetterLogging()    {}

func newQueue(c *core) actor.Producer {
	return func() actor.Actor { return &queue{core: c, types: map[string]*typeQueue{}} }
}

func (q *queue) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *begin:
		if q.mayOpen(m, &q.opened) {
			q.open(c)
		}
	case *TasksReady:
		for _, r := range m.Tasks {
			q.push(r)
		}
		q.ask(c)
	case *TasksClaimed:
		q.handOver(c, m)
	case *TasksStarted:
		q.started(c, m)
	case *SlotsReturned:
		q.returned(m)
		q.ask(c)
	case *RunsSettled:
		q.settled(m)
		q.ask(c)
	case *PoolReported:
		q.report(c, m)
		q.ask(c)
	case *TypeChanged:
		q.change(c, m.Setting)
		q.ask(c)
	case *StopRun:
		if t := q.types[m.Type]; t != nil && t.pid != nil {
			c.Send(t.pid, m)
		}
	case *ProbeRuns:
		for _, t := range q.types {
			if t.pid != nil {
				c.Send(t.pid, m)
			}
		}
	case *WhyQuery:
		c.Respond(q.why(m.Ready))
	case *dispatch:
		q.asked = false
		q.dispatch(c)
	case *audit:
		q.audit(c)
	case *StopDispatch:
		q.stopped = true
		for _, t := range q.types {
			q.recall(c, t)
		}
	case *IdleQuery:
		c.Respond(&IdleReply{Out: q.out()})
	case *actor.Stopping, *actor.Restarting:
		stopTimer(q.timer)
	case *actor.Stopped:
	default:
		q.logger.Warn("the queue was sent something it does not know", slog.String("message", fmt.Sprintf("%T", m)))
	}
}

// open rebuilds the queue: from the registry which types there are, from the settings which are paused, from the pools
// what runs. The lanes read the ledger when they are first looked at.
func (q *queue) open(c actor.Context) {
	for _, def := range q.registry.All() {
		t := &typeQueue{name: def.Name, waiting: newLanes(laneWindow), holding: map[int64]int{}}
		if s, ok := q.settings.Get(def.Name); ok {
			t.paused = s.Paused
		}
		if pid, ok := q.poolOf.Get(def.Name); ok {
			t.pid = pid
			c.Send(pid, &PoolQuery{})
		}
		q.types[def.Name] = t
		q.recall(c, t) // what a former instance had lent
	}
	for _, r := range q.runs.Values(func(r *run) bool { return models.IsQuarantined(r.Crashes) }) {
		q.alone = r.ID
	}
	q.stopped = q.figures.draining.Load()
	q.rearm(c)
	q.ask(c)
}

func (q *queue) rearm(c actor.Context) {
	q.timer = after(c, queueAudit, &audit{})
}

func (q *queue) ask(c actor.Context) {
	if !q.asked {
		q.asked = true
		c.Send(c.Self(), &dispatch{})
	}
}

func (q *queue) push(r models.Ready) {
	t := q.types[r.Type]
	if t == nil {
		return // no handler for it in this process: it stays in the ledger
	}
	if before, ok := t.holding[r.ID]; ok {
		if r.Attempt <= before {
			return // news of the past: it was read from the ledger and claimed meanwhile
		}
		delete(t.holding, r.ID) // it is ready again, so the run that held the slot has ended
		q.forgive(r.ID)
	}
	if models.IsQuarantined(r.Crashes) {
		q.suspect(r)
		return
	}
	t.waiting.push(r)
}

func (q *queue) suspect(r models.Ready) {
	for _, s := range q.suspects {
		if s.ID == r.ID {
			return
		}
	}
	q.suspects = append(q.suspects, r)
}

func (q *queue) forgive(id int64) {
	if q.alone == id {
		q.alone = 0
	}
}

// dispatch fills the free slots of every type with its best tasks: one claim for all of them.
func (q *queue) dispatch(c actor.Context) {
	if q.stopped {
		return
	}
	now := models.At(time.Now())
	var wanted []models.Candidate
	for _, t := range q.types {
		wanted = q.pick(t, now, wanted)
	}
	wanted = q.pickSuspect(wanted)
	q.publishOldest()
	if len(wanted) > 0 {
		c.Send(q.journal, &ClaimTasks{Candidates: wanted})
	}
	for _, t := range q.types {
		q.lend(c, t)
	}
}

// lend lets the journal start new tasks on slots that nothing waits for, and takes lent slots back when something does.
func (q *queue) lend(c actor.Context, t *typeQueue) {
	waits := t.waiting.held() > 0 || t.waiting.unread() || q.isSuspect(t.name)
	switch n := t.free(); {
	case n > 0 && !waits && !t.recall:
		t.lent += n
		c.Send(q.journal, &LendSlots{Type: t.name, N: n})
	case t.lent > 0 && (n < 0 || waits) && !t.recall:
		q.recall(c, t)
	}
}

// recall asks for all lent slots of a type; until they are back nothing more is lent.
func (q *queue) recall(c actor.Context, t *typeQueue) {
	t.recall = true
	c.Send(q.journal, &RecallSlots{Type: t.name})
}

func (q *queue) returned(m *SlotsReturned) {
	t := q.types[m.Type]
	if t == nil {
		return
	}
	t.lent = max(t.lent-m.N, 0)
	if t.recall { // it was asked for all, and what was started on them is known by now
		t.lent, t.recall = 0, false
	}
}

// out is how many slots are given out: to tasks that are claimed, or to the journal.
func (q *queue) out() int {
	n := 0
	for _, t := range q.types {
		n += len(t.holding) + t.lent
	}
	return n
}

// started hands over tasks that began on lent slots.
func (q *queue) started(c actor.Context, m *TasksStarted) {
	for _, r := range m.Runs {
		t := q.types[r.Type]
		if t == nil || t.pid == nil {
			continue // the reconciler puts it back
		}
		t.lent = max(t.lent-1, 0)
		t.holding[r.ID] = r.Attempt - 1
		c.Send(t.pid, &RunTask{Claimed: r})
	}
}

func (q *queue) pick(t *typeQueue, now models.Instant, wanted []models.Candidate) []models.Candidate {
	rule := promotion{q.opts.PromoteBase, q.opts.PromoteStep}
	for n := t.free(); n > 0; n-- {
		q.refill(t)
		if s, ok := q.settings.Get(t.name); ok && s.Paused {
			break // paused while the ledger was read, which then may have given tasks that came after
		}
		lane, lifted := t.waiting.next(now, rule)
		if lane == nil {
			break
		}
		r := t.waiting.pop(lane)
		candidate := models.Candidate{ID: r.ID}
		if lifted {
			candidate.PromotedAt = rule.liftAt(r)
		}
		t.holding[r.ID] = r.Attempt
		wanted = append(wanted, candidate)
	}
	return wanted
}

func (q *queue) pickSuspect(wanted []models.Candidate) []models.Candidate {
	if q.alone != 0 {
		return wanted
	}
	for i, r := range q.suspects {
		if t := q.types[r.Type]; t.free() > 0 {
			q.suspects = append(q.suspects[:i:i], q.suspects[i+1:]...)
			q.alone = r.ID
			t.holding[r.ID] = r.Attempt
			return append(wanted, models.Candidate{ID: r.ID})
		}
	}
	return wanted
}

// refill reads the next part of every lane that has run dry.
func (q *queue) refill(t *typeQueue) {
	for p := 1; p <= 10; p++ {
		for n := t.waiting.lane(p); n.wantsRefill(); {
			if !q.read(t, p, n) {
				return
			}
		}
	}
}

func (q *queue) read(t *typeQueue, priority int, n *lane) bool {
	ctx, cancel := context.WithTimeout(context.Background(), queueRefill)
	defer cancel()
	next, err := q.store.ReadyAfter(ctx, t.name, priority, n.last.ReadyAt, n.last.ID, queueReadSize)
	if err != nil {
		q.logger.Error("the queue cannot read the ledger", slog.String("type", t.name), slog.Any("error", err))
		return false
	}
	t.waiting.refill(priority, next, len(next) == queueReadSize, func(r models.Ready) bool {
		if _, held := t.holding[r.ID]; held {
			return true
		}
		if models.IsQuarantined(r.Crashes) {
			q.suspect(r)
			return true
		}
		return false
	})
	return true
}

// handOver gives claimed tasks to their pools.
func (q *queue) handOver(c actor.Context, m *TasksClaimed) {
	for _, r := range m.Runs {
		t := q.types[r.Type]
		if t == nil || t.pid == nil {
			continue // the reconciler puts it back
		}
		if models.IsQuarantined(r.Crashes) {
			if q.alone != 0 && q.alone != r.ID {
				continue // asked for by a former instance
			}
			q.alone = r.ID
		}
		t.holding[r.ID] = r.Attempt - 1
		c.Send(t.pid, &RunTask{Claimed: r})
	}
	for _, id := range m.Gone {
		if _, live := q.runs.Get(id); live {
			continue // claimed twice around a restart of the queue; the other claim counts
		}
		q.forgive(id)
		for _, t := range q.types {
			delete(t.holding, id)
		}
	}
	if len(m.Gone) > 0 {
		q.ask(c)
	}
}

func (q *queue) settled(m *RunsSettled) {
	t := q.types[m.Type]
	if t == nil {
		return
	}
	for _, id := range m.IDs {
		delete(t.holding, id)
		q.forgive(id)
	}
}

// report takes in what a pool is and holds. What the queue thought to be with the pool and is not, is free again; what
// is still on its way through the journal is not known to the pool yet and stays.
func (q *queue) report(c actor.Context, m *PoolReported) {
	t := q.types[m.Type]
	if t == nil {
		return
	}
	t.size, t.blocked = m.Concurrency, m.Blocked != ""
	t.pid = m.Pool
	if s, ok := q.settings.Get(m.Type); ok && s.Concurrency > 0 && s.Concurrency != m.Concurrency {
		c.Send(m.Pool, &ResizePool{Concurrency: s.Concurrency}) // changed before this pool was known
	}
	for _, r := range m.Holds {
		t.holding[r.ID] = r.Attempt - 1
	}
	for _, id := range m.Freed {
		delete(t.holding, id)
	}
}

func (q *queue) change(c actor.Context, s models.TypeSetting) {
	t := q.types[s.Type]
	if t == nil {
		return
	}
	t.paused = s.Paused
	if t.pid != nil && s.Concurrency > 0 {
		c.Send(t.pid, &ResizePool{Concurrency: s.Concurrency})
	}
}

// publishOldest says for health since when the longest waiting task could have run. Tasks of a paused type wait because
// a person wants it.
func (q *queue) publishOldest() {
	var first models.Instant
	for _, t := range q.types {
		if o := t.waiting.oldest(); o != 0 && !t.paused && (first == 0 || o < first) {
			first = o
		}
	}
	for _, r := range q.suspects {
		if first == 0 || r.ReadyAt < first {
			first = r.ReadyAt
		}
	}
	q.figures.oldestReady.Store(int64(first))
}

// audit holds the window against the ledger's own count of ready tasks. They differ only if a message was lost with a
// crash; then the lanes are read anew.
func (q *queue) audit(c actor.Context) {
	for _, t := range q.types {
		ready, _ := q.counts.Get(countKey{t.name, models.CountReady})
		if ready > 0 && t.waiting.held() == 0 && len(t.holding) < t.size && !q.isSuspect(t.name) {
			t.waiting = newLanes(laneWindow)
		}
	}
	q.rearm(c)
	q.ask(c)
}

func (q *queue) isSuspect(typ string) bool {
	for _, r := range q.suspects {
		if r.Type == typ {
			return true
		}
	}
	return false
}
