package tasks

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Shown is the schema as anybody may see it: without defaults and examples of what it hides. Nil when there is no schema.
func (s *Schema) Shown() json.RawMessage {
	switch {
	case s == nil:
		return nil
	case s.secrets == nil || s.secrets.shown == nil:
		return s.Raw
	}
	return s.secrets.shown
}

// withoutValues is the document of a schema without the values that it suggests for what is hidden. places are the
// schemas in it, by their JSON pointers. Nil when nothing has to go.
func (s *secrets) withoutValues(doc any, places map[string]*jsonschema.Schema) json.RawMessage {
	if !s.strip(doc, "", places) {
		return nil
	}
	return json.RawMessage(writeValue(doc))
}

func (s *secrets) strip(doc any, at string, places map[string]*jsonschema.Schema) (changed bool) {
	switch doc := doc.(type) {
	case []any:
		for i, v := range doc {
			changed = s.strip(v, pointerTo(at, strconv.Itoa(i)), places) || changed
		}
	case map[string]any:
		node := places[at]
		for _, name := range slices.Collect(maps.Keys(doc)) {
			suggests := node != nil && (name == "default" || name == "example" || name == "examples")
			switch {
			case suggests && (s.whole || s.hides(node)):
				delete(doc, name)
				changed = true
			case suggests:
				changed = s.visit(doc[name], s.hasTop, func(any) any { return Hidden }) || changed
			default:
				changed = s.strip(doc[name], pointerTo(at, name), places) || changed
			}
		}
	}
	return changed
}
