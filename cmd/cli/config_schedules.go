package cli

import (
	"errors"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/timetable"
	"reax/web"
)

// maxInterval is the longest interval of a schedule.
const maxInterval = 3660 * day

// scheduleConfig is one schedule as the configuration file describes it.
type scheduleConfig struct {
	actors.ScheduleSpec
	Bad bool // a problem was found in it already

	place value
}

// parseSchedule reads schedules.<name>.
func parseSchedule(name string, v value) scheduleConfig {
	before := v.doc.faults
	c := scheduleConfig{ScheduleSpec: actors.ScheduleSpec{Name: name}, place: v}
	moments := map[string]*time.Time{"at": &c.At, "anchor": &c.Anchor}
	written := map[string]value{}
	v.mapping(map[string]func(value){
		"task":     func(v value) { c.Task = v.text() },
		"cron":     func(v value) { c.Cron = v.text() },
		"every":    func(v value) { c.Every = v.duration(false, maxInterval) },
		"at":       func(v value) { written["at"] = v },
		"anchor":   func(v value) { written["anchor"] = v },
		"timezone": func(v value) { c.Timezone = v.text() },
		"params":   func(v value) { c.Params = v.json() },
		"priority": func(v value) { c.Priority = v.whole(1, 10) },
		"tags":     func(v value) { c.Tags = v.texts() },
		"missed":   func(v value) { c.Missed = v.oneOf(models.MissedSkip, models.MissedRunOnce, models.MissedRunAll) },
		"overlap":  func(v value) { c.Overlap = v.oneOf(models.OverlapSkip, models.OverlapAllow, models.OverlapQueueOne) },
	})
	if err := tasks.CheckName(name); err != nil {
		v.fail("%v", err)
	} else if web.Reserved(name) {
		v.fail("the name is reserved: new and preview are addresses of reax")
	}
	if c.Task == "" && v.doc.faults == before {
		v.fail("names no task type: task is needed")
	}
	if c.Anchor.IsZero() && written["anchor"].node != nil && c.Every == 0 {
		written["anchor"].fail("is only for every")
	}
	zone := c.checkZone()
	for key, item := range written {
		*moments[key] = item.moment(zone)
	}
	if v.doc.faults == before {
		c.checkPlan()
	}
	c.Bad = v.doc.faults > before
	return c
}

// checkZone gives the time zone; UTC when there is none, or no such one.
func (c *scheduleConfig) checkZone() *time.Location {
	if _, err := timetable.Parse(timetable.Spec{Every: time.Hour, Timezone: c.Timezone}); err != nil {
		c.fail(err)
		return time.UTC
	}
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (c *scheduleConfig) checkPlan() {
	if _, err := timetable.Parse(c.plan()); err != nil {
		c.fail(err)
	}
}

func (c *scheduleConfig) plan() timetable.Spec {
	return timetable.Spec{Cron: c.Cron, Every: c.Every, At: c.At, Timezone: c.Timezone, Anchor: c.Anchor}
}

// fail notes an error of the timetable at its key, or at the schedule when it does not have that key.
func (c *scheduleConfig) fail(err error) {
	if e, ok := errors.AsType[*timetable.FieldError](err); ok {
		c.place.at("/"+e.Field).fail("%s", e.Message)
		return
	}
	c.place.fail("%v", err)
}

// moment reads a moment; without an offset it is in the zone.
func (v value) moment(zone *time.Location) time.Time {
	text := v.text()
	if text == "" {
		return time.Time{}
	}
	t, err := parseMomentIn(text, zone)
	if err != nil {
		v.fail("%v", err)
	}
	return t
}

// scheduleSpecs are the schedules of the file, for the runtime.
func (c *Config) scheduleSpecs() []actors.ScheduleSpec {
	specs := make([]actors.ScheduleSpec, 0, len(c.Schedules))
	for i := range c.Schedules {
		specs = append(specs, c.Schedules[i].ScheduleSpec)
	}
	return specs
}

// scheduleProblems finds the places of what the runtime refuses: its locations begin with /schedules and the name. Any
// other error is given back as it is.
func (c *Config) scheduleProblems(err error) error {
	bad, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return err
	}
	var found problems
	for _, f := range bad.Fields {
		best := -1 // names may have slashes, so that one may begin with another
		for i := range c.Schedules {
			prefix := "/schedules/" + c.Schedules[i].Name
			if (f.Location == prefix || strings.HasPrefix(f.Location, prefix+"/")) && (best < 0 || len(c.Schedules[i].Name) > len(c.Schedules[best].Name)) {
				best = i
			}
		}
		if best >= 0 {
			schedule := &c.Schedules[best]
			found = append(found, schedule.problem(strings.TrimPrefix(f.Location, "/schedules/"+schedule.Name), f.Message))
		}
	}
	if len(found) < len(bad.Fields) {
		return err
	}
	return found.sorted()
}

func (c *scheduleConfig) problem(location, text string) problem {
	place := c.place
	if location != "" {
		place = place.at(location)
	}
	return problem{File: place.doc.file, Line: place.line, Path: place.path, Text: text}
}
