package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BulkRun is one row of bulk_runs: an action on a set of tasks that was frozen when it was planned. The set stands in
// bulk_sets, what it changed in bulk_tasks, what it left alone in bulk_skips.
type BulkRun struct {
	ID         int64 `gorm:"primaryKey"`
	Action     string
	State      string // planned, running, done or stopped
	Matched    int    // tasks in its set
	Done       int
	Skipped    int
	SpreadUS   int64 // over how many microseconds it is spread; 0 does it at once
	PlannedAt  Instant
	StartedAt  Instant
	FinishedAt Instant
	Actor      string // who started it, or has planned it
	StoppedBy  string
	Type       string // of a replace: the type of all its tasks
	Reason     string
	Patch      string // of a replace: what is merged into the parameters, as RFC 7396 has it
}

// States of a BulkRun.
const (
	BulkPlanned = "planned"
	BulkRunning = "running"
	BulkDone    = "done"
	BulkStopped = "stopped" // by a person, before it was done
)

const (
	// bulkPlans is how many plans are kept that nobody has started.
	bulkPlans = 100
	// bulkSkips is how many of the tasks that it left alone a bulk action names.
	bulkSkips = 1_000
	// bulkPurged is how many bulk actions one transaction deletes.
	bulkPurged = 50
)

// TargetBulk is what the audit calls a bulk action. Its one row there says who did it to how many, and is what the record
// of each of its tasks points to.
const TargetBulk = "bulk"

// Spread is the time over which the action is spread; 0 does it at once.
func (r *BulkRun) Spread() time.Duration { return time.Duration(r.SpreadUS) * time.Microsecond }

// Dealt is how many tasks of the set were changed or left alone.
func (r *BulkRun) Dealt() int { return r.Done + r.Skipped }

// PlanBulk stores a bulk action on a set of tasks, each named once. It starts when StartBulk says so. Of the plans that
// nobody starts the latest hundred are kept.
func (tx *Tx) PlanBulk(run BulkRun, ids []int64) (BulkRun, error) {
	run.State, run.Matched, run.PlannedAt = BulkPlanned, len(ids), tx.now
	res, err := tx.exec("planning a bulk action", `INSERT INTO bulk_runs (action, state, matched, planned_at, actor, type, reason, patch)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, run.Action, run.State, run.Matched, int64(tx.now), run.Actor, textOrNull(run.Type), textOrNull(run.Reason), textOrNull(run.Patch))
	if err != nil {
		return run, err
	}
	if run.ID, err = res.LastInsertId(); err != nil {
		return run, fmt.Errorf("reading the id of a bulk action: %w", err)
	}
	if _, err = tx.exec("freezing the set of a bulk action", "INSERT INTO bulk_sets (run_id, ids) VALUES (?, ?)", run.ID, encodeSet(ids)); err != nil {
		return run, err
	}
	var plans []int64
	err = tx.db.Raw(`SELECT id FROM bulk_runs WHERE state IN ('planned', 'running') AND state = 'planned' ORDER BY id DESC LIMIT ?`,
		bulkPlans+bulkPurged).Scan(&plans).Error
	if err != nil {
		return run, fmt.Errorf("looking for old plans: %w", err)
	}
	return run, tx.dropBulk(plans[min(len(plans), bulkPlans):])
}

// StartBulk starts a planned action in the name of by, whose reason, if there is one, takes the place of the plan's. One
// that has started already is given as it is. It is refused with ErrNotFound when there is none.
func (tx *Tx) StartBulk(id int64, spread time.Duration, by Actor) (BulkRun, error) {
	run, err := tx.bulkRun(id)
	if err != nil || run.State != BulkPlanned {
		return run, err
	}
	if by.Reason == "" {
		by.Reason = run.Reason
	}
	run.State, run.Actor, run.Reason, run.StartedAt, run.SpreadUS = BulkRunning, by.Name, by.Reason, tx.now, spread.Microseconds()
	if run.Matched == 0 {
		run.State, run.FinishedAt = BulkDone, tx.now
	}
	if err := tx.saveBulk(&run); err != nil {
		return run, err
	}
	after := struct {
		Tasks  int     `json:"tasks"`
		Type   string  `json:"type,omitempty"`
		Spread float64 `json:"spread_s,omitempty"`
	}{run.Matched, run.Type, spread.Seconds()}
	return run, tx.auditBulk(&run, run.Action, BulkPlanned, after, by)
}

// StopBulk ends an action that runs, or was planned: what it has done until now stands. One that has ended is given as it
// is. It is refused with ErrNotFound when there is none.
func (tx *Tx) StopBulk(id int64, by Actor) (BulkRun, error) {
	run, err := tx.bulkRun(id)
	if err != nil || run.State == BulkDone || run.State == BulkStopped {
		return run, err
	}
	before := run.State
	run.State, run.StoppedBy, run.FinishedAt = BulkStopped, by.Name, tx.now
	if err := tx.saveBulk(&run); err != nil {
		return run, err
	}
	after := struct {
		Done    int `json:"done"`
		Skipped int `json:"skipped"`
		Left    int `json:"left"`
	}{run.Done, run.Skipped, run.Matched - run.Dealt()}
	return run, tx.auditBulk(&run, "stop", before, after, by)
}

// PurgeBulk deletes some of the actions that had ended before an instant, and of the plans that were made before another,
// and says how many. What they did stays in the record of each task.
func (tx *Tx) PurgeBulk(ended, planned Instant) (int, error) {
	var old []int64
	// There are as many rows as bulk actions in a few months, and each is small.
	err := tx.db.Raw(`SELECT id FROM bulk_runs WHERE state IN ('done', 'stopped') AND finished_at < ? OR state = 'planned' AND planned_at < ?
 ORDER BY id LIMIT ?`, int64(ended), int64(planned), bulkPurged).Scan(&old).Error
	if err != nil {
		return 0, fmt.Errorf("looking for old bulk actions: %w", err)
	}
	return len(old), tx.dropBulk(old)
}

func (tx *Tx) dropBulk(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	for _, where := range []string{"bulk_skips WHERE run_id", "bulk_sets WHERE run_id", "bulk_runs WHERE id"} {
		if _, err := tx.exec("deleting old bulk actions", "DELETE FROM "+where+" IN (SELECT value FROM json_each(?))", list(ids)); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) bulkRun(id int64) (BulkRun, error) {
	var found []BulkRun
	if err := tx.db.Raw("SELECT * FROM bulk_runs WHERE id = ?", id).Scan(&found).Error; err != nil {
		return BulkRun{}, fmt.Errorf("reading a bulk action: %w", err)
	}
	if len(found) == 0 {
		return BulkRun{}, ErrNotFound
	}
	return found[0], nil
}

func (tx *Tx) saveBulk(r *BulkRun) error {
	_, err := tx.exec("noting how far a bulk action is", `UPDATE bulk_runs SET state = ?, done = ?, skipped = ?, spread_us = ?, started_at = ?, finished_at = ?,
 actor = ?, stopped_by = ?, reason = ? WHERE id = ?`, r.State, r.Done, r.Skipped, r.SpreadUS, r.StartedAt.orNull(), r.FinishedAt.orNull(),
		r.Actor, textOrNull(r.StoppedBy), textOrNull(r.Reason), r.ID)
	return err
}

func (tx *Tx) auditBulk(r *BulkRun, action, before string, after any, by Actor) error {
	text, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("writing the record of a bulk action: %w", err)
	}
	return tx.audit(by, []Audit{{Action: action, Target: TargetBulk, TargetID: strconv.FormatInt(r.ID, 10), Before: before, After: string(text)}})
}

// encodeSet writes ids, highest first, as bulk_sets keeps them: neighbours cost two bytes each.
func encodeSet(ids []int64) string {
	ids = slices.SortedFunc(slices.Values(ids), descending)
	text := make([]byte, 0, 4*len(ids))
	for i, id := range ids {
		if i > 0 {
			text, id = append(text, ' '), ids[i-1]-id
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(text)
}

func decodeSet(text string) ([]int64, error) {
	ids := make([]int64, 0, len(text)/4)
	for part := range strings.FieldsSeq(text) {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading the set of a bulk action: %w", err)
		}
		if n := len(ids); n > 0 {
			id = ids[n-1] - id
		}
		ids = append(ids, id)
	}
	return ids, nil
}
