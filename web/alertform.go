package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// alertExamples are limits as people write them, by kind of rule.
var alertExamples = map[string]string{
	models.AlertSuccess: "90%", models.AlertWait: "10m", models.AlertBacklog: "1000", models.AlertSlow: "3", models.AlertCrashes: "5", models.AlertDisk: "5GiB",
}

// alertValues are the inputs of the form for a rule.
func alertValues(r *actors.AlertRule) url.Values {
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return actors.FormatAlertSpan(d)
	}
	limit := func(n int64) string {
		if n == 0 {
			return ""
		}
		return actors.FormatAlertLimit(r.Kind, n)
	}
	return url.Values{
		"name": {r.Name}, "kind": {r.Kind}, "limit": {limit(r.Limit)}, "clear": {limit(r.Clear)}, "samples": {strconv.FormatInt(r.Samples, 10)},
		"window": {span(r.Window)}, "types": {strings.Join(r.Types, "\n")}, "for": {span(r.For)}, "clear_after": {span(r.ClearAfter)},
		"repeat": {span(r.Repeat)}, "receivers": {strings.Join(r.Receivers, "\n")},
	}
}

// alertFields is the form for a rule of a kind. faults has what is wrong by the name of the input.
func (s *Server) alertFields(ctx context.Context, kind string, form url.Values, faults map[string]string) []views.Field {
	field := func(name, input, label string) views.Field {
		return views.Field{ID: "alert-" + name, Name: name, Kind: input, Label: views.T(ctx, label), Value: form.Get(name), Error: faults[name], MaxLen: "100"}
	}
	name := field("name", "text", "alerts.field.name")
	name.Required = true
	fields := []views.Field{{Name: "kind", Kind: "hidden", Value: kind}, name}
	has, below, samples, window := actors.AlertLimit(kind)
	if has {
		limit := field("limit", "text", "alerts.field.limit.over")
		if below {
			limit.Label = views.T(ctx, "alerts.field.limit.below")
		}
		limit.Required, limit.Help = true, views.T(ctx, "alerts.help.limit", "example", alertExamples[kind])
		fields = append(fields, limit)
	}
	if samples {
		least := field("samples", "number", "alerts.field.samples")
		least.Min, least.MaxLen = "1", ""
		fields = append(fields, least)
	}
	if window {
		fields = append(fields, field("window", "text", "alerts.field.window"))
	}
	add := func(name, input, label, help string) {
		f := field(name, input, label)
		f.Help = help
		if input == "textarea" {
			f.Rows, f.MaxLen = "3", ""
		}
		fields = append(fields, f)
	}
	if kind != models.AlertCrashes && kind != models.AlertDisk {
		add("types", "textarea", "alerts.field.types", views.T(ctx, "alerts.help.types"))
	}
	add("for", "text", "alerts.field.for", views.T(ctx, "alerts.help.for"))
	if has && kind != models.AlertSlow {
		add("clear", "text", "alerts.field.clear", views.T(ctx, "alerts.help.clear"))
	}
	if kind == models.AlertDead {
		add("clear_after", "text", "alerts.field.clear_after", views.T(ctx, "alerts.help.clear_after_dead"))
	} else {
		add("clear_after", "text", "alerts.field.clear_after", views.T(ctx, "alerts.help.clear_after"))
	}
	add("repeat", "text", "alerts.field.repeat", views.T(ctx, "alerts.help.repeat"))
	var names []string
	for _, r := range s.runtime.AlertOptions().Receivers {
		names = append(names, r.Name)
	}
	help := views.T(ctx, "alerts.help.receivers_none")
	if len(names) > 0 {
		help = views.T(ctx, "alerts.help.receivers", "names", strings.Join(names, ", "))
	}
	add("receivers", "textarea", "alerts.field.receivers", help)
	return fields
}

// readAlertForm reads a rule, and says what cannot be read of it by the name of the input.
func readAlertForm(ctx context.Context, kind string, form url.Values) (actors.AlertRule, map[string]string) {
	faults := map[string]string{}
	r := actors.AlertRule{Name: strings.TrimSpace(form.Get("name")), AlertSpec: models.AlertSpec{
		Kind: kind, Types: strings.Fields(form.Get("types")), Receivers: strings.Fields(form.Get("receivers")),
	}}
	limit := func(name string, to *int64) {
		if text := form.Get(name); strings.TrimSpace(text) != "" {
			n, err := actors.ParseAlertLimit(kind, text)
			if err != nil {
				faults[name] = views.T(ctx, "alerts.bad_limit", "example", alertExamples[kind])
			}
			*to = n
		}
	}
	span := func(name string, to *time.Duration) {
		if text := strings.TrimSpace(form.Get(name)); text != "" {
			d, err := actors.ParseAlertSpan(text)
			if err != nil {
				faults[name] = views.T(ctx, "alerts.span")
			}
			*to = d
		}
	}
	has, _, samples, window := actors.AlertLimit(kind)
	if has {
		limit("limit", &r.Limit)
		limit("clear", &r.Clear)
	}
	if text := strings.TrimSpace(form.Get("samples")); samples && text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			faults["samples"] = views.T(ctx, "alerts.number")
		}
		r.Samples = n
	}
	if window {
		span("window", &r.Window)
	}
	span("for", &r.For)
	span("clear_after", &r.ClearAfter)
	span("repeat", &r.Repeat)
	return r.WithDefaults(), faults
}
