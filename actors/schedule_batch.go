package actors

import (
	"reax/models"
)

// fire deals with all that is due in one go. The tasks that it stores are told of like any others.
func (b *batch) fire(tx *models.Tx) (err error) {
	if b.fired, err = tx.Fire(b.firings, b.start); err != nil {
		return err
	}
	for _, f := range b.fired {
		b.inserts = append(b.inserts, f.Tasks...)
	}
	return nil
}

// writeSchedule writes the operations on schedules. A refusal by what the schedule is by now is an answer, and no error
// of the batch.
func (b *batch) writeSchedule(tx *models.Tx, o op) (err error) {
	var saved *models.SchedulesSaved
	switch m := o.msg.(type) {
	case *SaveSchedules:
		saved, err = tx.SaveSchedules(m.Saves, m.Delete, m.By)
	case *SwitchSchedule:
		saved, err = tx.SwitchSchedule(m.Switch, m.By)
	case *StartSchedule:
		if saved, err = tx.RunSchedule(m.ID, m.Task, b.start, m.By); err == nil && saved.Refused == nil {
			b.inserts = append(b.inserts, m.Task)
		}
	case *FireSchedule:
		b.answers = append(b.answers, answer{o.sender, &ScheduleFired{}})
		return nil
	default:
		return nil
	}
	if err != nil {
		return err
	}
	b.saved = append(b.saved, saved)
	b.answers = append(b.answers, answer{o.sender, saved})
	return nil
}

// tellSchedules keeps what Health says of schedules, and has the scheduler look at new times.
func (b *batch) tellSchedules() {
	if len(b.fired)+len(b.saved) == 0 {
		return
	}
	for _, f := range b.fired {
		if !f.Stale {
			b.noteFault(f.ID, f.Name, f.Error)
		}
	}
	for _, s := range b.saved {
		for i := range s.Deleted {
			b.faulty.Remove(s.Deleted[i].ID)
			b.meter.missed.Remove(s.Deleted[i].ID)
		}
		for i := range s.Rows {
			row := &s.Rows[i]
			b.noteFault(row.ID, row.Name, row.Error)
			switch {
			case row.Paused && row.PausedUntil != 0:
				b.waits(row.PausedUntil)
			case !row.Paused && row.NextAt != 0:
				b.waits(row.NextAt)
			}
		}
	}
	b.hub.Publish("schedules")
}

func (b *batch) noteFault(id int64, name, fault string) {
	if fault == "" {
		b.faulty.Remove(id)
		return
	}
	b.faulty.Put(id, models.Schedule{ID: id, Name: name, Error: fault})
}
