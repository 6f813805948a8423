package tasks

import (
	"fmt"
	"strings"
)

// MaxFieldErrors is how many faults an InvalidError lists at most; one more line then says how many it leaves out.
const MaxFieldErrors = 100

// FieldError is one thing wrong with one field.
type FieldError struct {
	Location string   `json:"location"` // JSON pointer below the parameters, e.g. /user_id; empty for the whole
	Message  string   `json:"message"`  // completes a sentence that begins with the field: "is required"
	Code     string   `json:"code"`     // of the Fault, whose text Message is
	Args     []string `json:"-"`
	Part     string   `json:"-"` // of what the code is, where it can be of several
}

// InvalidError lists everything that is wrong with some parameters. The API answers it with 422. As a run's error it
// is permanent.
type InvalidError struct{ Fields []FieldError }

func (e *InvalidError) Error() string {
	if len(e.Fields) == 0 {
		return "the parameters are not valid"
	}
	return "the parameters are not valid: " + e.list()
}

// list says the first faults in one line.
func (e *InvalidError) list() string {
	const shown = 3
	var parts []string
	for _, f := range e.Fields[:min(len(e.Fields), shown)] {
		parts = append(parts, strings.TrimSpace(f.Location+" "+f.Message))
	}
	if more := len(e.Fields) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// Invalid is an error about one field. It panics as NewFault does.
func Invalid(location, code string, args ...any) *InvalidError {
	return &InvalidError{Fields: []FieldError{NewFault(code, args...).At(location)}}
}
