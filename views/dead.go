package views

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"reax/models"
)

// Dead is the page of dead letters: what ended failed or dead, by its error or by its type. Its texts are in the
// viewer's language.
type Dead struct {
	Tabs     []Tab
	ByType   *Matrix // set when the page is that of the types
	Fields   []Field
	Types    []string // offered for the type
	Filtered bool
	Capped   int   // how many groups were looked at when there are more
	Groups   int   // that fit the filter
	Tasks    int64 // in those
	Rows     []DeadGroup
	Muted    []DeadGroup // those that nobody is to be bothered with, on the last page
	MutedAll int         // how many there are
	Newest   templ.SafeURL
	Older    templ.SafeURL
	Back     string
}

// DeadGroup is one group of errors.
type DeadGroup struct {
	models.ErrorGroup
	New      bool // first seen since the viewer was here last
	Grown    bool // known before, and has failed again since then
	Hours    []int
	Known    int  // the hours, from the latest back, of which Hours knows everything
	Recent   int  // tasks in Hours
	AtLeast  bool // there may be more than Recent
	Attempts string
	ForGood  bool // all were permanent errors
	Quiet    bool // it is muted now
	Common   []CommonValue
}

// CommonValue is a value of a parameter that many tasks of a group have.
type CommonValue struct {
	Path, Value string
	N, Of       int
	URL         templ.SafeURL // those tasks
}

// Matrix is how many tasks of each type failed in several windows of time.
type Matrix struct {
	Windows []string
	Rows    []MatrixRow
}

// MatrixRow is one type of a Matrix.
type MatrixRow struct {
	Type  string
	URL   templ.SafeURL
	Cells []MatrixCell
}

// MatrixCell is one figure of a Matrix with the tasks behind it.
type MatrixCell struct {
	N   int64
	URL templ.SafeURL
}

// DeadDetail is one group with its tasks.
type DeadDetail struct {
	DeadGroup
	Canary *Canary
	Marks  []Field // what people know of it, as a form
	Rows   []TaskRow
	Newest templ.SafeURL
	Older  templ.SafeURL
	Query  string // the filter that is the group, for forms
	Back   string // this page
}

// DeadEdit is the form that corrects the parameters of the tasks of a group. Its texts are in the viewer's language.
type DeadEdit struct {
	DeadGroup
	Fields  []Field
	Example string // the parameters of the newest task
	Back    string // the group, as forms carry it
}

// Canary is the one task that was retried before the rest.
type Canary struct {
	TaskRow
	SameError bool // it failed with the error of the group again
}

// key is what the message of a canary is told by.
func (c Canary) key() string {
	switch {
	case (c.State == models.StateFailed || c.State == models.StateDead) && c.SameError:
		return "same"
	case c.State == models.StatePending && c.Failures > 0:
		return "retry_wait"
	}
	return string(c.State)
}

func (g DeadGroup) path() string { return "/dead/" + Segment(g.Type) + "/" + Segment(g.Fingerprint) }

func (g DeadGroup) url(ctx context.Context) templ.SafeURL { return URL(ctx, g.path()) }

// id of the element that names the group.
func (g DeadGroup) id() string { return "g-" + g.Fingerprint }

// title is the name that people gave the group, or what its tasks have in common.
func (g DeadGroup) title(ctx context.Context, most int) string {
	if g.Mark.Name != "" {
		return line(g.Mark.Name, most)
	}
	return g.message(ctx, most)
}

// quietText says until when the group is muted.
func (g DeadGroup) quietText(ctx context.Context) string {
	if g.Mark.MutedUntil == 0 {
		return T(ctx, "dead.muted")
	}
	return T(ctx, "dead.muted_until", "at", Clock(ctx, g.Mark.MutedUntil))
}

// shown says how many groups and tasks there are.
func (d Dead) shown(ctx context.Context) string {
	return T(ctx, "dead.shown", "n", d.Groups, "tasks", T(ctx, "dead.tasks_n", "n", d.Tasks))
}

// message is what the tasks of the group have in common; there may be no words at all.
func (g DeadGroup) message(ctx context.Context, most int) string {
	if strings.TrimSpace(g.Message) == "" {
		return T(ctx, "dead.no_message")
	}
	return line(g.Message, most)
}

// recent says what the bars show.
func (g DeadGroup) recent(ctx context.Context) string {
	if g.AtLeast {
		return T(ctx, "dead.recent_many", "n", g.Recent)
	}
	return T(ctx, "dead.recent", "n", g.Recent)
}

// halfWidth is what half a row has room for, in narrow letters.
const halfWidth = 60

const barWidth, barHeight = 5, 24

// barsPath draws small bars as one path, for a page has many of them.
func barsPath(values []int) string {
	high := max(1, slices.Max(append([]int{0}, values...)))
	var b strings.Builder
	for i, v := range values {
		if v > 0 {
			h := max(2, v*(barHeight-1)/high)
			fmt.Fprintf(&b, "M%d %dv-%dh%dv%dz", i*barWidth, barHeight, h, barWidth-1, h)
		}
	}
	return b.String()
}

// unknownWidth is the part of the bars of which nothing is known.
func (g DeadGroup) unknownWidth() int { return (len(g.Hours) - g.Known) * barWidth }
