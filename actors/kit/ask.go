package kit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrActorGone means that the target has no live process behind it.
var ErrActorGone = errors.New("the actor is gone")

// reply is a one-shot process. The library's Future races when an answer and its timeout meet, knows no context and
// wakes one waiter only; here the first answer wins and any later one is dropped.
type reply struct{ ch chan any }

func (p *reply) SendUserMessage(_ *actor.PID, m any) {
	_, msg, _ := actor.UnwrapEnvelope(m)
	select {
	case p.ch <- msg:
	default:
	}
}
func (p *reply) SendSystemMessage(pid *actor.PID, m any) { p.SendUserMessage(pid, m) }
func (p *reply) Stop(*actor.PID)                         {}

var askSeq atomic.Uint64

func register(s *actor.ActorSystem, kind string) (*reply, *actor.PID) {
	p := &reply{ch: make(chan any, 1)}
	pid, _ := s.ProcessRegistry.Add(p, kind+strconv.FormatUint(askSeq.Add(1), 36))
	return p, pid
}

// Ask sends msg to pid and waits for one answer of type T, an answer of type error, the end of ctx, or the end of the
// system: a message that an actor has not come to when it stops is lost without a word. Call it from plain goroutines
// only: an actor that waits for another blocks its own mailbox.
func Ask[T any](ctx context.Context, s *System, pid *actor.PID, msg any) (T, error) {
	p, self := register(s.ActorSystem, "ask/")
	defer s.ProcessRegistry.Remove(self)
	s.Root.RequestWithCustomSender(pid, msg, self)
	var none T
	select {
	case answer := <-p.ch:
		return read[T](answer, msg)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-s.ended:
	}
	select {
	case answer := <-p.ch: // it was given before the end
		return read[T](answer, msg)
	default:
		return none, ErrActorGone
	}
}

func read[T any](answer, msg any) (T, error) {
	var none T
	switch v := answer.(type) {
	case T:
		return v, nil
	case *actor.DeadLetterResponse, *actor.Terminated:
		return none, ErrActorGone
	case error:
		return none, v
	default:
		return none, fmt.Errorf("unexpected answer %T to %T", answer, msg)
	}
}

// Join stops pid and waits until it is really gone, for as long as ctx allows. Messages still in its mailbox are
// lost: whoever calls Join has seen to it that none matter.
func Join(ctx context.Context, s *actor.ActorSystem, pid *actor.PID) error {
	p, self := register(s, "join/")
	defer s.ProcessRegistry.Remove(self)
	proc, ok := s.ProcessRegistry.GetLocal(pid.Id)
	if !ok {
		return nil
	}
	proc.SendSystemMessage(pid, &actor.Watch{Watcher: self})
	s.Root.Stop(pid)
	select {
	case <-p.ch:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s to stop: %w", pid.Id, context.Cause(ctx))
	}
}
