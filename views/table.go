package views

import "github.com/a-h/templ"

// Column is the head of a table's column.
type Column struct {
	Text  string // in the viewer's language
	Class string // "num" for figures, "opt" for what a narrow screen leaves out
}

// Fact is a name and a value in a list of facts. Value is text; a Fact with a URL is a link.
type Fact struct {
	Label string
	Value string
	URL   templ.SafeURL
	Mono  bool
	Copy  bool // with a button that copies the value
}
