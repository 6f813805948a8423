package actors

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reax/models"
	"reax/tasks"
	"reax/timetable"
)

// newSchedule checks a definition and makes the row of it. What it leaves out takes the defaults.
func (r *Runtime) newSchedule(spec *ScheduleSpec, owner string) (*models.ScheduleSave, error) {
	now := r.now()
	row := models.Schedule{Owner: owner}
	bad := spec.apply(&row)
	if row.EveryUS != 0 && row.Anchor == 0 {
		row.Anchor = models.At(now.Truncate(time.Second))
	}
	if err := r.checkSchedule(&row, bad, now); err != nil {
		return nil, err
	}
	return &models.ScheduleSave{Row: row, Retime: true}, nil
}

// changedSchedule is a stored schedule after a change, or nil when the change changes nothing.
func (r *Runtime) changedSchedule(before *models.Schedule, change func(*models.Schedule) []tasks.FieldError) (*models.ScheduleSave, error) {
	now := r.now()
	row := *before
	bad := change(&row)
	if row.EveryUS != 0 && row.Anchor == 0 {
		row.Anchor = models.At(now.Truncate(time.Second))
	}
	if row == *before && len(bad) == 0 {
		return nil, nil
	}
	if err := r.checkSchedule(&row, bad, now); err != nil {
		return nil, err
	}
	was, is := timesOf(before), timesOf(&row)
	return &models.ScheduleSave{Row: row, Retime: was != is}, nil
}

// times is what a schedule's plan follows from.
type times struct {
	cron, timezone string
	everyUS        int64
	at, anchor     models.Instant
}

func timesOf(s *models.Schedule) times {
	return times{cron: s.Cron, timezone: s.Timezone, everyUS: s.EveryUS, at: s.At, anchor: s.Anchor}
}

// checkSchedule adds what is wrong with a definition to what is known to be, and sets where its plan stands when it
// starts now. Parameters are checked as the next occurrence would have them.
func (r *Runtime) checkSchedule(row *models.Schedule, bad []tasks.FieldError, now time.Time) error {
	fault := func(field, code string, args ...any) { bad = append(bad, tasks.NewFault(code, args...).At(field)) }
	if err, ok := errors.AsType[*tasks.Fault](tasks.CheckName(row.Name)); ok {
		bad = append(bad, err.At("/name"))
	}
	if !slices.Contains([]string{models.MissedSkip, models.MissedRunOnce, models.MissedRunAll}, row.Missed) {
		fault("/missed", "one_of", "skip, run_once, run_all")
	}
	if !slices.Contains([]string{models.OverlapSkip, models.OverlapAllow, models.OverlapQueueOne}, row.Overlap) {
		fault("/overlap", "one_of", "skip, allow, queue_one")
	}
	if def, ok := r.registry.Lookup(row.Task); !ok {
		return fmt.Errorf("%w: %q", ErrUnknownType, models.CutText(row.Task, 200))
	} else if def.Internal {
		fault("/task", "own_type", def.Name)
		return &tasks.InvalidError{Fields: bad}
	}
	next := now
	table, err := timetableOf(row)
	if err != nil {
		bad = append(bad, fieldsOf(invalidTimes(err))...)
	} else {
		row.CursorAt, row.NextAt = models.At(now), models.At(table.Next(now))
		next = inZone(now, row.Timezone)
		if at := table.Next(now); !at.IsZero() {
			next = at
		}
	}
	if len(row.Params) > MaxParamsBytes {
		return &TooLargeError{What: "bytes of parameters", Limit: MaxParamsBytes}
	}
	if err := tasks.CheckJSON(json.RawMessage(row.Params), tasks.MaxDepth); err != nil {
		bad = append(bad, within("/params", err)...)
	} else if _, err := r.scheduledTask(row, next, row.LastAt.Time()); err != nil {
		if _, ok := errors.AsType[*tasks.InvalidError](err); !ok {
			return err
		}
		bad = append(bad, fieldsOf(err)...)
	}
	if len(bad) > 0 {
		return &tasks.InvalidError{Fields: bad}
	}
	return nil
}

func fieldsOf(err error) []tasks.FieldError { return within("", err) }

// invalidTimes places what the timetable refuses.
func invalidTimes(err error) error {
	if bad, ok := errors.AsType[*timetable.FieldError](err); ok {
		return &tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/" + bad.Field, Message: bad.Message, Code: bad.Code, Args: bad.Args, Part: bad.Part}}}
	}
	return fmt.Errorf("reading the times of the schedule: %w", err)
}

// apply writes the definition over a row. An anchor that it leaves out stays.
func (s *ScheduleSpec) apply(row *models.Schedule) []tasks.FieldError {
	tags, bad := tagsText(s.Tags)
	row.Name, row.Task, row.Cron, row.Timezone = s.Name, s.Task, s.Cron, cmp.Or(s.Timezone, "UTC")
	row.EveryUS, row.At = microseconds(s.Every), models.At(s.At.Truncate(time.Second))
	row.Priority, row.Tags, row.Params = s.Priority, tags, cmp.Or(string(s.Params), "{}")
	row.Missed, row.Overlap = cmp.Or(s.Missed, models.MissedRunOnce), cmp.Or(s.Overlap, models.OverlapSkip)
	switch {
	case s.Every == 0:
		row.Anchor = 0
	case !s.Anchor.IsZero():
		row.Anchor = models.At(s.Anchor.Truncate(time.Second))
	}
	return bad
}

// microseconds is a duration as a row keeps it. What is too short for that must not look like none.
func microseconds(d time.Duration) int64 {
	if d != 0 && d.Microseconds() == 0 {
		return 1
	}
	return d.Microseconds()
}

// apply writes the change over a row.
func (p *SchedulePatch) apply(row *models.Schedule) []tasks.FieldError {
	for _, f := range []struct {
		to   *string
		from *string
	}{{&row.Name, p.Name}, {&row.Task, p.Task}, {&row.Timezone, p.Timezone}, {&row.Missed, p.Missed}, {&row.Overlap, p.Overlap}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	row.Timezone = cmp.Or(row.Timezone, "UTC")
	row.Missed, row.Overlap = cmp.Or(row.Missed, models.MissedRunOnce), cmp.Or(row.Overlap, models.OverlapSkip)
	if p.Priority != nil {
		row.Priority = *p.Priority
	}
	if p.Params != nil {
		row.Params = string(p.Params)
	}
	if p.Cron != nil || p.Every != nil || p.At != nil {
		row.Cron, row.EveryUS, row.At = "", 0, 0
	}
	if p.Cron != nil {
		row.Cron = *p.Cron
	}
	if p.Every != nil {
		row.EveryUS = microseconds(*p.Every)
	}
	if p.At != nil {
		row.At = models.At(p.At.Truncate(time.Second))
	}
	if row.EveryUS == 0 {
		row.Anchor = 0
	}
	if p.Tags == nil {
		return nil
	}
	tags, bad := tagsText(*p.Tags)
	row.Tags = tags
	return bad
}

// tagsOf reads the tags of a schedule.
func tagsOf(s *models.Schedule) ([]string, error) {
	if s.Tags == "" {
		return nil, nil
	}
	var tags []string
	if err := json.Unmarshal([]byte(s.Tags), &tags); err != nil {
		return nil, fmt.Errorf("reading the tags of schedule %s: %w", s.Name, err)
	}
	return tags, nil
}
