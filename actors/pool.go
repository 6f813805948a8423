package actors

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// pool owns the workers of one task type. What it has in flight stands in core.runs, not in its own fields, so that a
// crash of the pool neither cuts a handler off nor loses what it came back with.
type pool struct {
	*core
	def       *tasks.Definition
	restarter kit.Restarter
	size      int
	workers   map[string]*actor.PID
	idle      []*actor.PID
	backlog   []*run // handed over, not started
	active    int    // started and occupying a slot
	leaked    int    // stuck: given up by their worker, still running
	done      []*run // returned, not yet reported
	reporting bool
	detach    chan struct{}
	stopping  bool
}

// Messages of a pool to itself.
type (
	report   struct{}
	runStuck struct{ run *run } // a run without a worker ignored the end of its context
)

// IgnoreDeadLetterLogging marks messages whose loss means only that the pool is gone; its runs are in core.runs.
func (*report) IgnoreDeadLetterLogging()   {}
func (*runStuck) IgnoreDeadLetterLogging() {}

func newPool(c *core, def *tasks.Definition) actor.Producer {
	return func() actor.Actor {
		return &pool{core: c, def: def, restarter: c.restarter(), workers: map[string]*actor.PID{}, detach: make(chan struct{})}
	}
}

func (p *pool) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.size = p.concurrency()
		p.adopt(c)
		p.staff(c)
		p.tellQueue(c)
	case *RunTask:
		p.take(m.Claimed)
	case *runReturned:
		p.release(m.worker)
		p.settle(c, m.run)
	case *runAbandoned:
		p.release(m.worker)
		p.abandon(c, m.run)
	case *runStuck:
		p.abandon(c, m.run)
	case *report:
		p.report(c)
	case *StopRun:
		p.stop(c, m.Run)
	case *StopRuns:
		p.stopAll(c)
	case *ResizePool:
		p.resize(c, m.Concurrency)
	case *PoolQuery:
		p.resize(c, p.concurrency()) // the queue that asks may have lost the word of a change
	case *ProbeRuns:
		c.Send(m.From, &PoolProbed{Round: m.Round, Type: p.def.Name})
	case *kit.Respawn:
		p.restarter.Resume(c.(actor.Supervisor), m)
		p.release(m.Child)
	case *actor.Stopping, *actor.Restarting:
		p.stopping = true
		close(p.detach)
	case *actor.Terminated:
		delete(p.workers, m.Who.Id)
		if !p.stopping {
			p.staff(c)
		}
	case *actor.Stopped:
	default:
		p.logger.Warn("a pool was sent something it does not know", slog.String("message", fmt.Sprintf("%T", m)))
	}
	if !p.stopping {
		p.dispatch(c)
	}
}

// concurrency is the number of workers that the type's settings ask for.
func (p *pool) concurrency() int {
	if s, ok := p.settings.Get(p.def.Name); ok && s.Concurrency > 0 {
		return s.Concurrency
	}
	return p.def.Policy.Concurrency
}

func (p *pool) resize(c actor.Context, n int) {
	p.size = n
	p.staff(c)
	p.tellQueue(c)
}

// adopt takes over what a former instance had in flight.
func (p *pool) adopt(c actor.Context) {
	for _, r := range p.runs.Values(func(r *run) bool { return r.Type == p.def.Name }) {
		switch {
		case r.outcome.Load() != nil:
			p.settle(c, r)
		case r.stuck.Load():
			p.leaked++
		case r.launched.Load():
			p.active++
			p.watch(c, r)
		default: // a worker that had been given it has ended without having begun
			r.started.Store(false)
			p.backlog = append(p.backlog, r)
		}
	}
}

// watch stands in for the worker of an adopted run.
func (p *pool) watch(c actor.Context, r *run) {
	self, root := c.Self(), c.ActorSystem().Root
	if r.letGo() {
		p.settle(c, r)
		return
	}
	grace := p.opts.HandlerGrace
	go func() {
		select {
		case <-r.done:
			return
		case <-r.ctx.Done():
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-r.done:
		case <-t.C:
			root.Send(self, &runStuck{run: r})
		}
	}()
}

// staff brings the number of workers to size. A busy worker is let go when it is done.
func (p *pool) staff(c actor.Context) {
	for len(p.workers) < p.size {
		produce := func() actor.Actor { return &worker{core: p.core, detach: p.detach} }
		pid := c.SpawnPrefix(p.props("worker", produce), "w") // names are never used twice: a late Stop would hit the namesake
		p.workers[pid.Id] = pid
		p.idle = append(p.idle, pid)
	}
	for len(p.workers) > p.size && len(p.idle) > 0 {
		last := len(p.idle) - 1
		p.dismiss(c, p.idle[last])
		p.idle = p.idle[:last]
	}
}

func (p *pool) dismiss(c actor.Context, pid *actor.PID) {
	delete(p.workers, pid.Id)
	c.Stop(pid)
}

func (p *pool) take(claimed *models.Claimed) {
	if r, ok := p.runs.Get(claimed.ID); ok {
		p.logger.Error("a task was handed over while an earlier run of it goes on", slog.Int64("task_id", claimed.ID),
			slog.Int("attempt", claimed.Attempt), slog.Int("running", r.Attempt))
		return
	}
	r := newRun(p.core, claimed, p.def)
	p.runs.Put(r.ID, r)
	p.backlog = append(p.backlog, r)
}

func (p *pool) dispatch(c actor.Context) {
	for p.figures.draining.Load() && len(p.backlog) > 0 {
		p.end(c, p.backlog[0], tasks.ErrShutdown)
	}
	for len(p.backlog) > 0 && len(p.idle) > 0 && p.active < p.size {
		r, pid := p.backlog[0], p.idle[0]
		p.backlog, p.idle = p.backlog[1:], p.idle[1:]
		r.begin(pid.Id)
		p.active++
		c.Send(pid, r)
	}
}

// release makes a worker idle again, or lets it go when there are too many.
func (p *pool) release(pid *actor.PID) {
	if pid != nil && p.workers[pid.Id] != nil {
		p.idle = append(p.idle, pid)
	}
}

// settle notes that a run has ended. Ends are reported together: many that come at once make one message.
func (p *pool) settle(c actor.Context, r *run) {
	if current, ok := p.runs.Get(r.ID); !ok || current != r || r.settler == p {
		return // an earlier word of its end has been taken in
	}
	r.settler = p
	switch {
	case r.stuck.Load():
		p.leaked--
		p.tellQueue(c)
	case r.started.Load():
		p.active--
	}
	r.free()
	p.done = append(p.done, r)
	if !p.reporting {
		p.reporting = true
		c.Send(c.Self(), &report{})
	}
}

func (p *pool) report(c actor.Context) {
	p.reporting = false
	ends := make([]*models.Completion, len(p.done))
	ids := make([]int64, len(p.done))
	for i, r := range p.done {
		end := *r.outcome.Load().means // the journal may change its own; a pool that crashes over this tells it again
		ends[i], ids[i] = &end, r.ID
	}
	c.Send(p.journal, &FinishRuns{Completions: ends})
	for _, id := range ids {
		p.runs.Remove(id)
	}
	p.done = nil
	p.staff(c)
	c.Send(p.queue, &RunsSettled{Type: p.def.Name, IDs: ids})
}

// abandon notes that the handler of a run ignores the end of its context. Its slot is free; the task is not started
// again before the old code has returned.
func (p *pool) abandon(c actor.Context, r *run) {
	if r.outcome.Load() != nil || !r.stuck.CompareAndSwap(false, true) {
		return
	}
	p.active--
	p.leaked++
	p.logger.Error("a handler ignores the end of its context", slog.Int64("task_id", r.ID), slog.String("type", r.Type),
		slog.String("trace_id", r.TraceID), slog.Int("attempt", r.Attempt), slog.Any("cause", context.Cause(r.ctx)))
	c.Send(p.journal, &ReportStuck{Run: r.key()})
	p.tellQueue(c, r.ID)
}

// stop ends a run that a person wants stopped.
func (p *pool) stop(c actor.Context, key models.RunKey) {
	r, ok := p.runs.Get(key.ID)
	if !ok || r.Attempt != key.Attempt {
		return // it has ended; the ledger knows what the person wanted
	}
	p.end(c, r, tasks.ErrCancelled)
}

// end cancels a run; one that has not started ends at once.
func (p *pool) end(c actor.Context, r *run, cause error) {
	if r.started.Load() {
		r.cancel(cause)
		return
	}
	for i, waiting := range p.backlog {
		if waiting == r {
			p.backlog = append(p.backlog[:i:i], p.backlog[i+1:]...)
			r.finish(outcome{err: cause, cause: cause, at: time.Now()})
			p.settle(c, r)
			return
		}
	}
}

func (p *pool) stopAll(c actor.Context) {
	for _, r := range p.runs.Values(func(r *run) bool { return r.Type == p.def.Name }) {
		p.end(c, r, tasks.ErrShutdown)
	}
}

// tellQueue says how many slots there are and what holds one.
func (p *pool) tellQueue(c actor.Context, freed ...int64) {
	m := &PoolReported{Type: p.def.Name, Pool: c.Self(), Concurrency: p.size, Stuck: p.leaked, Freed: freed}
	for _, r := range p.runs.Values(func(r *run) bool { return r.Type == p.def.Name && !r.stuck.Load() }) {
		m.Holds = append(m.Holds, r.key())
	}
	if p.leaked >= p.size {
		m.Blocked = fmt.Sprintf("%d handlers ignore the end of their context and still run", p.leaked)
	}
	p.reports.Put(p.def.Name, m)
	c.Send(p.queue, m)
}

// HandleFailure makes the pool the supervisor of its workers. It is called on the pool's own goroutine.
func (p *pool) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	if p.stopping || p.workers[child.Id] == nil {
		return
	}
	_, inner, _ := actor.UnwrapEnvelope(message)
	c := sup.(actor.Context)
	r, ok := inner.(*run)
	if ok && r.outcome.Load() != nil {
		sup.RestartChildren(child) // its mailbox survives, so it may be given work at once
		p.release(child)
		p.settle(c, r)
		p.dispatch(c)
		return
	}
	// No handler's panic, but a fault of our own.
	switch {
	case ok && r.launched.Load():
		p.watch(c, r)
	case ok:
		r.started.Store(false)
		p.active--
		p.backlog = append(p.backlog, r)
	default: // it had nothing to do, and is to be given nothing before it is back
		p.idle = slices.DeleteFunc(p.idle, func(w *actor.PID) bool { return w.Id == child.Id })
	}
	if p.restarter.Fail(sys, sup, c.Self(), child, reason, message) {
		p.release(child)
	}
	p.dispatch(c)
}
