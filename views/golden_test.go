package views

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
)

const (
	noon    = models.Instant(1_767_268_800_123_456) // 2026-01-01T12:00:00.123456Z
	hostile = `<img src=x onerror=alert(1)>"'&` + "\u202e"
)

// viewer looks at the pages of the tests, from Berlin at five past noon UTC.
func viewer(t testing.TB, change func(*Viewer)) context.Context {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	v := &Viewer{
		Locale: English, Zone: zone, Base: "/reax", Here: "/reax/tasks?state=dead", Version: "1.2.3", RequestID: "R1",
		Role: models.RoleAdmin,
		Now:  noon.Time().Add(5 * time.Minute), Counts: map[models.State]int64{models.StateDead: 1234},
	}
	if change != nil {
		change(v)
	}
	return WithViewer(t.Context(), v)
}

func render(ctx context.Context, t testing.TB, c templ.Component) string {
	t.Helper()
	var html bytes.Buffer
	require.NoError(t, c.Render(ctx, &html))
	return html.String()
}

// with gives a component children.
func with(c, children templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return c.Render(templ.WithChildren(ctx, children), w)
	})
}

var (
	hash    = regexp.MustCompile(`/static/[0-9a-f]+/`)
	between = regexp.MustCompile(`>\s*<`)
)

// readable puts each element on a line of its own, so that a difference can be read.
func readable(html string) string {
	html = hash.ReplaceAllString(html, "/static/HASH/")
	return strings.TrimSpace(between.ReplaceAllString(html, ">\n<")) + "\n"
}

// golden compares with testdata/NAME.html. REAX_UPDATE_GOLDEN=1 writes the file.
func golden(t *testing.T, name, html string) {
	t.Helper()
	path, got := filepath.Join("testdata", name+".html"), readable(html)
	if os.Getenv("REAX_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func someTasks() Tasks {
	row := func(id int64, state models.State, change func(*models.Task)) TaskRow {
		r := models.Task{
			ID: id, Type: "mail.send", State: state, Priority: 5, MaxRetries: 3, TimeoutUS: 60e6, RunAt: noon, CreatedAt: noon,
			UpdatedAt: noon, StartedAt: noon, Worker: "mail.send/worker-1",
		}
		if change != nil {
			change(&r)
		}
		return TaskRow{Task: r, Params: `{"to":"ana"}`}
	}
	return Tasks{
		Tabs:   []Tab{{Text: "All", URL: "/reax/tasks", Current: true, Counted: true, N: 48210}, {Text: "dead", URL: "/reax/tasks?state=dead", Counted: true, N: 17, Bad: true}},
		Fields: []Field{{ID: "f-type", Name: "type", Kind: "text", Label: "Type", List: "types"}},
		More:   []Field{{ID: "f-tag", Name: "tag", Kind: "text", Label: "Tag", Value: hostile, Error: hostile}},
		Types:  []string{"mail.send"}, Chips: []Chip{{Label: "Tag", Value: hostile, Remove: "/reax/tasks"}}, Clear: "/reax/tasks",
		Rows: []TaskRow{
			row(12, models.StateDead, func(r *models.Task) {
				r.Error, r.ErrorKind, r.Failures, r.Suspected, r.StuckAt = hostile, "error", 4, hostile, noon
			}),
			row(11, models.StateRunning, func(r *models.Task) { r.Progress = 40 }),
			row(10, models.StatePending, nil),
		},
		Newest: "/reax/tasks", Older: "/reax/tasks?cursor=MTA", Back: "/reax/tasks",
	}
}

func TestComponents(t *testing.T) {
	facts := []Fact{{Label: "Trace", Value: "9f2c", Mono: true, Copy: true}, {Label: "Schedule", Value: "nightly", URL: "/reax/schedules/nightly"}, {Label: "Key"}}
	text := templ.Raw("<p>content</p>")
	for name, parts := range map[string][]templ.Component{
		"pill": {StatePill(models.StateRetryWait), Pill("paused", "pause", hostile)},
		"time": {When(noon), At(noon), At(noon.Add(-24 * time.Hour)), When(0)},
		"tile": {Tiles("Figures", []Tile{
			{Label: "Dead", Value: "17", Unit: "of 20", Note: "in 3 groups", Tone: "dead", URL: "/reax/dead", Spark: []float64{0, 2, 1}},
			{Label: hostile, Value: "–", URL: "/reax/tasks"},
		})},
		"chart": {
			Bars(Chart{Label: "Finished", Good: "succeeded", Bad: "failed", Numbers: true, Marks: []Mark{{1, "restart"}},
				Bars: []Bar{{At: noon, Good: 90, Bad: 1, URL: "/reax/tasks"}, {At: noon.Add(time.Minute)}, {At: noon.Add(2 * time.Minute), Bad: 3}}}),
			Bars(Chart{Label: "Nothing"}),
			Lines("Times", "2 s", []Line{{"p50", "a", []float64{1, 2, -1, 1}}, {"p95", "b", []float64{-1, -1}}}),
			Spark(nil), Meter(3, 4, "3 of 4 busy"), Meter(0, 0, "none"),
			Strip("Last runs", []Cell{{"success", "ok", "/reax/tasks/1"}, {"failed", hostile, "/reax/tasks/2"}, {"cancelled", "skipped", ""}}),
		},
		"table": {with(Card("Facts", "note"), Facts(facts)), Pager("3 of 9", "", "/reax/tasks?cursor=x"), with(Empty("tasks", "Nothing", hostile), text), Code(hostile)},
		"field": {
			ErrorSummary([]Field{{ID: "a", Label: "Customer", Error: hostile}, {ID: "b", Label: "fine"}}), ErrorSummary(nil),
			Input(Field{ID: "a", Name: "p.customer", Label: "Customer", Kind: "number", Value: "x", Hint: "whole number", Help: hostile, Error: "must be a number", Required: true, Min: "1", Step: "1"}),
			Input(Field{ID: "b", Name: "p.note", Label: "Note", Kind: "textarea", Value: "</textarea>" + hostile, MaxLen: "9", Pattern: "x", Rows: "3"}),
			Input(Field{ID: "c", Name: "p.kind", Label: "Kind", Kind: "select", Value: "b", Options: []Option{{"a", "A"}, {"b", hostile}}}),
			Input(Field{ID: "d", Name: "p.size", Label: "Size", Kind: "radio", Value: "s", Required: true, Options: []Option{{"s", "Small"}, {"l", "Large"}}, Help: "help"}),
			Input(Field{ID: "e", Name: "p.loud", Label: "Loud", Kind: "checkbox", Value: "true"}),
			Input(Field{ID: "f", Name: "params", Label: "Parameters", Kind: "json", Value: `{"a":1}`, Rows: "8"}),
		},
		"dialog": {with(Dialog("discard", "Discard?"), Confirm(Confirmation{
			ID: "discard", Text: hostile, Action: "/reax/tasks/1/discard", Hidden: [][2]string{{"id", "1"}}, Reason: "Reason",
			ReasonRequired: true, Button: "Discard 1 task", Danger: true, Back: "/reax/tasks/1",
		}))},
		"timeline": {Timeline([]Moment{
			{Tone: "failed", Title: "Attempt 1 failed", Note: "after 2 s", At: noon, Error: hostile, Stack: "main.go:1", More: facts[:1]},
			{Tone: "pending", Title: "Enqueued", At: noon, Body: text},
		})},
		"tree": {Tree("Actors", []Node{{ID: "n1", Name: "supervisor", Tone: "success", Word: "idle", Open: true, Children: []Node{
			{ID: "n2", Name: hostile, Tone: "running", Word: "busy", URL: "/reax/actors?id=n2", Doing: "task 42", DoingURL: "/reax/tasks/42", Note: "3 s", Alarm: hostile, AlarmAt: noon, Current: true, Facts: []Fact{{Label: "mailbox", Value: "3"}}},
		}}})},
		"live": {with(Live("rows", "tasks,progress", "card"), text)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := viewer(t, nil)
			var all []string
			for _, part := range parts {
				all = append(all, render(ctx, t, part))
			}
			html := strings.Join(all, "\n")
			requireTame(t, html)
			golden(t, name, html)
		})
	}
}

func TestPages(t *testing.T) {
	chinese := func(v *Viewer) {
		v.Locale, v.Theme, v.Flash = Chinese, "dark", &Flash{Tone: "ok", Text: hostile, URL: "/tasks/1"}
	}
	for name, c := range map[string]struct {
		change func(*Viewer)
		page   templ.Component
	}{
		"page-tasks":          {nil, TasksPage(someTasks())},
		"page-tasks-zh":       {chinese, TasksPage(Tasks{Clear: "/reax/tasks"})},
		"page-overview":       {nil, OverviewPage(someOverview())},
		"page-overview-down":  {nil, OverviewPage(Overview{Verdict: Verdict{Status: "down", Tone: "failed", Title: "Not working", Causes: []Sentence{{Text: hostile, Since: "since 13:00", URL: "/reax/actors"}, {}, {}, {}}}})},
		"page-overview-first": {chinese, OverviewPage(Overview{Known: true, Start: &Start{Demo: true, Run: "reax enqueue demo.report", Request: "curl " + hostile, Own: "tasks:"}})},
		"page-unavailable":    {nil, ErrorPage(Failure{Status: 503, Code: "unavailable", Detail: "internal words", RequestID: "R1"})},
		"page-conflict":       {chinese, ErrorPage(Failure{Status: 409, Code: "wrong_state", Detail: hostile, RequestID: "R1"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := render(viewer(t, c.change), t, c.page)
			requireTame(t, html)
			golden(t, name, html)
		})
	}
}

// requireTame fails on what the content policy forbids and on hostile text that came through as markup.
func requireTame(t *testing.T, html string) {
	t.Helper()
	require.NotContains(t, html, "<img")
	require.NotContains(t, html, " style=")
	require.NotContains(t, html, "<style")
	require.NotRegexp(t, `<script(?: |>)[^>]*>[^<]`, html, "a script of its own")
	require.NotRegexp(t, `<[^>]* on[a-z]+="`, html, "a script in an attribute")
	require.NotContains(t, html, "http:")
}

func TestTheRegionThatIsAskedForIsThatOfThePage(t *testing.T) {
	ctx, page := viewer(t, nil), TasksPage(someTasks())
	var part bytes.Buffer
	require.NoError(t, templ.RenderFragments(ctx, &part, page, "tabs"))
	require.True(t, strings.HasPrefix(strings.TrimSpace(part.String()), `<div class="" data-live="tabs"`), part.String())
	require.Contains(t, render(ctx, t, page), part.String())
}

func TestTextsOfOthersCannotReorderAPage(t *testing.T) {
	require.NotContains(t, preview("a\u202eb\x00c\nd"), "\u202e")
	require.Equal(t, `a\u202eb\u0000c d`, preview("a\u202eb\x00c\nd"))
	require.Equal(t, strings.Repeat("错", previewWidth/2)+"…", preview(strings.Repeat("错", 1000)))
	require.Equal(t, strings.Repeat("e", previewWidth)+"…", preview(strings.Repeat("e", 1000)))
}

func TestDurationsReadWell(t *testing.T) {
	ctx := viewer(t, nil)
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 300 * time.Microsecond: "0.3 ms", 320 * time.Millisecond: "320 ms", 1440 * time.Millisecond: "1.4 s",
		2 * time.Second: "2 s", 65 * time.Second: "1 min 5 s", 2 * time.Minute: "2 min", 2 * time.Hour: "2 h", time.Hour + time.Second: "1 h",
		76 * time.Hour: "3 d 4 h", 11900 * time.Millisecond: "11 s",
	} {
		require.Equal(t, want, Duration(ctx, d), d)
	}
	require.Equal(t, "1 分钟 5 秒", Duration(viewer(t, func(v *Viewer) { v.Locale = Chinese }), 65*time.Second))
}

func TestAClockIsThatOfTheViewer(t *testing.T) {
	ctx := viewer(t, nil)
	require.Equal(t, "13:00:00", Clock(ctx, noon))
	require.Equal(t, "2025-12-31 13:00:00", Clock(ctx, noon.Add(-24*time.Hour)))
	require.Equal(t, "Europe/Berlin (UTC+1)", zoneText(ctx))
	require.Equal(t, "America/St_Johns (UTC−3:30)", zoneText(viewer(t, func(v *Viewer) { v.Zone, _ = time.LoadLocation("America/St_Johns") })))
	require.Equal(t, "UTC", zoneText(t.Context()))
}

func TestAddressesCarryTheBasePath(t *testing.T) {
	ctx := viewer(t, nil)
	require.EqualValues(t, "/reax/tasks?state=dead&tag=a%26b", URL(ctx, "/tasks", "tag", "a&b", "state", "dead", "type", ""))
	require.EqualValues(t, "/reax/types/a%2Fb%20c", URL(ctx, "/types/"+Segment("a/b c")))
}
