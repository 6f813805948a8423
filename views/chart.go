package views

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"reax/models"
)

// Chart is bars over time: the usual in grey with what went wrong in red on top. Its texts are in the viewer's language.
type Chart struct {
	Label   string // one sentence for who cannot see it
	Good    string // what the grey counts, such as "succeeded"
	Bad     string // what the red counts
	Bars    []Bar  // oldest first, evenly spaced
	Marks   []Mark
	Numbers bool // with a folded table of the figures
}

// Bar is one step of a Chart.
type Bar struct {
	At   models.Instant
	Good int64
	Bad  int64
	URL  templ.SafeURL // the tasks behind it; may be empty
}

// Mark is an event in a Chart, at the left edge of a bar.
type Mark struct {
	Index int
	Text  string
}

// ChartEvent is what a mark stands for. Its text is in the viewer's language.
type ChartEvent struct {
	At   models.Instant
	Text string
	URL  templ.SafeURL // of what it is about; may be empty
}

// Line is one line of Lines. Values below zero are gaps.
type Line struct {
	Name   string
	Class  string // a or b
	Values []float64
}

// The size of a chart's own space; it is stretched to its place.
const chartWidth, chartHeight = 1000, 140

// top is the highest bar, and at least 1.
func (c Chart) top() int64 {
	high := int64(1)
	for _, b := range c.Bars {
		high = max(high, b.Good+b.Bad)
	}
	return niceTop(high)
}

// niceTop rounds up to a number that an axis can show.
func niceTop(n int64) int64 {
	step := int64(1)
	for {
		for _, k := range []int64{1, 2, 5} {
			if n <= k*step {
				return k * step
			}
		}
		step *= 10
	}
}

// rect is where a bar's part is drawn.
type rect struct{ x, y, w, h string }

// path is the outline: shorter than a rect with its four attributes, of which a page has many.
func (r rect) path() string { return "M" + r.x + " " + r.y + "h" + r.w + "v" + r.h + "h-" + r.w + "z" }

// num is a length, to the tenth: more digits only make a page longer.
func num(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

// parts are the grey and the red part of bar i. Even one failure is tall enough to be seen.
func (c Chart) parts(i int) (good, bad rect) {
	b, scale := c.Bars[i], float64(chartHeight)/float64(c.top())
	slot := float64(chartWidth) / float64(len(c.Bars))
	x, w := num(slot*float64(i)+slot*.14), num(slot*.72)
	goodHeight, badHeight := float64(b.Good)*scale, float64(b.Bad)*scale
	if b.Good > 0 {
		goodHeight = max(goodHeight, 1)
	}
	if b.Bad > 0 {
		badHeight = max(badHeight, 3)
	}
	goodHeight = min(goodHeight, chartHeight-badHeight)
	good = rect{x, num(chartHeight - goodHeight), w, num(goodHeight)}
	bad = rect{x, num(chartHeight - goodHeight - badHeight), w, num(badHeight)}
	return good, bad
}

// slot is the whole column of bar i, so that the pointer finds a small bar.
func (c Chart) slot(i int) rect {
	w := float64(chartWidth) / float64(len(c.Bars))
	return rect{num(w * float64(i)), "0", num(w), num(chartHeight)}
}

func (c Chart) markX(m Mark) string {
	return num(float64(chartWidth) / float64(max(len(c.Bars), 1)) * float64(m.Index))
}

// The space of a small line, and how many points it has room for.
const sparkWidth, sparkHeight, sparkPoints = 120, 24, 30

// sparkPath is a small line through values, oldest first; those below zero are not known and are left out. Many values
// are put together, and a point is told from the one before: a page has dozens of lines.
func sparkPath(values []float64) string {
	each := (len(values) + sparkPoints - 1) / sparkPoints
	high := highest(values)
	var b strings.Builder
	var lastX, lastY int
	for from := 0; from < len(values); from += each {
		part := slices.DeleteFunc(slices.Clone(values[from:min(from+each, len(values))]), func(v float64) bool { return v < 0 })
		if len(part) == 0 {
			continue
		}
		x := from * sparkWidth / max(len(values)-each, 1)
		y := sparkHeight - 1 - int(math.Round(slices.Max(part)/high*(sparkHeight-2)))
		switch {
		case b.Len() == 0:
			fmt.Fprintf(&b, "M%d %dl", x, y)
		case y < lastY:
			fmt.Fprintf(&b, "%d%d ", x-lastX, y-lastY)
		default:
			fmt.Fprintf(&b, "%d %d ", x-lastX, y-lastY)
		}
		lastX, lastY = x, y
	}
	return strings.TrimRight(b.String(), " l")
}

func highest(values []float64) float64 {
	high := 0.0
	for _, v := range values {
		high = max(high, v)
	}
	if high == 0 {
		return 1
	}
	return high
}

// runs splits a line with gaps into the stretches without, each as the points of a polyline.
func (l Line) runs(top float64) []string {
	var all []string
	step := float64(chartWidth) / float64(max(len(l.Values)-1, 1))
	var points []string
	flush := func() {
		if len(points) == 1 { // a point alone would not be drawn
			points = append(points, points[0])
		}
		if len(points) > 0 {
			all = append(all, strings.Join(points, " "))
		}
		points = nil
	}
	for i, v := range l.Values {
		if v < 0 {
			flush()
			continue
		}
		points = append(points, num(step*float64(i))+","+num(chartHeight-v/top*(chartHeight-2)-1))
	}
	flush()
	return all
}

func linesTop(lines []Line) float64 {
	high := 0.0
	for _, l := range lines {
		high = max(high, highest(l.Values))
	}
	return high
}

// Cell is one step of a Strip: how one run went.
type Cell struct {
	Tone string // a state
	Text string // shown over it
	URL  templ.SafeURL
}

func percentOf(value, most int64) string {
	if most <= 0 {
		return "0"
	}
	return num(min(float64(value)/float64(most), 1) * 100)
}

func cellHeight(tone string) string {
	switch models.State(tone) {
	case models.StateFailed, models.StateDead:
		return "18"
	case models.StateSuccess:
		return "10"
	}
	return "6"
}

func cellY(tone string) string {
	switch models.State(tone) {
	case models.StateFailed, models.StateDead:
		return "0"
	case models.StateSuccess:
		return "8"
	}
	return "12"
}
