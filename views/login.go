package views

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"
)

// Login is the page that asks for a name and a password.
type Login struct {
	Name  string   // as it was written before
	Next  string   // the path to go on to
	Kept  KeptForm // a form that is sent after the sign-in
	Ended bool     // a session has ended while somebody was at work
	Wrong bool     // name or password were wrong
	Wait  int      // seconds until the next try; 0 for none
}

// KeptForm is a form that came when its session had ended: where it goes and what is in it, as a query. The zero value is
// none.
type KeptForm struct{ Path, Values string }

// Fields are the names and values of the form, in the order of the names.
func (k KeptForm) Fields() (fields [][2]string, ok bool) {
	values, err := url.ParseQuery(k.Values)
	if err != nil || k.Path == "" {
		return nil, false
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range values[name] {
			fields = append(fields, [2]string{name, value})
		}
	}
	return fields, true
}

// Resend is the page on which a kept form is sent again.
type Resend struct {
	Action templ.SafeURL // where it goes
	Fields [][2]string
	Back   templ.SafeURL // the page that it came from
}
