package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reax/tasks"
	"reax/views"
)

// enqueueForm is the form of one task as somebody filled it in.
type enqueueForm struct {
	definition *tasks.Definition
	schema     formSchema
	values     url.Values
	zone       *time.Location // of the times in it
	whole      bool           // the parameters are one JSON text
	original   string         // the parameters of the task that this one is a copy of, with what the form does not show
	faults     map[string]fieldError
	fault      *fieldError // with the whole
	input      taskInputJSON
	delay      string // as the body has it
	timeout    string
}

func newEnqueueForm(d *tasks.Definition, values url.Values, zone *time.Location) *enqueueForm {
	f := &enqueueForm{definition: d, schema: formOf(d.Schema), values: values, zone: zone, faults: map[string]fieldError{}}
	if named, ok := zoneOf(values.Get("zone")); ok { // the zone may have been changed since the form was made
		f.zone = named
	}
	f.whole = values.Get("as") == "json" || len(f.schema.fields) == 0 && f.schema.open
	return f
}

func (f *enqueueForm) get(name string) string { return strings.TrimSpace(f.values.Get(name)) }

// read makes the request of the form and finds everything that is wrong with it.
func (f *enqueueForm) read(s *Server) {
	f.input = taskInputJSON{Type: f.definition.Name, UniqueKey: f.get("unique_key"), TraceID: strings.ToLower(f.get("trace_id"))}
	var params json.RawMessage
	if f.whole {
		params = json.RawMessage(strings.TrimSpace(lines(f.values.Get(wholeName))))
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		if fault := jsonFault(string(params)); fault != nil {
			f.faults[wholeName] = *fault
		}
	} else {
		var faults map[string]fieldError
		params, faults = f.schema.params(f.values, f.zone)
		maps.Copy(f.faults, faults)
	}
	if len(f.faults) == 0 {
		if !f.whole {
			params = f.schema.keepHidden(params, f.original)
		}
		filled, faults := s.unmask(f.definition.Name, params, f.original, "/params")
		for _, fault := range faults {
			f.add(fault)
		}
		params = filled
	}
	f.input.Params = jsonObject(params)
	f.readTimes()
	f.input.Priority = f.readNumber("priority", 1, 10)
	f.input.MaxRetries = f.readNumber("max_retries", 0, tasks.MaxRetriesCap)
	for tag := range strings.SplitSeq(lines(f.values.Get("tags")), "\n") {
		if tag = strings.TrimSpace(tag); tag != "" {
			f.input.Tags = append(f.input.Tags, tag)
		}
	}
	for _, fault := range f.input.check(s) {
		f.add(fault)
	}
	if _, broken := f.faults[wholeName]; !broken {
		for _, fault := range f.input.checkParams(s, "") {
			f.add(fault)
		}
	}
}

func (f *enqueueForm) readTimes() {
	switch f.get("when") {
	case "in":
		f.delay = f.get("delay")
		d := &durationInput{}
		if f.delay == "" {
			f.faults["delay"] = wrong("", "required")
			return
		}
		if d.duration, d.err = parseDuration(f.delay); d.err == nil {
			f.delay = spanText(d.duration)
		}
		f.input.Delay = d
	case "at":
		text := f.get("run_at")
		if text == "" {
			f.faults["run_at"] = wrong("", "required")
			return
		}
		at, err := parseClock(text, f.zone)
		if err != nil {
			f.faults["run_at"] = wrongBy("", errMoment)
			return
		}
		f.input.RunAt = &momentInput{time: at}
	}
	if text := f.get("timeout"); text != "" {
		d := &durationInput{}
		if d.duration, d.err = parseDuration(text); d.err == nil {
			f.timeout = spanText(d.duration)
		}
		f.input.Timeout = d
	}
}

// spanText is a duration as the API reads it.
func spanText(d time.Duration) string {
	if text := durationText(d); text != nil {
		return *text
	}
	return "0s"
}

func (f *enqueueForm) readNumber(name string, low, high int) *wholeNumber {
	text := f.get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		f.faults[name] = wrong("", "integer")
	case n < low || n > high:
		f.faults[name] = wrong("", "between", low, high)
	}
	number := wholeNumber(n)
	return &number
}

// add keeps a fault for the input that it belongs to.
func (f *enqueueForm) add(fault fieldError) {
	parts := strings.Split(strings.TrimPrefix(fault.Location, "/"), "/")
	name, rest := parts[0], parts[1:]
	if name == "params" {
		name = wholeName
		if !f.whole && len(rest) > 0 {
			name, rest = f.inputOf(unescapePointer(rest[0])), rest[1:]
		}
	}
	switch name {
	case wholeName, extraName, "tags", "priority", "max_retries", "timeout", "unique_key", "trace_id", "run_at", "delay":
	default:
		if !strings.HasPrefix(name, paramPrefix) {
			name = "" // nothing that the form asks for
		}
	}
	fault = fault.within(clip(unescapePointer(strings.Join(rest, "/"))))
	if name == wholeName && !f.whole || name == "" {
		f.fault = &fault
	} else if _, known := f.faults[name]; !known {
		f.faults[name] = fault
	}
}

// inputOf is the input for a parameter.
func (f *enqueueForm) inputOf(param string) string {
	for i := range f.schema.fields {
		if f.schema.fields[i].name == param {
			return paramPrefix + param
		}
	}
	if f.schema.open {
		return extraName
	}
	return ""
}

func (f *enqueueForm) bad() bool { return len(f.faults) > 0 || f.fault != nil }

// body is what a program would post to enqueue the same task, with its secrets hidden.
func (f *enqueueForm) body() string {
	var b bytes.Buffer
	add := func(name string, value json.RawMessage) {
		if len(value) > 0 {
			fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: "{", false: ","}[b.Len() == 0], name, value)
		}
	}
	text := func(name, value string) {
		if value != "" {
			add(name, quote(value))
		}
	}
	whole := func(name string, n *wholeNumber) {
		if n != nil {
			add(name, strconv.AppendInt(nil, int64(*n), 10))
		}
	}
	in := &f.input
	text("type", in.Type)
	add("params", json.RawMessage(f.definition.Schema.Mask(string(in.params()))))
	whole("priority", in.Priority)
	if in.RunAt != nil {
		text("run_at", in.RunAt.time.Format(time.RFC3339))
	}
	if in.Delay != nil {
		text("delay", f.delay)
	}
	whole("max_retries", in.MaxRetries)
	if in.Timeout != nil {
		text("timeout", f.timeout)
	}
	text("unique_key", in.UniqueKey)
	if len(in.Tags) > 0 {
		var tags [][]byte
		for _, tag := range in.Tags {
			tags = append(tags, quote(tag))
		}
		add("tags", append(append([]byte("["), bytes.Join(tags, []byte(","))...), ']'))
	}
	text("trace_id", in.TraceID)
	b.WriteByte('}')
	return indented(b.String())
}

// preview is what would be sent, and when it would run.
func (f *enqueueForm) preview(ctx context.Context, address string) *views.EnqueuePreview {
	p := &views.EnqueuePreview{When: views.T(ctx, "enqueue.runs_now"), Body: f.body()}
	p.Hidden = strings.Contains(p.Body, hidden)
	now := views.ViewerOf(ctx).Now
	switch in := &f.input; {
	case in.Delay != nil && in.Delay.duration > 0:
		p.When = f.runsAt(ctx, now.Add(in.Delay.duration), in.Delay.duration)
	case in.RunAt != nil && in.RunAt.time.After(now):
		p.When = f.runsAt(ctx, in.RunAt.time, in.RunAt.time.Sub(now))
	case in.RunAt != nil:
		p.When = views.T(ctx, "enqueue.runs_past")
	}
	p.Curl = "curl -sS " + shellWord(address) + " \\\n  -H 'Content-Type: application/json' \\\n  -d " + shellWord(p.Body)
	return p
}

func (f *enqueueForm) runsAt(ctx context.Context, at time.Time, left time.Duration) string {
	return views.T(ctx, "enqueue.runs_at", "at", at.In(f.zone).Format("2006-01-02 15:04:05 -07:00"), "left", views.Duration(ctx, left.Round(time.Second)))
}

// shellWord quotes text for a shell: between single quotes no letter has a meaning.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
