package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

const (
	traceOne   = "00000000000000000000000000000001"
	traceTwo   = "00000000000000000000000000000002"
	traceThree = "00000000000000000000000000000003"
)

// traced is a task of a schedule that failed once, was helped by a person, succeeded and was repeated; and its copy.
func traced(f *fake) {
	second := func(n float64) models.Instant { return start.Add(time.Duration(n * float64(time.Second))) }
	f.add(models.Task{Type: "report.generate", State: models.StateSuccess, Attempt: 2, StartedAt: second(20), FinishedAt: second(21.5), EnqueuedBy: "scheduler",
		Schedule: "nightly", ScheduledFor: second(-0.25), MaxRetries: 3})
	f.add(models.Task{Type: "report.generate", State: models.StatePending, RepeatedFrom: 1, EnqueuedBy: "dashboard"})
	f.rows[1].CreatedAt = second(100)
	f.attempts = []models.Attempt{
		{TaskID: 1, Attempt: 1, Outcome: models.OutcomeRetry, ErrorKind: "timeout", Error: "i/o\ntimeout " + markup, StartedAt: second(1), FinishedAt: second(3), RetryAt: second(13), RetryRule: "10 s × 2^(1-1) = 10 s, at most 120 s"},
		{TaskID: 1, Attempt: 2, Outcome: models.OutcomeSuccess, StartedAt: second(20), FinishedAt: second(21.5)},
	}
	f.audit = []models.Audit{{ID: 1, At: second(10), Actor: "dashboard", Action: "retry", Target: "task", TargetID: "1", Before: "retry_wait", Reason: "in a hurry"}}
	f.logs = []models.LogLine{
		{TaskID: 1, Attempt: 1, Seq: 1, At: second(2), Level: "stderr", Text: "reading " + markup + "\x1b[2J\nnot a line of its own"},
		{TaskID: 1, Attempt: 2, Seq: 1, At: second(21), Level: "info", Text: "all read"},
	}
}

// inOrder checks that parts follow one another.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		_, after, ok := strings.Cut(text, part)
		require.True(t, ok, "%q is not there, or not in its place, in: %s", part, text)
		text = after
	}
}

func TestATraceHasEverythingOnOneAxis(t *testing.T) {
	f := newFake(t)
	traced(f)
	utc := browser("Cookie", zoneCookie+"=UTC")
	html := scenario{url: "/traces/" + traceOne, status: 200, header: utc, must: []string{`data-live="trace"`, `id="trace-text"`, "readonly", `data-copy-from="trace-text"`, `href="/traces/` + traceOne + `/trace.txt"`},
		mustNot: []string{"<img"}}.run(t, f).Body.String()
	_, axis, _ := strings.Cut(html, `<ol class="trace">`)
	inOrder(t, axis, "Schedule nightly was due", "Enqueued by a schedule", `href="/schedules/nightly"`, "+1.250 s", "Attempt 1 started", "reading &lt;img", "Attempt 1 failed", "i/o\ntimeout &lt;img",
		"Run now by the dashboard", "in a hurry", "Attempt 2 started", "all read", "Attempt 2 succeeded", "Repeated", `href="/tasks/2"`, `href="/traces/`+traceTwo+`"`)

	text := scenario{url: "/traces/" + traceOne + "/trace.txt", status: 200, header: map[string]string{"Cookie": zoneCookie + "=UTC"}}.run(t, f)
	require.Equal(t, "text/plain; charset=utf-8", text.Header().Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(text.Body.String()), "\n")
	require.Equal(t, "Trace "+traceOne, lines[0])
	require.Len(t, lines, 3+10, "a line an entry, whatever they hold")
	inOrder(t, text.Body.String(), "2025-12-31T23:59:59.873Z     +0.000 s  1  Schedule nightly was due\n", "2026-01-01T00:00:00.123Z     +0.250 s  1  Enqueued by a schedule",
		`+2.250 s  1  stderr  reading `+markup+`\u001b[2J\nnot a line of its own`+"\n", `i/o\ntimeout `, "+100.250 s  1  Repeated · as task 2 · Trace "+traceTwo)

	body := scenario{url: "/api/v1/traces/" + traceOne, status: 200, must: []string{`"trace_id":"` + traceOne + `"`, `"left_out":[]`}}.run(t, f).Body.String()
	inOrder(t, body, `"after_ms":0,"kind":"due"`, `"kind":"enqueued"`, `"by":"scheduler"`, `"kind":"started"`, `"attempt":1`, `"kind":"log"`, `"level":"stderr"`,
		`"kind":"ended"`, `"outcome":"retry"`, `"error":"i/o\ntimeout`, `"kind":"manual"`, `"action":"retry"`, `"reason":"in a hurry"`, `"kind":"repeated"`, `"other":{"id":2,`)

	copied := scenario{url: "/traces/" + traceTwo, status: 200, header: browser("Accept-Language", "zh"), must: []string{`href="/traces/` + traceOne + `"`, "来自任务", "任务及其各次运行"}, mustNot: []string{"Repeated"}}.run(t, f)
	require.NotContains(t, copied.Body.String(), "Copy as text")
	scenario{url: "/traces/" + traceOne, status: 200, header: map[string]string{fragmentsHeader: "trace"}, must: []string{"Attempt 1 failed"}, mustNot: []string{"<html", "Look up"}}.run(t, f)
}

func TestATraceIsCutWithANotice(t *testing.T) {
	f := newFake(t)
	long := strings.Repeat(`"<错误>`, 1000)
	for i := range traceTasks + 1 {
		f.add(models.Task{State: models.StateRunning, Attempt: shownRuns + 3, StartedAt: start})
		f.rows[i].TraceID = traceOne
	}
	for range traceCopies + 1 {
		f.add(models.Task{RepeatedFrom: 1})
	}
	for n := range shownRuns + 2 {
		f.attempts = append(f.attempts, models.Attempt{TaskID: 1, Attempt: n + 1, Outcome: models.OutcomeRetry, Error: long, StartedAt: start, FinishedAt: start})
	}
	for n := range traceAudit + 1 {
		f.audit = append(f.audit, models.Audit{ID: int64(n), At: start, Actor: "x", Action: "retry", Target: "task", TargetID: "1", Reason: long})
	}
	for n := range traceTextLines {
		f.logs = append(f.logs, models.LogLine{TaskID: 2, Attempt: 1, Seq: n + 1, At: start, Level: "info", Text: fmt.Sprint("line ", n, " ", long)})
	}
	cuts := []string{"More than 20 tasks", "Task 1 had attempts before the latest 12", "People did more to task 1 than the latest 20", "Task 1 was repeated more than 5 times", "Only the latest 6 lines"}
	w := scenario{url: "/traces/" + traceOne, status: 200, header: browser(), must: append(cuts, fmt.Sprint("line ", traceTextLines-1)), mustNot: []string{"line 1 "}}.run(t, f)
	require.Less(t, w.Body.Len(), 120_000)
	cuts[4] = "Only the latest 100 lines"
	scenario{url: "/traces/" + traceOne + "/trace.txt", status: 200, must: cuts}.run(t, f)
	scenario{url: "/api/v1/traces/" + traceOne, status: 200, must: cuts}.run(t, f)
}

func TestAskingForATrace(t *testing.T) {
	runScenarios(t, traced, []scenario{
		{name: "the form", url: "/traces", status: 200, header: browser(), must: []string{"Which trace?", `name="id"`}},
		{name: "it leads to the page", url: "/traces?id=+" + strings.ToUpper(traceTwo) + "+", status: 303},
		{name: "no trace id", url: "/traces?id=%3Cimg%20src=x%3E", status: 422, header: browser(), must: []string{"&lt;img", "A trace id has 32"}, mustNot: []string{"<img"}},
		{name: "nothing has it", url: "/traces/" + traceThree, status: 404, header: browser(), must: []string{"Nothing has this trace id", `name="id"`}},
		{name: "no id as an address", url: "/traces/xyz", status: 404, header: browser()},
		{name: "no text", url: "/traces/" + traceThree + "/trace.txt", status: 404},
		{name: "no text of what is none", url: "/traces/xyz/trace.txt", status: 404},
		{name: "nothing for a program", url: "/api/v1/traces/" + traceThree, status: 404},
		{name: "no id for a program", url: "/api/v1/traces/XYZ", status: 422, must: []string{`"path.trace_id"`}},
	})
	f := newFake(t)
	f.readErr = errSecret
	scenario{url: "/traces/" + traceOne, status: 500, header: browser()}.run(t, f)
}
