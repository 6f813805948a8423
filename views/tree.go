package views

import "github.com/a-h/templ"

// Node is one row of a tree with what is below it.
type Node struct {
	ID       string // unique on the page
	Name     string
	Tone     string // a state or mark for its dot
	Word     string // what the dot says, in the viewer's language
	URL      templ.SafeURL
	Note     string // small, after the name
	Facts    []Fact // at the right end
	Open     bool
	Current  bool
	Children []Node
}
