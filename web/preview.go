package web

import (
	"context"
	"errors"
	"time"

	"reax/models"
	"reax/timetable"
)

// PreviewJSON is when a schedule would run, as the API and the command line show it.
type PreviewJSON struct {
	Runs          []UpcomingJSON `json:"runs" nullable:"false" doc:"Fewer than asked for when there are no more"`
	Description   string         `json:"description" doc:"What was understood, in English"`
	DescriptionZh string         `json:"description_zh" doc:"The same in Chinese"`
}

// UpcomingJSON is one run to come.
type UpcomingJSON struct {
	At       moment `json:"at"`
	Local    string `json:"local" format:"date-time" doc:"The same instant in the time zone of the schedule, with its offset"`
	Wall     string `json:"wall" doc:"The planned date and time of day; with the note gap, no clock ever shows it"`
	Note     string `json:"note,omitempty" enum:"gap,repeated,doubled,zone_change" doc:"What daylight saving does to this run"`
	NoteText string `json:"note_text,omitempty" doc:"The note as a sentence"`
}

// Preview lists the next n runs after from; n is taken as 1 to timetable.MaxPreview.
func Preview(t *timetable.Timetable, from time.Time, n int) PreviewJSON {
	return PreviewJSON{Runs: upcoming(t, from, n), Description: t.Describe("en"), DescriptionZh: t.Describe("zh")}
}

func upcoming(t *timetable.Timetable, from time.Time, n int) []UpcomingJSON {
	runs := []UpcomingJSON{}
	for _, o := range t.Preview(from, n) {
		runs = append(runs, UpcomingJSON{
			At: moment(models.At(o.At)), Local: o.At.Format(time.RFC3339), Wall: o.Wall, Note: o.Note, NoteText: o.NoteText("en"),
		})
	}
	return runs
}

type previewInput struct {
	Cron     string `query:"cron" doc:"A cron pattern of five fields, or @daily and its like"`
	Every    string `query:"every" doc:"Or an interval such as 90m, or a number of seconds"`
	At       string `query:"at" doc:"Or one instant (RFC 3339)"`
	Timezone string `query:"timezone" doc:"An IANA name such as Europe/Berlin; default UTC"`
	Anchor   string `query:"anchor" doc:"Where an interval counts from (RFC 3339); default from"`
	From     string `query:"from" doc:"Runs after this instant (RFC 3339); default now"`
	N        int    `query:"n" minimum:"1" maximum:"100" default:"10" doc:"How many runs"`
}

type previewOutput struct{ Body PreviewJSON }

func (s *Server) previewSchedule(_ context.Context, in *previewInput) (*previewOutput, error) {
	t, from, faults := in.read(time.Now())
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	return &previewOutput{Body: Preview(t, from, in.N)}, nil
}

// read gives the timetable that is asked for, and the instant after which to look. It names every parameter that is
// wrong.
func (in *previewInput) read(now time.Time) (t *timetable.Timetable, from time.Time, faults []fieldError) {
	instant := func(name, text string, otherwise time.Time) time.Time {
		if text == "" {
			return otherwise
		}
		at, err := parseMoment(text)
		if err != nil {
			faults = append(faults, wrongBy("query."+name, err))
		}
		return at
	}
	spec := timetable.Spec{Cron: in.Cron, Timezone: in.Timezone, At: instant("at", in.At, time.Time{})}
	from = instant("from", in.From, now)
	spec.Anchor = instant("anchor", in.Anchor, from.Truncate(time.Second))
	if in.Every != "" {
		every, err := parseDuration(in.Every)
		if err == nil && every == 0 {
			err = errors.New("must be longer than 0")
		}
		if err != nil {
			faults = append(faults, wrongBy("query.every", err))
		}
		spec.Every = every
	}
	t, bad := parseTimetable(spec, "query.", len(faults) == 0)
	return t, from, append(faults, bad...)
}

// parseTimetable names a bad time zone and a bad plan at once, each at its place: prefix and the name of the field. When
// the plan could not be read whole, only the zone and the pattern are looked at.
func parseTimetable(spec timetable.Spec, prefix string, whole bool) (*timetable.Timetable, []fieldError) {
	t, err := timetable.Parse(spec)
	if err == nil && whole {
		return t, nil
	}
	var faults []fieldError
	check := func(part timetable.Spec) {
		_, err := timetable.Parse(part)
		if e, ok := errors.AsType[*timetable.FieldError](err); ok {
			faults = append(faults, fieldError{Location: prefix + e.Field, Message: e.Message, Code: e.Code, args: e.Args, part: e.Part})
		}
	}
	check(timetable.Spec{Every: time.Hour, Timezone: spec.Timezone})
	switch spec.Timezone = ""; {
	case whole:
		check(spec)
	case spec.Cron != "":
		check(timetable.Spec{Cron: spec.Cron})
	}
	return nil, faults
}
