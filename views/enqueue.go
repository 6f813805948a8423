package views

import (
	"context"

	"github.com/a-h/templ"
)

// EnqueueTypes is the choice of a task type.
type EnqueueTypes struct {
	Query string
	Types []TypeChoice
	More  int  // types that match and are not shown
	None  bool // there is not a single type
}

// TypeChoice is a task type that can be enqueued.
type TypeChoice struct {
	Name        string
	Description string
	Kind        string // as tasks.Definition has it; empty when this process has no handler for it
	URL         templ.SafeURL
	Busy, Size  int
	Ready       int64
	Paused      bool
	PauseReason string
}

// EnqueueForm is the form of one task. Its texts are in the viewer's language, but for what the schema says.
type EnqueueForm struct {
	Type     TypeChoice
	Action   templ.SafeURL
	Token    string // so that a form sent twice makes one task
	Zone     string // of the times in the form
	From     string // the id of the task that it is a copy of; empty for none
	FromURL  templ.SafeURL
	Note     string // what somebody should know of the copy
	Whole    bool   // the parameters are one JSON text
	Fields   []Field
	Extra    *Field // further parameters; nil when there are none
	When     Field
	Delay    Field
	RunAt    Field
	More     []Field
	MoreOpen bool
	Fault    string // what is wrong with the whole
	Preview  *EnqueuePreview
	Other    templ.SafeURL // the same form as JSON, or as fields
	Example  templ.SafeURL // filled in with the example of the type; empty when it is
}

// EnqueuePreview is what the form would send.
type EnqueuePreview struct {
	When   string
	Body   string
	Curl   string
	Hidden bool // a secret is left out
}

// all are the fields in their order.
func (f EnqueueForm) all() []Field {
	all := append([]Field{}, f.Fields...)
	if f.Extra != nil {
		all = append(all, *f.Extra)
	}
	all = append(all, f.When, f.Delay, f.RunAt)
	return append(all, f.More...)
}

// kind is the kind of handler in words.
func (t TypeChoice) kind(ctx context.Context) string { return T(ctx, "enqueue.kind."+t.Kind) }
