package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/tasks"
)

// worker runs one handler at a time. Handlers run in a goroutine beside the worker, so that the worker can always be
// stopped and restarted; a panic is raised again here, in Receive, so that it goes the way of supervision.
type worker struct {
	*core
	detach <-chan struct{} // closed when the pool that made this worker ends
	hands  chan *run       // to the goroutine of the handlers; it is kept from run to run, since a fresh stack must grow
}

// Messages from a worker, or from the goroutine of a run that no worker waits for, to the pool.
type (
	runReturned struct {
		run    *run
		worker *actor.PID // who is free again; nil when none waited
	}
	runAbandoned struct {
		run    *run
		worker *actor.PID
	}
)

// IgnoreDeadLetterLogging marks a message whose run is found in core.runs by the next instance.
func (*runReturned) IgnoreDeadLetterLogging() {}

func (w *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *run:
		w.work(c, m)
	case *actor.Stopping, *actor.Restarting:
		w.dropHands()
	}
}

func (w *worker) work(c actor.Context, r *run) {
	if w.hands == nil {
		w.hands = make(chan *run, 1)
		go handle(w.hands, c.Parent())
	}
	r.launched.Store(true)
	w.hands <- r
	if !w.await(r) {
		return
	}
	if !r.letGo() {
		w.dropHands() // the handler has them
		c.Send(c.Parent(), &runAbandoned{run: r, worker: c.Self()})
		return
	}
	out := r.outcome.Load()
	if p := out.panicked; p != nil {
		panic(&kit.Panic{Value: p.Value, Stack: []byte(p.Stack)})
	}
	if out.err == tasks.ErrGoexit { //nolint:errorlint // not errors.Is: the error may be of a type whose methods panic
		w.dropHands() // the goroutine went with the handler
	}
	c.Send(c.Parent(), &runReturned{run: r, worker: c.Self()})
}

// handle runs handlers one after the other until its channel is closed.
func handle(hands <-chan *run, pool *actor.PID) {
	for r := range hands {
		r.execute(pool)
	}
}

func (w *worker) dropHands() {
	if w.hands != nil {
		close(w.hands)
		w.hands = nil
	}
}

// await waits for the handler, until it has returned or has ignored the end of its context for longer than the grace. It
// reports false when the pool ends first: the pool's next instance takes the run over.
func (w *worker) await(r *run) bool {
	select {
	case <-r.done:
		return true
	case <-w.detach:
		return false
	case <-r.ctx.Done():
	}
	grace := time.NewTimer(w.opts.HandlerGrace)
	defer grace.Stop()
	select {
	case <-r.done:
	case <-grace.C:
	case <-w.detach:
		return false
	}
	return true
}

// letGo leaves the run to its own goroutine, and reports whether that has ended all the same.
func (r *run) letGo() bool {
	r.detached.Store(true)
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
