package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

// tasksPage is the list of tasks.
func (s *Server) tasksPage(c echo.Context) error {
	ctx := c.Request().Context()
	viewer := views.ViewerOf(ctx)
	query := s.tasksQuery(c.QueryParams(), viewer.Zone, viewer.Now)
	page := s.tasksView(ctx, query)
	status := http.StatusOK
	if len(query.faults) > 0 {
		status = http.StatusUnprocessableEntity
	} else {
		list, err := s.ledger.List(ctx, query.filter, pageRows(ctx))
		if err != nil {
			return err
		}
		workers := s.workersOf(query.oneState())
		for i := range list.Tasks {
			t := &list.Tasks[i]
			t.Worker = cmp.Or(workers[t.ID], t.Worker)
			page.Rows = append(page.Rows, views.TaskRow{Task: *t, Params: s.shownParams(t)})
		}
		if cursor := nextCursor(query.filter, &list); cursor != "" {
			page.Older = query.with(ctx, "cursor", cursor)
		}
		if list.Searched != 0 {
			page.Searched = views.Clock(ctx, list.Searched)
		}
		page.Partial, page.Among = list.Partial, list.Among
	}
	return s.render(c, status, views.TasksPage(page))
}

// workersOf is who runs each task now, for a list of running ones: the ledger is told with the outcome of a run.
func (s *Server) workersOf(state models.State) map[int64]string {
	if state != models.StateRunning {
		return nil
	}
	workers := map[int64]string{}
	for _, row := range s.runtime.Tree() {
		var id int64
		if _, err := fmt.Sscanf(row.Doing, "task %d,", &id); err == nil {
			workers[id] = strings.TrimPrefix(row.ID, "reax/pools/")
		}
	}
	return workers
}

func listURL(ctx context.Context, values url.Values) templ.SafeURL {
	return views.URL(ctx, "/tasks") + query(values)
}

// query is the end of an address.
func query(values url.Values) templ.SafeURL {
	if len(values) == 0 {
		return ""
	}
	return templ.SafeURL("?" + values.Encode())
}

// without is the address of the list with some of its parameters left out.
func (t *tasksQuery) without(ctx context.Context, names ...string) templ.SafeURL {
	values := t.values()
	for _, name := range names {
		values.Del(name)
	}
	return listURL(ctx, values)
}

// with is the address of the list with one of its parameters set.
func (t *tasksQuery) with(ctx context.Context, name, value string) templ.SafeURL {
	values := t.values()
	values.Set(name, value)
	return listURL(ctx, values)
}

// heads are the addresses to which the heads of the columns lead: the list in the order that people mostly want of the
// column, and turned round when it is in that order.
func (t *tasksQuery) heads(ctx context.Context) map[models.Order]templ.SafeURL {
	heads := map[models.Order]templ.SafeURL{}
	for _, o := range slices.Backward(models.Orders) {
		if t.filter.Order != o {
			heads[o.Column()] = t.with(ctx, "sort", string(o))
		}
	}
	return heads
}

// tasksView is all of the page but its rows.
func (s *Server) tasksView(ctx context.Context, t *tasksQuery) views.Tasks {
	page := views.Tasks{
		State: t.oneState(), Back: string(listURL(ctx, t.values())), Filtered: t.narrows() || t.typ != "",
		Clear: t.without(ctx, slices.DeleteFunc(slices.Collect(maps.Keys(t.values())), func(name string) bool { return name == "state" || name == "sort" })...),
		Tabs:  s.taskTabs(ctx, t), Types: s.typeNames(), Query: t.values().Encode(), Matches: -1,
		Order: t.filter.Order, Heads: t.heads(ctx), Unsorted: t.without(ctx, "sort"),
	}
	if t.state != "" {
		page.Hidden = append(page.Hidden, [2]string{"state", t.state})
	}
	if t.fingerprint != "" {
		page.Hidden = append(page.Hidden, [2]string{"fingerprint", t.fingerprint})
	}
	if t.ended != "" {
		page.Hidden = append(page.Hidden, [2]string{"ended", t.ended})
	}
	if len(t.faults) == 0 {
		page.CSV, page.JSON = views.URL(ctx, "/tasks/export.csv")+query(t.values()), views.URL(ctx, "/tasks/export.json")+query(t.values())
	}
	for _, tab := range page.Tabs {
		if tab.Current && tab.Counted {
			page.Matches = tab.N
		}
	}
	if t.cursor != "" {
		page.Newest = listURL(ctx, t.values())
	}
	page.Chips = t.chips(ctx)
	page.Fields, page.More = t.fields(ctx)
	page.MoreOpen = t.priority+t.from+t.to+t.trace+t.tag+t.param+t.schedule != "" || t.suspected
	if len(t.faults) > 0 {
		page.Fault = views.T(ctx, "tasks.bad_filter")
	}
	for _, name := range []string{"state", "cursor", "fingerprint", "ended"} { // those have no field of their own
		if key := t.faults[name]; key != "" {
			page.Fault = views.T(ctx, key)
		}
	}
	return page
}

func (s *Server) typeNames() []string {
	var names []string
	for _, d := range s.runtime.Registry().All() {
		names = append(names, d.Name)
	}
	return names
}

// taskTabs has a tab for each state. Figures are kept by type and state alone, so a filter on more than that shows none
// rather than wrong ones.
func (s *Server) taskTabs(ctx context.Context, t *tasksQuery) []views.Tab {
	counts := views.ViewerOf(ctx).Counts
	if t.narrows() {
		counts = nil
	} else if t.typ != "" {
		byType, err := s.countsByType(ctx)
		counts = byType[t.typ]
		if err == nil && counts == nil {
			counts = map[models.State]int64{}
		}
	}
	var all int64
	tabs := []views.Tab{{Text: views.T(ctx, "tasks.all"), URL: t.without(ctx, "state"), Current: t.state == ""}}
	for _, state := range models.States {
		all += counts[state]
		tabs = append(tabs, views.Tab{
			Text: views.T(ctx, "state."+string(state)), URL: t.with(ctx, "state", string(state)), Current: t.state == string(state),
			Counted: counts != nil, N: counts[state], Bad: state == models.StateDead || state == models.StateFailed,
		})
	}
	tabs[0].Counted, tabs[0].N = counts != nil, all
	return tabs
}

// chips are the filters in force, each with the address that takes it away.
func (t *tasksQuery) chips(ctx context.Context) []views.Chip {
	var chips []views.Chip
	if t.oneState() == "" && t.state != "" && t.faults["state"] == "" {
		var words []string
		for _, state := range t.filter.States {
			words = append(words, views.T(ctx, "state."+string(state)))
		}
		chips = append(chips, views.Chip{Label: views.T(ctx, "tasks.states_chip"), Value: strings.Join(words, ", "), Remove: t.without(ctx, "state")})
	}
	add := func(name, label, value string) {
		if value != "" && t.faults[name] == "" {
			chips = append(chips, views.Chip{Label: views.T(ctx, label), Value: value, Remove: t.without(ctx, name)})
		}
	}
	add("type", "tasks.type", t.typ)
	if t.window != "" {
		add("window", "tasks.created", views.T(ctx, "window."+t.window))
	}
	add("q", "tasks.text", t.q)
	add("priority", "tasks.priority", t.priority)
	add("from", "tasks.from", clockChip(ctx, t.from, t.filter.CreatedFrom))
	add("to", "tasks.to", clockChip(ctx, t.to, t.filter.CreatedTo))
	if t.ended != "" {
		add("ended", "tasks.ended", views.Clock(ctx, t.filter.EndedFrom)+" – "+views.ShortClock(ctx, t.filter.EndedTo))
	}
	add("trace_id", "tasks.trace", t.trace)
	add("tag", "tasks.tag", t.tag)
	add("param", "tasks.param", t.param)
	add("fingerprint", "tasks.fingerprint", t.fingerprint)
	add("schedule", "tasks.schedule", t.schedule)
	if t.suspected {
		add("suspected", "tasks.mark", views.T(ctx, "mark.suspected"))
	}
	return chips
}

func clockChip(ctx context.Context, text string, at models.Instant) string {
	if text == "" {
		return ""
	}
	return views.Clock(ctx, at)
}

// filterField is an input of a filter. faults has the message keys of what is wrong, by the name of the input.
func filterField(ctx context.Context, faults map[string]string, name, kind, label, value string) views.Field {
	f := views.Field{ID: "f-" + name, Name: name, Kind: kind, Label: views.T(ctx, label), Value: value}
	if key := faults[name]; key != "" {
		f.Error = views.T(ctx, key)
	}
	if kind == "text" {
		f.MaxLen = strconv.Itoa(maxSearchBytes)
	}
	return f
}

// fields are the inputs of the filter: those that are always there, and the rest.
func (t *tasksQuery) fields(ctx context.Context) (first, more []views.Field) {
	field := func(name, kind, label, value string) views.Field {
		return filterField(ctx, t.faults, name, kind, label, value)
	}
	typ := field("type", "text", "tasks.type", t.typ)
	typ.List = "types"
	window := field("window", "select", "tasks.created", t.window)
	window.Options = []views.Option{{Text: views.T(ctx, "window.any")}}
	for _, w := range windows {
		window.Options = append(window.Options, views.Option{Value: w.name, Text: views.T(ctx, "window."+w.name)})
	}
	priority := field("priority", "select", "tasks.priority", t.priority)
	priority.Options = []views.Option{{Text: views.T(ctx, "priority.any")}}
	for _, p := range priorities {
		priority.Options = append(priority.Options, views.Option{Value: p, Text: views.T(ctx, "priority."+p)})
	}
	for p := 1; p <= 10; p++ {
		priority.Options = append(priority.Options, views.Option{Value: strconv.Itoa(p), Text: strconv.Itoa(p)})
	}
	order := field("sort", "select", "tasks.sort", t.sort)
	order.Options = []views.Option{{Text: views.T(ctx, "tasks.sort.newest")}}
	for _, o := range models.Orders {
		order.Options = append(order.Options, views.Option{Value: string(o), Text: views.T(ctx, "tasks.sort."+string(o))})
	}
	first = []views.Field{typ, field("q", "text", "tasks.text", t.q), window, order}
	more = []views.Field{
		priority, field("from", "datetime-local", "tasks.from", t.from), field("to", "datetime-local", "tasks.to", t.to),
		field("trace_id", "text", "tasks.trace", t.trace), field("tag", "text", "tasks.tag", t.tag),
	}
	param := field("param", "text", "tasks.param", t.param)
	param.Hint, param.Example = views.T(ctx, "tasks.param_hint"), "customer.id=4417"
	more = append(more, param, field("schedule", "text", "tasks.schedule", t.schedule))
	suspected := field("suspected", "checkbox", "tasks.suspected", "")
	suspected.Value = strconv.FormatBool(t.suspected)
	return first, append(more, suspected)
}
