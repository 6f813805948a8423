package web

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"reax/tasks"
)

// The names of a form's inputs: of a parameter, of further ones as JSON, and of all of them as JSON.
const (
	paramPrefix = "p."
	extraName   = "extra"
	wholeName   = "params"
)

// jsonNumber is a number as JSON writes it.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// quote writes text as a JSON string, letter by letter.
func quote(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}

// lines undoes how browsers send the ends of lines.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// value is what a form says of a parameter, as JSON; nothing when it was left out. What does not fit its kind becomes a
// text, so that the schema is the one to say what is wrong with it.
func (f *formField) value(form url.Values, zone *time.Location) (raw json.RawMessage, fault *fieldError) {
	text := lines(form.Get(paramPrefix + f.name))
	plain := strings.TrimSpace(text)
	switch f.kind {
	case fieldBool:
		if plain == "true" || plain == "false" {
			return json.RawMessage(plain), nil
		}
		if f.required {
			return json.RawMessage("false"), nil // a box that is not ticked
		}
		return nil, nil
	case fieldList:
		return f.listValue(text), nil
	}
	if text == "" || plain == "" && f.kind != fieldText && f.kind != fieldLong && f.kind != fieldSecret {
		return nil, nil
	}
	switch f.kind {
	case fieldInteger, fieldNumber:
		return numberValue(plain), nil
	case fieldChoice:
		if slices.ContainsFunc(f.node.Enum, func(c json.RawMessage) bool { return string(c) == text }) {
			return json.RawMessage(text), nil
		}
	case fieldMoment:
		if _, err := time.Parse(time.RFC3339, plain); err != nil {
			if at, err := parseClock(plain, zone); err == nil {
				return quote(at.Format(time.RFC3339)), nil
			}
		}
		return quote(plain), nil
	case fieldDate:
		return quote(plain), nil
	case fieldJSON:
		return json.RawMessage(plain), jsonFault(plain)
	}
	return quote(text), nil
}

func numberValue(text string) json.RawMessage {
	if jsonNumber.MatchString(text) {
		return json.RawMessage(text)
	}
	return quote(text)
}

func (f *formField) listValue(text string) json.RawMessage {
	var entries [][]byte
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if f.itemKind == fieldInteger || f.itemKind == fieldNumber {
			entries = append(entries, numberValue(strings.TrimSpace(line)))
		} else {
			entries = append(entries, quote(line))
		}
	}
	if len(entries) == 0 && !f.required {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(entries, []byte(",")), []byte("]"))
}

// params puts a form together to the parameters of a task. faults are those of the inputs, by their names, that no
// schema could judge.
func (s *formSchema) params(form url.Values, zone *time.Location) (params json.RawMessage, faults map[string]fieldError) {
	faults = map[string]fieldError{}
	var b bytes.Buffer
	add := func(name string, value json.RawMessage) {
		b.WriteString(map[bool]string{true: "{", false: ","}[b.Len() == 0])
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(value)
	}
	for i := range s.fields {
		f := &s.fields[i]
		raw, fault := f.value(form, zone)
		if fault != nil {
			faults[paramPrefix+f.name] = *fault
		} else if raw != nil {
			add(f.name, raw)
		}
	}
	if extra := strings.TrimSpace(lines(form.Get(extraName))); s.open && extra != "" {
		fault := jsonFault(extra)
		refuse := func(code string) {
			if fault == nil {
				fault = new(wrong("", code))
			}
		}
		if extra[0] != '{' {
			refuse("object")
		}
		for _, m := range members(json.RawMessage(extra)) {
			if slices.ContainsFunc(s.fields, func(f formField) bool { return f.name == m.name }) {
				refuse("own_field")
			}
			add(m.name, m.value)
		}
		if fault != nil {
			faults[extraName] = *fault
		}
	}
	if b.Len() == 0 {
		return json.RawMessage("{}"), faults
	}
	b.WriteByte('}')
	return b.Bytes(), faults
}

// fill is the form of some parameters. ok tells whether the form says just the same as they do, but for values that are
// hidden: those are left empty.
func (s *formSchema) fill(params json.RawMessage) (form url.Values, ok bool) {
	form = url.Values{}
	if len(s.fields) == 0 || tasks.CheckJSON(params, tasks.MaxDepth) != nil {
		return form, false
	}
	var extra []member
	for _, m := range members(params) {
		i := slices.IndexFunc(s.fields, func(f formField) bool { return f.name == m.name })
		if i < 0 {
			if !s.open {
				return form, false
			}
			extra = append(extra, m)
			continue
		}
		text, ok := s.fields[i].text(m.value)
		if !ok {
			return form, false
		}
		form.Set(paramPrefix+m.name, text)
	}
	if len(extra) > 0 {
		var b bytes.Buffer
		for _, m := range extra {
			b.WriteString(map[bool]string{true: "{\n  ", false: ",\n  "}[b.Len() == 0])
			b.Write(quote(m.name))
			b.WriteString(": ")
			b.Write(m.value)
		}
		b.WriteString("\n}")
		form.Set(extraName, b.String())
	}
	return form, true
}

// text is how a value stands in its input, and whether the input can hold it.
func (f *formField) text(raw json.RawMessage) (text string, ok bool) {
	var word string
	isText := json.Unmarshal(raw, &word) == nil && raw[0] == '"'
	if isText && word == hidden {
		return "", true
	}
	oneLine := isText && strings.TrimSpace(word) != "" && !strings.ContainsAny(word, "\r\n")
	switch f.kind {
	case fieldMoment: // one without an offset would get that of the viewer
		_, err := time.Parse(time.RFC3339, word)
		return word, err == nil
	case fieldText, fieldDate, fieldSecret:
		return word, oneLine && (f.kind == fieldText || f.kind == fieldSecret || word == strings.TrimSpace(word))
	case fieldLong:
		// The HTML of a text area takes away its first end of line.
		return word, isText && word != "" && !strings.Contains(word, "\r") && word[0] != '\n'
	case fieldInteger, fieldNumber:
		return string(raw), jsonNumber.Match(raw)
	case fieldBool:
		return string(raw), string(raw) == "true" || string(raw) == "false"
	case fieldChoice:
		return string(raw), slices.ContainsFunc(f.node.Enum, func(c json.RawMessage) bool { return bytes.Equal(c, raw) })
	case fieldList:
		return f.listText(raw)
	}
	return indented(string(raw)), true
}

func (f *formField) listText(raw json.RawMessage) (string, bool) {
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil || len(entries) == 0 && !f.required {
		return "", false
	}
	var all []string
	for _, entry := range entries {
		if f.itemKind == fieldInteger || f.itemKind == fieldNumber {
			if !jsonNumber.Match(entry) {
				return "", false
			}
			all = append(all, string(entry))
			continue
		}
		var word string
		if json.Unmarshal(entry, &word) != nil || strings.TrimSpace(word) == "" || strings.ContainsAny(word, "\r\n") {
			return "", false
		}
		all = append(all, word)
	}
	return strings.Join(all, "\n"), true
}

// keepHidden adds to parameters the mark of what a form leaves empty because it does not show it, where original has a
// value for it.
func (s *formSchema) keepHidden(params json.RawMessage, original string) json.RawMessage {
	var had map[string]json.RawMessage
	if json.Unmarshal([]byte(original), &had) != nil {
		return params
	}
	given := members(params)
	for i := range s.fields {
		f := &s.fields[i]
		_, before := had[f.name]
		if f.hidden && before && !slices.ContainsFunc(given, func(m member) bool { return m.name == f.name }) {
			given = append(given, member{f.name, quote(hidden)})
		}
	}
	return objectOf(given)
}

// objectOf is the object of some members.
func objectOf(all []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
