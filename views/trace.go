package views

import (
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"reax/models"
)

// Trace is all that happened under one trace id, on one time axis. Its texts are in the viewer's language, but for what the
// tasks themselves say.
type Trace struct {
	ID      string
	Field   Field // asks for another id
	Tasks   []TraceTask
	Bars    []TraceBar
	Events  []TraceEvent // oldest first
	LeftOut []string     // what the limits keep away
	Text    string       // the same to be copied
	TextURL templ.SafeURL
}

// TraceTask is one task of the trace.
type TraceTask struct {
	ID    int64
	Type  string
	State models.State
	URL   templ.SafeURL
}

// TraceBar is one run on the axis, in parts of its whole length from 0 to 1.
type TraceBar struct {
	Label        string
	Tone         string // a state or mark
	From, To     float64
	WaitedFor    float64       // before From
	Waited, Took time.Duration // for those who read numbers
}

// TraceEvent is one entry of the axis: something that happened to a task, or a line that it logged.
type TraceEvent struct {
	At      models.Instant
	After   string // since the first entry
	Day     string // set where a new day begins
	Tone    string // a state or mark; it also gives the icon
	TaskID  int64
	TaskURL templ.SafeURL // empty when there is only one task
	Title   string
	Note    string
	Error   string
	Links   []Fact
	Line    *models.LogLine // set for a line; then there is no title
}

// tone is the colour of an entry.
func (e *TraceEvent) tone() string {
	if e.Line != nil {
		return logLevel(e.Line.Level)
	}
	return e.Tone
}

// empty says why there is nothing to see.
func (t *Trace) empty(ctx context.Context) string {
	if t.ID == "" {
		return T(ctx, "trace.which")
	}
	return T(ctx, "trace.none")
}

// traceBarWidth is the length of the axis in the picture.
const traceBarWidth = 1000

// parts are the waiting and the running part of a bar as positions and widths. Even a moment of running is seen.
func (b *TraceBar) parts() (waitAt, waitWidth, runAt, runWidth string) {
	most := func(v float64) float64 { return min(max(v, 0), 1) * traceBarWidth }
	width := max(most(b.To)-most(b.From), 4)
	at := min(most(b.From), traceBarWidth-width)
	wait := min(most(b.WaitedFor), at)
	text := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	return text(at - wait), text(wait), text(at), text(width)
}

// says is the bar in words.
func (b *TraceBar) says(ctx context.Context) string {
	return T(ctx, "task.bar.says", "wait", Duration(ctx, b.Waited), "run", Duration(ctx, b.Took))
}

// TraceClock is a time of the axis in the viewer's zone, to the millisecond.
func TraceClock(ctx context.Context, at models.Instant) string { return logClock(ctx, at) }
