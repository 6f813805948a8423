package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reax/views"
)

// text is the trace as plain text: a line an entry, so that it can be pasted where people talk about it. What tasks say is
// kept on its line, whatever it holds.
func (t *trace) text(ctx context.Context) string {
	var b strings.Builder
	v := views.ViewerOf(ctx)
	fmt.Fprintf(&b, "%s %s\n", views.T(ctx, "trace.title"), t.id)
	for _, line := range t.leftOut {
		fmt.Fprintf(&b, "(%s)\n", line)
	}
	for i := range t.tasks {
		task := &t.tasks[i]
		fmt.Fprintf(&b, "%d  %s  %s\n", task.ID, plain(task.Type), views.T(ctx, "state."+string(task.State)))
	}
	b.WriteString("\n")
	for i := range t.events {
		e := &t.events[i]
		fmt.Fprintf(&b, "%s  %11s  %d  ", e.at.Time().In(v.Zone).Format("2006-01-02T15:04:05.000Z07:00"), secondsAfter(t.after(e.at)), e.task.ID)
		b.WriteString(plain(e.words()))
		if e.other != nil {
			fmt.Fprintf(&b, " · %s %d · %s %s", views.T(ctx, otherKey(e)), e.other.ID, views.T(ctx, "trace.title"), e.other.TraceID)
		}
		if text := e.failure(); text != "" {
			b.WriteString(" · " + plain(text))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// words are the entry without its time.
func (e *tracedEvent) words() string {
	if e.line != nil {
		return fmt.Sprintf("%-6s  %s", e.line.Level, e.line.Text)
	}
	if e.moment.Note != "" {
		return e.moment.Title + " · " + e.moment.Note
	}
	return e.moment.Title
}

// otherKey is the message that says what the other task of an entry is.
func otherKey(e *tracedEvent) string {
	if e.kind == traceRepeated {
		return "trace.as_task"
	}
	return "trace.of_task"
}

// secondsAfter is a time since the start in seconds, so that all of them line up.
func secondsAfter(d time.Duration) string { return fmt.Sprintf("%+.3f s", d.Seconds()) }

// plain is text on one line, with all that is in it to be seen.
func plain(text string) string {
	return views.Visible(strings.NewReplacer("\n", `\n`, "\t", " ").Replace(text))
}
