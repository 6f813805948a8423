package actors

import (
	"context"
	"errors"
	"time"

	"reax/actors/kit"
	"reax/models"
)

// Gate is the one thing that keeps a waiting task from running.
type Gate string

// The gates, in the order in which they are looked for.
const (
	GateNone      Gate = ""           // it does not wait
	GateNoHandler Gate = "no_handler" // its type is not registered in this process
	GateTime      Gate = "time"       // its run-at or retry has not come
	GatePaused    Gate = "paused"     // a person paused its type
	GateBlocked   Gate = "blocked"    // its pool takes nothing because of handlers that hang
	GateStopping  Gate = "stopping"   // reax is stopping
	GateDatabase  Gate = "database"   // the ledger cannot be written, so nothing can be claimed
	GateAlone     Gate = "alone"      // it was in two crashes and runs only while no other such task does
	GatePool      Gate = "pool"       // every worker of its type is busy, and others are before it
	GateNext      Gate = "next"       // nothing: it is about to start
)

// Why says why a task is not running yet. Only the fields that belong to its Gate are set, and those on its place.
type Why struct {
	Gate     Gate
	Until    time.Time // GateTime
	By       string    // GatePaused
	Reason   string    // GatePaused, GateBlocked, GateDatabase
	Workers  int       // GatePool: how many are busy
	Position int       // tasks of its type that run before it; meaningful with InWindow
	InWindow bool      // false: it is behind so many that only the ledger holds it
	Lifted   bool      // waiting has lifted it over what is not lifted
	LiftAt   time.Time // when waiting will
}

// WhyQuery asks the queue for the place of a task; answered with *Why.
type WhyQuery struct{ Ready models.Ready }

// Why answers, for a task as its row stands, what keeps it from running. It asks the queue for the task's place.
func (r *Runtime) Why(ctx context.Context, t *models.Task) (Why, error) {
	if !t.State.IsWaiting() {
		return Why{}, nil
	}
	if _, known := r.registry.Lookup(t.Type); !known {
		return Why{Gate: GateNoHandler}, nil
	}
	if t.ReadyAt == 0 {
		return Why{Gate: GateTime, Until: t.RunAt.Time()}, nil
	}
	if r.life.stop.Load() {
		return Why{Gate: GateStopping}, nil
	}
	place, err := kit.Ask[*Why](ctx, r.sys, r.queue, &WhyQuery{Ready: models.ReadyOf(t)})
	if errors.Is(err, kit.ErrActorGone) {
		return Why{Gate: GateStopping}, nil
	}
	if err != nil {
		return Why{}, err
	}
	why := *place
	if bad := r.figures.trouble.Load(); bad != nil && (why.Gate == GatePool || why.Gate == GateNext) {
		why.Gate, why.Reason = GateDatabase, bad.reason
	}
	return why, nil
}

// why answers WhyQuery.
func (q *queue) why(r models.Ready) *Why {
	t := q.types[r.Type]
	if t == nil {
		return &Why{Gate: GateNoHandler}
	}
	rule := promotion{q.opts.PromoteBase, q.opts.PromoteStep}
	now := models.At(time.Now())
	w := &Why{Gate: GateNext, Workers: len(t.holding), Lifted: rule.liftAt(r) <= now, LiftAt: rule.liftAt(r).Time()}
	w.Position, w.InWindow = t.waiting.before(r, now, rule)
	setting, _ := q.settings.Get(r.Type)
	report, _ := q.reports.Get(r.Type)
	switch {
	case t.paused:
		w.Gate, w.By, w.Reason = GatePaused, setting.ChangedBy, setting.Reason
	case t.blocked && report != nil:
		w.Gate, w.Reason = GateBlocked, report.Blocked
	case q.stopped:
		w.Gate = GateStopping
	case models.IsQuarantined(r.Crashes) && q.alone != 0 && q.alone != r.ID:
		w.Gate = GateAlone
	case len(t.holding) >= t.size:
		w.Gate = GatePool
	}
	return w
}

// before counts the tasks in the window that run before r as things stand, and reports whether r is in the window.
func (l *lanes) before(r models.Ready, now models.Instant, rule promotion) (n int, in bool) {
	_, in = l.known[r.ID]
	lifted := rule.liftAt(r) <= now
	for p := range l.byPriority {
		for _, other := range l.byPriority[p].heap {
			switch otherLifted := rule.liftAt(other) <= now; {
			case other.ID == r.ID:
			case otherLifted != lifted:
				if otherLifted {
					n++
				}
			case !lifted && other.Priority != r.Priority:
				if other.Priority < r.Priority {
					n++
				}
			case before(other, r):
				n++
			}
		}
	}
	return n, in
}
