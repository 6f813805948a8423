package web

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func TestTheHistoryOfATask(t *testing.T) {
	minute := func(n int) models.Instant { return start.Add(time.Duration(n) * time.Minute) }
	f := newFake(t)
	id := f.add(models.Task{
		Type: "report.generate", State: models.StateDead, Attempt: 3, Failures: 3, MaxRetries: 2, Priority: 4, EnqueuedBy: "api",
		Params: `{"user_id":12345678901234567890}`, Tags: `["nightly"]`, UniqueKey: "k1", StartedAt: minute(9), FinishedAt: minute(10),
		PromotedAt: minute(1), Worker: "reax/pools/report.generate/w$2", Error: "i/o timeout",
	})
	f.attempts = []models.Attempt{
		{TaskID: id, Attempt: 1, Outcome: models.OutcomeRetry, ErrorKind: "timeout", Error: "i/o timeout", StartedAt: minute(2), FinishedAt: minute(3), RetryAt: minute(5), RetryRule: "10 s × 2^(1-1) = 10 s, at most 120 s"},
		{TaskID: id, Attempt: 2, Outcome: models.OutcomeCrashed, ErrorKind: "crash", Error: "the process died", StartedAt: minute(6), FinishedAt: minute(7)},
		{TaskID: id, Attempt: 3, Outcome: models.OutcomeDead, ErrorKind: "panic", Error: "i/o timeout", Stack: "main.go:1", StartedAt: minute(9), FinishedAt: minute(10)},
	}
	f.audit = []models.Audit{
		{ID: 1, At: minute(4), Actor: "dashboard", Action: "retry", Target: "task", TargetID: "1", Before: "retry_wait", Reason: "in a hurry", Address: "10.0.0.7"},
		{ID: 2, At: minute(4), Actor: "x", Action: "retry", Target: "task", TargetID: "2"},
	}
	w := scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{
		"Attempt 3 failed, no retry is left", "after 1 min", "waited 2 min", "panic", "report.generate/w$2", "main.go:1",
		"Attempt 2 is suspected: the process died", "Same error as attempt 3", "10 s × 2^(1-1) = 10 s, at most 120 s, and up to 10 % on top",
		"Run now by the dashboard", "reason: in a hurry", "10.0.0.7", "Lifted", "Enqueued by the API", "Attempt 1 started",
		`href="/traces/00000000000000000000000000000001"`, `href="/tasks?tag=nightly"`, "3 of 3", "12345678901234567890",
		`href="/tasks/1/params.json"`, `formaction="/tasks/1/retry"`, `href="/enqueue/report.generate?from=1"`, `id="discard"`,
		"waited 2 min · ran 1 min",
	}, mustNot: []string{"by x", "Why it is not running"}}.run(t, f)
	html := w.Body.String()
	require.Less(t, strings.Index(html, "Attempt 3 failed"), strings.Index(html, "Attempt 2 is suspected"), "newest first")
	require.Less(t, strings.Index(html, "Run now by"), strings.Index(html, "Attempt 1 failed"))
	require.Less(t, strings.Index(html, "Attempt 1 started"), strings.Index(html, "Enqueued by"))
	require.Contains(t, html, "Attempt 2", "waited 2 min since somebody wanted it to run, not since its planned time")
	scenario{url: "/tasks/1", status: 200, header: browser("Accept-Language", "zh"), must: []string{"时间线", "由控制台立即运行", "与第 3 次的错误相同", "另加最多 10 %"}, mustNot: []string{"Timeline", "Facts"}}.run(t, f)
	scenario{url: "/tasks/1", status: 200, header: map[string]string{fragmentsHeader: "task-state,task-timeline"}, must: []string{`data-live="task-state"`, "Attempt 3 failed"}, mustNot: []string{"<html", "Facts"}}.run(t, f)
}

func TestWhoEnqueuedATask(t *testing.T) {
	for name, c := range map[string]struct {
		task models.Task
		must []string
	}{
		"a schedule":         {models.Task{Schedule: "nightly", ScheduledFor: start, EnqueuedBy: "scheduler"}, []string{"Enqueued by a schedule", "for 2026-01-01 00:00:00", `href="/schedules/nightly"`}},
		"a schedule by hand": {models.Task{Schedule: "nightly", EnqueuedBy: "dashboard"}, []string{"Enqueued by the dashboard", "outside of the plan"}},
		"the command line":   {models.Task{EnqueuedBy: "socket"}, []string{"Enqueued by the command line"}},
		"somebody":           {models.Task{EnqueuedBy: "billing <b>"}, []string{"Enqueued by billing &lt;b&gt;"}},
		"a copy":             {models.Task{RepeatedFrom: 77}, []string{"Copy of task", `href="/tasks/77"`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.add(c.task)
			scenario{url: "/tasks/1", status: 200, header: browser("Cookie", zoneCookie+"=UTC"), must: c.must}.run(t, f)
		})
	}
}

func TestActionsFollowTheState(t *testing.T) {
	off := regexp.MustCompile(`id="do-(\w+)" aria-disabled="true" title="([^"]+)"`)
	for state, want := range map[models.State]string{
		models.StatePending: "retry repeat discard", models.StateRunning: "retry repeat discard", models.StateRetryWait: "repeat discard",
		models.StateSuccess: "retry cancel discard", models.StateFailed: "cancel", models.StateDead: "cancel", models.StateCancelled: "cancel discard",
	} {
		f := newFake(t)
		f.add(models.Task{State: state, ReadyAt: start, StartedAt: start, FinishedAt: start, Attempt: 1})
		html := scenario{url: "/tasks/1", status: 200, header: browser()}.run(t, f).Body.String()
		var got []string
		for _, m := range off.FindAllStringSubmatch(html, -1) {
			got = append(got, m[1])
			require.NotEmpty(t, m[2], "the reason is said")
		}
		require.Equal(t, want, strings.Join(got, " "), state)
	}
	f := newFake(t)
	f.add(models.Task{State: models.StatePending, RunAt: start})
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{`id="do-retry"`}, mustNot: []string{`id="do-retry" aria-disabled`}}.run(t, f)
	f = newFake(t)
	f.add(models.Task{Type: "gone", State: models.StateDead})
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{"This process has no such task type"}, mustNot: []string{"/enqueue/gone"}}.run(t, f)
}

func TestWhyATaskDoesNotRunYet(t *testing.T) {
	soon := time.Now().Add(90 * time.Second)
	for name, c := range map[string]struct {
		why     actors.Why
		ready   models.Instant
		must    []string
		mustNot []string
	}{
		"time":    {actors.Why{Gate: actors.GateTime, Until: soon}, 0, []string{"Its time has not come", "1 min 30 s"}, []string{"Before it"}},
		"pool":    {actors.Why{Gate: actors.GatePool, Workers: 4, Position: 1234, InWindow: true, LiftAt: soon}, start, []string{"4 of 4", "1,234 tasks of its type", "if it still waits then", "5, as asked"}, nil},
		"paused":  {actors.Why{Gate: actors.GatePaused, By: "ana <b>", Reason: "broken " + markup, InWindow: true, Lifted: true}, start, []string{"paused by ana &lt;b&gt;", "broken &lt;img", "0 tasks of its type", "lifted over all"}, []string{"<img"}},
		"blocked": {actors.Why{Gate: actors.GateBlocked, Reason: "2 stuck"}, start, []string{"handlers of it hang", "2 stuck", "more than 5,000"}, nil},
		"gone":    {actors.Why{Gate: actors.GateNoHandler}, start, []string{"No handler: this process has no task type any"}, []string{"Before it"}},
		"next":    {actors.Why{Gate: actors.GateNext, InWindow: true}, start, []string{"Nothing holds it"}, nil},
		"stop":    {actors.Why{Gate: actors.GateStopping}, start, []string{"reax is stopping"}, nil},
		"disk":    {actors.Why{Gate: actors.GateDatabase, Reason: "disk full"}, start, []string{"cannot be written", "disk full"}, nil},
		"alone":   {actors.Why{Gate: actors.GateAlone}, start, []string{"two crashes"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.add(models.Task{ReadyAt: c.ready, Priority: 5})
			f.why = c.why
			scenario{url: "/tasks/1", status: 200, header: browser(), must: append(c.must, "Why it is not running yet"), mustNot: c.mustNot}.run(t, f)
		})
	}
	f := newFake(t)
	f.add(models.Task{ReadyAt: start})
	f.whyErr = errors.New("hunter2")
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{"The queue did not answer in time"}}.run(t, f)
}

func TestATaskIsShownAsTextWhateverItHolds(t *testing.T) {
	f := newFake(t)
	text := markup + `"'&` + "\u202e\x00"
	f.add(models.Task{
		Type: markup, State: models.StateRunning, Attempt: 2, StartedAt: start, Params: fmt.Sprintf("{%q:%q}", markup, markup), Result: "not " + markup,
		Error: text, ErrorKind: text, Worker: text, Suspected: text, EnqueuedBy: text, Schedule: text, UniqueKey: text, Progress: 40,
		ProgressNote: text, Tags: fmt.Sprintf("[%q]", markup), StuckAt: start, CancelRequestedAt: start, PromotedAt: start,
	})
	f.attempts = []models.Attempt{{TaskID: 1, Attempt: 1, Outcome: text, ErrorKind: text, Error: text, Stack: text, Worker: text, RetryRule: text, RetryAt: start, StartedAt: start, FinishedAt: start}}
	f.logs = []models.LogLine{{TaskID: 1, Attempt: 2, Seq: 1, At: start, Level: text, Text: text}}
	f.audit = []models.Audit{{At: start, Actor: text, Action: text, Target: "task", TargetID: "1", Reason: text, Address: text, Before: text}}
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{"&lt;img"}, mustNot: []string{"<img", "alert(1)>"}}.run(t, f)
	scenario{url: "/tasks/1", status: 200, header: map[string]string{fragmentsHeader: "task-timeline,task-log,task-facts,task-result,task-state"}, must: []string{"&lt;img"}, mustNot: []string{"<img"}}.run(t, f)
}

func TestAPageOfATaskIsSmallWhateverItHolds(t *testing.T) {
	f := newFake(t)
	long := strings.Repeat(`"<错误>`, 3000)
	f.add(models.Task{State: models.StateRetryWait, Attempt: 200, Params: `{"a":"` + strings.Repeat("文字 <b> ", 20_000) + `"}`, Result: `"` + strings.Repeat("<", 60_000) + `"`, Tags: `["a","b"]`})
	for n := range 200 {
		f.attempts = append(f.attempts, models.Attempt{TaskID: 1, Attempt: n + 1, Outcome: models.OutcomeRetry, ErrorKind: "error", Error: fmt.Sprint(n, long), Stack: long, Worker: "reax/pools/any/w$1", StartedAt: start, FinishedAt: start, RetryAt: start, RetryRule: "10 s × 2^(1-1) = 10 s, at most 120 s"})
		f.logs = append(f.logs, models.LogLine{TaskID: 1, Attempt: 200, Seq: n + 1, At: start, Level: "error", Text: fmt.Sprint("line ", n, " ", long)})
		f.audit = append(f.audit, models.Audit{At: start, Actor: "dashboard", Action: "retry", Target: "task", TargetID: "1", Reason: strings.Repeat("<", 900)})
	}
	w := scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{"show raw", "Only the start", "Whole error and stack", "Attempt 200 failed", "line 199"}, mustNot: []string{"Attempt 188 failed"}}.run(t, f)
	require.Less(t, w.Body.Len(), 60_000)

	older := regexp.MustCompile(`href="(/tasks/1\?runs=\d+)" rel="next"`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, older)
	scenario{url: older[1], status: 200, header: browser(), must: []string{"Attempt 188 failed", "Newest"}, mustNot: []string{"Attempt 189 failed", "Next attempt,"}}.run(t, f)
	older = regexp.MustCompile(`href="(/tasks/1\?before=\d+)#log" rel="next"`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, older)
	scenario{url: older[1], status: 200, header: browser(), mustNot: []string{"line 199"}}.run(t, f)
	scenario{url: "/tasks/1?attempt=3", status: 200, header: browser(), must: []string{"This attempt has written nothing"}}.run(t, f)
	scenario{url: "/tasks/1?attempt=-3&before=x&runs=%3Cb%3E", status: 200, header: browser(), must: []string{"line 199"}}.run(t, f)
}

func TestTheRawTextsOfATaskAreFilesToKeep(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{Type: "secret", State: models.StateFailed, Attempt: 1, Params: `{"token":"hunter2","big":12345678901234567890}`, Result: `{"token":"hunter2","n":1.10}`})
	f.attempts = []models.Attempt{{TaskID: 1, Attempt: 1, Outcome: models.OutcomeFailed, Error: markup, Stack: "main.go:1"}}
	addSecret(t, f)
	for path, parts := range map[string][]string{
		"/tasks/1/params.json": {"12345678901234567890", hidden}, "/tasks/1/result.json": {"1.10", hidden}, "/tasks/1/error.txt?attempt=1": {markup, "main.go:1"},
	} {
		w := scenario{url: path, status: 200, must: parts}.run(t, f)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Regexp(t, `^attachment; filename="task-1-`, w.Header().Get("Content-Disposition"))
		require.Equal(t, apiPolicy, w.Header().Get("Content-Security-Policy"))
	}
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{hidden}}.run(t, f)
	for _, path := range []string{"/tasks/2", "/tasks/x", "/tasks/0", "/tasks/2/params.json", "/tasks/x/result.json", "/tasks/1/error.txt", "/tasks/1/error.txt?attempt=9", "/tasks/9/discard"} {
		scenario{url: path, status: 404, header: browser(), must: []string{"There is nothing here"}}.run(t, f)
	}
}

func TestTheButtonsOfATask(t *testing.T) {
	post := func(f *fake, path, body string) (location, said string) {
		w := scenario{method: "POST", url: path, body: body, status: 303, header: browser()}.run(t, f)
		location = w.Header().Get("Location")
		page := scenario{url: "/tasks", status: 200, header: browser("Cookie", flashCookie+"="+cookieOf(t, w, flashCookie).Value)}.run(t, f)
		said = regexp.MustCompile(`(?s)role="status">.*?<span>\s*(.*?)\s*<`).FindStringSubmatch(page.Body.String())[1]
		return location, said
	}
	f := newFake(t)
	f.add(models.Task{State: models.StateDead})
	to, said := post(f, "/tasks/1/retry", "a=")
	require.Equal(t, "/tasks/1", to)
	require.Contains(t, said, "will run again")
	require.Equal(t, byDashboard, f.changes[0].By)
	to, said = post(f, "/tasks/1/retry", "back="+url.QueryEscape("/dead?x=1"))
	require.Equal(t, "/dead?x=1", to)
	require.Contains(t, said, "Nothing was done: task 1 waits to run")
	_, said = post(f, "/tasks/1/cancel", "a=")
	require.Contains(t, said, "was cancelled")

	f = newFake(t)
	f.add(models.Task{State: models.StateFailed})
	scenario{url: "/tasks/1/discard", status: 200, header: browser(), must: []string{`name="reason"`, "required", `action="/tasks/1/discard"`}}.run(t, f)
	to, said = post(f, "/tasks/1/discard", "reason=++")
	require.Equal(t, "/tasks/1/discard", to)
	require.Contains(t, said, "needs a reason")
	require.Empty(t, f.changes)
	post(f, "/tasks/1/discard", "reason="+strings.Repeat("x", actors.MaxReasonBytes+1))
	require.Empty(t, f.changes)
	_, said = post(f, "/tasks/1/discard", "reason=+known+")
	require.Contains(t, said, "was discarded")
	require.Equal(t, "known", f.changes[0].Reason)
	scenario{url: "/tasks/1/discard", status: 409, header: browser(), must: []string{"task 1 is cancelled"}}.run(t, f)

	f.err = &models.KeyHeldError{Key: "k", Holder: 9}
	_, said = post(f, "/tasks/1/retry", "a=")
	require.Contains(t, said, "task 9 holds its unique key")
	f.err = actors.ErrUnavailable
	scenario{method: "POST", url: "/tasks/1/retry", body: "a=", status: 503, header: browser()}.run(t, f)
	scenario{method: "POST", url: "/tasks/9/retry", body: "a=", status: 404, header: browser()}.run(t, f)
	scenario{method: "POST", url: "/tasks/1/retry", body: "a=", status: 403, header: browser("Sec-Fetch-Site", "cross-site")}.run(t, f)
}

func TestARepeatThatIsSentTwiceMakesOneTask(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{State: models.StateSuccess})
	s := newServer(t, f)
	for range 2 {
		w := send(s.Handler(), scenario{method: "POST", url: "/tasks/1/repeat", body: "token=" + t.Name(), header: browser()}.request())
		require.Equal(t, "/tasks/2", w.Header().Get("Location"))
	}
	require.Len(t, f.repeats, 1)
	f.add(models.Task{State: models.StateRunning})
	w := scenario{method: "POST", url: "/tasks/3/repeat", body: "a=", status: 303, header: browser()}.run(t, f)
	require.Equal(t, "/tasks/3", w.Header().Get("Location"))
	require.Len(t, f.repeats, 1)
}

func TestThePageOfATaskThatRuns(t *testing.T) {
	w := newWorld(t)
	w.enqueue(`{"type":"gate"}`)
	w.enqueue(`{"type":"gate"}`)
	w.enqueue(`{"type":"gate"}`)
	w.enqueue(`{"type":"fail"}`)
	w.enqueue(`{"type":"echo","params":{"n":12345678901234567890}}`)
	w.wait("/tasks/1", "Attempt 1 started")
	w.wait("/tasks/3", "Every worker of its type is busy: 2 of 2")
	w.send(scenario{url: "/tasks/3", status: 200, must: []string{"0 tasks of its type", "if it still waits then"}})
	html := w.wait("/tasks/4", "failed for good")
	require.Contains(t, html, "no &lt;b&gt;luck")
	require.Contains(t, html, "permanent: a retry would not help")
	html = w.wait("/tasks/5", "echoing n=12345678901234567890")
	require.Contains(t, html, "Attempt 1 succeeded")
	require.Contains(t, html, "12345678901234567890")
	w.send(scenario{method: "POST", url: "/tasks/1/cancel", body: "a=", status: 303, header: browser()})
	html = w.wait("/tasks/1", "Attempt 1 was stopped")
	require.Contains(t, html, "Asked to stop by the dashboard")
	w.wait("/tasks/3", "Attempt 1 started")
	close(w.release)
}

func TestARetryOfATaskWhoseKeyIsHeldIsAConflict(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{State: models.StateDead})
	f.err = &models.KeyHeldError{Key: "k", Holder: 9}
	scenario{method: "POST", url: tasksURL + "/1/retry", body: "{}", status: 409, must: []string{"wrong_state", "task 9 holds its unique key"}}.run(t, f)
}

func TestAPageShowsWhatATerminalWouldObeyAndTheAPITellsIt(t *testing.T) {
	t.Parallel()
	const harm = "a\x1b[2Jb\u202ec\u0085d"
	f := newFake(t)
	id := f.add(models.Task{
		Type: "report.generate", State: models.StateDead, Failures: 1, Error: harm, ErrorKind: harm, Params: `{"user_id":1,"text":"\u001b` + "\u202e" + `"}`,
		UniqueKey: harm, ProgressNote: harm, Suspected: harm, EnqueuedBy: harm,
	})
	f.attempts = []models.Attempt{{TaskID: id, Attempt: 1, Outcome: models.OutcomeDead, ErrorKind: harm, Error: harm, Stack: harm, StartedAt: start, FinishedAt: start}}
	f.logs = []models.LogLine{{TaskID: id, Attempt: 1, At: start, Level: "error", Text: harm}}
	f.audit = []models.Audit{{ID: 1, At: start, Actor: harm, Action: "retry", Target: "task", TargetID: "1", Reason: harm}}
	shown := `a\u001b[2Jb\u202ec\u0085d`
	never := []string{"\x1b", "\u202e", "\u0085"}
	scenario{url: "/tasks/1", status: 200, header: browser(), must: []string{shown, `data-copy="` + shown, `\u001b\u202e`}, mustNot: never}.run(t, f)
	scenario{url: "/tasks/1", status: 200, header: map[string]string{fragmentsHeader: "task-log,task-timeline"}, must: []string{shown}, mustNot: never}.run(t, f)
	scenario{url: "/traces/00000000000000000000000000000001", status: 200, header: browser(), must: []string{shown}, mustNot: never}.run(t, f)
	for _, page := range []string{"/tasks", "/tasks?q=%1b%e2%80%ae&type=%1b%e2%80%ae", "/audit"} {
		w := scenario{url: page, status: 200, header: browser(), must: []string{`\u202e`}}.run(t, f)
		require.NotRegexp(t, `>[^<]*[\x1b\x{202e}\x{0085}]`, w.Body.String(), "only fields hold what was sent")
	}
	scenario{url: "/api/v1/tasks/1", status: 200, must: []string{`"error":"a\u001b[2Jb` + "\u202ec\u0085d"}}.run(t, f)
}
