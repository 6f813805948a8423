package tasks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Registry holds the task types of a program. It is filled by one goroutine before the runtime starts and not changed
// afterwards; from then on it is safe for use from many.
type Registry struct {
	types []*Definition // by name
	errs  []error
}

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry { return &Registry{} }

// Add registers d, which Register, AddCommand and AddHTTP end in. A missing example is made from the schema. The error
// names the type and everything that is wrong; Err reports it too.
func (r *Registry) Add(d Definition) error {
	if err := d.validate(); err != nil {
		return r.fail(d.Name, err)
	}
	i, found := r.find(d.Name)
	if found {
		return r.fail(d.Name, errors.New("it is registered twice"))
	}
	if len(d.Example) == 0 {
		d.Example = ExampleOf(d.Schema.Raw)
	}
	d.Example = bytes.Clone(d.Example)
	d.Handler = d.Schema.discreet(d.Handler)
	r.types = slices.Insert(r.types, i, &d)
	return nil
}

func (r *Registry) fail(name string, err error) error {
	err = fmt.Errorf("task type %q: %w", cleanText(name, MaxNameBytes), err)
	r.errs = append(r.errs, err)
	return err
}

func (r *Registry) find(name string) (int, bool) {
	return slices.BinarySearchFunc(r.types, name, func(d *Definition, name string) int { return cmp.Compare(d.Name, name) })
}

// Lookup finds a type by name.
func (r *Registry) Lookup(name string) (*Definition, bool) {
	if i, found := r.find(name); found {
		return r.types[i], true
	}
	return nil, false
}

// All lists the types by name.
func (r *Registry) All() []*Definition { return slices.Clone(r.types) }

// Err joins the errors of all failed registrations; the program must not start with one.
func (r *Registry) Err() error { return errors.Join(r.errs...) }

// MaxNameBytes and MaxDescriptionBytes bound what a type says about itself.
const (
	MaxNameBytes        = 100
	MaxDescriptionBytes = 4_000
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]*$`)

// CheckName says whether name may name a task type: 1 to 100 ASCII letters, digits and . _ - / : of which the first is
// a letter or a digit, and no two dots in a row, since a name is part of web addresses. The error is a *Fault.
func CheckName(name string) error {
	switch {
	case name == "":
		return NewFault("name_empty")
	case len(name) > MaxNameBytes:
		return NewFault("name_long", len(name), MaxNameBytes)
	case !namePattern.MatchString(name), strings.Contains(name, ".."):
		return NewFault("name_letters")
	}
	return nil
}

func (d *Definition) validate() error {
	var f faults
	f.add(CheckName(d.Name))
	f.when(d.Kind != KindGo && d.Kind != KindCommand && d.Kind != KindHTTP, "the kind %q is not known", d.Kind)
	f.when(d.Handler == nil, "it has no handler")
	f.when(d.Schema == nil || d.Schema.compiled == nil, "it has no schema")
	f.when(len(d.Description) > MaxDescriptionBytes, "the description has %d bytes: the limit is %d", len(d.Description), MaxDescriptionBytes)
	f.when(!utf8.ValidString(d.Description), "the description is not valid UTF-8")
	f.when(len(d.Example) > 0 && CheckJSON(d.Example, MaxDepth) != nil, "the example is not valid JSON")
	f.add(d.Policy.Validate())
	return f.err()
}

// Validate names everything in p that makes no sense.
func (p Policy) Validate() error {
	var f faults
	within := func(what string, value, low, high int) {
		f.when(value < low || value > high, "%s %d is not between %d and %d", what, value, low, high)
	}
	span := func(what string, value, limit time.Duration) {
		f.when(value < 0 || value > limit, "%s %s is not between 0 and %s", what, value, limit)
	}
	span("timeout", p.Timeout, MaxTimeout)
	within("max_retries", p.MaxRetries, 0, MaxRetriesCap)
	span("backoff base", p.BackoffBase, MaxBackoff)
	span("backoff max", p.BackoffMax, MaxBackoff)
	f.when(p.BackoffBase > p.BackoffMax, "backoff base %s is longer than backoff max %s", p.BackoffBase, p.BackoffMax)
	within("priority", p.Priority, 1, 10)
	within("concurrency", p.Concurrency, 1, MaxConcurrency)
	f.when(p.OnCrash != Requeue && p.OnCrash != Hold, "on_crash %q is neither %q nor %q", p.OnCrash, Requeue, Hold)
	return f.err()
}

// faults gathers what is wrong into one line.
type faults []string

func (f *faults) when(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, err.Error())
	}
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return errors.New(strings.Join(f, "; "))
}
