package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

func TestARunningTaskSaysWhoRunsIt(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{State: models.StateRunning})
	f.workers = []actors.TreeRow{{ID: "reax/pools/any/w$3", Doing: "task 1, run 1"}, {ID: "reax/queue", Doing: "a tick"}}
	scenario{url: "/tasks?state=running", status: 200, header: browser(), must: []string{">any/w$3<"}}.run(t, f)
}

func TestAListIsOfWhatEndedWithinAMinute(t *testing.T) {
	read := func(query string) *tasksQuery {
		v, err := url.ParseQuery(query)
		require.NoError(t, err)
		return readTasksQuery(v, time.UTC, time.Now())
	}
	q := read("ended=20260131T0930Z-30m")
	require.Empty(t, q.faults)
	require.True(t, q.narrows())
	require.Equal(t, models.At(time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)), q.filter.EndedFrom)
	require.Equal(t, models.At(time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)), q.filter.EndedTo)
	require.Equal(t, "20260131T0930Z-30m", q.values().Get("ended"))
	for _, bad := range []string{"x", "20260131T0930Z", "20260131T0930Z-", "20260131T0930Z-0s", "20260131T0930Z-1000h", "20260231T0930Z-1m", "20260131T0930Z--1m", "<b>"} {
		require.Contains(t, read("ended="+url.QueryEscape(bad)).faults, "ended", bad)
	}
}

func TestTheListOfTasks(t *testing.T) {
	setup := func(f *fake) {
		f.counts = []models.Count{
			{Type: "any", State: models.StateDead, N: 17}, {Type: "other", State: models.StateDead, N: 3}, {Type: "any", State: models.CountReady, N: 99},
		}
		f.add(models.Task{State: models.StateDead, Error: "<b>no luck</b>", ErrorKind: "panic", MaxRetries: 3, Failures: 4, Priority: 7})
		f.add(models.Task{State: models.StateRunning, Worker: "any/worker-1", StartedAt: models.At(time.Now()), TimeoutUS: 60e6, Progress: 40})
		f.add(models.Task{Type: "<i>odd</i>", Params: `{"a":"<s>"}`, Suspected: "because"})
	}
	runScenarios(t, setup, []scenario{
		{name: "all", url: "/tasks", status: 200, header: browser(), must: []string{"&lt;b&gt;no luck", "&lt;i&gt;odd", "4 of 4", `href="/tasks/1"`, `title="20"`, "40 %", "may have run twice"}, mustNot: []string{"<b>no", "<i>odd"}},
		{name: "dead", url: "/tasks?state=dead", status: 200, header: browser(), must: []string{"Cause", "panic", `value="discard"`}, mustNot: []string{`value="cancel"`, "odd"}},
		{name: "running", url: "/tasks?state=running", status: 200, header: browser(), must: []string{"any/worker-1", "of 1 min"}, mustNot: []string{`value="retry"`}},
		{name: "pending", url: "/tasks?state=pending", status: 200, header: browser(), must: []string{"Runs at"}, mustNot: []string{"Attempt"}},
		{name: "figures of a type", url: "/tasks?type=any", status: 200, header: browser(), must: []string{`title="17"`}, mustNot: []string{`title="20"`}},
		{name: "no figures that would be wrong", url: "/tasks?tag=x", status: 200, header: browser(), mustNot: []string{`title="20"`, `title="17"`}},
		{name: "chips", url: "/tasks?state=dead&tag=x&window=1h", status: 200, header: browser(), must: []string{`href="/tasks?state=dead&amp;window=1h"`, `href="/tasks?state=dead&amp;tag=x"`, `href="/tasks?state=dead"`}},
		{name: "nothing matches", url: "/tasks?trace_id=" + strings.Repeat("a", 32), status: 200, header: browser(), must: []string{"Nothing matches"}},
		{name: "nothing in the state", url: "/tasks?state=cancelled", status: 200, header: browser(), must: []string{"No tasks: cancelled"}},
		{name: "Chinese", url: "/tasks?state=dead", status: 200, header: browser("Accept-Language", "zh"), must: []string{"重试耗尽", "原因"}},
		{name: "a region alone", url: "/tasks", status: 200, header: map[string]string{fragmentsHeader: "tasks,nothing"}, must: []string{`data-live="tasks"`, "no luck"}, mustNot: []string{"<html", `data-live="tabs"`}},
		{name: "a state that is none", url: "/tasks?state=%3Cb%3E", status: 422, header: browser(), must: []string{"There is no such state"}, mustNot: []string{"<b>&", "no luck"}},
		{name: "a priority that is none", url: "/tasks?priority=0-3", status: 422, header: browser(), must: []string{`aria-invalid="true"`, "from 1 to 10"}},
		{name: "a window that is none", url: "/tasks?window=9y", status: 422, header: browser(), must: []string{"no such time window"}},
		{name: "a time that is none", url: "/tasks?from=soon", status: 422, header: browser(), must: []string{"Not a time"}},
		{name: "a trace that is none", url: "/tasks?trace_id=xyz", status: 422, header: browser(), must: []string{"32 hexadecimal"}},
		{name: "a cursor that is none", url: "/tasks?cursor=MDE", status: 422, header: browser(), must: []string{"Start with the newest"}},
		{name: "a text without end", url: "/tasks?q=" + strings.Repeat("x", 201), status: 422, header: browser(), must: []string{"At most 200 bytes"}},
		{name: "a NUL", url: "/tasks?tag=%00", status: 422, header: browser()},
	})
	runScenarios(t, nil, []scenario{
		{name: "nothing yet", url: "/tasks", status: 200, header: browser(), must: []string{"No tasks yet", `href="/enqueue"`}, mustNot: []string{"Nothing matches"}},
	})
}

func TestOlderTasksAreAPageAway(t *testing.T) {
	f := newFake(t)
	for range views.DefaultPageSize + 3 {
		f.add(models.Task{State: models.StateDead})
	}
	older := regexp.MustCompile(`href="([^"]*)" rel="next"`)
	first := scenario{url: "/tasks?state=dead", status: 200, header: browser(), must: []string{`value="53"`, `value="4"`, "50 tasks"}, mustNot: []string{`name="id" value="3"`, "Newest<"}}.run(t, f)
	next := strings.ReplaceAll(older.FindStringSubmatch(first.Body.String())[1], "&amp;", "&")
	require.Contains(t, next, "state=dead")
	scenario{url: next, status: 200, header: browser(), must: []string{`name="id" value="3"`, "Newest<", "3 tasks"}, mustNot: []string{`name="id" value="4"`, `rel="next"`}}.run(t, f)
}

func TestTheQueryOfTheListIsAFilter(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	read := func(query string) *tasksQuery {
		v, err := url.ParseQuery(query)
		require.NoError(t, err)
		return readTasksQuery(v, berlin, now)
	}
	q := read("state=dead&type=any&q= x &priority=1-3&from=2026-07-01T09:30&to=2026-07-01T10:00:00Z&tag=t&suspected=1&trace_id=" + strings.Repeat("A", 32))
	require.Empty(t, q.faults)
	require.Equal(t, models.Filter{
		States: []models.State{models.StateDead}, Types: []string{"any"}, Text: "x", PriorityMin: 1, PriorityMax: 3, Tag: "t", Suspected: true,
		TraceID:     strings.Repeat("a", 32),
		CreatedFrom: models.At(time.Date(2026, 7, 1, 7, 30, 0, 0, time.UTC)), CreatedTo: models.At(time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)),
	}, q.filter)
	require.Equal(t, q.filter, readTasksQuery(q.values(), berlin, now).filter, "an address made from a query has the same filter")
	require.Equal(t, models.At(now.Add(-time.Hour)), read("window=1h").filter.CreatedFrom)
	require.Equal(t, 10, read("priority=10").filter.PriorityMax)
	for _, bad := range []string{"3-1", "11", "01", "1-", "-3", "1-2-3", "+1", "1 "} {
		require.Contains(t, read("priority="+url.QueryEscape(bad)+"x").faults, "priority", bad)
	}
}

func FuzzTasksQuery(f *testing.F) {
	for _, seed := range []string{"", "state=dead&type=a&q=%", "priority=1-3&from=2026-07-01T09:30", "cursor=MQ&window=1h", "q=%ff&tag=%00", "sort=-changed&cursor=MQ", "sort=created"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		now := time.Unix(1e9, 0)
		q := readTasksQuery(v, time.UTC, now)
		again := readTasksQuery(q.values(), time.UTC, now)
		q.filter.Before, q.filter.After = 0, models.Place{}
		delete(q.faults, "cursor")
		require.Equal(t, q.filter, again.filter)
		require.Equal(t, q.faults, again.faults)
	})
}

func TestPickedTasksAreChangedTogether(t *testing.T) {
	post := func(f *fake, body string, status int, must ...string) string {
		w := scenario{method: "POST", url: "/tasks/bulk", body: body, status: status, header: browser(), must: must}.run(t, f)
		return w.Header().Get("Location")
	}
	f := newFake(t)
	require.Equal(t, "/tasks?state=dead", post(f, "do=discard&id=1&id=2&reason=+old+&back="+url.QueryEscape("/tasks?state=dead"), 303))
	require.Len(t, f.bulks, 1)
	require.Equal(t, actors.ActionDiscard, f.bulks[0].Action)
	require.Equal(t, []int64{1, 2}, f.bulks[0].IDs)
	require.Nil(t, f.bulks[0].Filter)
	require.Equal(t, "old", f.bulks[0].Change.Reason)
	require.Equal(t, byDashboard, f.bulks[0].Change.By)
	require.NotEmpty(t, f.bulks[0].Change.RequestID)

	f = newFake(t)
	post(f, "do=discard&id=1", 303) // without a reason
	post(f, "do=retry", 303)        // without a task
	post(f, "do=retry&id=1&reason="+strings.Repeat("x", actors.MaxReasonBytes+1), 303)
	post(f, "do=delete&id=1", 422, "retry, cancel or discard")
	post(f, "do=retry&id=x", 422)
	post(f, "do=retry&id=-1", 422)
	require.Empty(t, f.bulks, "nothing is done")
	f.err = actors.ErrUnavailable
	post(f, "do=retry&id=1", 503, "does not answer")
}

func TestSecretsAreNotShown(t *testing.T) {
	const schema = `{"type":"object","properties":{"user":{},"token":{"type":"string","writeOnly":true}}}`
	f := newFake(t)
	require.NoError(t, f.registry.Add(tasks.Definition{Name: "secret", Kind: tasks.KindCommand, Schema: compiledSchema(t, schema), Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
	f.add(models.Task{Type: "secret", Params: `{"token":"hunter2","user":"ana"}`})
	scenario{url: "/tasks", status: 200, header: browser(), must: []string{"ana", hidden}}.run(t, f)
}

func TestAPageOfTheListIsSmall(t *testing.T) {
	f := newFake(t)
	for i := range views.DefaultPageSize {
		f.add(models.Task{State: models.StateDead, Params: fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("文字 ", 400))})
	}
	require.Less(t, scenario{url: "/tasks", status: 200, header: browser()}.run(t, f).Body.Len(), 60_000)
}
