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
	schedulerBatch   = 2_000
	schedulerRecheck = 5 * time.Second // the wall clock may jump, and a timer sleeps with the machine
	schedulerRetry   = time.Second
	schedulerPause   = 5 * time.Millisecond // between two looks, so that a stream of due tasks is taken in groups
	schedulerRead    = 2 * time.Second
)

// scheduler owns time: it makes tasks ready whose run-at or retry has come. It keeps no list of them. The ledger's index
// knows who is next, and all the scheduler holds is the moment of its next look; so a crash loses nothing, and a
// million tasks for next month cost nothing. Schedules are the same: the ledger knows which is next.
type scheduler struct {
	*core
	opened bool
	timer  *time.Timer
	next   time.Time // of the timer, by the steady clock; zero when it is not armed
	busy   bool      // the journal is releasing what the last look found
	schedules
}

type look struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the scheduler is gone.
func (*look) IgnoreDeadLetterLogging() {}

func newScheduler(c *core) actor.Producer {
	return func() actor.Actor {
		return &scheduler{core: c, schedules: schedules{tables: map[int64]versioned{}, opening: true}}
	}
}

func (s *scheduler) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *begin:
		if s.mayOpen(m, &s.opened) {
			s.look(c)
			c.Send(c.Self(), &verify{})
		}
	case *look:
		s.next = time.Time{}
		s.look(c)
	case *TasksWaiting:
		s.wakeAt(c, m.Earliest)
	case *TasksReleased:
		s.busy = false
		s.wakeAt(c, models.At(s.now().Add(schedulerPause)))
	case *ScheduleFired:
		s.answered(c, schedulerPause)
	case *verify:
		s.verify(c, m.after)
	case error: // the ledger would not release them; they are still due
		s.busy = false
		s.answered(c, schedulerRetry)
		s.wakeAt(c, models.At(s.now().Add(schedulerRetry)))
	case *actor.Stopping, *actor.Restarting:
		stopTimer(s.timer)
	case *actor.Stopped:
	default:
		s.logger.Warn("the scheduler was sent something it does not know", slog.String("message", fmt.Sprintf("%T", m)))
	}
}

// look has the journal deal with all that is due.
func (s *scheduler) look(c actor.Context) {
	now := s.now()
	s.wakeAt(c, models.At(now.Add(schedulerRecheck)))
	s.releaseDue(c, now)
	s.lookAtSchedules(c, now)
}

// releaseDue asks the ledger which tasks are due, and has the journal release them.
func (s *scheduler) releaseDue(c actor.Context, now time.Time) {
	if s.busy {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), schedulerRead)
	defer cancel()
	due, err := s.store.DueIDs(ctx, models.At(now), schedulerBatch)
	if err != nil {
		s.logger.Error("the scheduler cannot read the ledger", slog.Any("error", err))
		s.wakeAt(c, models.At(now.Add(schedulerRetry)))
		return
	}
	if len(due) > 0 {
		s.busy = true
		c.Request(s.journal, &ReleaseTasks{IDs: due})
		return
	}
	next, err := s.store.NextDue(ctx)
	if err != nil {
		s.logger.Error("the scheduler cannot read the ledger", slog.Any("error", err))
		return
	}
	if next != 0 {
		s.wakeAt(c, next)
	}
}

// wakeAt arms the timer for at, unless it rings sooner anyway. It never waits for longer than schedulerRecheck: when the
// wall clock is set back, at may be hours away, and the clock may be right again before they are over.
func (s *scheduler) wakeAt(c actor.Context, at models.Instant) {
	wait := min(max(at.Time().Sub(s.now()), 0), schedulerRecheck)
	next := time.Now().Add(wait)
	if !s.next.IsZero() && !next.Before(s.next) {
		return
	}
	stopTimer(s.timer)
	s.next = next
	s.timer = after(c, wait, &look{})
}
