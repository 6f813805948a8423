package views

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
)

func someDetail() TaskDetail {
	return TaskDetail{
		Task: models.Task{
			ID: 42, Type: "mail.send" + hostile, State: models.StateRunning, Attempt: 2, Progress: 40, ProgressNote: hostile, Suspected: hostile,
			StuckAt: noon, CancelRequestedAt: noon,
		},
		Actions: []TaskAction{
			{Name: "retry", Text: "Retry", Icon: "retry", Off: hostile}, {Name: "copy", Text: "Copy", Icon: "edit", Link: "/reax/enqueue/x?from=42"},
			{Name: "cancel", Text: "Cancel", Icon: "ban", Class: "primary", Post: "/reax/tasks/42/cancel"},
			{Name: "discard", Text: "Discard", Icon: "trash", Class: "danger", Link: "/reax/tasks/42/discard", Dialog: "discard"},
		},
		Token: "T1", Why: &Waiting{Gate: "paused", Text: hostile, Note: hostile, Facts: []Fact{{Label: "Before it", Value: "3"}}},
		Runs:    []RunBar{{Label: "Attempt 1", Tone: "failed", Wait: time.Second, Run: 3 * time.Second}, {Label: hostile, Tone: "running", Run: time.Millisecond}},
		Moments: []Moment{{Tone: "failed", Title: hostile, At: noon, Exact: true, Body: FailedRun(RunFailure{ID: "run-1", Error: hostile, Stack: hostile, Whole: "/reax/tasks/42/error.txt", RetryAt: noon, Rule: hostile})}},
		Older:   "/reax/tasks/42?runs=1", Facts: []Fact{{Label: "Task", Value: "42", Copy: true}},
		Params: Payload{Text: `{"a":"` + hostile + `"}`, Raw: "/reax/tasks/42/params.json", Size: "9 B"}, Result: Payload{Text: "[", Cut: true},
		Log:     &TaskLog{Attempt: 2, Lines: []models.LogLine{{Seq: 1, At: noon, Level: "error", Text: hostile}, {Seq: 2, At: noon, Level: hostile}}, Runs: []Tab{{Text: "1", URL: "/reax/tasks/42?attempt=1#log"}, {Text: "2", Current: true}}, Older: "/reax/tasks/42?before=1#log"},
		Discard: Confirmation{ID: "discard", Text: "sure?", Action: "/reax/tasks/42/discard", Reason: "Reason", ReasonRequired: true, Button: "Discard", Danger: true, Back: "/reax/tasks/42"},
	}
}

func someForm() EnqueueForm {
	form := EnqueueForm{
		Type:   TypeChoice{Name: "mail.send", Description: hostile, Kind: "command", Busy: 1, Size: 4, Ready: 12345, Paused: true, PauseReason: hostile},
		Action: "/reax/enqueue/mail.send", Token: "T1", Zone: "Europe/Berlin", From: "42", FromURL: "/reax/tasks/42", Note: "secrets", Fault: hostile,
		Fields: []Field{{ID: "p-0", Name: "p.to", Label: "to", Kind: "email", Value: hostile, Error: hostile}, {ID: "p-1", Name: "p.n", Label: "n", Kind: "text", InputMode: "numeric", Value: "12345678901234567890"}},
		Extra:  &Field{ID: "p-extra", Name: "extra", Kind: "json", Value: "{}"},
		When:   Field{ID: "f-when", Name: "when", Kind: "radio", Value: "now", Options: []Option{{"now", "Now"}}},
		Delay:  Field{ID: "f-delay", Name: "delay", Kind: "text"}, RunAt: Field{ID: "f-run_at", Name: "run_at", Kind: "datetime-local"},
		More: []Field{{ID: "f-tags", Name: "tags", Kind: "textarea", Error: "bad"}}, MoreOpen: true,
		Preview: &EnqueuePreview{When: "now", Body: `{"a":"` + hostile + `"}`, Curl: "curl '" + hostile + "'", Hidden: true},
		Other:   "/reax/enqueue/mail.send?as=json", Example: "/reax/enqueue/mail.send?example=1",
	}
	return form
}

func TestPagesOfATaskAndOfAnEnqueue(t *testing.T) {
	chinese := func(v *Viewer) { v.Locale = Chinese }
	ended := someDetail()
	ended.Task = models.Task{ID: 1, Type: "a", State: models.StateSuccess}
	ended.Why, ended.Log, ended.Runs, ended.Result = nil, &TaskLog{Attempt: 1}, nil, Payload{}
	for name, c := range map[string]struct {
		change func(*Viewer)
		page   templ.Component
	}{
		"page-task":            {nil, TaskPage(someDetail())},
		"page-task-zh":         {chinese, TaskPage(ended)},
		"page-task-discard":    {nil, TaskDiscardPage(someDetail().Task, someDetail().Discard)},
		"page-enqueue":         {nil, EnqueuePage(someForm())},
		"page-enqueue-zh":      {chinese, EnqueuePage(EnqueueForm{Whole: true, Type: TypeChoice{Kind: "go"}, Other: "/reax/enqueue/x"})},
		"page-enqueue-types":   {nil, EnqueueTypesPage(EnqueueTypes{Query: hostile, Types: []TypeChoice{someForm().Type, {Name: hostile, Description: hostile}}, More: 3})},
		"page-enqueue-notypes": {nil, EnqueueTypesPage(EnqueueTypes{None: true})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := render(viewer(t, c.change), t, c.page)
			requireTame(t, html)
			require.Equal(t, 1, strings.Count(html, "<h1"))
			golden(t, name, html)
		})
	}
}

func TestAnErrorThatWasSeenIsFolded(t *testing.T) {
	html := render(viewer(t, nil), t, FailedRun(RunFailure{ID: "run-1", Error: "no", Same: 3}))
	require.Contains(t, html, `<details id="run-1-error"><summary>Same error as attempt 3</summary>`)
	require.Empty(t, render(viewer(t, nil), t, FailedRun(RunFailure{ID: "run-1"})))
}

func TestBarsStayInTheirSpaceAndShowEveryRun(t *testing.T) {
	for _, c := range []struct {
		wait, run              time.Duration
		waitWidth, at, runWide string
	}{
		{0, 0, "0.0", "0.0", "4.0"}, {time.Hour, time.Millisecond, "996.0", "996.0", "4.0"}, {time.Minute, 3 * time.Minute, "250.0", "250.0", "750.0"},
	} {
		r := RunBar{Wait: c.wait, Run: c.run}
		wait, at, run := r.parts(runScale([]RunBar{r}))
		require.Equal(t, []string{c.waitWidth, c.at, c.runWide}, []string{wait, at, run})
	}
}
