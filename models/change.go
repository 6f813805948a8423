package models

import (
	"fmt"
	"strconv"
)

// Actor is who makes a change, for the audit.
type Actor struct{ Name, Reason, Address, RequestID string }

// The actions a person takes on tasks, as Change, bulk actions and the audit name them.
const (
	ActionRetry   = "retry"
	ActionCancel  = "cancel"
	ActionDiscard = "discard"
	ActionReplace = "replace" // only in bulk: see Replacement
)

// Changed is what a Change did.
type Changed struct {
	Tasks   []Task       // the rows after the change, with ascending ids
	Refused []*Refused   // what was left alone, and why
	Ready   []Ready      // may be claimed now
	Stop    []*StopOrder // runs that a person wants stopped
}

// Refused is a task that a Change left alone. Err is ErrNotFound, a *StateError or a *KeyHeldError.
type Refused struct {
	ID  int64
	Err error
}

// StopOrder is a running task that is to be stopped.
type StopOrder struct {
	ID      int64
	Type    string
	Attempt int
}

// KeyHeldError says that a task cannot wait again while another one holds its unique key.
type KeyHeldError struct {
	Key    string
	Holder int64
}

func (e *KeyHeldError) Error() string {
	return fmt.Sprintf("task %d holds its unique key now", e.Holder)
}

// Change does one action to each of the tasks, as far as their states allow it.
func (tx *Tx) Change(action string, ids []int64, by Actor) (*Changed, error) {
	plan, err := tx.change(action, ids)
	if err != nil {
		return nil, err
	}
	all := plan.ids()
	rows := make([]Audit, len(all))
	for i, id := range all {
		rows[i] = Audit{Action: action, Target: "task", TargetID: strconv.FormatInt(id, 10), Before: string(plan.before[id])}
	}
	return &plan.out, tx.audit(by, rows)
}

// change is Change without its record.
func (tx *Tx) change(action string, ids []int64) (*changePlan, error) {
	rows, err := tx.tasksByID(ids)
	if err != nil {
		return nil, err
	}
	plan := &changePlan{tx: tx, action: action, before: make(map[int64]State, len(rows))}
	found := make(map[int64]bool, len(rows))
	for i := range rows {
		found[rows[i].ID] = true
	}
	for _, id := range ids {
		if !found[id] {
			plan.refuse(id, ErrNotFound)
		}
	}
	if action == ActionRetry {
		if plan.holders, err = tx.holdersOf(keysOf(rows)); err != nil {
			return nil, err
		}
	}
	for i := range rows {
		plan.decide(&rows[i])
	}
	if err := plan.write(); err != nil {
		return nil, err
	}
	if plan.out.Tasks, err = tx.tasksByID(plan.ids()); err != nil {
		return nil, err
	}
	for i := range plan.out.Tasks {
		if t := &plan.out.Tasks[i]; t.State == StatePending {
			plan.out.Ready = append(plan.out.Ready, ReadyOf(t))
		}
	}
	return plan, nil
}

// changePlan sorts tasks by what the action means for each.
type changePlan struct {
	tx      *Tx
	action  string
	holders map[string]*Task
	out     Changed
	again   []int64 // ended: pending again with a fresh count
	sooner  []int64 // retry_wait, or pending for a later time: ready now
	ended   []int64 // cancelled
	stop    []int64 // running: asked to stop
	before  map[int64]State
}

func (p *changePlan) ids() []int64 {
	var all []int64
	for _, group := range [][]int64{p.again, p.sooner, p.ended, p.stop} {
		all = append(all, group...)
	}
	return all
}

func (p *changePlan) refuse(id int64, err error) {
	p.out.Refused = append(p.out.Refused, &Refused{id, err})
}

func (p *changePlan) decide(t *Task) {
	wrong := &StateError{ID: t.ID, State: t.State, Action: p.action}
	ended := t.State == StateFailed || t.State == StateDead
	switch {
	case p.action == ActionRetry && (ended || t.State == StateCancelled):
		if h := p.holders[t.UniqueKey]; t.UniqueKey != "" && h != nil {
			p.refuse(t.ID, &KeyHeldError{Key: t.UniqueKey, Holder: h.ID})
			return
		}
		if t.UniqueKey != "" {
			p.holders[t.UniqueKey] = t // two ended tasks of one key cannot both come back
		}
		p.again = append(p.again, t.ID)
		p.tx.ready(t.Type, 1)
		p.tx.moved(t.Type, t.State, StatePending)
	case p.action == ActionRetry && t.State == StateRetryWait:
		p.sooner = append(p.sooner, t.ID)
		if t.ReadyAt == 0 {
			p.tx.ready(t.Type, 1)
		}
		p.tx.moved(t.Type, t.State, StatePending)
	case p.action == ActionRetry && t.State == StatePending && t.ReadyAt == 0:
		p.sooner = append(p.sooner, t.ID)
		p.tx.ready(t.Type, 1)
	case p.action == ActionCancel && t.State.IsWaiting(), p.action == ActionDiscard && ended:
		p.ended = append(p.ended, t.ID)
		if t.State.IsWaiting() && t.ReadyAt != 0 {
			p.tx.ready(t.Type, -1)
		}
		p.tx.moved(t.Type, t.State, StateCancelled)
		p.tx.minute(t.Type).Cancelled++
	case p.action == ActionCancel && t.State == StateRunning:
		p.stop = append(p.stop, t.ID)
		p.out.Stop = append(p.out.Stop, &StopOrder{t.ID, t.Type, t.Attempt})
	default:
		p.refuse(t.ID, wrong)
		return
	}
	p.before[t.ID] = t.State
	p.tx.ungrouped(t.Type, t.State, t.Fingerprint)
}

func (p *changePlan) write() error {
	now := int64(p.tx.now)
	steps := []struct {
		doing, set string
		ids        []int64
		args       []any
	}{
		{"retrying tasks", `state = 'pending', failures = 0, crashes = 0, run_at = ?, ready_at = ?, updated_at = ?, promoted_at = NULL,
 cancel_requested_at = NULL, stuck_at = NULL, finished_at = NULL, progress = NULL, progress_note = NULL`, p.again, []any{now, now, now}},
		{"running tasks now", `state = 'pending', run_at = ?, ready_at = ?, updated_at = ?, promoted_at = NULL`, p.sooner, []any{now, now, now}},
		{"cancelling tasks", `state = 'cancelled', ready_at = NULL, finished_at = ?, updated_at = ?`, p.ended, []any{now, now}},
		{"asking running tasks to stop", `cancel_requested_at = coalesce(cancel_requested_at, ?), updated_at = ?`, p.stop, []any{now, now}},
	}
	for _, s := range steps {
		if len(s.ids) == 0 {
			continue
		}
		text := "UPDATE tasks SET " + s.set + " WHERE id IN (SELECT value FROM json_each(?))"
		if _, err := p.tx.exec(s.doing, text, append(s.args, list(s.ids))...); err != nil {
			return err
		}
	}
	return nil
}

// audit writes rows with who, when and why filled in.
func (tx *Tx) audit(by Actor, rows []Audit) error {
	if len(rows) == 0 {
		return nil
	}
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{int64(tx.now), by.Name, r.Action, r.Target, r.TargetID, textOrNull(by.Reason), textOrNull(r.Before),
			textOrNull(r.After), textOrNull(by.Address), textOrNull(by.RequestID)}
	}
	_, err := tx.exec("writing the audit", `INSERT INTO audit
 (at, actor, action, target, target_id, reason, before, after, address, request_id)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9
FROM json_each(?)`, list(values))
	return err
}

func keysOf(rows []Task) []string {
	var keys []string
	for i := range rows {
		if rows[i].UniqueKey != "" {
			keys = append(keys, rows[i].UniqueKey)
		}
	}
	return keys
}
