package views

import (
	"github.com/a-h/templ"

	"reax/models"
)

// Node is one row of a tree with what is below it.
type Node struct {
	ID       string // unique on the page; may be empty
	Name     string
	Tone     string // a state or mark for its dot
	Word     string // what the dot says, in the viewer's language
	URL      templ.SafeURL
	Doing    string // what it works on
	DoingURL templ.SafeURL
	Note     string // small, after that
	Alarm    string // what went wrong with it
	AlarmAt  models.Instant
	Facts    []Fact // at the right end
	Open     bool
	Current  bool
	Children []Node
}
