package models

import (
	"errors"
)

// BulkStep is the next part of a bulk action that runs.
type BulkStep struct {
	RunID   int64
	From    int           // how many of the set were dealt with before it; with another number it does nothing
	IDs     []int64       // the tasks to change; of a replace, none
	Replace []Replacement // of a replace, in place of IDs
	Refused []Refused     // tasks to be left alone, whatever their state
}

// Replacement is a failed or dead task, and the corrected copy that runs in its place: the copy is stored and the old one
// discarded together, or neither. The copy takes over the unique key of the old one.
type Replacement struct {
	ID  int64
	New *NewTask
}

// BulkStepped is what a step did, and the action after it.
type BulkStepped struct {
	Run     BulkRun
	Changed Changed
	Made    []*NewTask
}

// BulkChange is one row of bulk_tasks: what a bulk action did to a task.
type BulkChange struct {
	TaskID int64 `gorm:"primaryKey"`
	RunID  int64 `gorm:"primaryKey"`
	At     Instant
	Before State
	Made   int64 // the task that took its place
}

// TableName is bulk_tasks: the struct is named for what one row is.
func (BulkChange) TableName() string { return "bulk_tasks" }

// BulkSkip is one row of bulk_skips: a task that a bulk action left alone.
type BulkSkip struct {
	RunID  int64  `gorm:"primaryKey"`
	TaskID int64  `gorm:"primaryKey"`
	Code   string // the state in which the action makes no sense, or one of those below
	Reason string // the same in words
}

// The codes of a BulkSkip that are no state.
const (
	SkipKeyHeld = "key_held" // another task holds its unique key
	SkipMissing = "missing"  // it was removed
	SkipInvalid = "invalid"  // its parameters would not fit the schema
	SkipNoType  = "no_type"  // this program does not know its type
	SkipOther   = "other"
)

// skipReasonBytes bounds BulkSkip.Reason.
const skipReasonBytes = 300

// UnfitError says why a task is left alone by a bulk action, whatever its state.
type UnfitError struct{ Code, Reason string }

func (e *UnfitError) Error() string { return e.Reason }

// SkipOf says why a task was left alone.
func SkipOf(id int64, err error) BulkSkip {
	var wrong *StateError
	var held *KeyHeldError
	var unfit *UnfitError
	s := BulkSkip{TaskID: id, Code: SkipOther, Reason: "it could not be changed"}
	switch {
	case errors.As(err, &wrong):
		s.Code, s.Reason = string(wrong.State), "it is "+string(wrong.State)
	case errors.As(err, &held):
		s.Code, s.Reason = SkipKeyHeld, held.Error()
	case errors.As(err, &unfit):
		s.Code, s.Reason = unfit.Code, CutText(unfit.Reason, skipReasonBytes)
	case errors.Is(err, ErrNotFound):
		s.Code, s.Reason = SkipMissing, "there is no such task"
	}
	return s
}

// StepBulk does a part of a bulk action and notes how far it is, both or neither. A step that comes twice, or to an action
// that does not run, does nothing: so no task is changed twice, whoever died between two steps.
func (tx *Tx) StepBulk(s *BulkStep) (*BulkStepped, error) {
	run, err := tx.bulkRun(s.RunID)
	if errors.Is(err, ErrNotFound) {
		return &BulkStepped{Run: BulkRun{ID: s.RunID, State: BulkStopped}}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &BulkStepped{Run: run}
	if run.State != BulkRunning || run.Dealt() != s.From {
		return out, nil
	}
	made := map[int64]int64{}
	var plan *changePlan
	if run.Action == ActionReplace {
		plan, err = tx.replace(s.Replace, made, out)
	} else {
		plan, err = tx.change(run.Action, s.IDs)
	}
	if err != nil {
		return nil, err
	}
	out.Changed = plan.out
	for i := range s.Refused {
		out.Changed.Refused = append(out.Changed.Refused, &s.Refused[i])
	}
	if err := tx.noteChanges(run.ID, plan, made); err != nil {
		return nil, err
	}
	if err := tx.noteSkips(&run, out.Changed.Refused); err != nil {
		return nil, err
	}
	run.Done, run.Skipped = run.Done+len(out.Changed.Tasks), run.Skipped+len(out.Changed.Refused)
	if run.Dealt() >= run.Matched {
		run.State, run.FinishedAt = BulkDone, tx.now
	}
	out.Run = run
	return out, tx.saveBulk(&run)
}

// replace stores corrected copies and discards what they take the place of. made maps the old ids to the new ones.
func (tx *Tx) replace(pairs []Replacement, made map[int64]int64, out *BulkStepped) (*changePlan, error) {
	ids, keys := make([]int64, len(pairs)), []string{}
	for i, p := range pairs {
		ids[i] = p.ID
		if p.New.UniqueKey != "" {
			keys = append(keys, p.New.UniqueKey)
		}
	}
	rows, err := tx.tasksByID(ids)
	if err != nil {
		return nil, err
	}
	states := map[int64]State{}
	for i := range rows {
		states[rows[i].ID] = rows[i].State
	}
	holders, err := tx.holdersOf(keys)
	if err != nil {
		return nil, err
	}
	var refused []*Refused
	var old []int64
	for _, p := range pairs {
		state, key := states[p.ID], p.New.UniqueKey
		switch holder := holders[key]; {
		case state == "":
			refused = append(refused, &Refused{p.ID, ErrNotFound})
		case state != StateFailed && state != StateDead:
			refused = append(refused, &Refused{p.ID, &StateError{ID: p.ID, State: state, Action: ActionReplace}})
		case key != "" && holder != nil:
			refused = append(refused, &Refused{p.ID, &KeyHeldError{Key: key, Holder: holder.ID}})
		default:
			old, out.Made = append(old, p.ID), append(out.Made, p.New)
			if key != "" {
				holders[key] = &p.New.Task // two of one key cannot both come back
			}
		}
	}
	if err := tx.Insert(out.Made, func(string) bool { return false }); err != nil {
		return nil, err
	}
	for i, id := range old {
		made[id] = out.Made[i].ID
	}
	plan, err := tx.change(ActionDiscard, old)
	if err != nil {
		return nil, err
	}
	plan.out.Refused = append(refused, plan.out.Refused...)
	return plan, nil
}

// noteChanges keeps what a step did to each task.
func (tx *Tx) noteChanges(run int64, plan *changePlan, made map[int64]int64) error {
	ids := plan.ids()
	if len(ids) == 0 {
		return nil
	}
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{id, run, int64(tx.now), string(plan.before[id]), numberOrNull(made[id])}
	}
	_, err := tx.exec("noting what a bulk action changed", `INSERT INTO bulk_tasks (task_id, run_id, at, before, made)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM json_each(?)`, list(rows))
	return err
}

// noteSkips keeps the first of the tasks that an action leaves alone.
func (tx *Tx) noteSkips(run *BulkRun, refused []*Refused) error {
	refused = refused[:min(len(refused), max(bulkSkips-run.Skipped, 0))]
	if len(refused) == 0 {
		return nil
	}
	rows := make([][]any, len(refused))
	for i, r := range refused {
		s := SkipOf(r.ID, r.Err)
		rows[i] = []any{run.ID, r.ID, s.Code, s.Reason}
	}
	_, err := tx.exec("noting what a bulk action left alone", `INSERT INTO bulk_skips (run_id, task_id, code, reason)
SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)`, list(rows))
	return err
}
