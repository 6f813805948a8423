package kit

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Restarter is how every supervisor of ours treats a failing child. The library would stop a child for good after ten
// failures; here it is always restarted: at once while failures are rare, later with a growing delay. While it waits,
// its mailbox is suspended and keeps what arrives, so a restart loses the failing message and nothing else.
// A Restarter belongs to one actor and is used on that actor's goroutine only.
type Restarter struct {
	Logger  *slog.Logger
	OnCrash func(kind string) // told of every failure; may be nil
	crashes map[string]*crashes
}

type crashes struct {
	count int // in a row, none further apart than calmAfter
	last  time.Time
}

const (
	freeRestarts = 3 // in a row before the first delay
	firstDelay   = time.Second
	longestDelay = time.Minute
	calmAfter    = 2 * time.Minute
)

// Respawn is the message by which a Restarter reminds its own actor that a delay is over. The actor passes it to Resume.
type Respawn struct{ Child *actor.PID }

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*Respawn) IgnoreDeadLetterLogging() {}

// Fail is called from HandleFailure. It reports whether the child was restarted at once.
func (r *Restarter) Fail(sys *actor.ActorSystem, sup actor.Supervisor, self, child *actor.PID, reason, message any) bool {
	if r.crashes == nil {
		r.crashes = map[string]*crashes{}
	}
	c := r.crashes[child.Id]
	if c == nil || time.Since(c.last) > calmAfter {
		c = &crashes{}
		r.crashes[child.Id] = c
	}
	c.count, c.last = c.count+1, time.Now()
	delay := restartDelay(c.count)
	_, inner, _ := actor.UnwrapEnvelope(message)
	attrs := []any{slog.String("actor", child.Id), slog.Any("reason", reason), slog.Duration("restart_in", delay), slog.String("message", typeName(inner))}
	if p, ok := reason.(*Panic); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	r.Logger.Error("an actor crashed and is restarted", attrs...)
	if r.OnCrash != nil {
		r.OnCrash(child.Id)
	}
	if delay == 0 {
		sup.RestartChildren(child)
		return true
	}
	time.AfterFunc(delay, func() { sys.Root.Send(self, &Respawn{child}) })
	return false
}

// Resume restarts the child that m names.
func (r *Restarter) Resume(sup actor.Supervisor, m *Respawn) { sup.RestartChildren(m.Child) }

func restartDelay(count int) time.Duration {
	if count <= freeRestarts {
		return 0
	}
	shift := min(count-freeRestarts-1, 6)
	return min(firstDelay<<shift, longestDelay)
}
