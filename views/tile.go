package views

import "github.com/a-h/templ"

// Tile is one figure of an overview. Its texts are in the viewer's language.
type Tile struct {
	Label string
	Value string
	Unit  string // small, after the value
	Note  string // one line under it
	Tone  string // a state or mark when the figure is bad; empty is plain
	URL   templ.SafeURL
	Spark []float64 // oldest first; may be empty
}
