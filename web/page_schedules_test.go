package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const markup = `<img src=x onerror=alert(1)>`

func somePlans(f *fake) {
	f.plan(models.Schedule{
		Name: "report/nightly", Cron: "30 2 * * *", Timezone: "Europe/Berlin", NextAt: start.Add(time.Hour), MissedCount: 2, OverlapCount: 1,
		Params: `{"day":"{{ .ScheduledFor }}","n":12345678901234567890}`, Tags: `["a","b"]`, Priority: 2, Missed: models.MissedRunAll, Overlap: models.OverlapAllow,
	})
	f.plan(models.Schedule{Name: "tick", EveryUS: 90e6, Anchor: start, Paused: true, PauseReason: markup, PausedBy: markup, Owner: models.OwnerFile})
	f.plan(models.Schedule{Name: "broken", Cron: "nonsense", Error: markup, Task: "gone"})
	f.plan(models.Schedule{Name: "once", At: start, Timezone: "Asia/Shanghai"})
	done := f.add(models.Task{State: models.StateSuccess})
	dead := f.add(models.Task{State: models.StateDead})
	at := func(i int) models.Instant { return start.Add(time.Duration(i) * time.Minute) }
	f.occurrences = []models.Occurrence{
		{ScheduleID: 1, At: at(6), Outcome: models.OccurrenceError, Note: markup},
		{ScheduleID: 1, At: at(5), Outcome: models.OccurrenceQueued, BlockedBy: dead},
		{ScheduleID: 1, At: at(4), Outcome: models.OccurrenceEnqueued, TaskID: 999},
		{ScheduleID: 1, At: at(3), Outcome: models.OccurrenceMissed},
		{ScheduleID: 1, At: at(2), Outcome: models.OccurrenceOverlap, BlockedBy: done},
		{ScheduleID: 1, At: at(1), Outcome: models.OccurrenceEnqueued, TaskID: dead, Late: true, CreatedAt: at(4)},
		{ScheduleID: 1, At: at(0), Outcome: models.OccurrenceEnqueued, TaskID: done},
	}
	f.audit = []models.Audit{{At: start, Actor: markup, Action: "pause", Target: "schedule", TargetID: "report/nightly", Reason: markup}}
}

func TestTheListOfSchedules(t *testing.T) {
	runScenarios(t, somePlans, []scenario{
		{name: "all", url: "/schedules", status: 200, header: browser("Cookie", "reax_zone=Asia/Tokyo"), mustNot: []string{"<img", "Nothing matches"}, must: []string{
			`href="/schedules/report%2Fnightly"`, "At 02:30 every day, Europe/Berlin", "30 2 * * *", "2 missed · 1 overlap", "catch up all", "allow overlap",
			"The last 7 occurrences: 1 success, 1 dead, 1 overlap, 1 missed, 1 enqueued, 1 queued, 1 error", "Europe/Berlin</span>",
			"every 1 min 30 s", "paused", "&lt;img src=x", "over", `href="/schedules/new"`,
		}},
		{name: "found", url: "/schedules?q=tick", status: 200, header: browser(), must: []string{`href="/schedules/tick"`, `value="tick"`}, mustNot: []string{"nightly"}},
		{name: "not found", url: "/schedules?q=zzz", status: 200, header: browser(), must: []string{"Nothing matches"}},
		{name: "a text without end", url: "/schedules?q=" + strings.Repeat("x", 201), status: 422, header: browser()},
		{name: "a page that is none", url: "/schedules?after=%3Cb%3E", status: 422, header: browser()},
		{name: "the region alone", url: "/schedules", status: 200, header: map[string]string{fragmentsHeader: "schedules"}, must: []string{"nightly"}, mustNot: []string{"<html"}},
		{name: "Chinese", url: "/schedules", status: 200, header: browser("Accept-Language", "zh"), must: []string{"定时计划", "错过 2 次", "已暂停"}, mustNot: []string{">paused"}},
	})
	runScenarios(t, nil, []scenario{{name: "none", url: "/schedules", status: 200, header: browser(), must: []string{"No schedules yet", "New schedule"}, mustNot: []string{"<table"}}})
}

func TestSchedulesArePagedByName(t *testing.T) {
	f := newFake(t)
	for i := range planPageSize + 3 {
		f.plan(models.Schedule{Name: "s" + strconv.Itoa(1000+i), Cron: "@daily"})
	}
	scenario{url: "/schedules", status: 200, header: browser(), must: []string{"s1029", `href="/schedules?after=s1029" rel="next"`, "30 schedules"}, mustNot: []string{"s1030", "First page"}}.run(t, f)
	scenario{url: "/schedules?after=s1029", status: 200, header: browser(), must: []string{"s1030", "s1032", "First page"}, mustNot: []string{`href="/schedules/s1029"`, `rel="next"`}}.run(t, f)
}

func TestAPageOfSchedulesIsSmall(t *testing.T) {
	f := newFake(t)
	for i := range planPageSize {
		f.plan(models.Schedule{Name: "team/report.number-" + strconv.Itoa(i), Cron: "*/5 8-18 * * 1-5", Timezone: "Europe/Berlin", NextAt: start, MissedCount: 3})
		for j := range shownOccurrences {
			o := models.Occurrence{ScheduleID: int64(i + 1), At: start.Add(time.Duration(j) * time.Minute), Outcome: models.OccurrenceEnqueued}
			if j%9 == 0 {
				o.Outcome = models.OccurrenceMissed
			}
			f.occurrences = append(f.occurrences, o)
		}
	}
	w := scenario{url: "/schedules", status: 200, header: browser("Cookie", "reax_zone=Asia/Tokyo")}.run(t, f)
	require.Less(t, w.Body.Len(), 60_000)
}

func TestThePageOfASchedule(t *testing.T) {
	const nightly = "/schedules/report%2Fnightly"
	runScenarios(t, somePlans, []scenario{
		{name: "detail", url: nightly, status: 200, header: browser(), mustNot: []string{"<img"}, must: []string{
			"<h1>report/nightly</h1>", "At 02:30 every day, Europe/Berlin", "02:30:00 +0", "&lt;img", "12345678901234567890", "a, b", "catch up all: up to 100",
			"late by 3 min", "an earlier task was unfinished", "reax did not run at this time", `href="/tasks/1"`, `href="/tasks?schedule=report%2Fnightly"`,
			`action="/schedules/report%2Fnightly/run"`, `href="/schedules/report%2Fnightly/edit"`, `href="/types/any"`, `id="pause"`, `id="delete"`,
		}},
		{name: "of the file", url: "/schedules/tick", status: 200, header: browser(), must: []string{"configuration file", `action="/schedules/tick/resume"`, "until it is resumed"}, mustNot: []string{"/tick/edit", "/tick/delete", "<img"}},
		{name: "broken", url: "/schedules/broken", status: 200, header: browser(), must: []string{"has an error", "no handler for the task type gone", "disabled"}, mustNot: []string{"<img"}},
		{name: "over", url: "/schedules/once", status: 200, header: browser(), must: []string{"Its last time is over", "Nothing has happened yet"}},
		{name: "Chinese", url: nightly, status: 200, header: browser("Accept-Language", "zh"), must: []string{"后续运行", "重试耗尽"}},
		{name: "none", url: "/schedules/zzz", status: 404, header: browser()},
		{name: "pause form", url: nightly + "/pause", status: 200, header: browser(), must: []string{`name="until"`, `name="reason"`}},
		{name: "pause form of none", url: "/schedules/zzz/pause", status: 404, header: browser()},
		{name: "delete form", url: nightly + "/delete", status: 200, header: browser(), must: []string{"deleted for good"}},
		{name: "delete form of the file", url: "/schedules/tick/delete", status: 409, header: browser(), must: []string{"change it there"}},
		{name: "edit form of the file", url: "/schedules/tick/edit", status: 409, header: browser(), must: []string{"change it there"}},
	})
}

func TestDaylightSavingIsToldBeforeItHappens(t *testing.T) {
	f := newFake(t)
	f.plan(models.Schedule{Name: "gap", Cron: "30 2 * * *", Timezone: "Europe/Berlin", NextAt: models.At(time.Date(2027, 3, 27, 1, 30, 0, 0, time.UTC))})
	scenario{url: "/schedules/gap", status: 200, header: browser(), must: []string{"2027-03-28 03:00:00 +02:00", "skips 02:30", "daylight saving"}}.run(t, f)
	scenario{url: "/schedules/gap", status: 200, header: browser("Accept-Language", "zh"), must: []string{"夏令时"}, mustNot: []string{"skips"}}.run(t, f)
}

// post sends a form and gives where it leads to.
func post(t *testing.T, f *fake, address, body string, status int, must ...string) string {
	t.Helper()
	w := scenario{method: http.MethodPost, url: address, body: body, status: status, header: browser(), must: must}.run(t, f)
	return w.Header().Get("Location")
}

func TestAScheduleIsPausedResumedRunAndDeletedByForm(t *testing.T) {
	f := newFake(t)
	somePlans(f)
	const nightly = "/schedules/report%2Fnightly"
	require.Equal(t, nightly, post(t, f, nightly+"/pause", "reason=+audit+&until=", 303))
	require.Equal(t, "audit", f.changes[0].Reason)
	require.Equal(t, byDashboard, f.changes[0].By)
	require.True(t, f.untils[0].IsZero())
	w := scenario{method: "POST", url: nightly + "/pause", body: "until=2999-01-01T09:30", status: 303, header: browser("Cookie", "reax_zone=Asia/Shanghai")}.run(t, f)
	require.NotNil(t, cookieOf(t, w, flashCookie))
	require.Equal(t, time.Date(2999, 1, 1, 1, 30, 0, 0, time.UTC), f.untils[1].UTC(), "the end is on the viewer's clock")
	changes := len(f.changes)
	post(t, f, nightly+"/pause", "until=2020-01-01T09:30", 422, "in the future", `value="2020-01-01T09:30"`)
	post(t, f, nightly+"/pause", "until=soon", 422, "Not a time")
	post(t, f, nightly+"/pause", "reason="+strings.Repeat("x", actors.MaxReasonBytes+1), 422, "At most 1,000 bytes")
	post(t, f, "/schedules/zzz/pause", "reason=x", 404)
	require.Len(t, f.changes, changes, "nothing of that is done")

	require.Equal(t, nightly, post(t, f, nightly+"/resume", "a=b", 303))
	require.False(t, f.schedules[0].Paused)
	require.Equal(t, "/schedules", post(t, f, nightly+"/delete", "reason=old", 303))
	require.Len(t, f.schedules, 3)
	post(t, f, nightly+"/delete", "reason=old", 404)
	post(t, f, "/schedules/tick/delete", "reason=old", 409)
	f.err = actors.ErrUnavailable
	post(t, f, "/schedules/once/resume", "a=b", 503)
}

func TestAFormThatIsSentTwiceRunsOneTask(t *testing.T) {
	f := newFake(t)
	somePlans(f)
	s := newServer(t, f)
	before := f.stored()
	for range 2 {
		w := send(s.Handler(), scenario{method: "POST", url: "/schedules/once/run", body: "token=T", header: browser()}.request())
		require.Equal(t, 303, w.Code)
		require.NotNil(t, cookieOf(t, w, flashCookie))
	}
	require.Equal(t, before+1, f.stored())
	send(s.Handler(), scenario{method: "POST", url: "/schedules/once/run", body: "token=U", header: browser()}.request())
	require.Equal(t, before+2, f.stored())
}

func planValues(pairs ...string) string {
	v := url.Values{
		"name": {"team/daily"}, "task": {"any"}, "kind": {"cron"}, "cron": {"30 2 * * 1-5"}, "timezone": {"Europe/Berlin"}, "params": {"{\r\n \"n\": 12345678901234567890\r\n}"},
		"priority": {""}, "tags": {" a, b，c ,"}, "missed": {"skip"}, "overlap": {"queue_one"}, "reason": {" asked for "}, "do": {"save"},
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

func TestAScheduleIsMadeByForm(t *testing.T) {
	f := newFake(t)
	scenario{url: "/schedules/new?task=any", status: 200, header: browser("Cookie", "reax_zone=Asia/Shanghai"), must: []string{`value="any"`, `value="Asia/Shanghai"`, "Fill in when it runs"}}.run(t, f)
	require.Equal(t, "/schedules/team%2Fdaily", post(t, f, "/schedules/new", planValues(), 303))
	require.Equal(t, actors.ScheduleSpec{
		Name: "team/daily", Task: "any", Cron: "30 2 * * 1-5", Timezone: "Europe/Berlin", Params: json.RawMessage(`{"n":12345678901234567890}`),
		Tags: []string{"a", "b", "c"}, Missed: "skip", Overlap: "queue_one",
	}, f.specs[0])
	require.Equal(t, "asked for", f.changes[0].Reason)
	post(t, f, "/schedules/new", planValues("name", "b", "kind", "every", "every", "1h30m", "priority", "3"), 303)
	require.Equal(t, 90*time.Minute, f.specs[1].Every)
	require.Empty(t, f.specs[1].Cron, "only the chosen kind counts")
	require.Equal(t, 3, f.specs[1].Priority)
	post(t, f, "/schedules/new", planValues("name", "c", "kind", "at", "at", "2999-07-01T09:30"), 303)
	require.Equal(t, time.Date(2999, 7, 1, 7, 30, 0, 0, time.UTC), f.specs[2].At.UTC(), "on the clock of its zone")

	for _, c := range []struct{ field, value, must string }{
		{"name", "", "s-name-error"}, {"name", "new", "s-name-error"}, {"name", "preview", "s-name-error"}, {"name", markup, "s-name-error"}, {"name", "team/daily", "is taken"},
		{"task", "", "s-task-error"}, {"task", markup, "There is no task type &lt;img"}, {"cron", "", "s-cron-error"}, {"cron", "61 * * * *", "s-cron-error"}, {"cron", "0 0 30 2 *", "s-cron-error"},
		{"timezone", "Mars/Phobos", "s-timezone-error"}, {"priority", "11", "s-priority-error"}, {"reason", strings.Repeat("x", 1001), "s-reason-error"},
	} {
		w := scenario{method: "POST", url: "/schedules/new", body: planValues(c.field, c.value), status: 422, header: browser(), must: []string{c.must, `class="summary"`, "12345678901234567890"}, mustNot: []string{"<img"}}.run(t, f)
		require.Contains(t, w.Body.String(), `href="#s-`+c.field+`"`, c)
	}
	for _, every := range []string{"", "90", "0s", "-5m", "soon"} {
		post(t, f, "/schedules/new", planValues("name", "x", "kind", "every", "every", every), 422, "s-every-error")
	}
	for _, at := range []string{"", "soon", "2026-13-01T00:00"} {
		post(t, f, "/schedules/new", planValues("name", "x", "kind", "at", "at", at), 422, "s-at-error")
	}
	require.Len(t, f.specs, 3, "nothing of that is stored")
	f.err = &tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/params/n", Message: markup}, {Location: "/elsewhere", Message: "is odd"}}}
	post(t, f, "/schedules/new", planValues("name", "x"), 422, "/n: &lt;img", "s-params-error", "elsewhere: is odd")
	f.err = &actors.TooLargeError{What: "bytes of parameters", Limit: 5}
	post(t, f, "/schedules/new", planValues("name", "x"), 422, "s-params-error")
	f.err = actors.ErrUnavailable
	post(t, f, "/schedules/new", planValues("name", "x"), 503)
}

func TestThePreviewOfAPlanNeedsNoScript(t *testing.T) {
	f := newFake(t)
	post(t, f, "/schedules/new", planValues("do", "preview"), 200, "At 02:30, Monday to Friday, Europe/Berlin", "02:30:00 +0", `value="team/daily"`)
	post(t, f, "/schedules/new", planValues("do", "preview", "cron", "61 * * * *"), 200, "Cron pattern:")
	require.Empty(t, f.specs)
	// The script asks for the same by GET, as a fragment.
	get := func(query string, must ...string) {
		scenario{url: "/schedules/new?" + query, status: 200, header: map[string]string{fragmentsHeader: "preview"}, must: must, mustNot: []string{"<html", "<form", "<img"}}.run(t, f)
	}
	get("kind=cron&cron=%40daily&timezone=Asia/Shanghai&task=report.generate", `id="preview"`, "At 00:00 every day, Asia/Shanghai", "user_id")
	get("kind=every&every=15m", "Every 15 minutes")
	get("kind=every&every=x", "Interval: Must be a duration")
	get("kind=at&at=2020-01-01T00:00", "Its last time is over")
	get("kind="+url.QueryEscape(markup)+"&cron="+url.QueryEscape(markup)+"&timezone="+url.QueryEscape(markup), "Time zone:")
	scenario{url: "/schedules/new?kind=cron&cron=%40daily", status: 200, header: map[string]string{fragmentsHeader: "preview", "Accept-Language": "zh"}, must: []string{"每天"}}.run(t, f)
}

func TestAScheduleIsEditedByForm(t *testing.T) {
	f := newFake(t)
	somePlans(f)
	const edit = "/schedules/report%2Fnightly/edit"
	scenario{url: edit, status: 200, header: browser(), must: []string{`value="report/nightly"`, `value="30 2 * * *"`, `name="version" value="1"`, "12345678901234567890", `value="a, b"`, "At 02:30 every day"}}.run(t, f)
	scenario{url: edit + "?kind=every&every=2h", status: 200, header: map[string]string{fragmentsHeader: "preview"}, must: []string{"Every 2 hours"}}.run(t, f)
	body := planValues("name", "renamed", "version", "1", "params", `{"day": "{{ .ScheduledFor }}", "n": 12345678901234567890}`, "tags", "a, b")
	require.Equal(t, "/schedules/renamed", post(t, f, edit, body, 303))
	patch := f.patches[0]
	require.EqualValues(t, 1, patch.Version)
	require.Equal(t, "30 2 * * 1-5", *patch.Cron)
	require.Nil(t, patch.Params, "white space changes nothing")
	require.Nil(t, patch.Tags)
	require.Nil(t, patch.Every)
	post(t, f, edit, body, 404)

	w := scenario{method: "POST", url: "/schedules/renamed/edit", body: planValues("name", "renamed", "version", "1", "cron", "0 5 * * *"), status: 409, header: browser(), must: []string{
		"Somebody was faster", "It is now: 30 2 * * 1-5", `name="version" value="2"`, `value="0 5 * * *"`, "Drop my changes",
	}}.run(t, f)
	require.NotContains(t, w.Body.String(), "It is now: renamed")
	require.Len(t, f.patches, 1)
	post(t, f, "/schedules/renamed/edit", planValues("name", "renamed", "version", "2", "cron", "0 5 * * *", "params", "{"), 303)
	require.JSONEq(t, `"{"`, strconv.Quote(string(f.patches[1].Params)), "what is no JSON is for the runtime to refuse")
	post(t, f, "/schedules/tick/edit", planValues("name", "tick", "version", "1"), 409, "change it there")
	post(t, f, "/schedules/once/edit", planValues("name", "once", "version", "1", "kind", "at", "at", "2026-01-01T08:00:00", "timezone", "Asia/Shanghai"), 303)
	require.Nil(t, f.patches[2].At, "an instant that nobody touched stays to the microsecond")
}

func TestHiddenParametersOfAScheduleStayAsTheyAre(t *testing.T) {
	f := newFake(t)
	schema, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"token":{"type":"string","writeOnly":true}}}`))
	require.NoError(t, err)
	require.NoError(t, f.registry.Add(tasks.Definition{Name: "secret", Kind: tasks.KindGo, Schema: schema, Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}))
	f.plan(models.Schedule{Name: "s", Task: "secret", Cron: "@daily", Params: `{"token":"hunter2","user":"ana"}`})
	scenario{url: "/schedules/s", status: 200, header: browser(), must: []string{hidden, "ana"}}.run(t, f)
	scenario{url: "/schedules/s/edit", status: 200, header: browser(), must: []string{hidden, "ana"}}.run(t, f)
	base := []string{"name", "s", "task", "secret", "version", "1"}
	post(t, f, "/schedules/s/edit", planValues(append(base, "params", `{"user": "bob", "x": {"token": "••••"}}`)...), 422, "The secret is hidden here")
	post(t, f, "/schedules/s/edit", planValues(append(base, "params", `{"token": "••••", "user": "ana"}`)...), 303)
	require.Nil(t, f.patches[0].Params)
	base[5] = "2"
	post(t, f, "/schedules/s/edit", planValues(append(base, "params", `{"token": "••••", "user": "bob"}`)...), 303)
	require.JSONEq(t, `{"token":"hunter2","user":"bob"}`, string(f.patches[1].Params))
}
