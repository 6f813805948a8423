package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"gorm.io/gorm"
)

// ScheduleSave is a definition to be stored. The row's ID is 0 for a new schedule; otherwise its Version is the one that
// the change was made for.
type ScheduleSave struct {
	Row    Schedule
	Retime bool // take CursorAt and NextAt from Row too; a new schedule always does
}

// SchedulesSaved is what SaveSchedules did. When Refused is set it did nothing.
type SchedulesSaved struct {
	Rows    []Schedule // as they are now, in the order of the saves
	Deleted []Schedule // as they were
	Refused error      // ErrNotFound, a *ConflictError or a *NameTakenError
}

// NameTakenError says that another schedule has the name.
type NameTakenError struct{ Name, Owner string }

func (e *NameTakenError) Error() string { return fmt.Sprintf("there is a schedule %s already", e.Name) }

// SaveSchedules deletes, changes and makes schedules: all, or none when one of them cannot be. It fires nothing.
func (tx *Tx) SaveSchedules(saves []ScheduleSave, doomed []int64, by Actor) (*SchedulesSaved, error) {
	out := &SchedulesSaved{}
	before := make([]Schedule, len(saves))
	gone := map[int64]bool{}
	for _, id := range doomed {
		row, err := tx.scheduleByID(id)
		if refused(err, out) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		gone[id] = true
		out.Deleted = append(out.Deleted, row)
	}
	for i := range saves {
		row, err := tx.checkSave(&saves[i].Row, gone)
		if refused(err, out) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		before[i] = row
	}
	var audits []Audit
	for _, row := range out.Deleted {
		if err := tx.deleteSchedule(row.ID); err != nil {
			return nil, err
		}
		audits = append(audits, Audit{Action: "delete", Target: "schedule", TargetID: row.Name, Before: tx.definitionText(definitionOf(&row))})
	}
	for i := range saves {
		row, entry, err := tx.saveSchedule(before[i], &saves[i], by)
		if err != nil {
			return nil, err
		}
		out.Rows, audits = append(out.Rows, row), append(audits, entry)
	}
	return out, tx.audit(by, audits)
}

// refused notes an error that is an answer, and no failure of the ledger.
func refused(err error, out *SchedulesSaved) bool {
	var conflict *ConflictError
	var taken *NameTakenError
	if errors.Is(err, ErrNotFound) || errors.As(err, &conflict) || errors.As(err, &taken) {
		*out = SchedulesSaved{Refused: err}
		return true
	}
	return false
}

// checkSave gives the row as it is before the save, none for a new one.
func (tx *Tx) checkSave(want *Schedule, gone map[int64]bool) (before Schedule, err error) {
	if want.ID != 0 {
		if before, err = tx.scheduleByID(want.ID); err != nil {
			return before, err
		}
		if before.Version != want.Version {
			return before, &ConflictError{Version: want.Version, Current: before}
		}
	}
	var named []Schedule
	if err := tx.db.Raw("SELECT id, owner FROM schedules WHERE name = ?", want.Name).Scan(&named).Error; err != nil {
		return before, fmt.Errorf("looking for a schedule of the name: %w", err)
	}
	if len(named) > 0 && named[0].ID != want.ID && !gone[named[0].ID] {
		return before, &NameTakenError{Name: want.Name, Owner: named[0].Owner}
	}
	return before, nil
}

func (tx *Tx) scheduleByID(id int64) (Schedule, error) {
	var row Schedule
	err := tx.db.Raw("SELECT * FROM schedules WHERE id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, ErrNotFound
	}
	if err != nil {
		return row, fmt.Errorf("reading a schedule: %w", err)
	}
	return row, nil
}

func (tx *Tx) deleteSchedule(id int64) error {
	if _, err := tx.exec("deleting occurrences", "DELETE FROM occurrences WHERE schedule_id = ?", id); err != nil {
		return err
	}
	_, err := tx.exec("deleting a schedule", "DELETE FROM schedules WHERE id = ?", id)
	return err
}

func (tx *Tx) saveSchedule(before Schedule, save *ScheduleSave, by Actor) (Schedule, Audit, error) {
	s := save.Row
	entry := Audit{Action: "create", Target: "schedule", TargetID: s.Name}
	if s.ID == 0 {
		res, err := tx.exec("storing a schedule", `INSERT INTO schedules (name, owner, task, cron, every_us, at, timezone, priority, tags, missed,
 overlap, anchor, version, cursor_at, next_at, created_at, updated_at, updated_by, params) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
			s.Name, s.Owner, s.Task, textOrNull(s.Cron), numberOrNull(s.EveryUS), s.At.orNull(), s.Timezone, numberOrNull(int64(s.Priority)), textOrNull(s.Tags),
			s.Missed, s.Overlap, s.Anchor.orNull(), int64(s.CursorAt), s.NextAt.orNull(), int64(tx.now), int64(tx.now), textOrNull(by.Name), s.Params)
		if err != nil {
			return s, entry, err
		}
		if s.ID, err = res.LastInsertId(); err != nil {
			return s, entry, fmt.Errorf("reading the id of a new schedule: %w", err)
		}
		entry.After = tx.definitionText(definitionOf(&s))
		row, err := tx.scheduleByID(s.ID)
		return row, entry, err
	}
	if !save.Retime {
		s.CursorAt, s.NextAt = before.CursorAt, before.NextAt
	}
	_, err := tx.exec("changing a schedule", `UPDATE schedules SET name = ?, owner = ?, task = ?, cron = ?, every_us = ?, at = ?, timezone = ?, priority = ?, tags = ?,
 missed = ?, overlap = ?, anchor = ?, version = version + 1, cursor_at = ?, next_at = ?, error = NULL, updated_at = ?, updated_by = ?, params = ? WHERE id = ?`,
		s.Name, s.Owner, s.Task, textOrNull(s.Cron), numberOrNull(s.EveryUS), s.At.orNull(), s.Timezone, numberOrNull(int64(s.Priority)), textOrNull(s.Tags),
		s.Missed, s.Overlap, s.Anchor.orNull(), int64(s.CursorAt), s.NextAt.orNull(), int64(tx.now), textOrNull(by.Name), s.Params, s.ID)
	if err != nil {
		return s, entry, err
	}
	if s.Name != before.Name { // its unfinished tasks go on to block it
		_, err := tx.exec("renaming the schedule of tasks", "UPDATE tasks INDEXED BY tasks_schedule SET schedule = ? WHERE schedule = ? AND "+unfinished, s.Name, before.Name)
		if err != nil {
			return s, entry, err
		}
	}
	entry.Action = "update"
	was, is := definitionOf(&before), definitionOf(&s)
	was.leave(is)
	entry.Before, entry.After = tx.definitionText(was), tx.definitionText(is)
	row, err := tx.scheduleByID(s.ID)
	return row, entry, err
}

// definition is what a person would call the schedule, for the audit: its parts by name, and the type of its tasks.
type definition struct {
	parts map[string]string
	task  string
}

func definitionOf(s *Schedule) definition {
	all := map[string]string{
		"name": s.Name, "task": s.Task, "cron": s.Cron, "timezone": s.Timezone, "tags": s.Tags, "missed": s.Missed, "overlap": s.Overlap,
		"params": s.Params,
	}
	for name, at := range map[string]Instant{"at": s.At, "anchor": s.Anchor} {
		if at != 0 {
			all[name] = at.Time().Format(time.RFC3339)
		}
	}
	if s.EveryUS != 0 {
		all["every"] = s.Every().String()
	}
	if s.Priority != 0 {
		all["priority"] = fmt.Sprint(s.Priority)
	}
	return definition{all, s.Task}
}

// leave takes the parts that are the same out of both.
func (d definition) leave(other definition) {
	for name, value := range d.parts {
		if other.parts[name] == value {
			delete(d.parts, name)
			delete(other.parts, name)
		}
	}
}

// definitionText is a definition as the audit keeps it: without empty parts, and without what is secret.
func (tx *Tx) definitionText(d definition) string {
	if params := d.parts["params"]; params != "" {
		if tx.w.Shown != nil {
			params = tx.w.Shown(d.task, params)
		}
		d.parts["params"] = CutText(params, previewLimit)
	}
	maps.DeleteFunc(d.parts, func(_, value string) bool { return value == "" })
	b, err := json.Marshal(d.parts)
	if err != nil {
		panic(err) // strings alone
	}
	return string(b)
}
