package web

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func someTypes(f *fake) {
	f.counts = []models.Count{
		{Type: "any", State: models.StateDead, N: 17}, {Type: "any", State: models.StateRunning, N: 1}, {Type: markup, State: models.StatePending, N: 4321},
	}
	var h models.Histogram
	h.Add(1500 * time.Millisecond)
	now := models.At(time.Now().Truncate(time.Minute))
	f.minutes = []models.MinuteStat{
		{Minute: now.Add(-2 * time.Minute), Type: "any", Succeeded: 3, Failed: 1, WaitHist: h, RunHist: h},
		{Minute: now, Type: "other", Succeeded: 999, RunHist: h},
	}
	f.groups = []models.ErrorGroup{
		{Type: "other", Fingerprint: "bb", Message: "of another type", N: 1, LastAt: start},
		{Type: "any", Fingerprint: "aa", Kind: "error", Message: markup, N: 17, FirstAt: start, LastAt: start},
	}
	f.audit = []models.Audit{{At: start, Actor: markup, Action: "resize", Target: "type", TargetID: "any", Reason: markup}}
	f.paused["report.generate"] = actors.Change{By: "ana", Reason: markup}
}

func TestTheListOfTypes(t *testing.T) {
	runScenarios(t, someTypes, []scenario{
		{name: "all", url: "/types", status: 200, header: browser(), mustNot: []string{"<img"}, must: []string{
			`href="/types/any"`, `href="/types/report.generate"`, "Writes a report", "1 of 4 busy", "75 %", "no handler", "&lt;img", "4,321", "paused",
			`href="/tasks?state=dead&amp;type=any"`,
		}},
		{name: "Chinese", url: "/types", status: 200, header: browser("Accept-Language", "zh"), must: []string{"任务类型", "无处理程序"}},
		{name: "the region alone", url: "/types", status: 200, header: map[string]string{fragmentsHeader: "types"}, must: []string{"any"}, mustNot: []string{"<html"}},
	})
	f := newFake(t)
	f.readErr = errSecret
	scenario{url: "/types", status: 500, header: browser()}.run(t, f)
	scenario{url: "/types/any", status: 500, header: browser()}.run(t, f)
}

func TestThePageOfAType(t *testing.T) {
	runScenarios(t, someTypes, []scenario{
		{name: "detail", url: "/types/any", status: 200, header: browser(), mustNot: []string{"<img", "of another type", "999"}, must: []string{
			"<h1>any</h1>", "In the last hour 3 runs succeeded and 1 failed", "10 s", "20 s", "40 s", "at most 2 min", `href="/dead/any/aa"`, "&lt;img", "Resized",
			`href="/enqueue/any"`, `href="/schedules/new?task=any"`, `href="/actors?node=reax%2Fpools%2Fany"`, `data-dialog="pause"`, "run p95", "75 %",
		}},
		{name: "with a schema", url: "/types/report.generate", status: 200, header: browser(), must: []string{"user_id", "Timeout of a run", "2 min", "&lt;img", `data-dialog="resume"`, "No run in the last hour"}, mustNot: []string{`data-dialog="pause"`, "<img"}},
		{name: "without a handler", url: "/types/%3Cimg%20src=x%20onerror=alert(1)%3E", status: 200, header: browser(), must: []string{"Start a program that registers it", "4,321"}, mustNot: []string{"<img", "data-dialog"}},
		{name: "none", url: "/types/nothing", status: 404, header: browser()},
		{name: "Chinese", url: "/types/any", status: 200, header: browser("Accept-Language", "zh"), must: []string{"每次翻倍", "调整并发"}},
		{name: "a form without a script", url: "/types/any/resize", status: 200, header: browser(), must: []string{`name="concurrency" value="4"`, `action="/types/any/resize"`}},
		{name: "a form of a type without a handler", url: "/types/nothing/pause", status: 404, header: browser()},
		{name: "an action that is none", url: "/types/any/explode", status: 404, header: browser()},
	})
}

func TestATypeIsPausedResumedAndResizedByForm(t *testing.T) {
	f := newFake(t)
	require.Equal(t, "/types/any", post(t, f, "/types/any/pause", "reason=+the+bank+is+down+", 303))
	require.Equal(t, "the bank is down", f.paused["any"].Reason)
	require.Equal(t, byDashboard, f.paused["any"].By)
	require.Equal(t, "/types/any", post(t, f, "/types/any/resume", "reason=", 303))
	require.Empty(t, f.paused)
	require.Equal(t, "/types/any", post(t, f, "/types/any/resize", "concurrency=7&reason=load", 303))
	require.Equal(t, 7, f.sizes["any"])
	changes := len(f.changes)
	for _, size := range []string{"", "0", "-1", "10001", "1.5", "x", "99999999999999999999"} {
		post(t, f, "/types/any/resize", "concurrency="+size, 422, "A whole number from 1 to 10,000", `href="#resize-size"`)
	}
	post(t, f, "/types/any/pause", "reason="+strings.Repeat("x", actors.MaxReasonBytes+1), 422, "At most 1,000 bytes", `href="#pause-reason"`)
	post(t, f, "/types/any/explode", "reason=x", 404)
	post(t, f, "/types/nothing/pause", "reason=x", 404)
	require.Len(t, f.changes, changes, "nothing of that is done")
	f.err = actors.ErrUnavailable
	post(t, f, "/types/any/pause", "reason=x", 503)
}
