package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
)

// lifecycle makes Drain and Stop work once, whoever calls them and however often.
type lifecycle struct {
	drain, stop atomic.Bool
	drained     chan struct{}
	stopped     chan struct{}
	err         error // of Stop; read after stopped is closed
}

func newLifecycle() *lifecycle {
	return &lifecycle{drained: make(chan struct{}), stopped: make(chan struct{})}
}

const (
	drainLook  = 20 * time.Millisecond
	drainAsk   = time.Second
	stopActors = 10 * time.Second // for the tree to end once nothing runs
)

// Drain stops the start of new runs and waits until those that run have ended, or their grace is over: then their
// contexts end, and after the handlers' grace what still runs is left behind. Tasks are still accepted meanwhile.
// A further call waits for the first. It gives up when ctx ends.
func (r *Runtime) Drain(ctx context.Context) error {
	if r.life.drain.CompareAndSwap(false, true) {
		r.figures.draining.Store(true)
		r.hub.Publish("health")
		r.sys.Root.Send(r.queue, &StopDispatch{})
		go r.drain()
	}
	select {
	case <-r.life.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for running tasks: %w", context.Cause(ctx))
	}
}

func (r *Runtime) drain() {
	defer close(r.life.drained)
	if r.idleWithin(r.opts.ShutdownGrace) {
		return
	}
	r.sys.Root.Send(r.pools, &StopRuns{})
	if r.idleWithin(r.opts.HandlerGrace + time.Second) {
		return
	}
	for _, left := range r.runs.Values(func(*run) bool { return true }) {
		r.logger.Error("a running task is left behind: its handler ignores the end of its context", slog.Int64("task_id", left.ID),
			slog.String("type", left.Type), slog.String("trace_id", left.TraceID), slog.Int("attempt", left.Attempt))
	}
}

// idleWithin waits until no run is in a pool or on its way to one, and then until their ends are durable.
func (r *Runtime) idleWithin(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	for {
		if r.runs.Len() == 0 && r.slotsOut() == 0 {
			if err := r.flush(context.Background(), false); err != nil {
				r.logger.Warn("the ends of the last runs are not durable yet", slog.Any("error", err))
			}
			return true
		}
		select {
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
}

// slotsOut asks the queue, which has stopped, how many slots are still given out. A claim that was asked for before is
// among them until its run has ended.
func (r *Runtime) slotsOut() int {
	ctx, cancel := context.WithTimeout(context.Background(), drainAsk)
	defer cancel()
	reply, err := kit.Ask[*IdleReply](ctx, r.sys, r.queue, &IdleQuery{})
	if errors.Is(err, kit.ErrActorGone) {
		return 0
	}
	if err != nil {
		return 1
	}
	return reply.Out
}

// flush waits until all that the journal was sent before is durable.
func (r *Runtime) flush(ctx context.Context, last bool) error {
	ctx, cancel := context.WithTimeout(ctx, stopActors)
	defer cancel()
	_, err := kit.Ask[*JournalFlushed](ctx, r.sys, r.journal, &FlushJournal{Last: last})
	return err
}

// Stop drains if that has not been done, makes everything durable and ends the tree, children before parents. It may be
// called twice. Runs that ignored the end of their context are left behind and found as suspected at the next start.
func (r *Runtime) Stop(ctx context.Context) error {
	if r.life.stop.CompareAndSwap(false, true) {
		go r.stop(ctx) //nolint:gosec // the tree must end in order even when the caller's patience does not last so long
	}
	select {
	case <-r.life.stopped:
		return r.life.err
	case <-ctx.Done():
		return fmt.Errorf("stopping the runtime: %w", context.Cause(ctx))
	}
}

func (r *Runtime) stop(ctx context.Context) {
	defer close(r.life.stopped)
	errs := []error{r.Drain(ctx)}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopActors)
	defer cancel()
	for _, pid := range []*actor.PID{r.scheduler, r.pools, r.queue} {
		errs = append(errs, kit.Join(end, r.sys.ActorSystem, pid))
	}
	if err := r.flush(context.Background(), true); err != nil {
		errs = append(errs, fmt.Errorf("making the last changes durable: %w", err))
	}
	errs = append(errs, kit.Join(end, r.sys.ActorSystem, r.root))
	r.hub.Close()
	r.sys.End()
	r.stepLog.end()
	r.life.err = errors.Join(errs...)
}
