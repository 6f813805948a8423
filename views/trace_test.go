package views

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
)

func someTrace() Trace {
	const id = "9f2c000000000000000000000000000a"
	return Trace{
		ID: id, Field: Field{ID: "trace-id", Name: "id", Kind: "text", Label: "Trace id"}, LeftOut: []string{hostile},
		Tasks: []TraceTask{{ID: 42, Type: "mail.send" + hostile, State: models.StateDead, URL: "/reax/tasks/42"}},
		Bars: []TraceBar{
			{Label: "Attempt 1", Tone: "failed", From: 0.25, To: 0.5, WaitedFor: 0.25, Waited: time.Second, Took: time.Second},
			{Label: hostile, Tone: "running", From: 1, To: 1},
		},
		Events: []TraceEvent{
			{At: noon, After: "+0.000 s", Day: "2026-01-01", Tone: "pending", TaskID: 42, TaskURL: "/reax/tasks/42", Title: hostile, Note: hostile, Links: []Fact{{Label: hostile, Value: hostile, URL: "/reax/traces/x"}}},
			{At: noon, After: "+0.001 s", TaskID: 42, Line: &models.LogLine{Level: "stderr" + hostile, Text: hostile}},
			{At: noon, After: "+0.002 s", Tone: "failed", TaskID: 42, Title: "Attempt 1 failed", Error: hostile},
		},
		Text: "a\n" + hostile, TextURL: "/reax/traces/" + id + "/trace.txt",
	}
}

func TestPagesOfATrace(t *testing.T) {
	asked := Trace{Field: Field{ID: "trace-id", Name: "id", Kind: "text", Value: hostile, Error: hostile}}
	for name, c := range map[string]struct {
		change func(*Viewer)
		page   templ.Component
	}{
		"page-trace":     {nil, TracePage(someTrace())},
		"page-trace-ask": {func(v *Viewer) { v.Locale = Chinese }, TracePage(asked)},
	} {
		t.Run(name, func(t *testing.T) {
			html := render(viewer(t, c.change), t, c.page)
			requireTame(t, html)
			golden(t, name, html)
		})
	}
}

func TestBarsOfATraceStayOnItsAxis(t *testing.T) {
	for _, c := range []struct {
		bar  TraceBar
		want [4]string
	}{
		{TraceBar{From: 0.25, To: 0.5, WaitedFor: 0.25}, [4]string{"0.0", "250.0", "250.0", "250.0"}},
		{TraceBar{From: 1, To: 1}, [4]string{"996.0", "0.0", "996.0", "4.0"}},
		{TraceBar{From: -1, To: 7, WaitedFor: 2}, [4]string{"0.0", "0.0", "0.0", "1000.0"}},
	} {
		a, b, d, e := c.bar.parts()
		require.Equal(t, c.want, [4]string{a, b, d, e})
	}
}
