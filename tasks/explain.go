package tasks

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns the validator's tree of causes into one plain sentence for each bad field, in the order of the fields.
func explain(e *jsonschema.ValidationError) *InvalidError {
	var x explainer
	x.cause(e)
	slices.SortFunc(x.fields, func(a, b FieldError) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	fields := slices.CompactFunc(x.fields, func(a, b FieldError) bool { return a.Location == b.Location && a.Message == b.Message })
	if n := len(fields); n > MaxFieldErrors {
		more := NewFault("more_faults", n-MaxFieldErrors+x.more).At("")
		fields = append(fields[:MaxFieldErrors:MaxFieldErrors], more)
	}
	return &InvalidError{Fields: fields}
}

// explainer gathers faults. Of a list with a million wrong entries it writes down a few and counts the rest.
type explainer struct {
	fields []FieldError
	more   int
}

func (x *explainer) add(fault *Fault, at []string, name ...string) {
	if len(x.fields) == 10*MaxFieldErrors {
		x.more++
		return
	}
	x.fields = append(x.fields, fault.At(pointer(at, name...)))
}

func (x *explainer) cause(e *jsonschema.ValidationError) {
	each := func(names []string, code string, args ...any) {
		for _, name := range names {
			x.add(NewFault(code, args...), e.InstanceLocation, name)
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		each(k.Missing, "required")
	case *kind.AdditionalProperties:
		each(k.Properties, "unknown")
	case *kind.DependentRequired:
		each(k.Missing, "required_with", cleanText(k.Prop, maxMessageBytes))
	case *kind.Dependency:
		each(k.Missing, "required_with", cleanText(k.Prop, maxMessageBytes))
	case *kind.PropertyNames:
		x.add(NewFault("bad_name"), e.InstanceLocation, k.Property)
	case *kind.AnyOf, *kind.OneOf:
		x.alternatives(e)
	default:
		if fault := faultOf(e.ErrorKind); fault != nil {
			x.add(fault, e.InstanceLocation)
			return
		}
		if len(e.Causes) == 0 {
			x.add(NewFault("invalid"), e.InstanceLocation)
		}
		for _, cause := range e.Causes {
			x.cause(cause)
		}
	}
}

// alternatives explains a value that fits none of several forms. Forms of another type than the value's say nothing
// useful; if only one is left after that, its own faults do.
func (x *explainer) alternatives(e *jsonschema.ValidationError) {
	if k, ok := e.ErrorKind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		x.add(NewFault("many_forms"), e.InstanceLocation)
		return
	}
	var types []string
	var near []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		if k, ok := cause.ErrorKind.(*kind.Type); ok && len(cause.InstanceLocation) == len(e.InstanceLocation) {
			types = append(types, k.Want...)
		} else {
			near = append(near, cause)
		}
	}
	switch len(near) {
	case 0:
		x.add(typeFault(types), e.InstanceLocation)
	case 1:
		x.cause(near[0])
	default:
		x.add(NewFault("no_form"), e.InstanceLocation)
	}
}

// faultOf is what is wrong with a single value, or nil when that is for the causes to say.
func faultOf(k jsonschema.ErrorKind) *Fault {
	switch k := k.(type) {
	case *kind.Type:
		return typeFault(k.Want)
	case *kind.Enum:
		return NewFault("one_of", jsonList(k.Want))
	case *kind.Const:
		return NewFault("exactly", jsonText(k.Want))
	case *kind.Format:
		return formatFault(k.Want)
	case *kind.Pattern:
		return NewFault("pattern", cleanText(k.Want, maxMessageBytes))
	case *kind.Minimum:
		return NewFault("at_least", decimal(k.Want))
	case *kind.Maximum:
		return NewFault("at_most", decimal(k.Want))
	case *kind.ExclusiveMinimum:
		return NewFault("more_than", decimal(k.Want))
	case *kind.ExclusiveMaximum:
		return NewFault("less_than", decimal(k.Want))
	case *kind.MultipleOf:
		return NewFault("multiple", decimal(k.Want))
	case *kind.MinLength:
		if k.Want == 1 {
			return NewFault("empty")
		}
		return NewFault("min_length", k.Want)
	case *kind.MaxLength:
		return NewFault("max_length", k.Want)
	case *kind.MinItems:
		return NewFault("min_items", k.Want)
	case *kind.MaxItems:
		return NewFault("max_items", k.Want)
	case *kind.AdditionalItems:
		return NewFault("too_many", k.Count)
	case *kind.UniqueItems:
		return NewFault("twice", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.MinProperties:
		return NewFault("min_fields", k.Want)
	case *kind.MaxProperties:
		return NewFault("max_fields", k.Want)
	case *kind.Contains:
		return NewFault("contains")
	case *kind.MinContains:
		return NewFault("min_contains", k.Want)
	case *kind.MaxContains:
		return NewFault("max_contains", k.Want)
	case *kind.FalseSchema:
		return NewFault("not_here")
	case *kind.Not:
		return NewFault("not_allowed")
	case *kind.RefCycle:
		return NewFault("endless")
	}
	return nil
}

var typeNames = map[string]string{
	"null": "null", "boolean": "true or false", "object": "an object", "array": "a list",
	"number": "a number", "string": "text", "integer": "an integer",
}

// typeFault says which types were wanted; a single one has a code of its own.
func typeFault(want []string) *Fault {
	if len(want) == 0 {
		return NewFault("no_form")
	}
	var names []string
	for _, w := range want {
		if name := typeNames[w]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if code := typeCodes[want[0]]; len(names) == 1 && code != "" {
		return NewFault(code)
	}
	return NewFault("types", strings.Join(names, " or "))
}

var typeCodes = map[string]string{
	"null": "null", "boolean": "bool", "object": "object", "array": "list", "number": "number", "string": "text", "integer": "integer",
}

func formatFault(format string) *Fault {
	code := "format." + format
	if _, ok := faultSentences[code]; ok {
		return NewFault(code)
	}
	return NewFault("format", cleanText(format, maxMessageBytes))
}

// decimal writes r with all its digits: a limit of 2^63-1 must not be shown rounded.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		digits = 20
	}
	return cleanText(r.FloatString(digits), maxMessageBytes)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "another value"
	}
	return cleanText(string(text), maxMessageBytes)
}

func jsonList(values []any) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, jsonText(v))
	}
	return cleanText(strings.Join(texts, ", "), 2*maxMessageBytes)
}

// pointer writes a JSON pointer (RFC 6901). The names in it come from whoever sent the parameters, so they are cut.
func pointer(path []string, more ...string) string {
	var b strings.Builder
	for _, name := range slices.Concat(path, more) {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(cleanText(name, maxMessageBytes)))
	}
	return cleanText(b.String(), 4*maxMessageBytes)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
