package views

import (
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"reax/models"
)

// TaskDetail is one task. Its texts are in the viewer's language, but for what the task itself says.
type TaskDetail struct {
	models.Task
	Actions []TaskAction
	Token   string // names the page's forms, so that one sent twice does its work once
	Why     *Waiting
	Runs    []RunBar // oldest first
	Moments []Moment // newest first
	Older   templ.SafeURL
	Newest  templ.SafeURL
	Facts   []Fact
	Params  Payload
	Result  Payload
	Log     *TaskLog
	Discard Confirmation
}

// TaskAction is a button of the page. One that is off stays in its place and says why.
type TaskAction struct {
	Name       string // unique on the page
	Text, Icon string
	Class      string        // primary or danger
	Post       templ.SafeURL // sends the page's form there
	Link       templ.SafeURL
	Dialog     string // opened in place of Link
	Off        string // why it does not apply now; empty when it does
}

// Waiting is why a task does not run yet.
type Waiting struct {
	Gate  string // one of actors.Gate, for the messages and the icon
	Text  string
	Note  string // what somebody said about it
	Facts []Fact
}

// Payload is JSON of a task, without what must not be shown.
type Payload struct {
	Text string
	Cut  bool          // Text is only the start
	Raw  templ.SafeURL // all of it
	Size string
}

// RunBar is one run on the bar of waits and runs.
type RunBar struct {
	Label     string
	Tone      string // a state or mark
	Wait, Run time.Duration
}

// TaskLog is a part of the log of one run.
type TaskLog struct {
	Attempt int
	Lines   []models.LogLine // oldest first
	Runs    []Tab
	Older   templ.SafeURL
	Newest  templ.SafeURL
}

// RunFailure is what went wrong in one run.
type RunFailure struct {
	ID      string // unique on the page
	Error   string
	Stack   string
	Same    int           // the later run that ended with the same error and shows it
	Whole   templ.SafeURL // where all of the error and the stack is; set when they are cut here
	RetryAt models.Instant
	Rule    string // how RetryAt came about
}

// runBarWidth is the space that the longest of the bars fills.
const runBarWidth = 1000

// runScale is the longest of the bars.
func runScale(runs []RunBar) time.Duration {
	longest := time.Duration(1)
	for _, r := range runs {
		longest = max(longest, r.Wait+r.Run)
	}
	return longest
}

// parts are the waiting and the running part of the bar, as positions and widths. Even a moment of running is seen.
func (r RunBar) parts(scale time.Duration) (waitWidth, runAt, runWidth string) {
	part := func(d time.Duration) float64 { return runBarWidth * float64(d) / float64(scale) }
	run := max(part(r.Run), 4)
	wait := min(part(r.Wait), runBarWidth-run)
	return fmt.Sprintf("%.1f", wait), fmt.Sprintf("%.1f", wait), fmt.Sprintf("%.1f", min(run, runBarWidth-wait))
}

// says is the bar in words.
func (r RunBar) says(ctx context.Context) string {
	return T(ctx, "task.bar.says", "wait", Duration(ctx, r.Wait), "run", Duration(ctx, r.Run))
}

// gateIcon is the icon of a gate.
func (w *Waiting) icon() string {
	switch w.Gate {
	case "time":
		return "clock"
	case "paused":
		return "pause"
	case "no_handler", "database", "blocked":
		return "alert"
	case "next":
		return "play"
	}
	return "pending"
}

// tone is the colour of a gate: what somebody should look at is not quiet.
func (w *Waiting) tone() string {
	switch w.Gate {
	case "no_handler", "database", "blocked":
		return "warn"
	case "paused":
		return "paused"
	}
	return "quiet"
}

// errorKind is the word for a kind of error; one without a word is shown as it is.
func errorKind(ctx context.Context, kind string) string {
	if text, ok := ViewerOf(ctx).Locale.Lookup("task.cause." + kind); ok {
		return text
	}
	return line(kind, 40)
}

// logLevel is the tone of a line.
func logLevel(level string) string {
	switch level {
	case "error", "stderr":
		return "failed"
	case "warn":
		return "warn"
	}
	return "quiet"
}

// logClock is the time of a line in the viewer's zone, to the millisecond.
func logClock(ctx context.Context, at models.Instant) string {
	return at.Time().In(ViewerOf(ctx).Zone).Format("15:04:05.000")
}
