package web

import (
	stdhtml "html"
	"net/url"
	"regexp"
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
	require.Equal(t, "/bulk/1?back="+url.QueryEscape("/tasks?state=dead&tag=x"), at)
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
	plan := func(action string) func(*fake) {
		return func(f *fake) {
			f.add(models.Task{State: models.StateDead, Error: "<b>no</b>"})
			f.run, f.set = &models.BulkRun{ID: 7, Action: action, State: models.BulkPlanned, Matched: 1234, Actor: "ann"}, []int64{1}
		}
	}
	const at = "/bulk/7?back=%2Ftasks%3Fstate%3Ddead"
	runScenarios(t, plan(models.ActionRetry), []scenario{
		{name: "retry", url: at, status: 200, header: browser(), must: []string{
			"Retry 1,234 tasks?", "&lt;b&gt;no", "at once", `value="60"`, `href="/tasks?state=dead"`, `value="/tasks?state=dead"`, "1 of 1,234",
		}, mustNot: []string{"<b>no", "data-live=\"bulk\""}},
		{name: "Chinese", url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"重试 1,234 个任务？", "15 分"}, mustNot: []string{"tasks?</h1>"}},
		{name: "a foreign way back", url: "/bulk/7?back=https://evil.example/", status: 200, header: browser(), must: []string{`name="back" value="/"`}, mustNot: []string{`href="https://evil`}},
		{name: "no way back", url: "/bulk/7", status: 200, header: browser(), must: []string{`name="back" value="/bulk"`}},
		{name: "not kept", url: "/bulk/8", status: 404, header: browser(), must: []string{"not kept any more", `href="/bulk"`}},
		{name: "no number", url: "/bulk/x", status: 404, header: browser(), must: []string{"not kept any more"}},
		{name: "start of what is not kept", method: "POST", url: "/bulk/8", body: "a=b", status: 404, header: browser(), must: []string{"not kept any more"}},
		{name: "stop of what is not kept", method: "POST", url: "/bulk/8/stop", body: "a=b", status: 404, header: browser(), must: []string{"not kept any more"}},
		{name: "a spread that is none", method: "POST", url: "/bulk/7", body: "spread=7", status: 422, header: browser()},
	})
	runScenarios(t, plan(models.ActionDiscard), []scenario{
		{name: "discard", url: at, status: 200, header: browser(), must: []string{"Discard 1,234 tasks?", "required"}, mustNot: []string{"Spread over"}},
		{name: "without a reason", method: "POST", url: "/bulk/7", body: "reason=+&back=/tasks", status: 422, header: browser(), must: []string{"A discard needs a reason", `aria-invalid="true"`, `href="#reason"`}},
		{name: "with too long a reason", method: "POST", url: "/bulk/7", body: "reason=" + strings.Repeat("x", 1001), status: 422, header: browser(), must: []string{"At most 1,000 bytes"}},
	})
	runScenarios(t, func(f *fake) {
		plan(models.ActionReplace)(f)
		addSecret(t, f)
		f.run.Type, f.run.Patch, f.run.Matched, f.set = "secret", `{"user":"<i>u</i>","token":"hunter2"}`, 3, []int64{3, 2, 1}
	}, []scenario{
		{name: "replace", url: "/bulk/7", status: 200, header: browser(), must: []string{
			"Run 3 tasks again with other parameters?", "&lt;i&gt;u", "••••", "1 of these 3 would be left alone", "its parameters would not be valid: &lt;b&gt;: must be text", "Spread over",
		}, mustNot: []string{"<i>u", "<b>:"}},
		{name: "replace in Chinese", url: "/bulk/7", status: 200, header: browser("Accept-Language", "zh"), must: []string{"用修改后的参数重新运行 3 个任务？", "修改后的参数不合规"}},
	})
	f := newFake(t)
	plan(models.ActionRetry)(f)
	w := scenario{method: "POST", url: "/bulk/7", body: "spread=15&reason=+db+is+up+&back=/tasks?state=dead", status: 303, header: browser()}.run(t, f)
	require.Equal(t, at, w.Header().Get("Location"))
	require.Equal(t, 15*time.Minute, f.spread)
	require.Equal(t, "db is up", f.starts[0].Reason)
	require.Equal(t, byDashboard, f.starts[0].By)

	f.run.Matched = 0
	scenario{url: at, status: 200, header: browser(), must: []string{"Nothing matches any more"}, mustNot: []string{"<textarea"}}.run(t, f)

	f.run.State, f.run.StartedAt, f.run.Reason = models.BulkRunning, models.At(time.Now()), "<i>why</i>"
	f.run.Matched, f.run.Done, f.run.Skipped = 300, 90, 60
	for i := range 60 {
		f.skips = append(f.skips, models.BulkSkip{TaskID: int64(i + 1), Code: []string{"success", "key_held"}[i%2], Reason: "it is success"})
	}
	scenario{url: at, status: 200, header: browser(), must: []string{
		`data-live="bulk"`, "Retrying 300 tasks", ">90<", ">150<", "30 tasks: it succeeded", "30 tasks: another task holds", "and 10 more", "&lt;i&gt;why", `href="/tasks?state=dead"`,
		`action="/bulk/7/stop"`, `href="/tasks/1"`,
	}, mustNot: []string{"<i>why", "it is success"}}.run(t, f)
	scenario{url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"正在重试 300 个任务", "30 个任务：它已成功"}}.run(t, f)
	scenario{url: "/bulk", status: 200, header: browser(), must: []string{"Retrying 300 tasks", "90 of 300", "&lt;i&gt;why", `href="/bulk/7"`}, mustNot: []string{"<i>why"}}.run(t, f)
	scenario{url: "/bulk?cursor=x", status: 422, header: browser()}.run(t, f)
	scenario{url: "/bulk?cursor=" + encodeCursor(7), status: 200, header: browser(), must: []string{"No bulk actions yet", `href="/tasks"`}}.run(t, f)

	w = scenario{method: "POST", url: "/bulk/7/stop", body: "back=/tasks?state=dead", status: 303, header: browser()}.run(t, f)
	require.Equal(t, at, w.Header().Get("Location"))
	require.Equal(t, byDashboard, f.changes[0].By)
	scenario{url: at, status: 200, header: browser(), must: []string{"Stopped: retry of 300 tasks", "not done", "Stopped by"}, mustNot: []string{"in the background", "/stop"}}.run(t, f)
	f.run.State = models.BulkDone
	scenario{method: "POST", url: "/bulk/7/stop", body: "a=b", status: 303, header: browser()}.run(t, f)
	scenario{url: at, status: 200, header: browser(), must: []string{"Finished: retry of 300 tasks"}, mustNot: []string{"in the background"}}.run(t, f)
}

// The set of a bulk action is gone through page by page, each task once.
func TestTheSetOfABulkActionIsGoneThrough(t *testing.T) {
	f := newFake(t)
	f.run = &models.BulkRun{ID: 7, Action: models.ActionRetry, State: models.BulkDone, Matched: 120}
	for range 120 {
		f.set = append([]int64{f.add(models.Task{State: models.StateSuccess})}, f.set...)
	}
	seen := map[string]int{}
	links := regexp.MustCompile(`href="/tasks/(\d+)"`)
	older := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	pages := 0
	for at := "/bulk/7"; at != ""; pages++ {
		html := scenario{url: at, status: 200, header: browser()}.run(t, f).Body.String()
		for _, m := range links.FindAllStringSubmatch(html, -1) {
			seen[m[1]]++
		}
		next := older.FindStringSubmatch(html)
		if at = ""; next != nil {
			at = stdhtml.UnescapeString(next[1])
		}
	}
	require.Greater(t, pages, 1)
	require.Len(t, seen, 120)
	for id, n := range seen {
		require.Equal(t, 1, n, "task %s", id)
	}
	scenario{url: "/bulk/7?cursor=x", status: 422, header: browser()}.run(t, f)
}

func TestEverySkipAndActionHasItsWords(t *testing.T) {
	f := newFake(t)
	f.run = &models.BulkRun{ID: 7, Matched: 5, StartedAt: 1}
	for _, state := range models.States {
		f.skips = append(f.skips, models.BulkSkip{TaskID: 1, Code: string(state)})
	}
	for _, code := range []string{models.SkipKeyHeld, models.SkipMissing, models.SkipInvalid, models.SkipNoType, models.SkipOther} {
		f.skips = append(f.skips, models.BulkSkip{TaskID: 1, Code: code})
	}
	f.run.Skipped = len(f.skips)
	for _, lang := range []string{"en", "zh"} {
		for _, action := range []string{models.ActionRetry, models.ActionCancel, models.ActionDiscard, models.ActionReplace} {
			for _, state := range []string{models.BulkPlanned, models.BulkRunning, models.BulkDone, models.BulkStopped} {
				f.run.Action, f.run.State = action, state
				for _, at := range []string{"/bulk/7", "/bulk"} {
					if at == "/bulk" && state == models.BulkPlanned {
						continue // it is not listed
					}
					scenario{url: at, status: 200, header: browser("Accept-Language", lang), mustNot: []string{"bulk." + action, "bulk.skip.", "." + action + "<", ">bulk."}}.run(t, f)
				}
			}
		}
	}
}
