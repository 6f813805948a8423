package tasks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fault is what is wrong with a value: a stable code, and what it is about. Its text is an English sentence that goes on
// after the name of the field, such as "is required"; other languages say it by its code.
type Fault struct {
	Code string
	Args []string
}

// NewFault makes a fault of a code that FaultCodes has. It panics on any other, which is a mistake in the program.
func NewFault(code string, args ...any) *Fault {
	if _, ok := faultSentences[code]; !ok {
		panic("tasks: there is no fault " + code)
	}
	f := &Fault{Code: code}
	for _, arg := range args {
		f.Args = append(f.Args, fmt.Sprint(arg))
	}
	return f
}

func (f *Fault) Error() string {
	sentence := faultSentences[f.Code]
	if len(f.Args) == 1 && f.Args[0] == "1" {
		sentence = faultOfOne.Replace(sentence)
	}
	if !strings.Contains(sentence, "%") {
		return sentence
	}
	args := make([]any, len(f.Args))
	for i, arg := range f.Args {
		args[i] = arg
	}
	return fmt.Sprintf(sentence, args...)
}

// At is the fault of a field. The location is a JSON pointer, or empty for the whole.
func (f *Fault) At(location string) FieldError {
	return FieldError{Location: location, Message: f.Error(), Code: f.Code, Args: f.Args}
}

// FaultCodes lists every code that a Fault may have, in order.
func FaultCodes() []string { return slices.Sorted(maps.Keys(faultSentences)) }

// faultOfOne makes the sentence about many one about a single thing.
var faultOfOne = strings.NewReplacer("%s characters", "%s character", "%s entries", "%s entry", "%s fields", "%s field", "%s more faults", "%s more fault")

// faultSentences are all faults, with a %s for each argument.
var faultSentences = map[string]string{
	"required":      "is required",
	"required_with": "is required when %q is given",
	"reason":        "is required for a discard",
	"version":       "is required: the version that the change was made for",
	"not_together":  "must not be given together with %s",
	"exactly_one":   "exactly one of %s and %s is needed",
	"unknown":       "is not a known parameter",
	"unknown_field": "is not a known field",
	"more_faults":   "and %s more faults",
	"invalid":       "is not valid",
	"other":         "%s", // in the words of somebody else

	"integer":       "must be an integer",
	"number":        "must be a number",
	"text":          "must be text",
	"bool":          "must be true or false",
	"list":          "must be a list",
	"object":        "must be an object",
	"null":          "must be null",
	"types":         "must be %s",
	"integer_range": "must be an integer from %s to %s, written without a point or an exponent",
	"number_range":  "must be a number that fits in a %s",
	"handler":       "does not fit the handler",
	"handler_takes": "does not fit the handler: it takes %s",
	"handler_says":  "do not fit the handler: %s",

	"one_of":     "must be one of %s",
	"exactly":    "must be %s",
	"pattern":    "must match the pattern %s",
	"between":    "must be between %s and %s",
	"at_least":   "must be at least %s",
	"at_most":    "must be at most %s",
	"more_than":  "must be more than %s",
	"less_than":  "must be less than %s",
	"multiple":   "must be a multiple of %s",
	"negative":   "must not be negative",
	"whole":      "must be a whole number, 0 or more",
	"empty":      "must not be empty",
	"min_length": "must have at least %s characters",
	"max_length": "must have at most %s characters",
	"bytes":      "must have at most %s bytes",
	"control":    "must be valid UTF-8 without control characters",
	"not_stored": "cannot be stored",

	"min_items":    "must have at least %s entries",
	"max_items":    "must have at most %s entries",
	"too_many":     "has %s too many",
	"twice":        "must not have an entry twice: entries %s and %s are equal",
	"min_fields":   "must have at least %s fields",
	"max_fields":   "must have at most %s fields",
	"contains":     "has no entry of the needed kind",
	"min_contains": "must have at least %s entries of the needed kind",
	"max_contains": "must have at most %s entries of that kind",
	"bad_name":     "has a name that is not allowed",
	"not_here":     "is not allowed here",
	"not_allowed":  "has a value that is not allowed",
	"many_forms":   "fits more than one of the allowed forms",
	"no_form":      "fits none of the allowed forms",
	"endless":      "cannot be checked: the schema refers to itself without end",
	"schema":       "do not fit the schema",

	"format":                       "must be of the format %s",
	"format.date":                  "must be a date such as 2026-01-31",
	"format.time":                  "must be a time with its offset such as 09:30:00Z",
	"format.date-time":             "must be a date and time with its offset such as 2026-01-31T09:30:00Z",
	"format.duration":              "must be a duration such as PT1H30M",
	"format.period":                "must be a period such as 2026-01-31T09:30:00Z/PT1H",
	"format.email":                 "must be an e-mail address",
	"format.hostname":              "must be a host name",
	"format.ipv4":                  "must be an IPv4 address",
	"format.ipv6":                  "must be an IPv6 address",
	"format.uri":                   "must be a web address with its scheme such as https://example.com/",
	"format.uri-reference":         "must be a web address or a path",
	"format.uuid":                  "must be a UUID such as 123e4567-e89b-12d3-a456-426614174000",
	"format.regex":                 "must be a regular expression",
	"format.json-pointer":          "must be a JSON pointer such as /a/0",
	"format.relative-json-pointer": "must be a relative JSON pointer such as 1/a",

	"json":          "must be valid JSON",
	"json_text":     "not valid JSON: %s",
	"json_none":     "empty: a JSON value is needed",
	"json_syntax":   "line %s, column %s (byte %s): %s",
	"json_utf8":     "line %s, column %s (byte %s): a byte that is not UTF-8",
	"json_depth":    "line %s, column %s (byte %s): more than %s levels of nesting",
	"json_null":     `line %s, column %s (byte %s): \u0000 cannot be stored`,
	"json_half":     "line %s, column %s (byte %s): one half of a surrogate pair without the other",
	"json_name":     "line %s, column %s (byte %s): a name that cannot be read",
	"json_twice":    "line %s, column %s (byte %s): the name %q twice in one object",
	"json_digits":   "line %s, column %s (byte %s): a number of more than %s digits",
	"json_exponent": "line %s, column %s (byte %s): an exponent beyond %s",

	"moment":        "must be a date and time with its offset such as 2026-01-31T09:30:00Z",
	"duration":      `must be a duration such as "90s", "2m" or "1h30m", or a number of seconds`,
	"duration_long": "is too long",
	"duration_zero": "must be longer than 0",
	"past":          "is in the past",
	"not_ahead":     "must be in the future",
	"far":           "is more than ten years away",
	"span":          "must be after from, and at most %s",
	"trace":         "must be 32 lower-case hexadecimal digits, not all of them zero",
	"cursor":        "is not a cursor that a list has given",
	"task_id":       "must be the id of a task",
	"no_state":      "has no state %q; there are %s",
	"type_name":     "must be the name of a type",
	"every_task":    "must name a state or a type: an action on every task is refused",

	"name_empty":    "the name is empty",
	"name_long":     "the name has %s bytes: the limit is %s",
	"name_letters":  `a name has letters, digits and . _ - / : only, begins with a letter or a digit, and has no ".."`,
	"name_reserved": "is reserved: new and preview are addresses of reax",
	"name_taken":    "there is a schedule %s already",
	"name_twice":    "stands there twice",
	"no_type":       "there is no task type %q",
	"own_type":      "must be another type: reax itself makes the tasks of %q, and nobody else can",
	"hidden":        "is hidden here and must be written anew",
	"hidden_part":   "are hidden in part, and another type may show them: they must be written anew",
	"own_field":     "has a name that is a field of its own",
	"is_now":        "is now %s",
}
