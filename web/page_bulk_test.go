package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func TestAllThatMatchIsPlannedAndAskedAbout(t *testing.T) {
	f := newFake(t)
	post := func(body string, status int) string {
		return scenario{method: "POST", url: "/tasks/bulk", body: body, status: status, header: browser()}.run(t, f).Header().Get("Location")
	}
	back := "&back=" + url.QueryEscape("/tasks?state=dead&tag=x")
	at := post("do=retry&scope=all&id=1&query="+url.QueryEscape("state=dead&tag=x&cursor=MQ")+back, 303)
	require.Equal(t, "/bulk/plan-1?back="+url.QueryEscape("/tasks?state=dead&tag=x"), at)
	require.Len(t, f.plans, 1)
	require.Equal(t, &models.Filter{States: []models.State{models.StateDead}, Tag: "x"}, f.plans[0].Filter, "the filter, and not the page")
	require.Nil(t, f.plans[0].IDs)
	require.Empty(t, f.bulks)

	post("do=retry&scope=all&query=", 303)              // every task that there is
	post("do=retry&scope=all&query=cursor%3DMQ", 303)   // the same
	post("do=retry&scope=all&query=state%3Dbogus", 303) // no filter
	post("do=retry&scope=all&query=%25zz", 303)
	require.Len(t, f.plans, 1, "nothing is planned")

	post("do=discard&id=1", 303) // its reason is asked for
	require.Len(t, f.plans, 2)
	require.Equal(t, []int64{1}, f.plans[1].IDs)
	post("do=cancel"+strings.Repeat("&id=1", bulkStraight+1), 303)
	require.Len(t, f.plans, 3)
	require.Empty(t, f.bulks)
	f.err = &actors.TooLargeError{What: "tasks", Limit: 100_000}
	require.Equal(t, "/tasks?state=dead&tag=x", post("do=retry&scope=all&query=state%3Ddead"+back, 303))
	f.err = actors.ErrUnavailable
	post("do=retry&scope=all&query=state%3Ddead", 503)
}

func TestASingleTaskIsRetriedInOneClick(t *testing.T) {
	f := newFake(t)
	id := f.add(models.Task{State: models.StateDead})
	w := scenario{method: "POST", url: "/tasks/bulk", body: "one=1&id=7&do=&back=/dead", status: 303, header: browser()}.run(t, f)
	require.Equal(t, "/dead", w.Header().Get("Location"))
	require.Equal(t, models.StatePending, f.rows[id-1].State)
	require.NotNil(t, cookieOf(t, w, flashCookie))
	scenario{method: "POST", url: "/tasks/bulk", body: "one=1&back=/dead", status: 303, header: browser()}.run(t, f)  // it waits already
	scenario{method: "POST", url: "/tasks/bulk", body: "one=99&back=/dead", status: 303, header: browser()}.run(t, f) // it is gone
	scenario{method: "POST", url: "/tasks/bulk", body: "one=x", status: 422, header: browser()}.run(t, f)
	require.Len(t, f.changes, 1)
}

func TestABulkActionIsAskedAboutAndThenShowsHowFarItIs(t *testing.T) {
	plan := func(action actors.Action) func(*fake) {
		return func(f *fake) {
			f.add(models.Task{State: models.StateDead, Error: "<b>no</b>"})
			f.run = &actors.BulkRun{ID: "p", Action: action, State: actors.BulkPlanned, Report: actors.BulkReport{Matched: 1234}, By: "ann", Sample: []int64{1}}
		}
	}
	const at = "/bulk/p?back=%2Ftasks%3Fstate%3Ddead"
	runScenarios(t, plan(actors.ActionRetry), []scenario{
		{name: "retry", url: at, status: 200, header: browser(), must: []string{
			"Retry 1,234 tasks?", "&lt;b&gt;no", "at once", `value="60"`, `href="/tasks?state=dead"`, `value="/tasks?state=dead"`, "1 of 1,234",
		}, mustNot: []string{"<b>no", "data-live=\"bulk\""}},
		{name: "Chinese", url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"重试 1,234 个任务？", "15 分"}, mustNot: []string{"tasks?</h1>"}},
		{name: "a foreign way back", url: "/bulk/p?back=https://evil.example/", status: 200, header: browser(), must: []string{`name="back" value="/"`}, mustNot: []string{`href="https://evil`}},
		{name: "not remembered", url: "/bulk/q", status: 404, header: browser(), must: []string{"not remembered any more"}},
		{name: "start of what is not remembered", method: "POST", url: "/bulk/q", body: "a=b", status: 404, header: browser(), must: []string{"not remembered any more"}},
		{name: "a spread that is none", method: "POST", url: "/bulk/p", body: "spread=7", status: 422, header: browser()},
	})
	runScenarios(t, plan(actors.ActionDiscard), []scenario{
		{name: "discard", url: at, status: 200, header: browser(), must: []string{"Discard 1,234 tasks?", "required"}, mustNot: []string{"Spread over"}},
		{name: "without a reason", method: "POST", url: "/bulk/p", body: "reason=+&back=/tasks", status: 422, header: browser(), must: []string{"A discard needs a reason", `aria-invalid="true"`, `href="#reason"`}},
		{name: "with too long a reason", method: "POST", url: "/bulk/p", body: "reason=" + strings.Repeat("x", 1001), status: 422, header: browser(), must: []string{"At most 1,000 bytes"}},
	})
	f := newFake(t)
	plan(actors.ActionRetry)(f)
	w := scenario{method: "POST", url: "/bulk/p", body: "spread=15&reason=+db+is+up+&back=/tasks?state=dead", status: 303, header: browser()}.run(t, f)
	require.Equal(t, at, w.Header().Get("Location"))
	require.Equal(t, 15*time.Minute, f.spread)
	require.Equal(t, "db is up", f.starts[0].Reason)
	require.Equal(t, byDashboard, f.starts[0].By)

	f.run.Report = actors.BulkReport{}
	scenario{url: at, status: 200, header: browser(), must: []string{"Nothing matches any more"}, mustNot: []string{"<textarea"}}.run(t, f)

	f.run.State, f.run.StartedAt, f.run.Reason = actors.BulkRunning, time.Now(), "<i>why</i>"
	f.run.Report = actors.BulkReport{Matched: 300, Done: 90, SkippedTotal: 60}
	for i := range 60 {
		f.run.Report.Skipped = append(f.run.Report.Skipped, actors.Skip{ID: int64(i + 1), Code: []string{"success", "key_held"}[i%2], Reason: "it is success"})
	}
	scenario{url: at, status: 200, header: browser(), must: []string{
		`data-live="bulk"`, "Retrying 300 tasks", ">90<", ">150<", "30 tasks: it succeeded", "30 tasks: another task holds", "and 10 more", "&lt;i&gt;why", `href="/tasks?state=dead"`,
	}, mustNot: []string{"<i>why", "it is success"}}.run(t, f)
	scenario{url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"正在重试 300 个任务", "30 个任务：它已成功"}}.run(t, f)
	f.run.State, f.run.FinishedAt = actors.BulkFinished, time.Now()
	scenario{url: at, status: 200, header: browser(), must: []string{"Finished: retry of 300 tasks"}, mustNot: []string{"in the background"}}.run(t, f)
}

func TestEverySkipHasItsWords(t *testing.T) {
	f := newFake(t)
	f.run = &actors.BulkRun{ID: "p", Action: actors.ActionRetry, State: actors.BulkFinished}
	for _, state := range models.States {
		f.run.Report.Skipped = append(f.run.Report.Skipped, actors.Skip{ID: 1, Code: string(state)})
	}
	for _, code := range []string{actors.SkipKeyHeld, actors.SkipMissing, actors.SkipOther} {
		f.run.Report.Skipped = append(f.run.Report.Skipped, actors.Skip{ID: 1, Code: code})
	}
	f.run.Report.SkippedTotal = len(f.run.Report.Skipped)
	for _, lang := range []string{"en", "zh"} {
		scenario{url: "/bulk/p", status: 200, header: browser("Accept-Language", lang), mustNot: []string{"bulk.skip."}}.run(t, f)
	}
}
