package models

import "time"

// ScheduleSwitch pauses a schedule, or resumes it.
type ScheduleSwitch struct {
	ID, Version int64 // as they were read
	Pause       bool
	Until       Instant // when the pause ends by itself; none for one that does not
	Cursor      Instant // of a resumed schedule: what passed until then neither runs nor counts as missed
	Next        Instant
}

// SwitchSchedule pauses or resumes a schedule. It fires nothing: an occurrence that waits for the end of a task when the
// schedule is paused counts as blocked. Resuming a schedule that is not paused changes nothing.
func (tx *Tx) SwitchSchedule(s ScheduleSwitch, by Actor) (*SchedulesSaved, error) {
	out := &SchedulesSaved{}
	before, err := tx.scheduleByID(s.ID)
	if err == nil && before.Version != s.Version {
		err = &ConflictError{Version: s.Version, Current: before}
	}
	if refused(err, out) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if !s.Pause && !before.Paused {
		out.Rows = []Schedule{before}
		return out, nil
	}
	entry := Audit{Action: "resume", Target: "schedule", TargetID: before.Name}
	if s.Pause {
		entry.Action = "pause"
		if s.Until != 0 {
			entry.After = "until " + s.Until.Time().Format(time.RFC3339)
		}
		err = tx.pauseSchedule(s, by)
	} else {
		_, err = tx.exec("resuming a schedule", `UPDATE schedules SET paused = 0, pause_reason = NULL, paused_by = NULL, paused_until = NULL,
 cursor_at = ?, next_at = ?, updated_at = ?, updated_by = ? WHERE id = ?`, int64(s.Cursor), s.Next.orNull(), int64(tx.now), textOrNull(by.Name), s.ID)
	}
	if err != nil {
		return nil, err
	}
	row, err := tx.scheduleByID(s.ID)
	if err != nil {
		return nil, err
	}
	out.Rows = []Schedule{row}
	return out, tx.audit(by, []Audit{entry})
}

func (tx *Tx) pauseSchedule(s ScheduleSwitch, by Actor) error {
	res, err := tx.exec("dropping what waited", "UPDATE occurrences SET outcome = 'overlap' WHERE schedule_id = ? AND outcome = 'queued'", s.ID)
	if err != nil {
		return err
	}
	dropped, err := res.RowsAffected()
	if err != nil {
		return err
	}
	_, err = tx.exec("pausing a schedule", `UPDATE schedules SET paused = 1, pause_reason = ?, paused_by = ?, paused_until = ?,
 overlap_count = overlap_count + ?, updated_at = ?, updated_by = ? WHERE id = ?`,
		textOrNull(by.Reason), textOrNull(by.Name), s.Until.orNull(), dropped, int64(tx.now), textOrNull(by.Name), s.ID)
	return err
}

// RunSchedule stores a task of a schedule outside of its plan, which does not move. The error of the result is
// ErrNotFound when the schedule is gone.
func (tx *Tx) RunSchedule(id int64, task *NewTask, start func(typ string) bool, by Actor) (*SchedulesSaved, error) {
	out := &SchedulesSaved{}
	row, err := tx.scheduleByID(id)
	if refused(err, out) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	task.Schedule = row.Name
	if err := tx.Insert([]*NewTask{task}, start); err != nil {
		return nil, err
	}
	out.Rows = []Schedule{row}
	return out, tx.audit(by, []Audit{{Action: "run", Target: "schedule", TargetID: row.Name}})
}
