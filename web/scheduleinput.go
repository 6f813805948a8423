package web

import (
	"encoding/json"
	"time"

	"reax/actors"
	"reax/tasks"
	"reax/timetable"
)

// Reserved reports whether a name cannot be a schedule's, since its address is that of the preview or of the form for a
// new one.
func Reserved(name string) bool { return name == "preview" || name == "new" }

// timing is when a schedule runs, as both bodies have it.
type timing struct {
	cron, timezone string
	every          *durationInput
	at, anchor     *momentInput
}

// read gives the plan and names what is wrong with it. A change may leave the plan as it is, and then only the zone is
// looked at.
func (b timing) read(isChange bool) (timetable.Spec, []fieldError) {
	var faults []fieldError
	spec := timetable.Spec{Cron: b.cron, Timezone: b.timezone}
	switch {
	case b.every == nil:
	case b.every.err != nil:
		faults = append(faults, wrongBy("/every", b.every.err))
	case b.every.duration == 0:
		faults = append(faults, wrong("/every", "duration_zero"))
	default:
		spec.Every = b.every.duration
	}
	for location, place := range map[string]struct {
		from *momentInput
		to   *time.Time
	}{"/at": {b.at, &spec.At}, "/anchor": {b.anchor, &spec.Anchor}} {
		switch {
		case place.from == nil:
		case place.from.err != nil:
			faults = append(faults, wrongBy(location, place.from.err))
		default:
			*place.to = place.from.time
		}
	}
	whole := len(faults) == 0 && !(isChange && spec.Cron == "" && spec.Every == 0 && spec.At.IsZero())
	_, bad := parseTimetable(spec, "/", whole)
	return spec, append(faults, bad...)
}

// scheduleInputJSON is what a caller says of a new schedule.
type scheduleInputJSON struct {
	Name     string         `json:"name" minLength:"1" maxLength:"100" doc:"Letters, digits and . _ - / :"`
	Task     string         `json:"task" minLength:"1" maxLength:"200" doc:"The type of the tasks that it makes"`
	Cron     string         `json:"cron,omitempty" nullable:"true" doc:"A cron pattern of five fields, or @daily and its like. Exactly one of cron, every and at is needed"`
	Every    *durationInput `json:"every,omitempty" doc:"An interval of real time: whole seconds"`
	At       *momentInput   `json:"at,omitempty" nullable:"true" doc:"One instant, for a schedule that runs once"`
	Anchor   *momentInput   `json:"anchor,omitempty" nullable:"true" doc:"Where an interval counts from; default the moment of creation"`
	Timezone string         `json:"timezone,omitempty" nullable:"true" doc:"An IANA name such as Europe/Berlin; default UTC"`
	Params   jsonObject     `json:"params,omitempty" doc:"Of its tasks. Text may be templates such as {{ .ScheduledFor.Format \"2006-01-02\" }}"`
	Priority *wholeNumber   `json:"priority,omitempty" nullable:"true" minimum:"1" maximum:"10" doc:"Of its tasks; default as the type says"`
	Tags     []string       `json:"tags,omitempty" maxItems:"20" doc:"Of its tasks; at most 64 bytes each"`
	Missed   string         `json:"missed,omitempty" enum:"skip,run_once,run_all" default:"run_once" doc:"What becomes of occurrences that reax could not run in time"`
	Overlap  string         `json:"overlap,omitempty" enum:"skip,allow,queue_one" default:"skip" doc:"What becomes of an occurrence while a task of the schedule is unfinished"`
	Reason   string         `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

func (b *scheduleInputJSON) timing() timing {
	return timing{b.Cron, b.Timezone, b.Every, b.At, b.Anchor}
}

func (b *scheduleInputJSON) check(s *Server) []fieldError {
	_, faults := b.timing().read(false)
	faults = append(faults, nameFaults(b.Name)...)
	faults = append(faults, s.typeFaults(b.Task)...)
	faults = append(faults, tagFaults("", b.Tags)...)
	return append(faults, textBytes("/reason", b.Reason, actors.MaxReasonBytes)...)
}

func (b *scheduleInputJSON) spec() actors.ScheduleSpec {
	plan, _ := b.timing().read(false)
	spec := actors.ScheduleSpec{
		Name: b.Name, Task: b.Task, Cron: plan.Cron, Every: plan.Every, At: plan.At, Anchor: plan.Anchor, Timezone: b.Timezone,
		Params: json.RawMessage(b.Params), Tags: b.Tags, Missed: b.Missed, Overlap: b.Overlap,
	}
	if b.Priority != nil {
		spec.Priority = int(*b.Priority)
	}
	return spec
}

// scheduleChangeJSON is a change of a schedule. What is absent or null stays as it is.
type scheduleChangeJSON struct {
	Version  wholeNumber    `json:"version" minimum:"1" doc:"Of the schedule as the caller has seen it; when it is another one now, the answer is 409 with the schedule as it is"`
	Name     *string        `json:"name,omitempty" nullable:"true" minLength:"1" maxLength:"100" doc:"A new name"`
	Task     *string        `json:"task,omitempty" nullable:"true" minLength:"1" maxLength:"200"`
	Cron     *string        `json:"cron,omitempty" nullable:"true" minLength:"1" doc:"In place of cron, every or at"`
	Every    *durationInput `json:"every,omitempty" doc:"In place of cron, every or at"`
	At       *momentInput   `json:"at,omitempty" nullable:"true" doc:"In place of cron, every or at"`
	Timezone *string        `json:"timezone,omitempty" nullable:"true" doc:"Empty for UTC"`
	Params   jsonObject     `json:"params,omitempty" doc:"In place of all the old ones"`
	Priority *wholeNumber   `json:"priority,omitempty" nullable:"true" minimum:"0" maximum:"10" doc:"0: as the type says"`
	Tags     *[]string      `json:"tags,omitempty" nullable:"true" maxItems:"20" doc:"In place of all the old ones"`
	Missed   *string        `json:"missed,omitempty" nullable:"true" enum:"skip,run_once,run_all"`
	Overlap  *string        `json:"overlap,omitempty" nullable:"true" enum:"skip,allow,queue_one"`
	Reason   string         `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

func (b *scheduleChangeJSON) timing() timing {
	t := timing{every: b.Every, at: b.At}
	if b.Cron != nil {
		t.cron = *b.Cron
	}
	if b.Timezone != nil {
		t.timezone = *b.Timezone
	}
	return t
}

func (b *scheduleChangeJSON) check(s *Server) []fieldError {
	_, faults := b.timing().read(true)
	if b.Name != nil {
		faults = append(faults, nameFaults(*b.Name)...)
	}
	if b.Task != nil {
		faults = append(faults, s.typeFaults(*b.Task)...)
	}
	if b.Tags != nil {
		faults = append(faults, tagFaults("", *b.Tags)...)
	}
	return append(faults, textBytes("/reason", b.Reason, actors.MaxReasonBytes)...)
}

func (b *scheduleChangeJSON) patch() actors.SchedulePatch {
	plan, _ := b.timing().read(true)
	patch := actors.SchedulePatch{
		Version: int64(b.Version), Name: b.Name, Task: b.Task, Cron: b.Cron, Timezone: b.Timezone, Params: json.RawMessage(b.Params),
		Tags: b.Tags, Missed: b.Missed, Overlap: b.Overlap,
	}
	if b.Every != nil {
		patch.Every = &plan.Every
	}
	if b.At != nil {
		patch.At = &plan.At
	}
	if b.Priority != nil {
		n := int(*b.Priority)
		patch.Priority = &n
	}
	return patch
}

func nameFaults(name string) []fieldError {
	err := tasks.CheckName(name)
	if err == nil && Reserved(name) {
		err = tasks.NewFault("name_reserved")
	}
	if err != nil && name != "" { // of an empty one the schema speaks
		return []fieldError{wrongBy("/name", err)}
	}
	return nil
}

// typeFaults looks for the type in the field task: here it is a wrong value like any other, and not an address.
func (s *Server) typeFaults(name string) []fieldError {
	if _, ok := s.runtime.Registry().Lookup(name); ok || name == "" {
		return nil
	}
	return []fieldError{wrong("/task", "no_type", clip(name))}
}
