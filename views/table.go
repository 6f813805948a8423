package views

import "github.com/a-h/templ"

// Column is the head of a table's column.
type Column struct {
	Text  string // in the viewer's language
	Class string // "num" for figures, "opt" for what a narrow screen leaves out

	Sort   templ.SafeURL // the list sorted by the column, or the other way round when it is; empty offers none
	Sorted string        // ascending or descending, when the list is sorted by it
}

// glyph shows which way the list is sorted by the column.
func (c Column) glyph() string {
	return map[string]string{"ascending": "↑", "descending": "↓"}[c.Sorted]
}

// Fact is a name and a value in a list of facts. Value is text; a Fact with a URL is a link.
type Fact struct {
	Label string
	Value string
	URL   templ.SafeURL
	Mono  bool
	Copy  bool // with a button that copies the value
}
