package web

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"reax/actors"
	"reax/tasks"
	"reax/views"
)

// maxExact is the largest integer that the number inputs of all browsers keep digit for digit.
const maxExact = 1 << 53

// view is the field of the form, the i-th of its parameters.
func (f *formField) view(ctx context.Context, i int, value, fault string) views.Field {
	n := &f.node
	v := views.Field{
		ID: "p-" + strconv.Itoa(i), Name: paramPrefix + f.name, Label: f.name, Kind: "text", Value: value, Help: n.Description,
		Required: f.required, Error: fault, Example: plainJSON(n.example()),
	}
	var hints []string
	if n.Title != "" && n.Title != f.name {
		v.Label = n.Title
		hints = append(hints, f.name)
	}
	if kind := f.kindHint(ctx); kind != "" {
		hints = append(hints, kind)
	}
	if def := plainJSON(n.Default); def != "" {
		hints = append(hints, views.T(ctx, "enqueue.default", "v", clip(def)))
		if v.Example == "" && f.kind != fieldList {
			v.Example = clip(def)
		}
	}
	v.Hint = strings.Join(hints, " · ")
	f.dress(ctx, &v)
	return v
}

// dress gives a field what its kind needs; the browser then refuses most of what the server would.
func (f *formField) dress(ctx context.Context, v *views.Field) {
	n := &f.node
	v.MinLen, v.MaxLen, v.Pattern = plainCount(n.MinLength), plainCount(n.MaxLength), htmlPattern(n.Pattern)
	switch f.kind {
	case fieldText:
		switch n.Format {
		case "email":
			v.Kind = "email"
		case "uri":
			v.Kind = "url"
		}
	case fieldLong:
		v.Kind, v.Rows = "textarea", "3"
	case fieldSecret:
		v.Kind, v.Value = "password", "" // a page never sends a secret back
	case fieldDate:
		v.Kind = "date"
	case fieldMoment:
		if _, err := time.Parse(time.RFC3339, v.Value); err != nil {
			v.Kind, v.Step = "datetime-local", "1"
		}
	case fieldInteger, fieldNumber:
		f.dressNumber(v)
	case fieldBool:
		f.dressBool(ctx, v)
	case fieldChoice:
		f.dressChoice(ctx, v)
	case fieldList:
		v.Kind, v.Rows, v.MinLen, v.MaxLen, v.Example = "textarea", "4", "", "", listExample(n)
	case fieldJSON:
		v.Kind, v.Rows, v.MinLen, v.MaxLen = "json", "6", "", ""
		if raw := n.example(); len(raw) > 0 {
			v.Example = clip(indented(string(raw)))
		}
	}
}

// dressNumber takes the number input of the browser where it keeps every digit, else one for text.
func (f *formField) dressNumber(v *views.Field) {
	v.MinLen, v.MaxLen, v.Pattern = "", "", ""
	low, errLow := strconv.ParseFloat(f.node.Minimum.String(), 64)
	high, errHigh := strconv.ParseFloat(f.node.Maximum.String(), 64)
	if errLow == nil && errHigh == nil && low > -maxExact && high < maxExact && (v.Value == "" || plainNumber(v.Value)) {
		v.Kind, v.Min, v.Max, v.Step = "number", f.node.Minimum.String(), f.node.Maximum.String(), "any"
		if f.kind == fieldInteger {
			v.Step = "1"
		}
		return
	}
	v.InputMode, v.Pattern = "decimal", `-?[0-9]+(\.[0-9]+)?([eE][+\-]?[0-9]+)?`
	if f.kind == fieldInteger {
		v.InputMode, v.Pattern = "numeric", `-?[0-9]+`
	}
}

func plainNumber(text string) bool { return len(text) <= 15 && jsonNumber.MatchString(text) }

func (f *formField) dressBool(ctx context.Context, v *views.Field) {
	if f.required {
		v.Kind, v.Required, v.Hint = "checkbox", false, ""
		return
	}
	v.Kind = "radio"
	v.Options = []views.Option{
		{Text: views.T(ctx, "enqueue.not_set")}, {Value: "true", Text: views.T(ctx, "enqueue.yes")}, {Value: "false", Text: views.T(ctx, "enqueue.no")},
	}
}

func (f *formField) dressChoice(ctx context.Context, v *views.Field) {
	v.Kind, v.MinLen, v.MaxLen = "select", "", ""
	if len(f.node.Enum) <= fewChoices {
		v.Kind = "radio"
	}
	if !f.required || v.Kind == "select" {
		v.Options = append(v.Options, views.Option{Text: views.T(ctx, "enqueue.not_set")})
	}
	for _, c := range f.node.Enum {
		v.Options = append(v.Options, views.Option{Value: string(c), Text: plainJSON(c)})
	}
}

// kindHint says what a field takes, where its input does not show it.
func (f *formField) kindHint(ctx context.Context) string {
	n := &f.node
	switch f.kind {
	case fieldInteger, fieldNumber:
		low, high := n.Minimum.String(), n.Maximum.String()
		switch {
		case len(low) > 15 || len(high) > 15 || low == "" && high == "":
			return views.T(ctx, "enqueue.type."+f.kind)
		case high == "":
			return views.T(ctx, "enqueue.type.from", "low", low)
		case low == "":
			return views.T(ctx, "enqueue.type.to", "high", high)
		}
		return views.T(ctx, "enqueue.type.range", "low", low, "high", high)
	case fieldSecret, fieldList, fieldJSON:
		return views.T(ctx, "enqueue.type."+f.kind)
	case fieldMoment:
		return views.ViewerOf(ctx).Zone.String()
	case fieldText:
		if n.Format == "duration" {
			return views.T(ctx, "enqueue.type.duration")
		}
	}
	return ""
}

// plainJSON is a value as people read it: a text without its quotes.
func plainJSON(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func listExample(n *formNode) string {
	var entries []json.RawMessage
	if json.Unmarshal(n.example(), &entries) != nil {
		return ""
	}
	var all []string
	for _, e := range entries[:min(len(entries), 4)] {
		all = append(all, plainJSON(e))
	}
	return strings.Join(all, "\n")
}

func plainCount(n json.Number) string {
	if count, err := n.Int64(); err == nil && count > 0 {
		return n.String()
	}
	return ""
}

// simplePattern has nothing that browsers read otherwise than the schema does.
var simplePattern = regexp.MustCompile(`^\^(?:[A-Za-z0-9_@:,;=#% -]|\\[dws.]|\[(?:[A-Za-z0-9_.](?:-[A-Za-z0-9])?)+\]|[+*?]|\{[0-9]+(?:,[0-9]*)?\})*\$$`)

// htmlPattern is a pattern as an attribute, which has to match from the first letter to the last. Of one that browsers
// may read otherwise the attribute is left out: the server judges it.
func htmlPattern(pattern string) string {
	if !simplePattern.MatchString(pattern) {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
}

// faultOf says what is wrong with an input; nothing when it is right.
func (f *enqueueForm) faultOf(ctx context.Context, name string) string {
	if fault, ok := f.faults[name]; ok {
		return faultText(ctx, fault)
	}
	return ""
}

// fields are those of the parameters.
func (f *enqueueForm) fields(ctx context.Context) (fields []views.Field, extra *views.Field) {
	if f.whole {
		return []views.Field{{
			ID: "p-all", Name: wholeName, Kind: "json", Label: views.T(ctx, "enqueue.params"), Hint: views.T(ctx, "enqueue.type.json"), Rows: "14",
			Value: lines(f.values.Get(wholeName)), Error: f.faultOf(ctx, wholeName),
		}}, nil
	}
	for i := range f.schema.fields {
		field := &f.schema.fields[i]
		name := paramPrefix + field.name
		fields = append(fields, field.view(ctx, i, lines(f.values.Get(name)), f.faultOf(ctx, name)))
	}
	if f.schema.open {
		extra = &views.Field{
			ID: "p-extra", Name: extraName, Kind: "json", Label: views.T(ctx, "enqueue.extra"), Hint: views.T(ctx, "enqueue.type.json"), Rows: "4",
			Value: lines(f.values.Get(extraName)), Error: f.faultOf(ctx, extraName), Help: views.T(ctx, "enqueue.extra_help"),
		}
	}
	return fields, extra
}

// view is the whole form.
func (f *enqueueForm) view(ctx context.Context) views.EnqueueForm {
	field := func(name, kind string) views.Field {
		return views.Field{
			ID: "f-" + name, Name: name, Kind: kind, Label: views.T(ctx, "enqueue.field."+name), Value: lines(f.values.Get(name)), Error: f.faultOf(ctx, name),
		}
	}
	page := views.EnqueueForm{Zone: f.zone.String(), Whole: f.whole, When: field("when", "radio"), Delay: field("delay", "text"), RunAt: field("run_at", "datetime-local")}
	page.Fields, page.Extra = f.fields(ctx)
	if f.fault != nil {
		page.Fault = faultText(ctx, *f.fault)
	}
	page.When.Options = []views.Option{
		{Value: "now", Text: views.T(ctx, "enqueue.now")}, {Value: "in", Text: views.T(ctx, "enqueue.in")}, {Value: "at", Text: views.T(ctx, "enqueue.at")},
	}
	if page.When.Value != "in" && page.When.Value != "at" {
		page.When.Value = "now"
	}
	page.Delay.Example, page.Delay.Hint = "10m", views.T(ctx, "enqueue.delay_hint")
	page.RunAt.Hint, page.RunAt.Step = f.zone.String(), "1"
	page.More = f.common(ctx, field)
	for _, more := range page.More {
		page.MoreOpen = page.MoreOpen || more.Value != "" || more.Error != ""
	}
	return page
}

// common are the fields that every type has.
func (f *enqueueForm) common(ctx context.Context, field func(name, kind string) views.Field) []views.Field {
	policy := f.definition.Policy
	priority := field("priority", "select")
	priority.Options = []views.Option{{Text: views.T(ctx, "enqueue.priority_default", "p", priorityName(ctx, policy.Priority))}}
	for p := 1; p <= 10; p++ {
		priority.Options = append(priority.Options, views.Option{Value: strconv.Itoa(p), Text: priorityName(ctx, p)})
	}
	retries := field("max_retries", "number")
	retries.Min, retries.Max, retries.Step, retries.Example = "0", strconv.Itoa(tasks.MaxRetriesCap), "1", strconv.Itoa(policy.MaxRetries)
	timeout := field("timeout", "text")
	timeout.Hint, timeout.Example = views.T(ctx, "enqueue.timeout_hint"), spanText(policy.Timeout)
	key := field("unique_key", "text")
	key.MaxLen, key.Help = strconv.Itoa(actors.MaxUniqueKeyBytes), views.T(ctx, "enqueue.unique_help")
	tags := field("tags", "textarea")
	tags.Rows, tags.Hint = "2", views.T(ctx, "enqueue.type.list")
	trace := field("trace_id", "text")
	trace.MaxLen, trace.Pattern, trace.Hint = "32", "[0-9a-fA-F]{32}", views.T(ctx, "enqueue.trace_hint")
	return []views.Field{priority, retries, timeout, key, tags, trace}
}

func priorityName(ctx context.Context, p int) string {
	switch p {
	case 1:
		return fmt.Sprintf("%d – %s", p, views.T(ctx, "enqueue.most_urgent"))
	case 10:
		return fmt.Sprintf("%d – %s", p, views.T(ctx, "enqueue.least_urgent"))
	}
	return strconv.Itoa(p)
}
