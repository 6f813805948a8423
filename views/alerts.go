package views

import (
	"context"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"reax/models"
)

// Alerts is what the alert rules find, with the rules and who is told.
type Alerts struct {
	Rules     []AlertRule
	Open      []AlertRow // the latest first
	History   []AlertRow // what is over, the latest first
	First     templ.SafeURL
	Older     templ.SafeURL
	Receivers [][2]string // names and kinds
}

// AlertRule is a rule with what it finds now. Limits are written as people write them.
type AlertRule struct {
	Name      string
	Kind      string
	File      bool // of the configuration file
	Limit     string
	Clear     string
	Samples   int64
	Window    string
	For       string // empty is at once
	After     string // it ends so long after
	Repeat    string // empty is never
	Types     []string
	Receivers []string // none is all
	Mute      models.AlertMute
	Muted     bool
	Firing    int
	Pending   int
}

// AlertRow is one alert.
type AlertRow struct {
	models.Alert
	Facts        models.AlertFacts
	Value, Limit string // as people write them
	Window       string
}

// AlertDetail is one rule with what can be done to it.
type AlertDetail struct {
	Rule AlertRule
	Open []AlertRow
	Form []Field // of a rule of the page
	Mute []Field
}

// AlertForm is the form for a new rule; without a kind it is the choice of one.
type AlertForm struct {
	Kind   string
	Kinds  []string
	Fields []Field
}

// alertColumns are the columns of a list of alerts that not every list has.
type alertColumns struct{ rule, ended bool }

func (c alertColumns) heads(ctx context.Context) []Column {
	heads := []Column{{Text: T(ctx, "alerts.about"), Class: "main"}, {Text: T(ctx, "alerts.state"), Class: "st"}}
	if c.rule {
		heads = append(heads, Column{Text: T(ctx, "alerts.rule"), Class: "opt"})
	}
	heads = append(heads, Column{Text: T(ctx, "alerts.since"), Class: "when"})
	if c.ended {
		heads = append(heads, Column{Text: T(ctx, "alerts.ended"), Class: "opt"})
	}
	return heads
}

func (r AlertRule) path() string { return "/alerts/" + Segment(r.Name) }

// mark is the rule's tone, icon and word.
func (r AlertRule) mark(ctx context.Context) (tone, icon, word string) {
	switch {
	case r.Muted:
		return "cancelled", "ban", T(ctx, "alerts.state.muted")
	case r.Firing > 0:
		return "failed", "alert", T(ctx, "alerts.state.firing", "n", r.Firing)
	case r.Pending > 0:
		return "retry_wait", "clock", T(ctx, "alerts.state.pending")
	}
	return "success", "check", T(ctx, "alerts.state.ok")
}

// what says in a sentence what the rule looks at.
func (r AlertRule) what(ctx context.Context) string {
	return T(ctx, "alerts.when."+r.Kind, "limit", r.Limit, "samples", r.Samples, "window", r.Window)
}

// when says how long it takes to begin and to end.
func (r AlertRule) when(ctx context.Context) string {
	var parts []string
	if r.For != "" {
		parts = append(parts, T(ctx, "alerts.for", "span", r.For))
	}
	if r.Clear != "" {
		parts = append(parts, T(ctx, "alerts.clear", "limit", r.Clear))
	}
	if r.After != "" {
		parts = append(parts, T(ctx, "alerts.after", "span", r.After))
	}
	if r.Repeat != "" {
		parts = append(parts, T(ctx, "alerts.repeat", "span", r.Repeat))
	}
	return strings.Join(parts, T(ctx, "alerts.comma"))
}

func (r AlertRule) about(ctx context.Context) string {
	switch {
	case r.Kind == models.AlertCrashes, r.Kind == models.AlertDisk:
		return "–"
	case len(r.Types) == 0:
		return T(ctx, "alerts.all_types")
	}
	return strings.Join(r.Types, ", ")
}

func (r AlertRule) told(ctx context.Context) string {
	if len(r.Receivers) == 0 {
		return T(ctx, "alerts.all_receivers")
	}
	return strings.Join(r.Receivers, ", ")
}

func (r AlertRule) facts(ctx context.Context) []Fact {
	facts := []Fact{
		{Label: T(ctx, "alerts.looks_at"), Value: r.what(ctx)}, {Label: T(ctx, "alerts.types"), Value: r.about(ctx)},
		{Label: T(ctx, "alerts.timing"), Value: r.when(ctx)}, {Label: T(ctx, "alerts.receivers"), Value: r.told(ctx)},
	}
	if r.Muted {
		until := T(ctx, "alerts.mute_open")
		if r.Mute.Until != 0 {
			until = Clock(ctx, r.Mute.Until)
		}
		facts = append(facts, Fact{Label: T(ctx, "alerts.muted_until"), Value: until}, Fact{Label: T(ctx, "alerts.muted_by"), Value: r.Mute.Actor},
			Fact{Label: T(ctx, "alerts.reason"), Value: r.Mute.Reason})
	}
	return facts
}

// mark is the alert's tone, icon and word.
func (r AlertRow) mark(ctx context.Context) (tone, icon, word string) {
	switch {
	case r.EndedAt != 0:
		return "success", "check", T(ctx, "alerts.state.over")
	case r.BeganAt == 0:
		return "retry_wait", "clock", T(ctx, "alerts.state.pending")
	}
	return "failed", "alert", T(ctx, "alerts.state.fires")
}

// subject is what the alert is about.
func (r AlertRow) subject(ctx context.Context) string {
	switch {
	case r.Facts.Name != "":
		return r.Facts.Name
	case r.Key != "":
		return T(ctx, "alerts.rest")
	}
	return T(ctx, "alerts.kind."+r.Kind)
}

func (r AlertRow) figure(ctx context.Context) string {
	return T(ctx, "alerts.figure."+r.Kind, "count", r.Facts.Count, "value", r.Value, "limit", r.Limit, "window", r.Window)
}

// url is the page of what the alert is about.
func (r AlertRow) url(ctx context.Context) templ.SafeURL {
	switch f := r.Facts; {
	case f.Fingerprint != "":
		return URL(ctx, "/dead/"+Segment(f.Name)+"/"+Segment(f.Fingerprint))
	case f.Task > 0:
		return URL(ctx, "/tasks/"+strconv.FormatInt(f.Task, 10))
	case r.Kind == models.AlertDead:
		return URL(ctx, "/dead")
	case r.Kind == models.AlertMissed && f.Name != "":
		return URL(ctx, "/schedules/"+Segment(f.Name))
	case r.Kind == models.AlertCrashes:
		return URL(ctx, "/actors")
	case f.Name != "":
		return URL(ctx, "/types/"+Segment(f.Name))
	}
	return ""
}

// told says who knows of the alert.
func (r AlertRow) told(ctx context.Context) string {
	if names := r.ToldTo.Names(); len(names) > 0 {
		return T(ctx, "alerts.told", "names", strings.Join(names, ", "))
	}
	return T(ctx, "alerts.untold")
}

// fileNote says where a rule can be changed that cannot be changed here.
func fileNote(ctx context.Context, file bool) string {
	if file {
		return T(ctx, "alerts.file_note")
	}
	return ""
}
