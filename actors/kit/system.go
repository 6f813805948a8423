package kit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// System is one actor system with its live tree.
type System struct {
	*actor.ActorSystem
	Tree        *Tree
	DeadLetters atomic.Int64 // messages that reached no actor
	replies     chan *reply  // registered, and not in use
	ended       atomic.Bool
}

// End says that all actors have stopped: whoever still waits for an answer of one is told. It is called once.
func (s *System) End() {
	s.ended.Store(true)
	for _, bucket := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		bucket.IterCb(func(_ string, process any) {
			if p, ok := process.(*reply); ok {
				p.end(ErrActorGone)
			}
		})
	}
	close(s.Tree.dispatcher.stop)
	s.Shutdown()
}

// NewSystem makes the one actor system of a process. The library logs whole messages at INFO, parameters included, so
// it may only speak from WARN on; dead letters are counted instead.
func NewSystem(logger *slog.Logger) *System {
	s := &System{Tree: newTree(), replies: make(chan *reply, repliesKept)}
	quiet := slog.New(atLeastWarn{logger.Handler()}).With("component", "actors")
	s.ActorSystem = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }),
		actor.WithDeadLetterThrottleInterval(time.Millisecond), // a goroutine that outlives the system sleeps for so long
	)
	s.EventStream.Subscribe(func(event any) {
		if _, ok := event.(*actor.DeadLetterEvent); ok {
			s.DeadLetters.Add(1)
		}
	})
	return s
}

type atLeastWarn struct{ slog.Handler }

func (h atLeastWarn) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}
func (h atLeastWarn) WithAttrs(a []slog.Attr) slog.Handler {
	return atLeastWarn{h.Handler.WithAttrs(a)}
}
func (h atLeastWarn) WithGroup(n string) slog.Handler { return atLeastWarn{h.Handler.WithGroup(n)} }
