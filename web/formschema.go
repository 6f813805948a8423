package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"reax/tasks"
)

// Bounds of a form. What has more is written as JSON.
const (
	maxFormFields  = 60
	maxFormChoices = 200
	longText       = 200 // letters from which on a text gets several lines
	fewChoices     = 5   // are all in sight
)

// The kinds of fields that a schema can ask for.
const (
	fieldText    = "text"
	fieldLong    = "long"
	fieldSecret  = "secret"
	fieldDate    = "date"
	fieldMoment  = "moment"
	fieldInteger = "integer"
	fieldNumber  = "number"
	fieldBool    = "bool"
	fieldChoice  = "choice"
	fieldList    = "list"
	fieldJSON    = "json"
)

// formField is one parameter as a form asks for it.
type formField struct {
	name     string
	kind     string
	node     formNode
	item     formNode // of a list
	itemKind string
	required bool
	hidden   bool // its value is not shown
}

// formNode is what a form needs of a schema. Values stay text, so that they keep their digits; a keyword that is not of
// the usual type makes the field one for JSON.
type formNode struct {
	Type               typeNames
	Title, Description string
	Format, Pattern    string
	Default, Const     json.RawMessage
	Enum, Examples     []json.RawMessage
	Minimum, Maximum   json.Number
	MultipleOf         json.Number
	MinLength          json.Number
	MaxLength          json.Number
	Items              json.RawMessage
	PrefixItems        json.RawMessage
	AnyOf, OneOf       []json.RawMessage
	WriteOnly          bool
	Ref                string `json:"$ref"`
}

// typeNames is the "type" keyword without null: that a value may be missing is said by leaving it out.
type typeNames []string

// UnmarshalJSON reads one name or several.
func (t *typeNames) UnmarshalJSON(raw []byte) error {
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		many = make([]string, 1)
		if err := json.Unmarshal(raw, &many[0]); err != nil {
			return err
		}
	}
	*t = slices.DeleteFunc(many, func(name string) bool { return name == "null" })
	return nil
}

// one is the type, if there is just one.
func (t typeNames) one() string {
	if len(t) != 1 {
		return ""
	}
	return t[0]
}

// formSchema is the form of a type's parameters.
type formSchema struct {
	fields []formField
	open   bool // other names are allowed too
}

// formOf reads the form of a schema. One without fields, or with too many, is asked for as JSON.
func formOf(d *tasks.Schema) formSchema {
	schema := d.Raw
	var top struct {
		Properties           json.RawMessage
		Required             []string
		AdditionalProperties json.RawMessage
		PatternProperties    json.RawMessage
	}
	if json.Unmarshal(schema, &top) != nil {
		return formSchema{open: true}
	}
	form := formSchema{open: len(top.PatternProperties) > 0 || string(bytes.TrimSpace(top.AdditionalProperties)) != "false"}
	for _, m := range members(top.Properties) {
		f := newFormField(schema, m, slices.Contains(top.Required, m.name))
		if d.MasksPath(m.name) {
			f.keepSecret()
		}
		form.fields = append(form.fields, f)
	}
	if len(form.fields) > maxFormFields {
		form.fields = nil
	}
	return form
}

// keepSecret makes the field one whose value nobody is shown, nor what its schema suggests for it.
func (f *formField) keepSecret() {
	f.node.Default, f.node.Examples, f.hidden = nil, nil, true
	switch f.kind {
	case fieldText, fieldLong, fieldDate:
		f.kind = fieldSecret
	}
}

// member is one name of a JSON object with its value.
type member struct {
	name  string
	value json.RawMessage
}

// members lists an object in the order in which it is written; nothing when it is none.
func members(object json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		m := member{name: key.(string)}
		if d.Decode(&m.value) != nil {
			return nil
		}
		all = append(all, m)
	}
	return all
}

func newFormField(schema json.RawMessage, m member, required bool) formField {
	f := formField{name: m.name, required: required, kind: fieldJSON}
	node, ok := resolve(schema, m.value, 0)
	if !ok {
		return f
	}
	f.node = node
	f.kind = kindOfNode(&f.node)
	if f.kind == fieldJSON && node.Type.one() == "array" && len(node.PrefixItems) == 0 {
		if item, ok := resolve(schema, node.Items, 0); ok {
			switch kind := kindOfNode(&item); kind {
			case fieldText, fieldLong, fieldDate, fieldInteger, fieldNumber:
				f.kind, f.item, f.itemKind = fieldList, item, kind
			case fieldChoice:
				if item.Type.one() == "string" {
					f.kind, f.item, f.itemKind = fieldList, item, fieldText
				}
			}
		}
	}
	return f
}

// resolve reads a schema and follows what it refers to. A reference keeps its own title and description, and so does
// the only form of several that is not null.
func resolve(schema, raw json.RawMessage, depth int) (formNode, bool) {
	var n formNode
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) || json.Unmarshal(raw, &n) != nil || depth > 8 {
		return formNode{}, false
	}
	inner := json.RawMessage(nil)
	if n.Ref != "" {
		inner = lookup(schema, n.Ref)
	} else if forms := slices.Concat(n.AnyOf, n.OneOf); len(forms) > 0 && len(n.Type) == 0 {
		forms = slices.DeleteFunc(forms, func(form json.RawMessage) bool {
			var t struct{ Type string }
			return json.Unmarshal(form, &t) == nil && t.Type == "null"
		})
		if len(forms) == 1 {
			inner = forms[0]
		}
	}
	if inner == nil {
		return n, n.Ref == ""
	}
	target, ok := resolve(schema, inner, depth+1)
	if n.Title != "" {
		target.Title = n.Title
	}
	if n.Description != "" {
		target.Description = n.Description
	}
	if len(n.Default) > 0 {
		target.Default = n.Default
	}
	if len(n.Examples) > 0 {
		target.Examples = n.Examples
	}
	target.WriteOnly = target.WriteOnly || n.WriteOnly
	return target, ok
}

// lookup finds "#/$defs/name" in the schema.
func lookup(schema json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(path, "/") {
		var object map[string]json.RawMessage
		if json.Unmarshal(schema, &object) != nil {
			return nil
		}
		if schema, ok = object[unescapePointer(part)]; !ok {
			return nil
		}
	}
	return schema
}

var pointerLetters = strings.NewReplacer("~1", "/", "~0", "~")

func unescapePointer(part string) string { return pointerLetters.Replace(part) }

func kindOfNode(n *formNode) string {
	choices := n.Enum
	if len(n.Const) > 0 {
		choices = []json.RawMessage{n.Const}
	}
	if len(choices) > 0 {
		if len(choices) > maxFormChoices || slices.ContainsFunc(choices, func(c json.RawMessage) bool { return c[0] == '{' || c[0] == '[' }) {
			return fieldJSON
		}
		n.Enum = slices.DeleteFunc(slices.Clone(choices), func(c json.RawMessage) bool { return string(c) == "null" })
		return fieldChoice
	}
	switch n.Type.one() {
	case "string":
		most, err := n.MaxLength.Int64()
		switch {
		case n.WriteOnly:
			return fieldSecret
		case n.Format == "date":
			return fieldDate
		case n.Format == "date-time":
			return fieldMoment
		case err == nil && most > longText:
			return fieldLong
		}
		return fieldText
	case "integer":
		return fieldInteger
	case "number":
		return fieldNumber
	case "boolean":
		return fieldBool
	}
	return fieldJSON
}

// exampleOf is what a field may look like.
func (n *formNode) example() json.RawMessage {
	if len(n.Examples) > 0 {
		return n.Examples[0]
	}
	return nil
}

// jsonFault is what keeps a text from being JSON; nil when nothing does.
func jsonFault(text string) *fieldError {
	if bad, ok := errors.AsType[*tasks.InvalidError](tasks.CheckJSON([]byte(text), tasks.MaxDepth)); ok && len(bad.Fields) > 0 {
		fault := fieldOf("", bad.Fields[0])
		return &fault
	}
	return nil
}
