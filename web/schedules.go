package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const (
	shownUpcoming    = 10
	shownOccurrences = 60
)

type schedulesInput struct {
	Task   string `query:"task" maxLength:"200" doc:"Only those of this task type"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type schedulesOutput struct {
	Body scheduleListJSON
}

// scheduleListJSON is one page of schedules.
type scheduleListJSON struct {
	Schedules  []ScheduleJSON `json:"schedules" nullable:"false" doc:"By name"`
	NextCursor *string        `json:"next_cursor" doc:"null on the last page. A page of large parameters may have fewer schedules than the limit"`
}

func (s *Server) listSchedules(ctx context.Context, in *schedulesInput) (*schedulesOutput, error) {
	after, err := decodeNameCursor(in.Cursor)
	if err != nil {
		return nil, invalid([]fieldError{wrongBy("query.cursor", err)})
	}
	all, err := s.ledger.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c models.Schedule) bool {
		return c.Name <= after && after != "" || in.Task != "" && c.Task != in.Task
	})
	slices.SortFunc(all, func(a, b models.Schedule) int { return strings.Compare(a.Name, b.Name) })
	out := &schedulesOutput{}
	out.Body.Schedules = []ScheduleJSON{}
	size := 0
	for i := range all {
		view, err := s.scheduleSeen(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		out.Body.Schedules = append(out.Body.Schedules, view)
		size += len(all[i].Params)
		if i+1 < len(all) && (i+1 == in.Limit || size > maxListBytes) {
			cursor := encodeNameCursor(all[i].Name)
			out.Body.NextCursor = &cursor
			break
		}
	}
	return out, nil
}

// A cursor of a list by name is the last name of a page, encoded as other cursors are.
func encodeNameCursor(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

func decodeNameCursor(text string) (string, error) {
	name, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text != "" && tasks.CheckName(string(name)) != nil || encodeNameCursor(string(name)) != text {
		return "", errCursor
	}
	return string(name), nil
}

// scheduleSeen is a schedule with what became of its latest occurrence.
func (s *Server) scheduleSeen(ctx context.Context, c *models.Schedule) (ScheduleJSON, error) {
	latest, err := s.ledger.Occurrences(ctx, c.ID, 1)
	if err != nil {
		return ScheduleJSON{}, err
	}
	v := s.scheduleView(c, timetableOf(c))
	if len(latest) > 0 {
		v.LastOutcome = latest[0].Outcome
	}
	return v, nil
}

type scheduleInput struct {
	Name string `path:"name" maxLength:"200"`
}

type scheduleDetailOutput struct{ Body scheduleDetailJSON }

func (s *Server) getSchedule(ctx context.Context, in *scheduleInput) (*scheduleDetailOutput, error) {
	c, err := s.ledger.Schedule(ctx, in.Name)
	if err != nil {
		return nil, scheduleProblem(in.Name, err)
	}
	occurrences, err := s.ledger.Occurrences(ctx, c.ID, shownOccurrences)
	if err != nil {
		return nil, err
	}
	return &scheduleDetailOutput{Body: s.scheduleDetail(&c, timetableOf(&c), occurrences)}, nil
}

type createScheduleInput struct{ Body scheduleInputJSON }

type scheduleOutput struct {
	Location string `header:"Location" doc:"The address of the schedule"`
	Body     ScheduleJSON
}

func (s *Server) createSchedule(ctx context.Context, in *createScheduleInput) (*scheduleOutput, error) {
	spec := in.Body.spec()
	if _, faults := s.unmask(spec.Task, spec.Params, "", "/params"); faults != nil {
		return nil, invalid(faults)
	}
	c, err := s.runtime.CreateSchedule(ctx, spec, changeOf(ctx, strings.TrimSpace(in.Body.Reason)))
	return s.changedSchedule(ctx, in.Body.Name, &c, err)
}

type changeScheduleInput struct {
	Name string `path:"name" maxLength:"200"`
	Body scheduleChangeJSON
}

func (s *Server) changeSchedule(ctx context.Context, in *changeScheduleInput) (*scheduleOutput, error) {
	patch := in.Body.patch()
	if err := s.unmaskPatch(ctx, in.Name, &patch, "/params"); err != nil {
		return nil, err
	}
	c, err := s.runtime.UpdateSchedule(ctx, in.Name, patch, changeOf(ctx, strings.TrimSpace(in.Body.Reason)))
	if conflict, ok := errors.AsType[*models.ConflictError](err); ok {
		current, err := s.scheduleSeen(ctx, &conflict.Current)
		if err != nil {
			return nil, err
		}
		p := newProblem(http.StatusConflict, "conflict", "%s", conflict.Error())
		p.Current, p.Errors = &current, in.Body.conflicts(&current)
		return nil, p
	}
	return s.changedSchedule(ctx, in.Name, &c, err)
}

// changedSchedule is the answer to a change of a schedule that gave c or err.
func (s *Server) changedSchedule(ctx context.Context, name string, c *models.Schedule, err error) (*scheduleOutput, error) {
	if err != nil {
		return nil, scheduleProblem(name, err)
	}
	view, err := s.scheduleSeen(ctx, c)
	if err != nil {
		return nil, err
	}
	return &scheduleOutput{Location: callerOf(ctx).prefix + s.base + apiPath + "/schedules/" + url.PathEscape(c.Name), Body: view}, nil
}

// scheduleProblem says of errors that they are about a schedule, where they could be about a task.
func scheduleProblem(name string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return newProblem(http.StatusNotFound, "not_found", "there is no schedule %q", clip(name))
	}
	return err
}

// conflicts names the fields that the change would set and that are something else now.
func (b *scheduleChangeJSON) conflicts(current *ScheduleJSON) []fieldError {
	faults := []fieldError{}
	field := func(location string, wanted bool, now string) {
		if wanted {
			faults = append(faults, wrong(location, "is_now", clip(now)))
		}
	}
	differs := func(wanted *string, now string) bool { return wanted != nil && *wanted != now }
	text := func(p *string) string {
		if p == nil {
			return "null"
		}
		return *p
	}
	field("/name", differs(b.Name, current.Name), current.Name)
	field("/task", differs(b.Task, current.Task), current.Task)
	field("/cron", differs(b.Cron, text(current.Cron)), text(current.Cron))
	if b.Every != nil {
		field("/every", differs(durationText(b.Every.duration), text(current.Every)), text(current.Every))
	}
	if b.At != nil && current.At != moment(models.At(b.At.time)) {
		now, _ := current.At.MarshalJSON() // it never fails
		field("/at", true, strings.Trim(string(now), `"`))
	}
	if b.Timezone != nil {
		field("/timezone", cmp.Or(*b.Timezone, "UTC") != current.Timezone, current.Timezone)
	}
	if b.Params != nil && string(b.Params) != string(current.Params) {
		field("/params", true, string(current.Params))
	}
	if b.Priority != nil {
		now := 0
		if current.Priority != nil {
			now = *current.Priority
		}
		field("/priority", int(*b.Priority) != now, fmt.Sprint(now))
	}
	if b.Tags != nil {
		field("/tags", !slices.Equal(*b.Tags, current.Tags), strings.Join(current.Tags, ", "))
	}
	field("/missed", differs(b.Missed, current.Missed), current.Missed)
	field("/overlap", differs(b.Overlap, current.Overlap), current.Overlap)
	return faults
}

type deleteScheduleInput struct {
	Name   string `path:"name" maxLength:"200"`
	Reason string `query:"reason" doc:"For the record; at most 1,000 bytes"`
}

func (s *Server) deleteSchedule(ctx context.Context, in *deleteScheduleInput) (*struct{}, error) {
	if faults := textBytes("query.reason", in.Reason, actors.MaxReasonBytes); faults != nil {
		return nil, invalid(faults)
	}
	err := s.runtime.DeleteSchedule(ctx, in.Name, changeOf(ctx, strings.TrimSpace(in.Reason)))
	return nil, scheduleProblem(in.Name, err)
}

type scheduleActionInput struct {
	Name string `path:"name" maxLength:"200"`
	Body *reasonJSON
}

func (s *Server) runSchedule(ctx context.Context, in *scheduleActionInput) (*enqueueOutput, error) {
	enqueued, err := s.runtime.RunSchedule(ctx, in.Name, changeOf(ctx, in.Body.text()))
	if err != nil {
		return nil, scheduleProblem(in.Name, err)
	}
	return s.enqueuedOutput(ctx, &enqueued), nil
}

// pauseJSON is the body of a pause.
type pauseJSON struct {
	Reason string       `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
	Until  *momentInput `json:"until,omitempty" nullable:"true" doc:"When the pause ends by itself"`
}

func (b *pauseJSON) check(*Server) []fieldError {
	faults := textBytes("/reason", b.Reason, actors.MaxReasonBytes)
	switch {
	case b.Until == nil:
	case b.Until.err != nil:
		faults = append(faults, wrongBy("/until", b.Until.err))
	case !b.Until.time.After(time.Now()):
		faults = append(faults, wrong("/until", "not_ahead"))
	}
	return faults
}

// told is until when, if it ends by itself, and why. There may be no body.
func (b *pauseJSON) told() (until time.Time, reason string) {
	if b == nil {
		return until, ""
	}
	if b.Until != nil {
		until = b.Until.time
	}
	return until, strings.TrimSpace(b.Reason)
}

type pauseScheduleInput struct {
	Name string `path:"name" maxLength:"200"`
	Body *pauseJSON
}

func (s *Server) pauseSchedule(ctx context.Context, in *pauseScheduleInput) (*scheduleOutput, error) {
	until, reason := in.Body.told()
	c, err := s.runtime.PauseSchedule(ctx, in.Name, until, changeOf(ctx, reason))
	return s.changedSchedule(ctx, in.Name, &c, err)
}

func (s *Server) resumeSchedule(ctx context.Context, in *scheduleActionInput) (*scheduleOutput, error) {
	c, err := s.runtime.ResumeSchedule(ctx, in.Name, changeOf(ctx, in.Body.text()))
	return s.changedSchedule(ctx, in.Name, &c, err)
}
