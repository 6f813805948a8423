package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
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
	fields := slices.Compact(x.fields)
	if n := len(fields); n > MaxFieldErrors {
		more := FieldError{Message: fmt.Sprintf("and %d more faults", n-MaxFieldErrors+x.more)}
		fields = append(fields[:MaxFieldErrors:MaxFieldErrors], more)
	}
	return &InvalidError{Fields: fields}
}

// explainer gathers faults. Of a list with a million wrong entries it writes down a few and counts the rest.
type explainer struct {
	fields []FieldError
	more   int
}

func (x *explainer) add(message string, at []string, name ...string) {
	if len(x.fields) == 10*MaxFieldErrors {
		x.more++
		return
	}
	x.fields = append(x.fields, FieldError{pointer(at, name...), message})
}

func (x *explainer) cause(e *jsonschema.ValidationError) {
	each := func(names []string, message string) {
		for _, name := range names {
			x.add(message, e.InstanceLocation, name)
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		each(k.Missing, "is required")
	case *kind.AdditionalProperties:
		each(k.Properties, "is not a known parameter")
	case *kind.DependentRequired:
		each(k.Missing, "is required when "+quoteName(k.Prop)+" is given")
	case *kind.Dependency:
		each(k.Missing, "is required when "+quoteName(k.Prop)+" is given")
	case *kind.PropertyNames:
		x.add("has a name that is not allowed", e.InstanceLocation, k.Property)
	case *kind.AnyOf, *kind.OneOf:
		x.alternatives(e)
	default:
		if message := sentence(e.ErrorKind); message != "" {
			x.add(message, e.InstanceLocation)
			return
		}
		if len(e.Causes) == 0 {
			x.add("is not valid", e.InstanceLocation)
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
		x.add("fits more than one of the allowed forms", e.InstanceLocation)
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
		x.add(typeSentence(types), e.InstanceLocation)
	case 1:
		x.cause(near[0])
	default:
		x.add("fits none of the allowed forms", e.InstanceLocation)
	}
}

// sentence says what is wrong with a single value, or "" when that is for the causes to say.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return typeSentence(k.Want)
	case *kind.Enum:
		return "must be one of " + jsonList(k.Want)
	case *kind.Const:
		return "must be " + jsonText(k.Want)
	case *kind.Format:
		return formatSentence(k.Want)
	case *kind.Pattern:
		return "must match the pattern " + cleanText(k.Want, maxMessageBytes)
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return "must have at most " + plural(k.Want, "character", "characters")
	case *kind.MinItems:
		return "must have at least " + plural(k.Want, "entry", "entries")
	case *kind.MaxItems:
		return "must have at most " + plural(k.Want, "entry", "entries")
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not have an entry twice: entries %d and %d are equal", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.MinProperties:
		return "must have at least " + plural(k.Want, "field", "fields")
	case *kind.MaxProperties:
		return "must have at most " + plural(k.Want, "field", "fields")
	case *kind.Contains:
		return "has no entry of the needed kind"
	case *kind.MinContains:
		return fmt.Sprintf("must have at least %d entries of the needed kind", k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("must have at most %d entries of that kind", k.Want)
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Not:
		return "has a value that is not allowed"
	case *kind.RefCycle:
		return "cannot be checked: the schema refers to itself without end"
	}
	return ""
}

var typeNames = map[string]string{
	"null": "null", "boolean": "true or false", "object": "an object", "array": "a list",
	"number": "a number", "string": "text", "integer": "an integer",
}

func typeSentence(want []string) string {
	var names []string
	for _, w := range want {
		if name := typeNames[w]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "must be " + strings.Join(names, " or ")
}

var formatNames = map[string]string{
	"date":                  "a date such as 2026-01-31",
	"time":                  "a time with its offset such as 09:30:00Z",
	"date-time":             "a date and time with its offset such as 2026-01-31T09:30:00Z",
	"duration":              "a duration such as PT1H30M",
	"period":                "a period such as 2026-01-31T09:30:00Z/PT1H",
	"email":                 "an e-mail address",
	"hostname":              "a host name",
	"ipv4":                  "an IPv4 address",
	"ipv6":                  "an IPv6 address",
	"uri":                   "a web address with its scheme such as https://example.com/",
	"uri-reference":         "a web address or a path",
	"uuid":                  "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
	"regex":                 "a regular expression",
	"json-pointer":          "a JSON pointer such as /a/0",
	"relative-json-pointer": "a relative JSON pointer such as 1/a",
}

func formatSentence(format string) string {
	if name, ok := formatNames[format]; ok {
		return "must be " + name
	}
	return "must be of the format " + cleanText(format, maxMessageBytes)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
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

func quoteName(name string) string { return strconv.Quote(cleanText(name, maxMessageBytes)) }
