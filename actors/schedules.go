package actors

import (
	"context"
	"errors"
	"time"

	"reax/models"
	"reax/tasks"
)

// CreateSchedule stores a new schedule, owned by the API. It never fires at once. It fails with ErrUnknownType,
// *tasks.InvalidError, *TooLargeError, ErrUnavailable or ErrStopped.
func (r *Runtime) CreateSchedule(ctx context.Context, spec ScheduleSpec, c Change) (models.Schedule, error) {
	if err := c.check(false); err != nil {
		return models.Schedule{}, err
	}
	save, err := r.newSchedule(&spec, models.OwnerAPI)
	if err != nil {
		return models.Schedule{}, err
	}
	if save.Row.At != 0 && save.Row.NextAt == 0 {
		return models.Schedule{}, tasks.Invalid("/at", "past")
	}
	return r.saveSchedule(ctx, save, c)
}

// UpdateSchedule changes a schedule of the API. It never fires at once; a change of the times makes it look forward from
// now, any other change leaves its plan and history alone. It fails as CreateSchedule does, and with models.ErrNotFound,
// *models.OwnedError, or *models.ConflictError when patch.Version is no longer the schedule's.
func (r *Runtime) UpdateSchedule(ctx context.Context, name string, patch SchedulePatch, c Change) (models.Schedule, error) {
	if err := c.check(false); err != nil {
		return models.Schedule{}, err
	}
	if patch.Version == 0 {
		return models.Schedule{}, tasks.Invalid("/version", "version")
	}
	row, err := r.ownSchedule(ctx, name)
	if err != nil {
		return models.Schedule{}, err
	}
	if row.Version != patch.Version {
		return models.Schedule{}, &models.ConflictError{Version: patch.Version, Current: row}
	}
	save, err := r.changedSchedule(&row, patch.apply)
	if err != nil {
		return models.Schedule{}, err
	}
	if save == nil {
		return row, nil
	}
	if save.Retime && save.Row.At != 0 && save.Row.NextAt == 0 {
		return models.Schedule{}, tasks.Invalid("/at", "past")
	}
	return r.saveSchedule(ctx, save, c)
}

// DeleteSchedule deletes a schedule of the API with its occurrences. Its tasks stay. It fails with models.ErrNotFound,
// *models.OwnedError, *tasks.InvalidError, ErrUnavailable or ErrStopped.
func (r *Runtime) DeleteSchedule(ctx context.Context, name string, c Change) error {
	if err := c.check(false); err != nil {
		return err
	}
	row, err := r.ownSchedule(ctx, name)
	if err != nil {
		return err
	}
	_, err = r.askSchedules(ctx, &SaveSchedules{Ctx: ctx, Delete: []int64{row.ID}, By: c.actor()})
	return err
}

// PauseSchedule stops a schedule until a moment, or with the zero time until it is resumed. What passes meanwhile neither
// runs nor counts as missed, and what waited for the end of a task no longer does. Pausing a paused one changes the
// reason and the end. It fails as DeleteSchedule does, but takes those of the file too.
func (r *Runtime) PauseSchedule(ctx context.Context, name string, until time.Time, c Change) (models.Schedule, error) {
	switch now := r.now(); {
	case until.IsZero():
	case !until.After(now):
		return models.Schedule{}, tasks.Invalid("/until", "past")
	case until.After(now.Add(enqueueFar)):
		return models.Schedule{}, tasks.Invalid("/until", "far")
	}
	return r.switchSchedule(ctx, name, c, func(*models.Schedule) (models.ScheduleSwitch, error) {
		return models.ScheduleSwitch{Pause: true, Until: models.At(until)}, nil
	})
}

// ResumeSchedule lets a paused schedule go on from now: what passed during the pause neither runs nor counts as missed.
// It fails as PauseSchedule does.
func (r *Runtime) ResumeSchedule(ctx context.Context, name string, c Change) (models.Schedule, error) {
	return r.switchSchedule(ctx, name, c, func(row *models.Schedule) (models.ScheduleSwitch, error) {
		table, err := timetableOf(row)
		if err != nil {
			return models.ScheduleSwitch{}, invalidTimes(err)
		}
		now := r.now()
		return models.ScheduleSwitch{Cursor: models.At(now), Next: models.At(table.Next(now))}, nil
	})
}

// switchTries is how often a pause or resume is tried anew when the schedule is changed at the same time.
const switchTries = 5

func (r *Runtime) switchSchedule(ctx context.Context, name string, c Change, how func(*models.Schedule) (models.ScheduleSwitch, error)) (models.Schedule, error) {
	if err := c.check(false); err != nil {
		return models.Schedule{}, err
	}
	for try := 1; ; try++ {
		row, err := r.store.Schedule(ctx, name)
		if err != nil {
			return models.Schedule{}, err
		}
		order, err := how(&row)
		if err != nil {
			return models.Schedule{}, err
		}
		order.ID, order.Version = row.ID, row.Version
		saved, err := r.askSchedules(ctx, &SwitchSchedule{Ctx: ctx, Switch: order, By: c.actor()})
		if _, changed := errors.AsType[*models.ConflictError](err); changed && try < switchTries {
			continue
		}
		if err != nil {
			return models.Schedule{}, err
		}
		return saved.Rows[0], nil
	}
}

// RunSchedule makes a task of a schedule now, outside of its plan, paused or not. To its templates the moment of the call
// is the occurrence. While the task is unfinished, it blocks occurrences as any other task of the schedule does. It
// fails as PauseSchedule and Enqueue do.
func (r *Runtime) RunSchedule(ctx context.Context, name string, c Change) (Enqueued, error) {
	if err := c.check(false); err != nil {
		return Enqueued{}, err
	}
	row, err := r.store.Schedule(ctx, name)
	if err != nil {
		return Enqueued{}, err
	}
	task, err := r.scheduledTask(&row, inZone(r.now(), row.Timezone), row.LastAt.Time())
	if err != nil {
		return Enqueued{}, err
	}
	task.EnqueuedBy = c.By
	began := time.Now()
	_, err = r.askSchedules(ctx, &StartSchedule{Ctx: ctx, ID: row.ID, Task: task, By: c.actor()})
	r.traceEnqueued([]*models.NewTask{task}, began, err)
	if err != nil {
		return Enqueued{}, err
	}
	return Enqueued{Task: task.Task}, nil
}

// inZone is t on the clocks of a zone, cut to the second as occurrences are; in UTC when the zone cannot be read.
func inZone(t time.Time, name string) time.Time {
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Truncate(time.Second)
}

// ownSchedule is a schedule that the API may change.
func (r *Runtime) ownSchedule(ctx context.Context, name string) (models.Schedule, error) {
	row, err := r.store.Schedule(ctx, name)
	if err != nil {
		return row, err
	}
	if row.Owner != models.OwnerAPI {
		return row, &models.OwnedError{Name: name, Owner: row.Owner}
	}
	return row, nil
}

func (r *Runtime) saveSchedule(ctx context.Context, save *models.ScheduleSave, c Change) (models.Schedule, error) {
	saved, err := r.askSchedules(ctx, &SaveSchedules{Ctx: ctx, Saves: []models.ScheduleSave{*save}, By: c.actor()})
	if taken, ok := errors.AsType[*models.NameTakenError](err); ok {
		return models.Schedule{}, tasks.Invalid("/name", "name_taken", taken.Name)
	}
	if err != nil {
		return models.Schedule{}, err
	}
	return saved.Rows[0], nil
}

// askSchedules puts a change of schedules to the journal.
func (r *Runtime) askSchedules(ctx context.Context, msg any) (*models.SchedulesSaved, error) {
	saved, err := ask[*models.SchedulesSaved](ctx, r, msg)
	if err == nil {
		err = saved.Refused
	}
	return saved, err
}

// SyncSchedules makes the schedules of the file what specs says, all or nothing: new ones are made, changed ones changed
// as by UpdateSchedule, and those that are gone deleted. A pause stays. It fails as CreateSchedule does, with locations
// that begin with /schedules and the name, and with *models.OwnedError when the API has a schedule of the same name.
func (r *Runtime) SyncSchedules(ctx context.Context, specs []ScheduleSpec) error {
	stored, err := r.store.Schedules(ctx)
	if err != nil {
		return err
	}
	left := map[string]*models.Schedule{}
	for i := range stored {
		left[stored[i].Name] = &stored[i]
	}
	msg := &SaveSchedules{Ctx: ctx, By: models.Actor{Name: "configuration file"}}
	seen := map[string]bool{}
	var bad []tasks.FieldError
	for i := range specs {
		spec := &specs[i]
		if seen[spec.Name] {
			bad = append(bad, tasks.NewFault("name_twice").At("/schedules/"+spec.Name))
			continue
		}
		seen[spec.Name] = true
		save, err := r.syncedSchedule(left[spec.Name], spec)
		if _, owned := errors.AsType[*models.OwnedError](err); owned {
			return err
		}
		if err != nil {
			bad = append(bad, within("/schedules/"+spec.Name, err)...)
			continue
		}
		if save != nil {
			msg.Saves = append(msg.Saves, *save)
		}
	}
	if len(bad) > 0 {
		return &tasks.InvalidError{Fields: bad}
	}
	for i := range stored {
		if stored[i].Owner == models.OwnerFile && !seen[stored[i].Name] {
			msg.Delete = append(msg.Delete, stored[i].ID)
		}
	}
	if len(msg.Saves)+len(msg.Delete) == 0 {
		return nil
	}
	_, err = r.askSchedules(ctx, msg)
	return err
}

// syncedSchedule is what has to be stored for a schedule of the file; nil when nothing has.
func (r *Runtime) syncedSchedule(row *models.Schedule, spec *ScheduleSpec) (*models.ScheduleSave, error) {
	if row == nil {
		return r.newSchedule(spec, models.OwnerFile)
	}
	if row.Owner != models.OwnerFile {
		return nil, &models.OwnedError{Name: row.Name, Owner: row.Owner}
	}
	return r.changedSchedule(row, func(s *models.Schedule) []tasks.FieldError { return spec.apply(s) })
}

// within puts the places that an error names inside another place.
func within(place string, err error) []tasks.FieldError {
	if errors.Is(err, ErrUnknownType) {
		return []tasks.FieldError{tasks.NewFault("other", err).At(place + "/task")}
	}
	invalid, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return []tasks.FieldError{tasks.NewFault("other", err).At(place)}
	}
	fields := make([]tasks.FieldError, len(invalid.Fields))
	for i, f := range invalid.Fields {
		f.Location = place + f.Location
		fields[i] = f
	}
	return fields
}
