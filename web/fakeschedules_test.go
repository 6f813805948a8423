package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// plan stores a schedule as a test needs it.
func (f *fake) plan(c models.Schedule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.ID = int64(len(f.schedules) + 1)
	if c.Owner == "" {
		c.Owner = models.OwnerAPI
	}
	if c.Task == "" {
		c.Task = "any"
	}
	if c.Params == "" {
		c.Params = "{}"
	}
	c.Version = max(c.Version, 1)
	c.CreatedAt, c.UpdatedAt = start, start
	f.schedules = append(f.schedules, c)
}

// find gives the schedule that a change is about, or the error that the runtime would give.
func (f *fake) find(ctx context.Context, name string, definition bool, c actors.Change) (*models.Schedule, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.schedules, func(s models.Schedule) bool { return s.Name == name })
	if i < 0 {
		return nil, models.ErrNotFound
	}
	if definition && f.schedules[i].Owner == models.OwnerFile {
		return nil, &models.OwnedError{Name: name, Owner: models.OwnerFile}
	}
	f.changes = append(f.changes, c)
	return &f.schedules[i], nil
}

func (f *fake) CreateSchedule(ctx context.Context, spec actors.ScheduleSpec, c actors.Change) (models.Schedule, error) {
	if err := f.begin(ctx); err != nil {
		return models.Schedule{}, err
	}
	if slices.ContainsFunc(f.schedules, func(s models.Schedule) bool { return s.Name == spec.Name }) {
		return models.Schedule{}, &tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/name", Message: "is taken"}}}
	}
	f.specs, f.changes = append(f.specs, spec), append(f.changes, c)
	tags, _ := json.Marshal(spec.Tags)
	f.plan(models.Schedule{
		Name: spec.Name, Task: spec.Task, Cron: spec.Cron, EveryUS: spec.Every.Microseconds(), At: models.At(spec.At),
		Timezone: spec.Timezone, Anchor: models.At(spec.Anchor), Priority: spec.Priority, Tags: string(tags), Missed: spec.Missed,
		Overlap: spec.Overlap, Params: string(spec.Params), UpdatedBy: c.By,
	})
	return f.schedules[len(f.schedules)-1], nil
}

func (f *fake) UpdateSchedule(ctx context.Context, name string, patch actors.SchedulePatch, c actors.Change) (models.Schedule, error) {
	s, err := f.find(ctx, name, true, c)
	if err != nil {
		return models.Schedule{}, err
	}
	if s.Version != patch.Version {
		return models.Schedule{}, &models.ConflictError{Version: patch.Version, Current: *s}
	}
	f.patches = append(f.patches, patch)
	if patch.Name != nil {
		s.Name = *patch.Name
	}
	if patch.Cron != nil {
		s.Cron, s.EveryUS, s.At = *patch.Cron, 0, 0
	}
	if patch.Every != nil {
		s.Cron, s.EveryUS, s.At = "", patch.Every.Microseconds(), 0
	}
	s.Version++
	return *s, nil
}

func (f *fake) DeleteSchedule(ctx context.Context, name string, c actors.Change) error {
	_, err := f.find(ctx, name, true, c)
	if err == nil {
		f.schedules = slices.DeleteFunc(f.schedules, func(s models.Schedule) bool { return s.Name == name })
	}
	return err
}

func (f *fake) PauseSchedule(ctx context.Context, name string, until time.Time, c actors.Change) (models.Schedule, error) {
	s, err := f.find(ctx, name, false, c)
	if err != nil {
		return models.Schedule{}, err
	}
	f.untils = append(f.untils, until)
	s.Paused, s.PauseReason, s.PausedBy, s.PausedUntil = true, c.Reason, c.By, models.At(until)
	return *s, nil
}

func (f *fake) ResumeSchedule(ctx context.Context, name string, c actors.Change) (models.Schedule, error) {
	s, err := f.find(ctx, name, false, c)
	if err != nil {
		return models.Schedule{}, err
	}
	s.Paused, s.PauseReason, s.PausedBy, s.PausedUntil = false, "", "", 0
	return *s, nil
}

func (f *fake) RunSchedule(ctx context.Context, name string, c actors.Change) (actors.Enqueued, error) {
	s, err := f.find(ctx, name, false, c)
	if err != nil {
		return actors.Enqueued{}, err
	}
	id := f.add(models.Task{Type: s.Task, Params: s.Params, Schedule: s.Name})
	return actors.Enqueued{Task: f.rows[id-1]}, nil
}

func (f *fake) Schedules(context.Context) ([]models.Schedule, error) {
	return slices.Clone(f.schedules), f.readErr
}

func (f *fake) SchedulePage(_ context.Context, text, after string, limit int) ([]models.Schedule, error) {
	page := slices.DeleteFunc(slices.Clone(f.schedules), func(s models.Schedule) bool {
		return s.Name <= after || !strings.Contains(s.Name, text) && !strings.Contains(s.Task, text)
	})
	slices.SortFunc(page, func(a, b models.Schedule) int { return strings.Compare(a.Name, b.Name) })
	return page[:min(len(page), limit)], f.readErr
}

func (f *fake) TaskStates(_ context.Context, ids []int64) (map[int64]models.State, error) {
	states := map[int64]models.State{}
	for _, row := range f.rows {
		if slices.Contains(ids, row.ID) {
			states[row.ID] = row.State
		}
	}
	return states, f.readErr
}

func (f *fake) Schedule(_ context.Context, name string) (models.Schedule, error) {
	if f.readErr != nil {
		return models.Schedule{}, f.readErr
	}
	for _, s := range f.schedules {
		if s.Name == name {
			return s, nil
		}
	}
	return models.Schedule{}, models.ErrNotFound
}

func (f *fake) Occurrences(_ context.Context, scheduleID int64, limit int) ([]models.Occurrence, error) {
	var all []models.Occurrence
	for _, o := range f.occurrences {
		if o.ScheduleID == scheduleID && len(all) < limit {
			all = append(all, o)
		}
	}
	return all, f.readErr
}
