package actors

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	reconcilePause = 2 * time.Second
	reconcileAge   = time.Second // a younger claim is still on its way
	reconcileRead  = 2 * time.Second
	reconcileWait  = 30 * time.Second // for the answer to a probe
)

// reconciler finds rows that are running in the ledger while nobody runs them: claimed, and then lost with an actor
// that crashed. Before it puts one back it sends a probe after it, the way that claims go: when the pool answers, a run
// that was merely slow has arrived. So nothing is put back that could still start, however slow the machine is.
type reconciler struct {
	*core
	round    int64
	asked    time.Time                  // when this round began
	suspects map[string][]models.RunKey // by type, of this round: those that no pool has answered for yet
	timer    *time.Timer
}

type reconcile struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the reconciler is gone.
func (*reconcile) IgnoreDeadLetterLogging() {}

func newReconciler(c *core) actor.Producer {
	return func() actor.Actor { return &reconciler{core: c} }
}

func (r *reconciler) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.round = time.Now().UnixNano() // answers to a former instance must not fit
		r.rearm(c)
	case *reconcile:
		r.look(c)
		r.rearm(c)
	case *PoolProbed:
		if m.Round == r.round {
			r.putBack(c, m.Type)
		}
	case *actor.Stopping, *actor.Restarting:
		stopTimer(r.timer)
	}
}

func (r *reconciler) rearm(c actor.Context) {
	r.timer = after(c, reconcilePause, &reconcile{})
}

func (r *reconciler) look(c actor.Context) {
	if r.figures.trouble.Load() != nil {
		return // runs whose ends wait to be written look lost
	}
	ctx, cancel := context.WithTimeout(context.Background(), reconcileRead)
	defer cancel()
	rows, err := r.store.RunningOf(ctx, r.bootID)
	if err != nil {
		r.logger.Warn("the reconciler cannot read the ledger", slog.Any("error", err))
		return
	}
	suspects := map[string][]models.RunKey{}
	old := models.At(time.Now().Add(-reconcileAge))
	for i := range rows {
		t := &rows[i]
		key := models.RunKey{ID: t.ID, Attempt: t.Attempt}
		switch {
		case !r.lives(key) && t.StartedAt <= old:
			suspects[t.Type] = append(suspects[t.Type], key)
		case !t.CancelRequestedAt.IsZero(): // the order may have been lost; a second one changes nothing
			c.Send(r.queue, &StopRun{Type: t.Type, Run: key})
		}
	}
	if len(suspects) == 0 || len(r.suspects) > 0 && time.Since(r.asked) < reconcileWait {
		return // a new round would make the answers of this one worthless, and they may be slow in coming
	}
	r.round, r.asked, r.suspects = r.round+1, time.Now(), suspects
	c.Send(r.journal, &ProbeRuns{Round: r.round, From: c.Self()})
}

func (r *reconciler) lives(key models.RunKey) bool {
	live, ok := r.runs.Get(key.ID)
	return ok && live.Attempt == key.Attempt
}

func (r *reconciler) putBack(c actor.Context, typ string) {
	var lost []models.RunKey
	for _, key := range r.suspects[typ] {
		if !r.lives(key) {
			lost = append(lost, key)
		}
	}
	delete(r.suspects, typ)
	if len(lost) == 0 {
		return
	}
	r.logger.Warn("runs were lost with a crashed actor and are put back", slog.String("type", typ), slog.Int("runs", len(lost)))
	c.Send(r.journal, &ReturnLost{Runs: lost})
}
