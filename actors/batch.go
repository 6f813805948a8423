package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
)

// batch is one transaction of the journal: operations sorted by kind, so that each kind is one statement however many
// operations there are. Their order among each other is free: each is a conditional update, and none was answered yet.
type batch struct {
	*core
	ops      []op
	lent     map[string]int // slots by type that the queue has lent
	used     map[string]int // those that this batch starts tasks on
	inserts  []*models.NewTask
	done     []*models.Completion
	lost     []models.RunKey
	stuck    []models.RunKey
	due      []int64
	wanted   []models.Candidate
	progress []models.ProgressNote
	logs     []models.LogLine
	firings  []*models.Firing

	ended    []models.Ended
	ready    []models.Ready
	claimed  []*models.Claimed
	answers  []answer
	orders   []*models.StopOrder
	settings []models.TypeSetting
	earliest models.Instant
	fired    []*models.Fired
	saved    []*models.SchedulesSaved
	changed  []stepChange
	records  int      // how many of the answers are about records
	topics   []string // what those have changed
}

type answer struct {
	to  *actor.PID
	msg any
}

func newBatch(c *core, ops []op, lent map[string]int) *batch {
	b := &batch{core: c, ops: ops, lent: lent, used: map[string]int{}}
	b.inserts = make([]*models.NewTask, 0, len(ops))
	b.answers = make([]answer, 0, len(ops))
	for _, o := range ops {
		switch m := o.msg.(type) {
		case *EnqueueTasks:
			b.inserts = append(b.inserts, m.Tasks...)
		case *FinishRuns:
			b.done = append(b.done, m.Completions...)
		case *ReturnLost:
			b.lost = append(b.lost, m.Runs...)
		case *ReportStuck:
			b.stuck = append(b.stuck, m.Run)
		case *ReleaseTasks:
			b.due = append(b.due, m.IDs...)
		case *ClaimTasks:
			b.wanted = append(b.wanted, m.Candidates...)
		case *SaveProgress:
			b.progress = append(b.progress, m.Note)
		case *SaveLogs:
			b.logs = append(b.logs, m.Lines...)
		case *FireSchedule:
			b.firings = append(b.firings, m.Firing)
		}
	}
	return b
}

// commit writes the batch. A panic on the way is an error of the batch: its operations are then tried one by one.
func (b *batch) commit() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = kit.AsPanic(r)
		}
	}()
	defer b.meter.committed(time.Now(), len(b.ops))
	return b.writer.Write(b.write)
}

func (b *batch) write(tx *models.Tx) (err error) {
	if len(b.inserts) > 0 {
		if err = tx.Insert(b.inserts, b.start); err != nil {
			return err
		}
	}
	if len(b.progress) > 0 { // before the ends of the runs that it is about
		if err = tx.SaveProgress(b.progress); err != nil {
			return err
		}
	}
	if len(b.done) > 0 {
		if b.ended, err = tx.Finish(b.done); err != nil {
			return err
		}
	}
	if len(b.lost) > 0 {
		lost, err := tx.Lost(b.lost)
		if err != nil {
			return err
		}
		b.ended = append(b.ended, lost...)
	}
	if len(b.stuck) > 0 {
		if err = tx.MarkStuck(b.stuck); err != nil {
			return err
		}
	}
	for _, o := range b.ops {
		if err = b.writeOne(tx, o); err != nil {
			return err
		}
	}
	if len(b.firings) > 0 {
		if err = b.fire(tx); err != nil {
			return err
		}
	}
	if len(b.due) > 0 {
		released, err := tx.Release(b.due)
		if err != nil {
			return err
		}
		b.ready = append(b.ready, released...)
	}
	if len(b.wanted) > 0 {
		if b.claimed, err = tx.Claim(b.wanted); err != nil {
			return err
		}
	}
	if len(b.logs) > 0 {
		return tx.AppendLogs(b.logs)
	}
	return nil
}

// start reports whether a new task of a type may start at once, and takes a lent slot for it. A slot that was lent just
// as another task became ready is that one's: nothing starts past what waits.
func (b *batch) start(typ string) bool {
	if b.used[typ] >= b.lent[typ] || b.figures.draining.Load() {
		return false
	}
	if ready, _ := b.counts.Get(countKey{typ, models.CountReady}); ready > 0 {
		return false
	}
	b.used[typ]++
	return true
}

// writeOne writes the rare operations, which are not worth a statement for many.
func (b *batch) writeOne(tx *models.Tx, o op) error {
	switch m := o.msg.(type) {
	case *ChangeTasks:
		changed, err := tx.Change(string(m.Action), m.IDs, m.By)
		if err != nil {
			return err
		}
		b.ready = append(b.ready, changed.Ready...)
		b.orders = append(b.orders, changed.Stop...)
		b.changed = append(b.changed, stepChange{m, changed})
		b.answers = append(b.answers, answer{o.sender, changed})
	case *ChangeType:
		setting, err := tx.SetType(m.Change, m.By)
		if err != nil {
			return err
		}
		b.settings = append(b.settings, setting)
		b.answers = append(b.answers, answer{o.sender, &setting})
	case *WriteRecord:
		return b.writeRecord(tx, o, m)
	case *StepBulk:
		return b.stepBulk(tx, o, m)
	case *PurgeTasks:
		n, err := tx.Purge(m.IDs)
		if err == nil && m.Minutes != 0 {
			err = tx.PurgeMinutes(m.Minutes)
		}
		if err != nil {
			return err
		}
		b.answers = append(b.answers, answer{o.sender, &TasksPurged{N: n}})
	case *FlushJournal:
		b.answers = append(b.answers, answer{o.sender, &JournalFlushed{}})
		if m.Last {
			return tx.Leave()
		}
	case *EnqueueTasks:
		b.answers = append(b.answers, answer{o.sender, &TasksEnqueued{}})
		if m.Then != nil {
			return m.Then(tx)
		}
	case *ReleaseTasks:
		b.answers = append(b.answers, answer{o.sender, &TasksReleased{N: len(m.IDs)}})
	default:
		return b.writeSchedule(tx, o)
	}
	return nil
}

// tell says what is now durable to everybody whom it concerns.
func (b *batch) tell(c actor.Context) {
	var started []*models.Claimed
	for _, t := range b.inserts {
		switch {
		case t.Held != nil:
		case t.IsStarted():
			started = append(started, t.Claimed())
		case t.ReadyAt != 0:
			b.ready = append(b.ready, models.ReadyOf(&t.Task))
		default:
			b.waits(t.RunAt)
		}
	}
	for i := range b.ended {
		switch e := &b.ended[i]; e.State {
		case models.StatePending:
			b.ready = append(b.ready, e.Ready)
		case models.StateRetryWait:
			b.waits(e.RunAt)
		}
	}
	if len(started) > 0 {
		c.Send(b.queue, &TasksStarted{Runs: started})
	}
	if len(b.ready) > 0 {
		c.Send(b.queue, &TasksReady{Tasks: b.ready})
	}
	if len(b.wanted) > 0 {
		c.Send(b.queue, &TasksClaimed{Runs: b.claimed, Gone: b.gone()})
	}
	for _, order := range b.orders {
		c.Send(b.queue, &StopRun{Type: order.Type, Run: models.RunKey{ID: order.ID, Attempt: order.Attempt}})
	}
	for _, s := range b.settings {
		b.core.settings.Put(s.Type, s)
		c.Send(b.queue, &TypeChanged{Setting: s})
	}
	b.tellSchedules()
	if b.earliest != 0 {
		c.Send(b.scheduler, &TasksWaiting{Earliest: b.earliest})
	}
	for _, a := range b.answers {
		if a.to != nil {
			c.Send(a.to, a.msg)
		}
	}
	b.publish()
	b.meter.told(b)
	b.stepLog.take(b)
}

func (b *batch) waits(until models.Instant) {
	if b.earliest == 0 || until < b.earliest {
		b.earliest = until
	}
}

// gone lists the candidates that were not to be had.
func (b *batch) gone() []int64 {
	if len(b.claimed) == len(b.wanted) {
		return nil
	}
	got := make(map[int64]bool, len(b.claimed))
	for _, c := range b.claimed {
		got[c.ID] = true
	}
	var gone []int64
	for _, w := range b.wanted {
		if !got[w.ID] {
			gone = append(gone, w.ID)
		}
	}
	return gone
}

func (b *batch) publish() {
	if len(b.settings) > 0 {
		b.hub.Publish("types")
	}
	if len(b.inserts)+len(b.done)+len(b.ready)+len(b.claimed)+len(b.answers)-b.records > 0 {
		b.hub.Publish("tasks", "stats")
	}
	if len(b.progress)+len(b.logs) > 0 {
		b.hub.Publish("progress")
	}
	if len(b.topics) > 0 {
		b.hub.Publish(b.topics...)
	}
}
