package views

import (
	"slices"

	"github.com/a-h/templ"
)

// Field is one input of a form with all that belongs to it. Its texts are in the viewer's language or, like Help, come
// from a schema.
type Field struct {
	ID       string // unique on the page; also the target of ErrorSummary
	Name     string
	Label    string
	Kind     string // text, textarea, json, number, checkbox, select, radio, date, datetime-local, time, email, url, password, search
	Value    string // of a checkbox: "true" when it is on
	Options  []Option
	Hint     string // what kind of thing it takes, after the label
	Help     string
	Example  string // shown as the placeholder
	Error    string // what is wrong with Value
	List     string // id of a datalist
	Required bool
	Disabled bool
	Min, Max string // as the attributes; empty for none
	Step     string
	MinLen   string
	MaxLen   string
	Pattern  string
	Rows     string // of a textarea

	InputMode string // the keyboard of a phone: numeric or decimal
}

// Option is one choice of a select or a group of radio buttons.
type Option struct{ Value, Text string }

// describedBy lists the ids of what explains the field.
func (f Field) describedBy() string {
	switch {
	case f.Error != "" && f.Help != "":
		return f.ID + "-error " + f.ID + "-help"
	case f.Error != "":
		return f.ID + "-error"
	case f.Help != "":
		return f.ID + "-help"
	}
	return ""
}

// attributes are those of the input that are not empty.
func (f Field) attributes() templ.Attributes {
	all := templ.Attributes{
		"min": f.Min, "max": f.Max, "step": f.Step, "minlength": f.MinLen, "maxlength": f.MaxLen, "pattern": f.Pattern,
		"placeholder": f.Example, "list": f.List, "aria-describedby": f.describedBy(), "rows": f.Rows,
		"inputmode": f.InputMode,
		"required":  f.Required, "disabled": f.Disabled,
	}
	if f.Error != "" {
		all["aria-invalid"] = "true"
	}
	if f.Kind == "json" || f.Kind == "textarea" {
		delete(all, "pattern") // a textarea has none
	}
	for name, v := range all {
		if v == "" {
			delete(all, name)
		}
	}
	return all
}

// withErrors are the fields that have one.
func withErrors(fields []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Error == "" })
}
