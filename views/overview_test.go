package views

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func someOverview() Overview {
	lines := []Line{{Name: "median", Class: "a", Values: []float64{.1, -1, .2}}, {Name: "p95", Class: "b", Values: []float64{1, -1, 1.5}}}
	return Overview{
		Verdict: Verdict{Status: "ok", Tone: "success", Title: "Everything works"}, Known: true,
		Tiles:    []Tile{{Label: "Dead", Value: "17", Note: "3 errors", Tone: "dead", URL: "/reax/dead", Spark: []float64{-1, 0, 2}}},
		Spans:    []Tab{{Text: "60 min", URL: "/reax/", Current: true}, {Text: "24 h", URL: "/reax/?span=24h"}},
		Title:    "Finished per minute",
		Span:     "last 60 min",
		Finished: Chart{Label: hostile, Good: "succeeded", Bad: "failed", Numbers: true, Bars: []Bar{{At: noon, Good: 90, Bad: 1}}, Marks: []Mark{{0, hostile}}},
		Wait:     Times{Title: "Wait", Label: "Wait", P50: 90 * time.Millisecond, P95: 2 * time.Second, N: 4, Top: 3 * time.Second, Lines: lines, From: noon, To: noon.Add(time.Hour)},
		Run:      Times{Title: "Run"},
		Notices: []Notice{
			{Tone: "dead", Icon: "dead", Word: "error", Name: hostile, Detail: hostile, N: 1234, At: noon, URL: "/reax/dead"},
			{Tone: "paused", Icon: "pause", Word: "paused", Name: "mail.send", Text: hostile, URL: "/reax/types/mail.send"},
		},
		More: 2,
		Types: []BusyType{
			{Name: hostile, URL: "/reax/types/x", Paused: true, Spark: []float64{0, 1}, Busy: 4, Workers: 4, Ready: 1234, Success: "74.6 %", Bad: true, Runs: 99, P95: time.Minute},
			{Name: "idle", URL: "/reax/types/idle", Workers: 2},
		},
		AllTypes: 2,
		Runs:     []NextRun{{Name: hostile, URL: "/reax/schedules/x", When: hostile, At: noon}},
	}
}

func TestAVerdictNamesThreeCausesAndCountsTheOthers(t *testing.T) {
	v := Verdict{Tone: "failed", Causes: []Sentence{{Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "d"}, {Text: "e"}}}
	require.Contains(t, render(viewer(t, nil), t, verdict(v)), "And 2 more causes.")
	v.Causes = v.Causes[:3]
	require.NotContains(t, render(viewer(t, nil), t, verdict(v)), "more cause")
}

func TestAFigureThatIsNotKnownIsNotDrawn(t *testing.T) {
	require.Equal(t, "M120 1", sparkPath([]float64{-1, 3}))
	require.Equal(t, "M0 23l120-22", sparkPath([]float64{0, -1, 3}))
	require.Equal(t, "M0 23l120 0", sparkPath([]float64{0, 0}))
	require.Empty(t, sparkPath(nil))
	many := make([]float64, 60)
	many[59] = 1
	require.Equal(t, "M0 23l"+strings.Repeat("4 0 ", 6), sparkPath(many)[:len("M0 23l")+6*len("4 0 ")])
	require.True(t, strings.HasSuffix(sparkPath(many), "-22"), "a peak of one minute is not lost among its neighbours")
}
