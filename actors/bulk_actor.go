package actors

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	bulkStep        = 500 // tasks that share a transaction
	bulkReplaceStep = 50  // the same when their parameters are read and written, which may be large
	bulkMinPace     = 5 * time.Second
	bulkRetry       = time.Second
	bulkPatience    = time.Minute // for the answer to a step
	bulkSweep       = time.Hour
	bulkSweepFirst  = time.Minute
)

// bulk works through bulk actions, one step of one action at a time. All that counts is in the ledger: a step is done
// together with the note of how far the action is, so that it does not matter how often one is asked for, or who died
// in between.
type bulk struct {
	*core
	known   map[int64]*bulkWork // what runs
	due     []*bulkWork         // whose next step may be done now
	current *bulkWork           // whose step the journal has
	steps   int                 // asked for until now
	late    *time.Timer
	sweep   *time.Timer
}

// bulkWork is one action that runs.
type bulkWork struct {
	run   models.BulkRun
	set   []int64 // nil until it is read
	timer *time.Timer
}

type (
	// bulkChanged tells of an action that somebody has started or stopped.
	bulkChanged struct{ Run models.BulkRun }
	// bulkDue says that the pause of an action is over.
	bulkDue struct{ ID int64 }
	// bulkLate says that there should be an answer to a step by now.
	bulkLate struct{ Step int }
	// bulkSweepDue asks for old actions to be deleted.
	bulkSweepDue struct{}
)

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*bulkChanged) IgnoreDeadLetterLogging()  {}
func (*bulkDue) IgnoreDeadLetterLogging()      {}
func (*bulkLate) IgnoreDeadLetterLogging()     {}
func (*bulkSweepDue) IgnoreDeadLetterLogging() {}

func newBulk(c *core) actor.Producer {
	return func() actor.Actor { return &bulk{core: c, known: map[int64]*bulkWork{}} }
}

func (b *bulk) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		b.sweep = after(c, bulkSweepFirst, &bulkSweepDue{})
		b.load(c)
	case *bulkChanged:
		b.changed(c, &m.Run)
	case *bulkDue:
		if m.ID == 0 {
			b.load(c)
		} else if w := b.known[m.ID]; w != nil && w != b.current && !slices.Contains(b.due, w) {
			b.due = append(b.due, w)
		}
		b.step(c)
	case *models.BulkStepped:
		b.stepped(c, m)
	case *bulkLate:
		if b.current != nil && m.Step == b.steps {
			b.again(c)
		}
	case error:
		b.logger.Warn("a step of a bulk action could not be written", slog.Any("error", m))
		if b.current != nil {
			b.again(c)
		}
	case *bulkSweepDue:
		b.purge(c)
	case *RecordWritten:
		b.swept(c, m)
	case *actor.Stopping, *actor.Restarting:
		for _, w := range b.known {
			stopTimer(w.timer)
		}
		stopTimer(b.late)
		stopTimer(b.sweep)
	}
}

// load finds what runs in the ledger.
func (b *bulk) load(c actor.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), bulkReadTimeout)
	defer cancel()
	runs, err := b.store.RunningBulk(ctx)
	if err != nil {
		b.logger.Warn("the bulk actions that run cannot be read", slog.Any("error", err))
		after(c, bulkRetry, &bulkDue{})
		return
	}
	for i := range runs {
		b.take(&runs[i])
	}
	b.step(c)
}

func (b *bulk) take(run *models.BulkRun) {
	if b.known[run.ID] == nil {
		w := &bulkWork{run: *run}
		b.known[run.ID] = w
		b.due = append(b.due, w)
	}
}

func (b *bulk) changed(c actor.Context, run *models.BulkRun) {
	w := b.known[run.ID]
	switch {
	case run.State == models.BulkRunning:
		b.take(run)
		b.step(c)
	case w == nil:
		b.tellEnded(run.ID)
	case w != b.current: // else the answer to its step says the same
		b.forget(w)
	}
}

// step hands the next due part of an action to the journal.
func (b *bulk) step(c actor.Context) {
	for b.current == nil && len(b.due) > 0 {
		w := b.due[0]
		b.due = b.due[1:]
		if b.known[w.run.ID] != w {
			continue
		}
		msg, err := b.next(w)
		if err != nil {
			b.logger.Warn("a bulk action cannot be read", slog.Int64("bulk", w.run.ID), slog.Any("error", err))
			b.pause(c, w, bulkRetry)
			continue
		}
		b.current = w
		b.steps++
		b.late = after(c, bulkPatience, &bulkLate{Step: b.steps})
		c.Request(b.journal, msg)
	}
}

// next is the next step of an action.
func (b *bulk) next(w *bulkWork) (*StepBulk, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bulkReadTimeout)
	defer cancel()
	if w.set == nil {
		set, err := b.store.BulkSet(ctx, w.run.ID)
		if err != nil {
			return nil, err
		}
		w.set = set
	}
	left := w.set[min(w.run.Dealt(), len(w.set)):]
	step := models.BulkStep{RunID: w.run.ID, From: w.run.Dealt(), IDs: left[:min(len(left), stepSize(&w.run))]}
	if w.run.Action == models.ActionReplace {
		if err := b.prepareReplace(ctx, &w.run, &step); err != nil {
			return nil, err
		}
	}
	return &StepBulk{Step: step}, nil
}

// stepSize is how many tasks one step takes, so that steps of at least bulkMinPace fill the spread.
func stepSize(r *models.BulkRun) int {
	most := bulkStep
	if r.Action == models.ActionReplace {
		most = bulkReplaceStep
	}
	if r.SpreadUS <= 0 {
		return most
	}
	steps := max(int(r.Spread()/bulkMinPace), 1)
	return min(max((r.Matched+steps-1)/steps, 1), most)
}

// pace is the pause after a step. It goes by the size of the step and not by the clock: after a time in which the process
// was down, what was left out must not come all at once.
func pace(r *models.BulkRun) time.Duration {
	if r.SpreadUS <= 0 || r.Matched == 0 {
		return 0
	}
	return time.Duration(float64(r.Spread()) * float64(stepSize(r)) / float64(r.Matched))
}

// stepped takes note of how far an action is.
func (b *bulk) stepped(c actor.Context, m *models.BulkStepped) {
	w := b.known[m.Run.ID]
	if w == nil || w != b.current {
		return // a late answer to a step that was asked for again
	}
	stopTimer(b.late)
	b.current = nil
	w.run = m.Run
	b.hub.Publish("bulk")
	if w.run.State != models.BulkRunning {
		b.forget(w)
		b.hub.Publish("bulk", "tasks")
	} else {
		b.pause(c, w, pace(&w.run))
	}
	b.step(c)
}

// again asks for the current step once more after a while.
func (b *bulk) again(c actor.Context) {
	stopTimer(b.late)
	w := b.current
	b.current = nil
	b.pause(c, w, bulkRetry)
	b.step(c)
}

func (b *bulk) pause(c actor.Context, w *bulkWork, d time.Duration) {
	if d <= 0 {
		b.due = append(b.due, w)
		return
	}
	w.timer = after(c, d, &bulkDue{ID: w.run.ID})
}

func (b *bulk) forget(w *bulkWork) {
	stopTimer(w.timer)
	delete(b.known, w.run.ID)
	b.tellEnded(w.run.ID)
}

// tellEnded wakes whoever waits for the end of an action.
func (b *bulk) tellEnded(id int64) {
	if ended, ok := b.bulkEnds.Get(id); ok && b.bulkEnds.Remove(id) {
		close(ended)
	}
}

// purge deletes old actions, a few in one transaction.
func (b *bulk) purge(c actor.Context) {
	now := time.Now()
	ended, planned := models.At(now.Add(-bulkKept)), models.At(now.Add(-bulkPlanKept))
	b.sweep = after(c, bulkSweep, &bulkSweepDue{})
	c.Request(b.journal, &WriteRecord{Ctx: context.Background(), Do: func(tx *models.Tx) (any, error) { return tx.PurgeBulk(ended, planned) }})
}

func (b *bulk) swept(c actor.Context, m *RecordWritten) {
	if n, ok := m.Value.(int); ok && n > 0 {
		stopTimer(b.sweep)
		b.sweep = after(c, bulkRetry, &bulkSweepDue{})
	}
}
