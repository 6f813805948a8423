package models

import (
	"database/sql"
	"math/rand/v2"
)

// Firing is what the scheduler found due of one schedule, and where its plan goes on. It holds for the row that the
// scheduler read: when that has changed, nothing of it happens.
type Firing struct {
	ID, Version      int64
	CursorAt, LastAt Instant // as they were read
	Name, Overlap    string
	EndsPause        Instant    // the PausedUntil that has passed, for a paused schedule; none for one that is not
	Queued           bool       // Due is the occurrence that waited for the end of a task
	Due              []*DueTask // to run, oldest first
	Missed           []Instant  // to be recorded as missed, oldest first
	MissedMore       int64      // further ones, which are only counted
	Cursor, Next     Instant    // CursorAt and NextAt from here on
	Fault            string     // the definition is broken, and why
	Sound            bool       // the definition was broken and is no longer
}

// DueTask is one occurrence that is to run. Without a Task, Fault says why none could be made of it.
type DueTask struct {
	At    Instant
	Late  bool
	Task  *NewTask
	Fault string

	blocker  *Task // what was unfinished when it was decided
	outcome  string
	note     string
	replaces bool
}

// Outcome is what Fire made of the occurrence: one of the Occurrence constants, or empty when it was left as it was.
func (d *DueTask) Outcome() string { return d.outcome }

// Fired is what became of a Firing.
type Fired struct {
	*Firing
	Stale bool       // the schedule had changed, nothing happened
	Tasks []*NewTask // that were stored
	Error string     // of the schedule from here on; meaningless when Stale
}

// Fire deals with occurrences: it stores a task for each that may run and what became of it, and moves the schedule on,
// all in this transaction. An occurrence that has a task already is left alone. start is that of Insert.
func (tx *Tx) Fire(firings []*Firing, start func(typ string) bool) ([]*Fired, error) {
	plan, err := tx.planFire(firings)
	if err != nil {
		return nil, err
	}
	fired := make([]*Fired, len(firings))
	var all []*NewTask
	for i, f := range firings {
		fired[i] = &Fired{Firing: f, Stale: !plan.takes(f)}
		if !fired[i].Stale {
			plan.decide(fired[i])
			all = append(all, fired[i].Tasks...)
		}
	}
	if err := tx.Insert(all, start); err != nil {
		return nil, err
	}
	return fired, plan.write(fired)
}

type occurrenceKey struct {
	schedule int64
	at       Instant
}

// firePlan is what Fire needs to know of the ledger.
type firePlan struct {
	tx       *Tx
	rows     map[int64]*Schedule // of the schedules that have not been fired yet in this transaction
	errors   map[int64]string
	blockers map[string]*Task
	outcomes map[occurrenceKey]string // of the occurrences that are there already
	queued   map[int64]bool           // schedules of which an occurrence waits
	audits   []Audit

	missed, overlapped map[int64]int64
}

func (tx *Tx) planFire(firings []*Firing) (*firePlan, error) {
	p := &firePlan{
		tx: tx, rows: map[int64]*Schedule{}, errors: map[int64]string{}, blockers: map[string]*Task{}, outcomes: map[occurrenceKey]string{},
		queued: map[int64]bool{}, missed: map[int64]int64{}, overlapped: map[int64]int64{},
	}
	var ids []int64
	var names []string
	var keys [][2]int64
	for _, f := range firings {
		ids = append(ids, f.ID)
		if len(f.Due) > 0 {
			names = append(names, f.Name)
		}
		for _, d := range f.Due {
			keys = append(keys, [2]int64{f.ID, int64(d.At)})
		}
		for _, at := range f.Missed {
			keys = append(keys, [2]int64{f.ID, int64(at)})
		}
	}
	err := tx.query("reading the schedules that are due", `SELECT id, version, cursor_at, coalesce(last_at, 0), paused, coalesce(paused_until, 0), coalesce(error, '')
 FROM schedules WHERE `+idIn, func(r *sql.Rows) error {
		var s Schedule
		err := r.Scan(&s.ID, &s.Version, &s.CursorAt, &s.LastAt, &s.Paused, &s.PausedUntil, &s.Error)
		p.rows[s.ID], p.errors[s.ID] = &s, s.Error
		return err
	}, list(ids))
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		err := tx.query("looking for unfinished tasks of schedules", `SELECT value, (SELECT id FROM tasks INDEXED BY tasks_schedule WHERE schedule = value AND `+unfinished+` LIMIT 1)
 FROM json_each(?)`, func(r *sql.Rows) error {
			var name string
			var id sql.NullInt64
			err := r.Scan(&name, &id)
			if id.Valid {
				p.blockers[name] = &Task{ID: id.Int64}
			}
			return err
		}, list(names))
		if err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 {
		return p, nil
	}
	err = tx.query("reading what became of occurrences", `SELECT o.schedule_id, o.at, o.outcome FROM json_each(?) AS j
 CROSS JOIN occurrences AS o ON o.schedule_id = j.value->>0 AND o.at = j.value->>1`, func(r *sql.Rows) error {
		var k occurrenceKey
		var outcome string
		err := r.Scan(&k.schedule, &k.at, &outcome)
		p.outcomes[k] = outcome
		return err
	}, list(keys))
	if err != nil {
		return nil, err
	}
	return p, tx.query("looking for occurrences that wait", `SELECT DISTINCT schedule_id FROM occurrences
 WHERE outcome = 'queued' AND schedule_id IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		p.queued[id] = true
		return err
	}, list(ids))
}

// unfinished repeats the condition of the index on the schedule of a task word for word.
// A statement that has it names its index: another one has all tasks of a schedule, and SQLite cannot know that it is longer.
const unfinished = "schedule IS NOT NULL AND state IN ('pending', 'running', 'retry_wait')"

// takes reports whether a firing still fits its schedule. It says yes once a schedule and transaction.
func (p *firePlan) takes(f *Firing) bool {
	s := p.rows[f.ID]
	if s == nil || s.Version != f.Version || s.CursorAt != f.CursorAt || s.LastAt != f.LastAt {
		return false
	}
	if s.Paused != (f.EndsPause != 0) || s.Paused && s.PausedUntil != f.EndsPause {
		return false
	}
	delete(p.rows, f.ID)
	return true
}

func (p *firePlan) decide(f *Fired) {
	f.Error = p.errors[f.ID]
	if f.Sound {
		f.Error = ""
	}
	if f.Fault != "" {
		f.Error = f.Fault
	}
	if f.EndsPause != 0 {
		p.audits = append(p.audits, Audit{Action: "resume", Target: "schedule", TargetID: f.Name})
	}
	missed := f.Missed[:0:0]
	for _, at := range f.Missed {
		if p.outcomes[occurrenceKey{f.ID, at}] == "" { // the clock was set back, and it was dealt with before
			missed = append(missed, at)
		}
	}
	p.missed[f.ID] = int64(len(missed)) + f.MissedMore
	f.Missed = missed
	for _, d := range f.Due {
		p.decideOne(f, d)
	}
}

// decideOne finds what becomes of one occurrence; an empty outcome leaves it as it is.
func (p *firePlan) decideOne(f *Fired, d *DueTask) {
	before := p.outcomes[occurrenceKey{f.ID, d.At}]
	blocker := p.blockers[f.Name]
	d.outcome, d.blocker, d.note, d.replaces = "", nil, "", before != ""
	switch {
	case before == OccurrenceEnqueued, before == OccurrenceQueued && (!f.Queued || blocker != nil), before == "" && f.Queued:
		return
	case d.Task == nil:
		d.outcome, d.note, f.Error = OccurrenceError, d.Fault, d.Fault
	case f.Queued, f.Overlap == OverlapAllow, blocker == nil && !p.queued[f.ID]:
		d.outcome, f.Error = OccurrenceEnqueued, ""
		f.Tasks = append(f.Tasks, d.Task)
		if blocker == nil {
			p.blockers[f.Name] = &d.Task.Task
		}
	case f.Overlap == OverlapQueueOne && !p.queued[f.ID]:
		d.outcome, d.blocker = OccurrenceQueued, blocker
		p.queued[f.ID] = true
	default:
		d.outcome, d.blocker = OccurrenceOverlap, blocker
		p.overlapped[f.ID]++
		if blocker == nil {
			d.note = "an earlier occurrence was still waiting to run"
		}
	}
	switch before {
	case OccurrenceMissed:
		p.missed[f.ID]--
	case OccurrenceOverlap:
		p.overlapped[f.ID]--
	}
}

// write stores what was decided. It never writes over an occurrence: those that are replaced are deleted first, so that
// the unique key refuses the transaction if ever there were two tasks of one instant.
func (p *firePlan) write(fired []*Fired) error {
	var replaced [][2]int64
	var occurrences, schedules [][]any
	var crowded []int64
	for _, f := range fired {
		if f.Stale {
			continue
		}
		var lastAt Instant
		var lastTask int64
		rows := len(occurrences)
		for _, at := range f.Missed {
			occurrences = append(occurrences, []any{f.ID, int64(at), OccurrenceMissed, nil, true, nil, nil})
		}
		for _, d := range f.Due {
			if d.outcome == "" {
				continue
			}
			if d.replaces {
				replaced = append(replaced, [2]int64{f.ID, int64(d.At)})
			}
			var task, blocker any
			if d.outcome == OccurrenceEnqueued {
				task, lastAt, lastTask = d.Task.ID, d.At, d.Task.ID
			}
			if d.blocker != nil {
				blocker = d.blocker.ID
			}
			occurrences = append(occurrences, []any{f.ID, int64(d.At), d.outcome, task, d.Late, blocker, textOrNull(d.note)})
		}
		// Now and then is enough, and spares most firings the walk to the thousandth row.
		if rand.N(trimEvery) < len(occurrences)-rows {
			crowded = append(crowded, f.ID)
		}
		schedules = append(schedules, []any{f.ID, int64(f.Cursor), f.Next.orNull(), lastAt.orNull(), numberOrNull(lastTask),
			len(f.Tasks), p.missed[f.ID], p.overlapped[f.ID], textOrNull(f.Error), f.EndsPause != 0})
	}
	return p.tx.writeFirings(replaced, occurrences, schedules, crowded, p.audits)
}

const trimEvery = 32 // new rows, about

func (tx *Tx) writeFirings(replaced [][2]int64, occurrences, schedules [][]any, crowded []int64, audits []Audit) error {
	for _, step := range []struct {
		doing, text string
		rows        int
		args        []any
	}{
		{"making room for occurrences", `DELETE FROM occurrences WHERE (schedule_id, at) IN (SELECT value->>0, value->>1 FROM json_each(?))`,
			len(replaced), []any{list(replaced)}},
		{"writing occurrences", `INSERT INTO occurrences (schedule_id, at, outcome, task_id, late, blocked_by, note, created_at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, ?2 FROM json_each(?1)`,
			len(occurrences), []any{list(occurrences), int64(tx.now)}},
		{"moving schedules on", `UPDATE schedules SET cursor_at = o.cursor, next_at = o.next, last_at = coalesce(o.last, schedules.last_at),
 last_task_id = coalesce(o.task, schedules.last_task_id), runs = runs + o.made, missed_count = max(missed_count + o.missed, 0),
 overlap_count = max(overlap_count + o.overlapped, 0), error = o.fault,
 paused = iif(o.resumed, 0, paused), pause_reason = iif(o.resumed, NULL, pause_reason), paused_by = iif(o.resumed, NULL, paused_by),
 paused_until = iif(o.resumed, NULL, paused_until)
FROM (SELECT value->>0 AS id, value->>1 AS cursor, value->>2 AS next, value->>3 AS last, value->>4 AS task, value->>5 AS made,
 value->>6 AS missed, value->>7 AS overlapped, value->>8 AS fault, value->>9 AS resumed FROM json_each(?)) AS o
WHERE schedules.id = o.id`, len(schedules), []any{list(schedules)}},
		{"deleting old occurrences", `DELETE FROM occurrences WHERE (schedule_id, at) IN (SELECT o.schedule_id, o.at FROM json_each(?1) AS j
 CROSS JOIN occurrences AS o ON o.schedule_id = j.value AND o.outcome <> 'queued'
 AND o.at < (SELECT at FROM occurrences WHERE schedule_id = j.value ORDER BY at DESC LIMIT 1 OFFSET ?2))`,
			len(crowded), []any{list(crowded), KeptOccurrences - 1}},
	} {
		if step.rows == 0 {
			continue
		}
		if _, err := tx.exec(step.doing, step.text, step.args...); err != nil {
			return err
		}
	}
	return tx.audit(Actor{Name: "scheduler", Reason: "the end of the pause has come"}, audits)
}
