package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
)

const (
	journalBatch      = 2_000  // operations in one transaction
	journalMaxTasks   = 20_000 // new tasks that may wait while the ledger cannot be written
	gatherFrom        = 8
	gatherLaps        = 40
	journalFirstPause = 50 * time.Millisecond
	journalLastPause  = time.Second
)

// op is one operation that waits for its transaction.
type op struct {
	msg    any
	sender *actor.PID
}

// journalState is what the journal must not lose when it crashes: the operations it was given.
type journalState struct {
	pending   []op
	spare     []op // room for pending
	tasks     int  // new tasks in pending
	recovered bool
	failures  int            // in a row
	scheduled bool           // a flush is on its way
	lent      map[string]int // slots by type on which new tasks may start at once
}

// journal is the only actor that writes to the ledger. It commits in groups: the first operation after a flush makes it
// send itself a flush, which lands behind everything that is already in the mailbox. So a transaction holds what
// arrived meanwhile: one operation when idle, hundreds under load, and there is no timer to wait for.
type journal struct {
	*core
	*journalState
	opened bool
	retry  *time.Timer
}

// flush carries how much was pending when it was sent, and how often it has been put off.
type flush struct{ seen, laps int }

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*flush) IgnoreDeadLetterLogging() {}

func newJournal(c *core) actor.Producer {
	return func() actor.Actor { return &journal{core: c, journalState: c.unwritten} }
}

func (j *journal) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *begin:
		if j.mayOpen(m, &j.opened) {
			j.scheduled = false // after a restart: go on with what the former instance had taken
			j.schedule(c)
		}
	case *flush:
		if j.gathers(m) {
			runtime.Gosched()
			c.Send(c.Self(), &flush{seen: len(j.pending), laps: m.laps + 1})
			return
		}
		j.scheduled = false
		j.flush(c)
	case *EnqueueTasks:
		if j.failures > 0 && j.tasks+len(m.Tasks) > journalMaxTasks {
			c.Respond(ErrUnavailable)
			return
		}
		j.take(c, m)
	case *ClaimTasks, *FinishRuns, *ReleaseTasks, *ReportStuck, *ReturnLost, *ChangeTasks, *ChangeType, *SaveProgress, *SaveLogs,
		*PurgeTasks, *FlushJournal, *SaveSchedules, *SwitchSchedule, *StartSchedule, *FireSchedule, *WriteRecord, *StepBulk:
		j.take(c, m)
	case *LendSlots:
		j.borrow(c, m)
	case *RecallSlots:
		j.giveBack(c, m.Type)
	case *ProbeRuns:
		c.Send(j.queue, m)
	case *actor.Stopping, *actor.Restarting:
		stopTimer(j.retry)
	case *actor.Stopped, *actor.Terminated:
	default:
		j.logger.Warn("the journal was sent something it does not know", slog.String("message", fmt.Sprintf("%T", m)))
	}
}

// isForJournal reports whether msg is one that others send to the journal.
func isForJournal(msg any) bool {
	switch msg.(type) {
	case *EnqueueTasks, *ClaimTasks, *FinishRuns, *ReleaseTasks, *ReportStuck, *ReturnLost, *ChangeTasks, *ChangeType,
		*SaveProgress, *SaveLogs, *PurgeTasks, *FlushJournal, *LendSlots, *RecallSlots, *ProbeRuns,
		*SaveSchedules, *SwitchSchedule, *StartSchedule, *FireSchedule, *WriteRecord, *StepBulk:
		return true
	}
	return false
}

// take keeps an operation for the next transaction. It does that last: a message that crashed the journal before is sent
// again, and must not be there twice.
func (j *journal) take(c actor.Context, msg any) {
	if j.failures == 0 {
		j.schedule(c)
	}
	o := op{msg, c.Sender()}
	j.tasks += newTasks(o)
	j.pending = append(j.pending, o)
}

func (j *journal) schedule(c actor.Context) {
	if !j.scheduled {
		j.scheduled = true
		c.Send(c.Self(), &flush{})
	}
}

// gathers reports whether a flush is worth putting off: under load, while every lap through the mailbox still brings
// more, a larger transaction costs everybody less than two. With few callers there is nothing to wait for.
func (j *journal) gathers(m *flush) bool {
	return len(j.pending) >= gatherFrom && len(j.pending) < journalBatch && len(j.pending) > m.seen && m.laps < gatherLaps
}

// flush commits what is pending, as far as one transaction takes it.
func (j *journal) flush(c actor.Context) {
	if !j.recovered {
		ready, err := j.recoverRuns()
		if err != nil {
			j.putOff(c, err)
			return
		}
		j.recovered = true
		c.Send(j.queue, &TasksReady{Tasks: ready}) // which may have read the ledger before this
	}
	j.dropGone()
	if len(j.pending) == 0 {
		j.healed()
		return
	}
	n := min(len(j.pending), journalBatch)
	batch := newBatch(j.core, j.pending[:n], j.lent)
	err := batch.commit()
	if models.IsUnavailable(err) {
		j.putOff(c, err)
		return
	}
	taken := j.pending
	ops := taken[:n:n]
	j.pending, j.spare = append(j.spare[:0], taken[n:]...), nil
	if len(j.pending) > 0 {
		j.schedule(c)
	}
	j.forget(ops)
	if err != nil {
		j.isolate(c, ops, err)
		return
	}
	j.healed()
	j.told(c, batch)
	clear(taken) // the answered ones must not be kept alive
	j.spare = taken
}

// told passes on what a committed batch means, and takes the slots of paused types back before anything can start.
func (j *journal) told(c actor.Context, b *batch) {
	for typ, n := range b.used {
		if j.lent[typ] -= n; j.lent[typ] <= 0 {
			delete(j.lent, typ)
		}
	}
	for _, s := range b.settings {
		if s.Paused {
			j.giveBack(c, s.Type)
		}
	}
	b.tell(c)
}

// borrow takes lent slots, unless the type has been paused since the queue lent them.
func (j *journal) borrow(c actor.Context, m *LendSlots) {
	if s, ok := j.settings.Get(m.Type); ok && s.Paused {
		c.Send(j.queue, &SlotsReturned{Type: m.Type, N: m.N})
		return
	}
	j.lent[m.Type] += m.N
}

// giveBack returns what is left of a type's lent slots to the queue. It answers also when nothing is left.
func (j *journal) giveBack(c actor.Context, typ string) {
	n := j.lent[typ]
	delete(j.lent, typ)
	c.Send(j.queue, &SlotsReturned{Type: typ, N: n})
}

// isolate commits each operation of a failed batch alone, so that a bad one is refused without its neighbours.
func (j *journal) isolate(c actor.Context, ops []op, err error) {
	if len(ops) > 1 {
		j.logger.Warn("a batch of changes was refused; each is tried alone", slog.Int("changes", len(ops)), slog.Any("error", err))
	}
	j.healed() // it was the changes that were wrong, and not the ledger
	for i, o := range ops {
		one := newBatch(j.core, ops[i:i+1], j.lent)
		err := one.commit()
		if err != nil && models.IsUnavailable(err) {
			j.pending = append(append([]op{}, ops[i:]...), j.pending...)
			for _, o := range ops[i:] {
				j.tasks += newTasks(o)
			}
			j.putOff(c, err)
			return
		}
		if err != nil {
			j.logger.Error("a change was refused by the ledger", slog.String("change", fmt.Sprintf("%T", o.msg)), slog.Any("error", err))
			j.refuse(c, o, err)
			continue
		}
		j.told(c, one)
	}
}

// refuse answers an operation that can never be written. A run's end must be written whatever its texts are, so it is
// tried once more without them.
func (j *journal) refuse(c actor.Context, o op, err error) {
	if f, ok := o.msg.(*FinishRuns); ok && !f.bare {
		alone := len(f.Completions) == 1
		for _, end := range f.Completions {
			done := *end
			if alone {
				done.Result, done.Stack = "", ""
				if done.Error != "" {
					done.Error = "the error text could not be stored"
				}
			}
			j.take(c, &FinishRuns{Completions: []*models.Completion{&done}, bare: alone})
		}
		return
	}
	if m, ok := o.msg.(*ClaimTasks); ok {
		gone := make([]int64, len(m.Candidates))
		for i, candidate := range m.Candidates {
			gone[i] = candidate.ID
		}
		c.Send(j.queue, &TasksClaimed{Gone: gone})
	}
	if o.sender != nil {
		c.Send(o.sender, fmt.Errorf("%w: %w", ErrRefused, err))
	}
}

// putOff keeps everything in memory until the ledger can be written again.
func (j *journal) putOff(c actor.Context, err error) {
	j.failures++
	pause := min(journalFirstPause<<min(j.failures-1, 10), journalLastPause)
	if j.figures.trouble.Load() == nil {
		j.logger.Error("the ledger cannot be written; changes wait in memory", slog.Any("error", err))
		j.figures.trouble.Store(&trouble{since: time.Now(), reason: describeTrouble(err)})
		j.hub.Publish("health")
	}
	j.scheduled = true // the timer's flush is the next one
	j.retry = after(c, pause, &flush{})
}

func (j *journal) healed() {
	j.failures = 0
	if t := j.figures.trouble.Swap(nil); t != nil {
		j.logger.Info("the ledger can be written again", slog.Duration("after", time.Since(t.since)))
		j.hub.Publish("health")
	}
}

func describeTrouble(err error) string {
	switch {
	case models.IsBusy(err):
		return "another process holds a lock on the database"
	case models.IsFull(err):
		return "the disk is full"
	case errors.Is(err, models.ErrReplaced):
		return models.ErrReplaced.Error() + "; put it back, or restart reax to go on with what is there"
	default:
		return "the database cannot be written"
	}
}

// dropGone forgets the changes whose callers have given up: nobody would learn of them.
func (j *journal) dropGone() {
	kept := j.pending[:0]
	for _, o := range j.pending {
		if ctx := callerOf(o.msg); ctx != nil && ctx.Err() != nil {
			j.tasks -= newTasks(o)
			continue
		}
		kept = append(kept, o)
	}
	clear(j.pending[len(kept):])
	j.pending = kept
}

func (j *journal) forget(ops []op) {
	for _, o := range ops {
		j.tasks -= newTasks(o)
	}
}

func newTasks(o op) int {
	if m, ok := o.msg.(*EnqueueTasks); ok {
		return len(m.Tasks)
	}
	return 0
}

func callerOf(msg any) context.Context {
	switch m := msg.(type) {
	case *EnqueueTasks:
		return m.Ctx
	case *ChangeTasks:
		return m.Ctx
	case *ChangeType:
		return m.Ctx
	case *SaveSchedules:
		return m.Ctx
	case *SwitchSchedule:
		return m.Ctx
	case *StartSchedule:
		return m.Ctx
	case *WriteRecord:
		return m.Ctx
	default:
		return nil
	}
}

// recoverRuns ends what a former process left running, and returns what may run again. It comes before anything else is
// written or claimed.
func (j *journal) recoverRuns() (ready []models.Ready, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = kit.AsPanic(r)
		}
	}()
	var sum models.Recovered
	err = j.writer.Write(func(tx *models.Tx) error {
		if err := tx.Boot(j.boot()); err != nil {
			return err
		}
		sum, err = tx.Recover(j.holdsOnCrash)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n := sum.Requeued + sum.Held + sum.Dead + sum.Cancelled; n > 0 {
		j.logger.Warn("a former process died while tasks were running", slog.Int("requeued", sum.Requeued),
			slog.Int("held", sum.Held), slog.Int("dead", sum.Dead), slog.Int("cancelled", sum.Cancelled))
	}
	logEnded(j.logger, sum.Ended)
	return sum.Ready, nil
}

// ErrRefused means that the ledger will never take a change.
var ErrRefused = errors.New("the change was refused")
