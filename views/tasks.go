package views

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"

	"reax/models"
)

// Tasks is the list of tasks. Its texts are in the viewer's language.
type Tasks struct {
	State    models.State // of the tab; empty for all
	Tabs     []Tab
	Fields   []Field // of the filter
	More     []Field // those that are folded away
	MoreOpen bool
	Types    []string // offered for the type
	Chips    []Chip
	Clear    templ.SafeURL // the list of the tab without a filter
	Filtered bool
	Fault    string // what is wrong with the address
	Rows     []TaskRow
	Newest   templ.SafeURL // set on every page but the first
	Older    templ.SafeURL
	Searched string        // since when all tasks were looked at, when the search ended before the page was full
	Hidden   [][2]string   // what the filter carries without a field for it
	CSV      templ.SafeURL // the list as a file; empty offers none
	JSON     templ.SafeURL
	Query    string // the query of the list, for the form that acts on all of it
	Matches  int64  // how many tasks fit it; below zero when that is not known
	Back     string // the list itself, for forms that return to it
}

// shown says how many tasks are on the page, and how far the search for them went when it did not fill the page.
func (t Tasks) shown(ctx context.Context) string {
	text := T(ctx, "tasks.shown", "n", len(t.Rows))
	switch {
	case t.Searched == "":
		return text
	case len(t.Rows) == 0: // which says so itself
		return ""
	}
	return text + " · " + T(ctx, "tasks.searched", "at", t.Searched)
}

// Tab is one of several views of a list.
type Tab struct {
	Text    string
	URL     templ.SafeURL
	Current bool
	Counted bool
	N       int64
	Bad     bool // any is too many
}

// Chip is a filter in force.
type Chip struct {
	Label, Value string
	Remove       templ.SafeURL
}

// TaskRow is one row of the list.
type TaskRow struct {
	models.Task
	Params string // without what must not be shown
}

// previewWidth is what a row has room for, in narrow letters.
const previewWidth = 90

// preview is the start of a text in one line, without what could reorder or hide letters of the page.
func preview(text string) string { return line(text, previewWidth) }

// line is preview for another width. What HTML writes as five letters counts as if it were wider, once there is much of it:
// JSON is full of that, and a page of many rows is to stay small.
func line(text string, most int) string {
	var b strings.Builder
	width, room := 0, most*2/3
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			r = ' '
		}
		if width++; r >= firstWide {
			width++
		}
		if strings.ContainsRune(`"'&<>`, r) {
			room -= len("#34;")
		}
		if width > most || room < 0 {
			return b.String() + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// OneLine is the start of a text of others, fit to stand in a sentence of ours.
func OneLine(text string) string { return preview(text) }

// firstWide is about where the letters begin that take the room of two.
const firstWide = 0x1100

// showsError reports whether the error matters more than the parameters.
func (r TaskRow) showsError() bool { return r.Error != "" && r.State != models.StateSuccess }

// run is which of its runs is on or was the last, as far as they count against the limit; 0 when none was.
func (r TaskRow) run() int {
	n := r.Failures
	if r.State == models.StateRunning || r.State == models.StateSuccess {
		n++
	}
	return min(n, r.RunLimit())
}

// elapsed is how long the run is on, with its limit.
func (r TaskRow) elapsed(ctx context.Context) string {
	text := Duration(ctx, ViewerOf(ctx).now().Sub(r.StartedAt.Time()).Truncate(time.Second))
	if limit := r.Timeout(); limit > 0 {
		return T(ctx, "tasks.elapsed_of", "elapsed", text, "limit", Duration(ctx, limit))
	}
	return text
}

func (r TaskRow) url(ctx context.Context) templ.SafeURL {
	return URL(ctx, fmt.Sprintf("/tasks/%d", r.ID))
}

// columns of the list, which depend on the state that it is of.
func (t Tasks) columns(ctx context.Context) []Column {
	columns := []Column{
		{Text: T(ctx, "tasks.state"), Class: "st"}, {Text: T(ctx, "tasks.task"), Class: "main"},
		{Text: T(ctx, "tasks.content"), Class: "opt"}, {Text: T(ctx, "tasks.priority"), Class: "num opt needs-some"},
	}
	if t.State != models.StatePending {
		columns = append(columns, Column{Text: T(ctx, "tasks.attempt"), Class: "num opt"})
	}
	switch t.State {
	case models.StatePending:
		columns = append(columns, Column{Text: T(ctx, "tasks.runs_at"), Class: "num opt"})
	case models.StateRunning:
		columns = append(columns, Column{Text: T(ctx, "tasks.worker"), Class: "opt needs-much"}, Column{Text: T(ctx, "tasks.elapsed"), Class: "num opt"})
	case models.StateRetryWait:
		columns = append(columns, Column{Text: T(ctx, "tasks.next_run"), Class: "num opt"})
	case models.StateFailed, models.StateDead:
		columns = append(columns, Column{Text: T(ctx, "tasks.cause"), Class: "opt needs-much"})
	}
	return append(columns, Column{Text: T(ctx, "tasks.changed"), Class: "num when"})
}

// bulk is what the list offers for the picked rows.
func (t Tasks) bulk(ctx context.Context) BulkChoice {
	b := BulkChoice{Retry: t.can("retry"), Cancel: t.can("cancel"), Discard: t.can("discard"), All: T(ctx, "bulk.all")}
	if t.Matches >= 0 {
		b.All = T(ctx, "bulk.all_n", "n", t.Matches)
	}
	return b
}

// can reports whether an action makes sense for tasks of this tab.
func (t Tasks) can(action string) bool {
	switch {
	case t.State == "":
		return true
	case action == "retry":
		return t.State.CanBecome(models.StatePending) && t.State != models.StateRunning
	case action == "cancel":
		return t.State.IsWaiting() || t.State == models.StateRunning
	}
	return t.State == models.StateFailed || t.State == models.StateDead
}
