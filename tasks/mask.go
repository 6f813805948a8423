package tasks

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Hidden stands for a value that is not shown.
const Hidden = "••••"

// secrets are the places of a type's parameters that nobody is shown: what its schema calls writeOnly, or gives the
// format password, also by way of a $ref, allOf and the like. They are names, wherever a value of that name stands:
// that hides too much rather than too little, and works for a result and for parts of the parameters as well.
type secrets struct {
	marked   map[string]bool // the places of the schema that say so, as JSON pointers
	names    map[string]bool
	patterns []jsonschema.Regexp // of names
	rest     map[string]bool     // when not nil, every name at the top that is not in it
	whole    bool                // the parameters altogether
	shown    json.RawMessage     // the schema without values for what is hidden; nil when it has none
}

// secretsOf reads what the schema hides; nil when that is nothing. raw is the document that compiled was made from.
func secretsOf(raw json.RawMessage, compiled *jsonschema.Schema) *secrets {
	s := &secrets{marked: map[string]bool{}, names: map[string]bool{}}
	doc, _ := readValue(string(raw))
	s.mark(doc, "")
	if len(s.marked) == 0 {
		return nil
	}
	places := map[string]*jsonschema.Schema{}
	s.walk(compiled, places)
	together := inPlace(compiled)
	s.whole = slices.ContainsFunc(together, s.isMarked)
	declared := map[string]bool{}
	others := false
	for _, node := range together {
		for name := range node.Properties {
			declared[name] = true
		}
		others = others || slices.ContainsFunc(restOf(node), s.hides)
	}
	if others {
		s.rest = declared
	}
	s.shown = s.withoutValues(doc, places)
	return s
}

// mark notes where a document says that something is secret. What only looks like a schema, such as an example, is
// noted too, and then never asked for.
func (s *secrets) mark(doc any, at string) {
	switch doc := doc.(type) {
	case []any:
		for i, v := range doc {
			s.mark(v, pointerTo(at, strconv.Itoa(i)))
		}
	case map[string]any:
		if doc["writeOnly"] == true || doc["format"] == "password" {
			s.marked[at] = true
		}
		for name, v := range doc {
			s.mark(v, pointerTo(at, name))
		}
	}
}

func (s *secrets) isMarked(node *jsonschema.Schema) bool { return s.marked[placeOf(node)] }

// walk collects the names of all properties that are secret, from every part of the schema, and where those parts are.
func (s *secrets) walk(node *jsonschema.Schema, places map[string]*jsonschema.Schema) {
	place := placeOf(node)
	if _, seen := places[place]; seen {
		return
	}
	places[place] = node
	for name, property := range node.Properties {
		if s.hides(property) {
			s.names[name] = true
		}
		s.walk(property, places)
	}
	for pattern, property := range node.PatternProperties {
		if s.hides(property) {
			s.patterns = append(s.patterns, pattern)
		}
		s.walk(property, places)
	}
	for _, part := range slices.Concat(besides(node), restOf(node), entriesOf(node)) {
		s.walk(part, places)
	}
}

// hides reports whether a value that node describes is hidden: it is secret itself, or its entries are, or its values of
// names that the schema does not know.
func (s *secrets) hides(node *jsonschema.Schema) bool {
	return s.hidesIn(node, map[*jsonschema.Schema]bool{})
}

func (s *secrets) hidesIn(node *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	for _, part := range inPlace(node) {
		if seen[part] {
			continue
		}
		seen[part] = true
		if s.isMarked(part) {
			return true
		}
		for _, inner := range slices.Concat(entriesOf(part), restOf(part)) {
			if s.hidesIn(inner, seen) {
				return true
			}
		}
	}
	return false
}

// Masks reports whether the schema hides any part of the parameters.
func (s *Schema) Masks() bool { return s != nil && s.secrets != nil }

// MasksName reports whether values of that name are hidden wherever they stand.
func (s *Schema) MasksName(name string) bool {
	return s.Masks() && (s.secrets.whole || s.secrets.hasName(name))
}

// MasksPath reports whether the value that a path of names leads to is hidden, or part of one that is.
func (s *Schema) MasksPath(names ...string) bool {
	if !s.Masks() {
		return false
	}
	return s.secrets.whole || len(names) > 0 && s.secrets.hasTop(names[0]) || slices.ContainsFunc(names, s.secrets.hasName)
}

func (s *secrets) hasName(name string) bool {
	return s.names[name] || slices.ContainsFunc(s.patterns, func(p jsonschema.Regexp) bool { return p.MatchString(name) })
}

// hasTop is hasName for a name of the parameters themselves.
func (s *secrets) hasTop(name string) bool {
	return s.hasName(name) || s.rest != nil && !s.rest[name]
}

// Mask gives parameters, or a part of them, as they may be shown: with Hidden in place of what the schema hides. A text
// that would have to be hidden in part and cannot be read is hidden whole; where nothing is hidden it is given as it is.
func (s *Schema) Mask(params string) string {
	if !s.Masks() || params == "" {
		return params
	}
	return s.secrets.mask(params, s.secrets.hasTop)
}

// MaskResult is Mask for a result: a handler may give back what it was given, under the same names.
func (s *Schema) MaskResult(result string) string {
	if !s.Masks() || result == "" {
		return result
	}
	return s.secrets.mask(result, s.secrets.hasName)
}

func (s *secrets) mask(text string, top func(string) bool) string {
	if s.whole {
		return hiddenText
	}
	value, ok := readValue(text)
	if !ok {
		return hiddenText
	}
	if !s.visit(value, top, func(any) any { return Hidden }) {
		return text // byte for byte, when it has no such value
	}
	return writeValue(value)
}

// hiddenText is Hidden as JSON.
const hiddenText = `"` + Hidden + `"`

// visit calls f with each hidden value, puts in its place what f gives, and reports whether there was any.
func (s *secrets) visit(value any, named func(string) bool, f func(any) any) (found bool) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			found = s.visit(v, s.hasName, f) || found
		}
	case map[string]any:
		for name, v := range value {
			if named(name) {
				value[name], found = f(v), true
			} else {
				found = s.visit(v, s.hasName, f) || found
			}
		}
	}
	return found
}

// MaskAll gives JSON with Hidden in place of every value, for when nobody can tell which of them are secret. The names
// stay.
func MaskAll(text string) string {
	if text == "" || text == "{}" || text == "null" {
		return text
	}
	value, ok := readValue(text)
	if !ok {
		return hiddenText
	}
	return writeValue(hideAll(value))
}

func hideAll(value any) any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		for i, v := range value {
			value[i] = hideAll(v)
		}
		return value
	case map[string]any:
		for name, v := range value {
			value[name] = hideAll(v)
		}
		return value
	}
	return Hidden
}
