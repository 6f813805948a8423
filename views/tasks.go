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
	Searched string // since when all tasks were looked at, when the search ended before the page was full or not all are sorted

	Order    models.Order
	Heads    map[models.Order]templ.SafeURL // by column: the list sorted by it, or the other way round when it is
	Unsorted templ.SafeURL                  // the list newest first
	Partial  bool                           // only the newest Among of the tasks that match are sorted
	Among    int

	Hidden  [][2]string   // what the filter carries without a field for it
	CSV     templ.SafeURL // the list as a file; empty offers none
	JSON    templ.SafeURL
	Query   string // the query of the list, for the form that acts on all of it
	Matches int64  // how many tasks fit it; below zero when that is not known
	Back    string // the list itself, for forms that return to it
}

// shown says how many tasks are on the page, and how far the search for them went when it did not fill the page.
func (t Tasks) shown(ctx context.Context) string {
	text := T(ctx, "tasks.shown", "n", len(t.Rows))
	if t.Order != models.NewestFirst {
		return T(ctx, "tasks.on_page", "n", len(t.Rows)) + " · " + t.orderName(ctx)
	}
	switch {
	case t.Searched == "":
		return text
	case len(t.Rows) == 0: // which says so itself
		return ""
	}
	return text + " · " + T(ctx, "tasks.searched", "at", t.Searched)
}

// orderName is the order of the list in words.
func (t Tasks) orderName(ctx context.Context) string {
	return T(ctx, "tasks.sort."+string(t.Order))
}

func (t Tasks) exportTitle(ctx context.Context) string {
	if t.Order != models.NewestFirst {
		return T(ctx, "tasks.export_sorted")
	}
	return T(ctx, "tasks.export_title")
}

// sortable is a column by which the list can be sorted.
func (t Tasks) sortable(ctx context.Context, by models.Order, text, class string) Column {
	c := Column{Text: T(ctx, text), Class: t.classBy(by, class), Sort: t.Heads[by]}
	switch t.Order {
	case by:
		c.Sorted = "ascending"
	case by.Reversed():
		c.Sorted = "descending"
	}
	return c
}

// classBy is the class of a column by which the list can be sorted: when it is, the column is left out nowhere.
func (t Tasks) classBy(by models.Order, class string) string {
	if t.Order.Column() == by {
		return "num by"
	}
	return class
}

// label names a cell where a narrow screen has no heads: of the column by which the list is sorted.
func (t Tasks) label(ctx context.Context, by models.Order, text string) templ.Attributes {
	if t.Order.Column() != by {
		return nil
	}
	return templ.Attributes{"data-label": T(ctx, text)}
}

// The columns that are left out where there is little room.
const (
	priorityClass = "num opt needs-some"
	durationClass = "num opt needs-much"
	elapsedClass  = "num opt"
)

// showsDuration reports whether the list has a column for how long the tasks ran; that of running ones has one of its own.
func (t Tasks) showsDuration() bool {
	return t.State != models.StateRunning && (t.State != models.StatePending || t.Order.Column() == models.ByDuration)
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
const previewWidth = 80

// nameWidth is what the name of a type has room for beside an id.
const nameWidth = 60

// preview is the start of a text in one line, with what could reorder or hide letters of the page made Visible.
func preview(text string) string { return line(text, previewWidth) }

// line is preview for another width. What HTML writes as five letters counts as if it were wider, once there is much of it:
// JSON is full of that, and a page of many rows is to stay small.
func line(text string, most int) string {
	var b strings.Builder
	width, room := 0, most*2/3
	for _, r := range text {
		letter := string(r)
		switch {
		case unicode.IsSpace(r):
			letter = " "
		case isHidden(r):
			letter = shown(r)
			width += len(letter) - 1
		case r >= firstWide:
			width++
		case strings.ContainsRune(`"'&<>`, r):
			room -= len("#34;")
		}
		if width++; width > most || room < 0 {
			return b.String() + "…"
		}
		b.WriteString(letter)
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

// took is how long the latest run took or takes, empty when there is none.
func (r TaskRow) took(ctx context.Context) string {
	d, ok := r.RunTime(models.At(ViewerOf(ctx).now()))
	if !ok {
		return ""
	}
	return Duration(ctx, d)
}

func (r TaskRow) url(ctx context.Context) templ.SafeURL {
	return URL(ctx, fmt.Sprintf("/tasks/%d", r.ID))
}

// columns of the list, which depend on the state that it is of.
func (t Tasks) columns(ctx context.Context) []Column {
	columns := []Column{
		{Text: T(ctx, "tasks.state"), Class: "st"}, {Text: T(ctx, "tasks.task"), Class: "main"},
		{Text: T(ctx, "tasks.content"), Class: "opt"}, t.sortable(ctx, models.ByPriority, "tasks.priority", priorityClass),
	}
	if t.State != models.StatePending {
		columns = append(columns, Column{Text: T(ctx, "tasks.attempt"), Class: "num opt"})
	}
	switch t.State {
	case models.StatePending:
		columns = append(columns, Column{Text: T(ctx, "tasks.runs_at"), Class: "num opt"})
	case models.StateRunning:
		columns = append(columns, Column{Text: T(ctx, "tasks.worker"), Class: "opt needs-much"}, t.sortable(ctx, models.ByDuration, "tasks.elapsed", elapsedClass))
	case models.StateRetryWait:
		columns = append(columns, Column{Text: T(ctx, "tasks.next_run"), Class: "num opt"})
	case models.StateFailed, models.StateDead:
		columns = append(columns, Column{Text: T(ctx, "tasks.cause"), Class: "opt needs-much"})
	}
	if t.showsDuration() {
		columns = append(columns, t.sortable(ctx, models.ByDuration, "tasks.duration", durationClass))
	}
	changed := t.sortable(ctx, models.ByChanged, "tasks.changed", "")
	changed.Class = "num when"
	return append(columns, changed)
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
