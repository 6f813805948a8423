package web

import (
	"bytes"
	"encoding/json"
	"strings"

	"reax/models"
)

// hidden stands for a value that a page does not show.
const hidden = "••••"

// shownParams are the parameters of a task as a page may show them: without the values of fields that its schema calls
// writeOnly. Parameters that would have to be hidden in part and cannot be read are hidden whole.
func (s *Server) shownParams(t *models.Task) string {
	d, ok := s.runtime.Registry().Lookup(t.Type)
	if !ok || d.Schema == nil {
		return t.Params
	}
	return mask(d.Schema.Raw, t.Params)
}

func mask(schema json.RawMessage, params string) string {
	if !bytes.Contains(schema, []byte(`"writeOnly"`)) {
		return params
	}
	secret := map[string]bool{}
	var document any
	if json.Unmarshal(schema, &document) == nil {
		findSecrets(document, secret)
	}
	d := json.NewDecoder(strings.NewReader(params))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return hidden
	}
	hide(value, secret)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return hidden
	}
	return strings.TrimSpace(text.String())
}

// findSecrets collects the names of all properties, wherever they are, that are writeOnly. Going by the name alone hides
// too much rather than too little.
func findSecrets(schema any, secret map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, v := range schema {
			findSecrets(v, secret)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, v := range properties {
			if property, ok := v.(map[string]any); ok && property["writeOnly"] == true {
				secret[name] = true
			}
		}
		for _, v := range schema {
			findSecrets(v, secret)
		}
	}
}

func hide(value any, secret map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			hide(v, secret)
		}
	case map[string]any:
		for name, v := range value {
			if secret[name] {
				value[name] = hidden
			} else {
				hide(v, secret)
			}
		}
	}
}
