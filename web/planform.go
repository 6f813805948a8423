package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/timetable"
)

// planForm is the form of a schedule as a browser sends it. Its values are texts, so that a form that was refused comes
// back as it was written.
type planForm struct {
	name, task, kind, cron, every, at, timezone string
	params, priority, tags, missed, overlap     string
	reason                                      string
	version                                     int64
	faults                                      map[string]fieldError // by field
}

// The kinds of plan that the form has an input for.
const (
	planCron  = "cron"
	planEvery = "every"
	planAt    = "at"
)

var planKinds = []string{planCron, planEvery, planAt}

func readPlanForm(v url.Values) *planForm {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	f := &planForm{
		name: get("name"), task: get("task"), kind: cmp.Or(get("kind"), planCron), cron: get("cron"), every: get("every"), at: get("at"),
		timezone: get("timezone"), params: get("params"), priority: get("priority"), tags: get("tags"), missed: get("missed"),
		overlap: get("overlap"), reason: get("reason"), faults: map[string]fieldError{},
	}
	f.version, _ = strconv.ParseInt(v.Get("version"), 10, 64)
	if !slices.Contains(planKinds, f.kind) {
		f.kind = planCron
	}
	return f
}

// planFormOf is a stored schedule as the form shows it.
func planFormOf(c *models.Schedule, params string) *planForm {
	f := &planForm{
		name: c.Name, task: c.Task, kind: planCron, cron: c.Cron, timezone: cmp.Or(c.Timezone, "UTC"), params: indented(params),
		tags: strings.Join(tagsOf(c.Tags), ", "), missed: c.Missed, overlap: c.Overlap, version: c.Version, faults: map[string]fieldError{},
	}
	if c.Priority != 0 {
		f.priority = strconv.Itoa(c.Priority)
	}
	switch {
	case c.EveryUS != 0:
		f.kind, f.every = planEvery, *durationText(c.Every())
	case c.At != 0:
		f.kind, f.at = planAt, c.At.Time().In(scheduleZone(c)).Format("2006-01-02T15:04:05")
	}
	return f
}

// fault keeps the first thing that is wrong with a field.
func (f *planForm) fault(field string, fault fieldError) {
	if _, known := f.faults[field]; !known {
		f.faults[field] = fault
	}
}

// faultOf says what is wrong with a field; nothing when it is right.
func (f *planForm) faultOf(ctx context.Context, field string) string {
	if fault, ok := f.faults[field]; ok {
		return faultText(ctx, fault)
	}
	return ""
}

// plan reads when the schedule runs. anchor is where an interval counts from.
func (f *planForm) plan(anchor time.Time) (timetable.Spec, *timetable.Timetable) {
	spec := timetable.Spec{Timezone: f.timezone}
	before := len(f.faults)
	switch f.kind {
	case planCron:
		spec.Cron = f.cron
	case planEvery:
		spec.Anchor = anchor
		var err error
		if spec.Every, err = parseDuration(f.every); err == nil && spec.Every == 0 {
			err = tasks.NewFault("duration_zero")
		} else if _, number := strconv.ParseFloat(f.every, 64); number == nil {
			err = errDuration // "90" says nothing of its unit
		}
		if err != nil && f.every != "" {
			f.fault("every", wrongBy("", err))
		}
	case planAt:
		zone, ok := zoneOf(cmp.Or(f.timezone, "UTC"))
		if !ok {
			zone = time.UTC // the zone has its own fault
		}
		var err error
		if spec.At, err = parseClock(f.at, zone); err != nil && f.at != "" {
			f.fault("at", wrongBy("", errMoment))
		}
	}
	table, bad := parseTimetable(spec, "", len(f.faults) == before && f.timed())
	for _, b := range bad {
		f.fault(b.Location, b)
	}
	return spec, table
}

// timed reports whether the input of the chosen kind has been filled in.
func (f *planForm) timed() bool {
	return map[string]string{planCron: f.cron, planEvery: f.every, planAt: f.at}[f.kind] != ""
}

// tagList are the tags between the commas.
func (f *planForm) tagList() []string {
	tags := []string{}
	for _, tag := range strings.FieldsFunc(f.tags, func(r rune) bool { return r == ',' || r == '，' }) {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// object is the parameters without the white space that only people need.
func (f *planForm) object() json.RawMessage {
	if f.params == "" {
		return json.RawMessage("{}")
	}
	var out bytes.Buffer
	if json.Compact(&out, []byte(f.params)) != nil {
		return json.RawMessage(f.params) // the runtime says what is wrong with it
	}
	return out.Bytes()
}

func (f *planForm) priorityNumber() int {
	n, err := strconv.Atoi(f.priority)
	if f.priority != "" && (err != nil || n < 1 || n > 10) {
		f.fault("priority", wrong("", "between", 1, 10))
	}
	return n
}

// spec is a new schedule.
func (f *planForm) spec() actors.ScheduleSpec {
	plan, _ := f.plan(time.Time{})
	return actors.ScheduleSpec{
		Name: f.name, Task: f.task, Cron: plan.Cron, Every: plan.Every, At: plan.At, Timezone: f.timezone, Params: f.object(),
		Priority: f.priorityNumber(), Tags: f.tagList(), Missed: f.missed, Overlap: f.overlap,
	}
}

// patch is what the form changes about a schedule. shown is the form as it was before, so that what nobody touched stays
// exactly as it is: an instant in a repeated hour, parameters with hidden values.
func (f *planForm) patch(c *models.Schedule, shown *planForm) actors.SchedulePatch {
	plan, _ := f.plan(c.Anchor.Time())
	priority, tags := f.priorityNumber(), f.tagList()
	p := actors.SchedulePatch{
		Version: f.version, Name: &f.name, Task: &f.task, Timezone: &f.timezone, Priority: &priority, Missed: &f.missed, Overlap: &f.overlap,
	}
	if f.tags != shown.tags {
		p.Tags = &tags
	}
	switch {
	case f.kind == planCron:
		p.Cron = &plan.Cron
	case f.kind == planEvery:
		p.Every = &plan.Every
	case f.kind != shown.kind || f.at != shown.at || f.timezone != shown.timezone:
		p.At = &plan.At
	}
	if object := f.object(); !bytes.Equal(object, shown.object()) {
		p.Params = object
	}
	return p
}

// differing are the fields that are something else in another form, with what they are there.
func (f *planForm) differing(other *planForm) map[string]string {
	all := map[string]string{}
	for name, pair := range map[string][2]string{
		"name": {f.name, other.name}, "task": {f.task, other.task}, "kind": {f.kind, other.kind}, "timezone": {cmp.Or(f.timezone, "UTC"), other.timezone},
		"params": {string(f.object()), string(other.object())}, "priority": {f.priority, other.priority},
		"tags": {strings.Join(f.tagList(), ", "), other.tags}, "missed": {cmp.Or(f.missed, models.MissedRunOnce), other.missed},
		"overlap": {cmp.Or(f.overlap, models.OverlapSkip), other.overlap},
	} {
		if pair[0] != pair[1] {
			all[name] = pair[1]
		}
	}
	switch {
	case f.cron != other.cron && other.kind == planCron:
		all[planCron] = other.cron
	case f.every != other.every && other.kind == planEvery:
		all[planEvery] = other.every
	case f.at != other.at && other.kind == planAt:
		all[planAt] = other.at
	}
	return all
}

// refused keeps what the runtime has against the form, each at its field, and reports whether that was all.
func (f *planForm) refused(ctx context.Context, err error) bool {
	if large, ok := errors.AsType[*actors.TooLargeError](err); ok {
		f.fault("params", wrong("", "other", tooLargeText(ctx, large)))
		return true
	}
	if errors.Is(err, actors.ErrUnknownType) {
		f.fault("task", wrong("", "no_type", clip(f.task)))
		return true
	}
	bad, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return false
	}
	for _, b := range bad.Fields {
		field, rest, _ := strings.Cut(strings.TrimPrefix(b.Location, "/"), "/")
		if field != "tags" && rest != "" {
			rest = "/" + rest
		}
		fault := fieldOf("", b).within(clip(rest))
		fault.Message = clip(fault.Message)
		f.fault(field, fault)
	}
	return true
}
