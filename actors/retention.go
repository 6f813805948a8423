package actors

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	retentionFirst   = time.Minute
	retentionPause   = time.Hour
	retentionStep    = 500 // rows in one transaction, so that nobody waits long behind it
	retentionBreath  = 20 * time.Millisecond
	retentionShare   = 3 // pauses are this many times as long as the steps before them
	retentionRead    = 5 * time.Second
	retentionMinutes = 90 * 24 * time.Hour // of minute statistics
	retentionAudit   = 5000                // entries of the audit in one transaction; they are small
)

// retention deletes finished tasks that are older than their state is kept, in small steps through the journal.
type retention struct {
	*core
	timer *time.Timer
	after int64     // the walk has come this far
	gone  int64     // deleted in this walk
	asked time.Time // when the journal was last asked to delete
}

type sweep struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*sweep) IgnoreDeadLetterLogging() {}

func newRetention(c *core) actor.Producer {
	return func() actor.Actor { return &retention{core: c} }
}

func (r *retention) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.rearm(c, retentionFirst)
	case *sweep:
		r.step(c)
	case *TasksPurged:
		r.gone += m.N
		r.rearm(c, breathAfter(time.Since(r.asked)))
	case *RecordWritten:
		n, _ := m.Value.(int64)
		r.auditSwept(c, n)
	case error:
		r.logger.Warn("old tasks could not be deleted", slog.Any("error", m))
		r.rearm(c, retentionPause)
	case *actor.Stopping, *actor.Restarting:
		stopTimer(r.timer)
	}
}

func (r *retention) rearm(c actor.Context, d time.Duration) {
	r.timer = after(c, d, &sweep{})
}

// breathAfter is the pause after a step that took so long. A slow step means that others wait for the disk too, so that
// deleting takes a quarter of its time at most.
func breathAfter(took time.Duration) time.Duration {
	return max(retentionBreath, retentionShare*took)
}

// step walks ids upwards from the oldest: creation times ascend with them, so the walk ends at the first young task.
func (r *retention) step(c actor.Context) {
	now := time.Now()
	shortest := r.opts.Retention.shortest()
	if shortest == 0 { // all tasks are kept for ever
		r.finish(c)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), retentionRead)
	defer cancel()
	rows, err := r.store.FinishedBefore(ctx, r.after, models.At(now.Add(-shortest)), retentionStep)
	if err != nil {
		r.logger.Warn("old tasks cannot be looked for", slog.Any("error", err))
		r.rearm(c, retentionPause)
		return
	}
	if len(rows) == 0 {
		r.finish(c)
		return
	}
	var doomed []int64
	for i := range rows {
		t := &rows[i]
		keep := r.opts.Retention.of(t.State)
		if keep > 0 && t.FinishedAt <= models.At(now.Add(-keep)) {
			doomed = append(doomed, t.ID)
		}
		r.after = t.ID
	}
	if len(doomed) == 0 {
		r.rearm(c, retentionBreath)
		return
	}
	r.asked = now
	c.Request(r.journal, &PurgeTasks{IDs: doomed, Minutes: models.At(now.Add(-retentionMinutes))})
}

func (r *retention) finish(c actor.Context) {
	if r.gone > 0 {
		r.logger.Info("old tasks were deleted", slog.Int64("tasks", r.gone))
		r.hub.Publish("tasks", "stats")
	}
	r.after, r.gone = 0, 0
	r.sweepAudit(c)
}

// sweepAudit deletes old entries of the audit, some at a time, and ends the walk.
func (r *retention) sweepAudit(c actor.Context) {
	keep := r.opts.Retention.Audit
	if keep == 0 {
		r.rearm(c, retentionPause)
		return
	}
	before := models.At(time.Now().Add(-keep))
	c.Request(r.journal, &WriteRecord{Ctx: context.Background(), Do: func(tx *models.Tx) (any, error) {
		return tx.PurgeAudit(before, retentionAudit)
	}})
}

// auditSwept goes on with the audit until nothing old is left.
func (r *retention) auditSwept(c actor.Context, n int64) {
	if n < retentionAudit {
		r.rearm(c, retentionPause)
		return
	}
	r.sweepAudit(c)
}

func (r Retention) of(s models.State) time.Duration {
	switch s {
	case models.StateSuccess:
		return r.Success
	case models.StateFailed:
		return r.Failed
	case models.StateDead:
		return r.Dead
	case models.StateCancelled:
		return r.Cancelled
	default:
		return 0
	}
}

// shortest is the shortest time that any state is kept; 0 when all are kept for ever.
func (r Retention) shortest() time.Duration {
	var least time.Duration
	for _, d := range []time.Duration{r.Success, r.Failed, r.Dead, r.Cancelled} {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}
