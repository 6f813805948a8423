package tasks

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Unmask puts the hidden values of original in the places where params has Hidden, as somebody sends them back who was
// shown original masked. still has the JSON pointer of each place that stays Hidden, because original has nothing for it;
// entries of a list are filled only if they are otherwise as they were, as they may have changed places. Without an
// original, which may be nil, it only finds them.
func (s *Schema) Unmask(params, original json.RawMessage) (filled json.RawMessage, still []string) {
	if !s.Masks() || !holdsHidden(params) {
		return params, nil
	}
	value, ok := readValue(string(params))
	if !ok {
		return params, nil
	}
	old, _ := readValue(string(original))
	u := unmasking{secrets: s.secrets}
	if s.secrets.whole {
		value = u.secret(value, old, "")
	} else {
		u.fill(value, old, "", s.secrets.hasTop)
	}
	slices.Sort(u.still)
	if !u.filled {
		return params, u.still
	}
	return json.RawMessage(writeValue(value)), u.still
}

type unmasking struct {
	*secrets
	filled bool
	still  []string
}

func (u *unmasking) fill(value, old any, at string, named func(string) bool) {
	switch value := value.(type) {
	case []any:
		before, _ := old.([]any)
		for i, v := range value {
			var same any
			if i < len(before) && reflect.DeepEqual(u.masked(before[i]), v) {
				same = before[i]
			}
			u.fill(v, same, pointerTo(at, strconv.Itoa(i)), u.hasName)
		}
	case map[string]any:
		before, _ := old.(map[string]any)
		for name, v := range value {
			if named(name) {
				value[name] = u.secret(v, before[name], pointerTo(at, name))
			} else {
				u.fill(v, before[name], pointerTo(at, name), u.hasName)
			}
		}
	}
}

// secret is what stands in a hidden place.
func (u *unmasking) secret(value, old any, at string) any {
	if value == Hidden && old != nil {
		u.filled = true
		return old
	}
	if hasHidden(value) {
		u.still = append(u.still, at)
	}
	return value
}

// masked is a copy of a value as it is shown.
func (u *unmasking) masked(value any) any {
	shown, _ := readValue(writeValue(value))
	u.visit(shown, u.hasName, func(any) any { return Hidden })
	return shown
}

func hasHidden(value any) bool {
	switch value := value.(type) {
	case string:
		return value == Hidden
	case []any:
		return slices.ContainsFunc(value, hasHidden)
	case map[string]any:
		for _, v := range value {
			if hasHidden(v) {
				return true
			}
		}
	}
	return false
}

// holdsHidden reports whether JSON may have Hidden in it, however that is written.
func holdsHidden(text json.RawMessage) bool {
	return bytes.Contains(text, []byte(Hidden)) || bytes.Contains(text, []byte(`\u2022`))
}

func pointerTo(at, name string) string { return at + "/" + pointerEscapes.Replace(name) }

// readValue reads JSON whose numbers keep their digits.
func readValue(text string) (value any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil, false
	}
	return value, !d.More()
}

func writeValue(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return hiddenText
	}
	return strings.TrimSpace(b.String())
}
