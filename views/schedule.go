package views

import (
	"context"
	"fmt"
	"strings"

	"reax/models"
)

// Schedule is the page of one schedule. Its texts are in the viewer's language.
type Schedule struct {
	PlanRow
	Upcoming []Upcoming
	Params   string // for people to read, without what must not be shown
	Tags     []string
	Known    bool // there is a handler for its task type
	Audit    []models.Audit
	Token    string // of the form that runs it now
}

// Upcoming is one run to come.
type Upcoming struct {
	At   models.Instant
	Wall string // date and time of day on the clock of the schedule
	Note string // what daylight saving does to it
}

// noted reports whether daylight saving touches one of the runs.
func noted(runs []Upcoming) bool {
	for _, u := range runs {
		if u.Note != "" {
			return true
		}
	}
	return false
}

func (s Schedule) facts(ctx context.Context) []Fact {
	priority := T(ctx, "schedules.as_type")
	if s.Priority != 0 {
		priority = fmt.Sprint(s.Priority)
	}
	facts := []Fact{
		{Label: T(ctx, "schedules.task"), Value: s.Task, URL: URL(ctx, "/types/"+Segment(s.Task))},
		{Label: T(ctx, "schedules.expression"), Value: s.expression(ctx), Mono: true},
		{Label: T(ctx, "schedules.zone"), Value: s.Zone.String()},
	}
	if s.EveryUS != 0 {
		facts = append(facts, Fact{Label: T(ctx, "schedules.anchor"), Value: wall(s.Anchor, s.Zone)})
	}
	return append(facts,
		Fact{Label: T(ctx, "schedules.if_missed"), Value: T(ctx, "schedules.missed_long."+s.Missed)},
		Fact{Label: T(ctx, "schedules.if_overlap"), Value: T(ctx, "schedules.overlap_long."+s.Overlap)},
		Fact{Label: T(ctx, "schedules.priority"), Value: priority},
		Fact{Label: T(ctx, "schedules.tags"), Value: strings.Join(s.Tags, ", ")},
		Fact{Label: T(ctx, "schedules.runs"), Value: Number(s.Runs)},
		Fact{Label: T(ctx, "schedules.missed_count"), Value: Number(s.MissedCount)},
		Fact{Label: T(ctx, "schedules.overlap_count"), Value: Number(s.OverlapCount)},
		Fact{Label: T(ctx, "schedules.changed"), Value: strings.TrimSpace(Clock(ctx, s.UpdatedAt) + " " + s.UpdatedBy)},
		Fact{Label: T(ctx, "schedules.version"), Value: fmt.Sprint(s.Version)},
	)
}

// cells are the strip with a link and a text for each occurrence.
func (s Schedule) cells(ctx context.Context) []Cell {
	var cells []Cell
	for _, p := range s.Past {
		cells = append(cells, Cell{Tone: p.tone(), Text: wall(p.At, s.Zone) + ": " + p.word(ctx), URL: p.url(ctx)})
	}
	return cells
}

// shownPast is how many of the occurrences the table lists.
const shownPast = 20

// latest are the latest occurrences, newest first.
func (s Schedule) latest() []PastRun {
	var rows []PastRun
	for i := len(s.Past) - 1; i >= 0 && len(rows) < shownPast; i-- {
		rows = append(rows, s.Past[i])
	}
	return rows
}

// reason says why an occurrence made no task, or made it late.
func (p PastRun) reason(ctx context.Context) string {
	switch {
	case p.Note != "":
		return preview(p.Note)
	case p.Outcome == models.OccurrenceMissed:
		return T(ctx, "schedules.reason.missed")
	case p.Outcome == models.OccurrenceOverlap:
		return T(ctx, "schedules.reason.overlap")
	case p.Outcome == models.OccurrenceQueued:
		return T(ctx, "schedules.reason.queued")
	case p.Late:
		return T(ctx, "schedules.reason.late", "span", Duration(ctx, p.CreatedAt.Sub(p.At)))
	}
	return ""
}

// SwitchForm is the form that pauses a schedule.
type SwitchForm struct {
	Name   string
	Reason Field
	Until  Field
}

func deleteConfirmation(ctx context.Context, name string) Confirmation {
	path := "/schedules/" + Segment(name)
	return Confirmation{
		ID: "delete", Text: T(ctx, "schedules.delete.text"), Action: URL(ctx, path+"/delete"), Reason: T(ctx, "schedules.reason"),
		Button: T(ctx, "schedules.delete.button"), Danger: true, Back: URL(ctx, path),
	}
}

func noNextText(ctx context.Context, s Schedule) string {
	switch {
	case s.Paused:
		return T(ctx, "schedules.no_next.paused")
	case s.Error != "":
		return T(ctx, "schedules.no_next.error")
	}
	return T(ctx, "schedules.no_next.over")
}
