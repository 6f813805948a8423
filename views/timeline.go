package views

import (
	"github.com/a-h/templ"

	"reax/models"
)

// Moment is one entry of a timeline. Its texts are in the viewer's language, but for Error and Stack.
type Moment struct {
	Tone  string // a state or mark; it also gives the icon
	Title string
	Note  string // small, after the title
	At    models.Instant
	Error string // shown as it is
	Stack string // folded
	More  []Fact
	Body  templ.Component // anything else; may be nil
	Exact bool            // with the clock, where "3 min ago" would say too little
}
