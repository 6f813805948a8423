package views

import "github.com/a-h/templ"

// Confirmation is a question before an action. Its texts are in the viewer's language.
type Confirmation struct {
	ID             string // unique on the page
	Text           string // what will happen, to what, and whether it can be undone
	Action         templ.SafeURL
	Hidden         [][2]string // names and values that the form carries
	Reason         string      // the label of the reason; empty asks for none
	ReasonRequired bool
	Button         string // the verb: "Discard 3 tasks"
	Danger         bool
	Back           templ.SafeURL // where who does not want it goes
}
