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

// reply is the process that an answer comes to. The library's Future races when an answer and its timeout meet, knows no
// context and wakes one waiter only; here the first answer to a question wins and any later one is dropped. A reply is used
// for many questions, one after the other: to register it costs more than all the rest of asking.
type reply struct {
	id    string
	ch    chan any      // has room for the one answer of a turn
	open  atomic.Uint32 // the turn that waits for its answer; 0 when none does
	turns uint32        // so far; used by who asks
}

// repliesKept is how many replies wait registered for the next question.
const repliesKept = 512

func (p *reply) SendUserMessage(pid *actor.PID, m any) {
	if _, msg, _ := actor.UnwrapEnvelope(m); p.open.CompareAndSwap(pid.RequestId, 0) {
		p.ch <- msg
	}
}
func (p *reply) SendSystemMessage(pid *actor.PID, m any) { p.SendUserMessage(pid, m) }
func (p *reply) Stop(*actor.PID)                         {}

var askSeq atomic.Uint64

func register(s *actor.ActorSystem, kind string) *reply {
	p := &reply{ch: make(chan any, 1), id: kind + strconv.FormatUint(askSeq.Add(1), 36)}
	s.ProcessRegistry.Add(p, p.id)
	return p
}

// turn opens the next turn, and gives the PID to which the answer of no other turn can come.
func (p *reply) turn(s *actor.ActorSystem) *actor.PID {
	p.turns++
	if p.turns == 0 { // after four billion
		p.turns = 1
	}
	p.open.Store(p.turns)
	return &actor.PID{Address: s.ProcessRegistry.Address, Id: p.id, RequestId: p.turns}
}

// end answers the open turn, if there is one.
func (p *reply) end(answer any) {
	if turn := p.open.Load(); turn != 0 && p.open.CompareAndSwap(turn, 0) {
		p.ch <- answer
	}
}

// Ask sends msg to pid and waits for one answer of type T, an answer of type error, the end of ctx, or the end of the
// system: a message that an actor has not come to when it stops is lost without a word. Call it from plain goroutines
// only: an actor that waits for another blocks its own mailbox.
func Ask[T any](ctx context.Context, s *System, pid *actor.PID, msg any) (T, error) {
	p := s.reply()
	s.Root.RequestWithCustomSender(pid, msg, p.turn(s.ActorSystem))
	if s.ended.Load() {
		p.end(ErrActorGone) // End may have come past before the turn was open
	}
	if ctx.Done() == nil {
		answer := <-p.ch
		s.keep(p)
		return read[T](answer, msg)
	}
	select {
	case answer := <-p.ch:
		s.keep(p)
		return read[T](answer, msg)
	case <-ctx.Done():
		s.ProcessRegistry.Remove(&actor.PID{Address: s.ProcessRegistry.Address, Id: p.id}) // its answer may still come
		var none T
		return none, context.Cause(ctx)
	}
}

// reply gives one that no question uses.
func (s *System) reply() *reply {
	select {
	case p := <-s.replies:
		return p
	default:
		return register(s.ActorSystem, "ask/")
	}
}

// keep takes back a reply whose turn has been answered.
func (s *System) keep(p *reply) {
	select {
	case s.replies <- p:
	default:
		s.ProcessRegistry.Remove(&actor.PID{Address: s.ProcessRegistry.Address, Id: p.id})
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
	p := register(s, "join/")
	self := p.turn(s)
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
