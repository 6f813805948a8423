package web

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reax/actors"
	"reax/models"
)

// alertRuleJSON is a rule as the configuration file writes it, with how it is now.
type alertRuleJSON struct {
	Name       string   `json:"name"`
	File       bool     `json:"file" doc:"Whether it stands in the configuration file, and can be changed only there"`
	When       string   `json:"when" enum:"dead,success_rate,oldest_wait,backlog,schedule_missed,slow_run,restarts,disk_low" doc:"What it looks at"`
	Over       *string  `json:"over" doc:"The limit: 10m of oldest_wait, a number of the others; null for kinds that have none or another one"`
	Below      *string  `json:"below" doc:"The limit: 90% of success_rate, 5GiB of disk_low"`
	Clear      *string  `json:"clear" doc:"Past which figure it is over; null is the limit"`
	Samples    *int64   `json:"samples"`
	Within     *string  `json:"within" doc:"In which restarts are counted"`
	Types      []string `json:"types" nullable:"false" doc:"The task types that it is about; none is all"`
	For        *string  `json:"for" doc:"How long it must hold before it begins; null is at once"`
	ClearAfter *string  `json:"clear_after"`
	Repeat     *string  `json:"repeat" doc:"How often it is told again; null is never"`
	Receivers  []string `json:"receivers" nullable:"false" doc:"Who is told; none is all"`

	State   string        `json:"state" enum:"ok,pending,firing"`
	Firing  int           `json:"firing" doc:"How many alerts it has that have not ended"`
	Pending int           `json:"pending" doc:"How many things it finds that may become one"`
	Mute    *ruleMuteJSON `json:"mute,omitempty" doc:"Absent when people are told of what it finds"`
}

// ruleMuteJSON keeps a rule from being told.
type ruleMuteJSON struct {
	Until  moment `json:"until" doc:"null: until somebody unmutes it"`
	Reason string `json:"reason"`
	By     string `json:"by"`
	At     moment `json:"at"`
}

func ruleView(r *alertRule) alertRuleJSON {
	has, below, samples, window := actors.AlertLimit(r.Kind)
	v := alertRuleJSON{
		Name: r.Name, File: r.File, When: r.Kind, Types: append([]string{}, r.Types...), Receivers: append([]string{}, r.Receivers...),
		For: durationText(r.For), ClearAfter: durationText(r.ClearAfter), Repeat: durationText(r.Repeat), State: "ok",
	}
	limit := actors.FormatAlertLimit(r.Kind, r.Limit)
	switch {
	case has && below:
		v.Below = &limit
	case has:
		v.Over = &limit
	}
	if r.Clear != 0 {
		text := actors.FormatAlertLimit(r.Kind, r.Clear)
		v.Clear = &text
	}
	if samples {
		v.Samples = &r.Samples
	}
	if window {
		v.Within = durationText(r.Window)
	}
	v.Firing, v.Pending = r.found()
	switch {
	case v.Firing > 0:
		v.State = "firing"
	case v.Pending > 0:
		v.State = "pending"
	}
	if r.mute.Holds(r.now) {
		v.Mute = &ruleMuteJSON{moment(r.mute.Until), r.mute.Reason, r.mute.Actor, moment(r.mute.At)}
	}
	return v
}

// limitInput is the limit of a rule in a body: a text with its unit, or a number. Reading it never fails: the schema has
// the word on what it may be.
type limitInput string

// UnmarshalJSON keeps the text.
func (l *limitInput) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &text)
	}
	*l = limitInput(text)
	return nil
}

// Schema tells the OpenAPI document what UnmarshalJSON reads.
func (*limitInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		AnyOf:    []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeInteger}, {Type: "null"}},
		Examples: []any{1000, "90%", "10m", "5GiB"},
	}
}

// ruleInputJSON is what a caller says of a rule: the keys are those of the configuration file. What is left out is as the
// kind of the rule has it.
type ruleInputJSON struct {
	Name       string         `json:"name" minLength:"1" maxLength:"100" doc:"Letters, digits and . _ - / :"`
	When       string         `json:"when" enum:"dead,success_rate,oldest_wait,backlog,schedule_missed,slow_run,restarts,disk_low" doc:"What it looks at"`
	Over       *limitInput    `json:"over,omitempty" doc:"The limit of oldest_wait, backlog, slow_run and restarts"`
	Below      *limitInput    `json:"below,omitempty" doc:"The limit of success_rate and disk_low"`
	Clear      *limitInput    `json:"clear,omitempty" doc:"Past which figure it is over"`
	Samples    *wholeNumber   `json:"samples,omitempty" nullable:"true" minimum:"1" maximum:"1000000" doc:"Of success_rate and slow_run: runs that there must be"`
	Within     *durationInput `json:"within,omitempty" doc:"Of restarts: in which they are counted"`
	Types      []string       `json:"types,omitempty" nullable:"true" maxItems:"100" doc:"The task types that it is about; report.* is all that begin so"`
	For        *durationInput `json:"for,omitempty" doc:"How long it must hold before it begins"`
	ClearAfter *durationInput `json:"clear_after,omitempty" doc:"How long it must be over before it ends"`
	Repeat     *durationInput `json:"repeat,omitempty" doc:"How often it is told again"`
	Receivers  []string       `json:"receivers,omitempty" nullable:"true" maxItems:"50" doc:"Who is told; without it, all"`
	Reason     string         `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

// rule is the rule that the body describes, and what cannot be read of it.
func (b *ruleInputJSON) rule() (rule actors.AlertRule, faults []fieldError) {
	rule = actors.AlertRule{Name: b.Name, AlertSpec: models.AlertSpec{Kind: b.When, Types: b.Types, Receivers: b.Receivers}}
	has, below, samples, window := actors.AlertLimit(b.When)
	limit := func(at string, from *limitInput, fits bool, to *int64) {
		if from == nil || *from == "null" {
			return
		}
		if !fits {
			faults = append(faults, wrong(at, "not_here"))
			return
		}
		n, err := actors.ParseAlertLimit(b.When, string(*from))
		if err == nil && n == 0 {
			faults = append(faults, wrong(at, "more_than", 0))
		} else if err != nil {
			faults = append(faults, wrong(at, "other", err))
		}
		*to = n
	}
	limit("/over", b.Over, has && !below, &rule.Limit)
	limit("/below", b.Below, has && below, &rule.Limit)
	limit("/clear", b.Clear, has, &rule.Clear)
	if b.Samples != nil && !samples {
		faults = append(faults, wrong("/samples", "not_here"))
	} else if b.Samples != nil {
		rule.Samples = int64(*b.Samples)
	}
	if b.Within != nil && !window {
		faults = append(faults, wrong("/within", "not_here"))
	}
	for at, span := range map[string]struct {
		from *durationInput
		to   *time.Duration
	}{"/within": {b.Within, &rule.Window}, "/for": {b.For, &rule.For}, "/clear_after": {b.ClearAfter, &rule.ClearAfter}, "/repeat": {b.Repeat, &rule.Repeat}} {
		faults = append(faults, span.from.within(at, maxDuration)...)
		if span.from != nil {
			*span.to = span.from.duration
		}
	}
	return rule.WithDefaults(), faults
}

func (b *ruleInputJSON) check(s *Server) []fieldError {
	rule, faults := b.rule()
	faults = append(faults, textBytes("/reason", b.Reason, actors.MaxReasonBytes)...)
	if len(faults) > 0 || b.When == "" || b.Name == "" { // of which the schema speaks
		return faults
	}
	for _, f := range actors.CheckAlertRule(rule, s.runtime.AlertOptions().Receivers) {
		f.Location = ruleField(rule.Kind, f.Location)
		faults = append(faults, fieldOf("", f))
	}
	return faults
}

// ruleField is what the body calls a field of models.AlertSpec.
func ruleField(kind, location string) string {
	_, below, _, _ := actors.AlertLimit(kind)
	switch location {
	case "/kind":
		return "/when"
	case "/window":
		return "/within"
	case "/limit":
		if below {
			return "/below"
		}
		return "/over"
	}
	return location
}

// found counts the alerts of the rule, and what may become one.
func (r *alertRule) found() (firing, pending int) {
	for i := range r.open {
		if r.open[i].BeganAt != 0 {
			firing++
		} else {
			pending++
		}
	}
	return firing, pending
}
