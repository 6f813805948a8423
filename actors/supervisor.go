package actors

import (
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
)

// supervisor is the root of the tree. It does nothing but keep its children alive.
type supervisor struct {
	*core
	restarter kit.Restarter
	ready     chan<- struct{} // told once, when all children are there
	again     any             // the message that the journal was last sent again
	times     int             // how often
}

// journalTries is how often the journal is sent a message again that it crashed with.
const journalTries = 3

func newSupervisor(c *core, ready chan<- struct{}) actor.Producer {
	return func() actor.Actor { return &supervisor{core: c, restarter: c.restarter(), ready: ready} }
}

func (s *supervisor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.wired.Store(false)
		children := []*actor.PID{
			s.child(c, &s.journal, "journal", newJournal(s.core)),
			s.child(c, &s.queue, "queue", newQueue(s.core)),
			s.child(c, &s.scheduler, "scheduler", newScheduler(s.core)),
			s.child(c, &s.pools, "pools", newPools(s.core)),
			spawn(s.core, c, "housekeeping", "housekeeping", newHousekeeping(s.core)),
		}
		s.wired.Store(true)
		for _, pid := range children {
			c.Send(pid, &begin{})
		}
		select {
		case s.ready <- struct{}{}:
		default:
		}
	case *kit.Respawn:
		s.restarter.Resume(c.(actor.Supervisor), m)
	}
}

// child spawns one of those whom everybody knows. Their names are fixed, so the PID that others hold finds the new actor
// too when this supervisor itself is restarted; it is written once, for others read it.
func (s *supervisor) child(c actor.Context, known **actor.PID, name string, produce actor.Producer) *actor.PID {
	pid := spawn(s.core, c, name, name, produce)
	if *known == nil {
		*known = pid
	}
	return pid
}

// spawn starts a child of a fixed name. The names of siblings differ, so an error is a fault of this package.
func spawn(core *core, c actor.Context, kind, name string, produce actor.Producer) *actor.PID {
	pid, err := c.SpawnNamed(core.props(kind, produce), name)
	if err != nil {
		core.logger.Error("an actor could not be spawned", slog.String("name", name), slog.Any("error", err))
	}
	return pid
}

// HandleFailure restarts whatever fails.
func (s *supervisor) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	if child.Equal(s.journal) {
		s.resend(sys, message)
	}
	s.restarter.Fail(sys, sup, sup.(actor.Context).Self(), child, reason, message)
}

// resend gives the journal the message again that it crashed with. Its senders do not keep what they sent: an outcome that
// is lost would be a second run. A message that crashes it time and again is dropped.
func (s *supervisor) resend(sys *actor.ActorSystem, message any) {
	_, msg, sender := actor.UnwrapEnvelope(message)
	if !isForJournal(msg) {
		return
	}
	if s.again != msg {
		s.again, s.times = msg, 0
	}
	if s.times++; s.times <= journalTries {
		sys.Root.RequestWithCustomSender(s.journal, msg, sender)
	}
}

// pools supervises one pool a task type, so that one type's trouble stays its own.
type pools struct {
	*core
	opened    bool
	restarter kit.Restarter
}

func newPools(c *core) actor.Producer {
	return func() actor.Actor { return &pools{core: c, restarter: c.restarter()} }
}

func (p *pools) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *begin:
		if p.mayOpen(m, &p.opened) {
			p.open(c)
		}
	case *StopRuns:
		for _, pid := range c.Children() {
			c.Send(pid, m)
		}
	case *kit.Respawn:
		p.restarter.Resume(c.(actor.Supervisor), m)
	}
}

func (p *pools) open(c actor.Context) {
	for _, def := range p.registry.All() {
		name := strings.ReplaceAll(def.Name, "/", "|") // a slash would look like one level more in the tree
		p.poolOf.Put(def.Name, spawn(p.core, c, "pool", name, newPool(p.core, def)))
	}
}

// HandleFailure restarts whatever fails.
func (p *pools) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	p.restarter.Fail(sys, sup, sup.(actor.Context).Self(), child, reason, message)
}
