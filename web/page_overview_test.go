package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/tasks/demo"
	"reax/views"
)

const evil = `<img src=x onerror=alert(1)>`

// busyHour is a minute a minute of the last hour: all types run, and "any" fails since twelve minutes.
func busyHour(f *fake) {
	now := time.Now()
	f.counts = []models.Count{
		{Type: "any", State: models.StateDead, N: 17}, {Type: "any", State: models.StateFailed, N: 3},
		{Type: "report.generate", State: models.StateRetryWait, N: 12345}, {Type: "report.generate", State: models.StateSuccess, N: 90_000},
	}
	for i := range hourMinutes {
		m := models.MinuteStat{Minute: startOf(now.Add(-time.Duration(i)*time.Minute), time.Minute), Type: "any", Succeeded: 30}
		if i < 12 {
			m.Retried = 10
		}
		m.WaitHist.Add(100 * time.Millisecond)
		m.RunHist.Add(2 * time.Second)
		f.minutes = append(f.minutes, m)
	}
	f.retryAt = models.At(now.Add(3 * time.Minute))
	f.health.Finished5m, f.health.SuccessRate5m = 200, 0.75
}

func withDemo(t *testing.T) *fake {
	f := newFake(t)
	f.registry = tasks.NewRegistry()
	demo.Register(f.registry)
	require.NoError(t, f.registry.Err())
	return f
}

func TestTheOverviewTellsWhatIsGoingOn(t *testing.T) {
	setup := func(f *fake) {
		busyHour(f)
		f.boots = []models.Boot{{ID: "1", StartedAt: models.At(time.Now().Add(-30 * time.Minute)), Version: evil}, {ID: "2", StartedAt: models.At(time.Now().Add(-20 * time.Minute))}}
		f.marks = []models.AuditMark{
			{At: models.At(time.Now().Add(-10 * time.Minute)), Actor: "ana" + evil, Action: "resume", Target: "type", TargetID: "any" + evil},
			{At: models.At(time.Now().Add(-3 * time.Hour)), Actor: "ana", Action: "pause", Target: "type", TargetID: "any"},
			{At: models.At(time.Now()), Actor: "ana", Action: "dance", Target: "type", TargetID: "any"},
		}
		f.gauges = []actors.Gauge{{Minute: startOf(time.Now(), time.Minute), Dead: 17}}
	}
	runScenarios(t, setup, []scenario{
		{
			name: "in English", url: "/", status: 200, header: browser(),
			must: []string{
				`data-status="ok"`, "Some tasks fail", "25 % of the runs of any fail", "since ", "Other task types are normal",
				"75.0 %", "of 200 runs", "12,345", "next in 2 min 59 s", "3 failed for good", "Finished per minute", "40 <span", "did not stop in good order", "Dashed: 3 starts and changes", "resumed by", `ended=`, "reax &lt;img",
				"median 81 ms", "Nothing needs you now", " workers busy<", "No schedule has a run ahead",
			},
			mustNot: []string{"<img", "Everything works", "/demonstration"},
		},
		{name: "in Chinese", url: "/", status: 200, header: browser("Accept-Language", "zh"), must: []string{"部分任务失败", "any 有 25% 的运行失败", "每分钟完成数", "下一个在 2 分钟 59 秒后"}, mustNot: []string{"Overview", "Nothing needs"}},
		{name: "a day", url: "/?span=24h", status: 200, header: browser(), must: []string{"Finished per half hour", "last 24 h"}, mustNot: []string{"Finished per minute"}},
		{name: "a span that is none", url: "/?span=%3Cb%3E", status: 200, header: browser(), must: []string{"Finished per minute"}, mustNot: []string{"<b>&"}},
		{name: "a region alone", url: "/", status: 200, header: map[string]string{fragmentsHeader: "tiles"}, must: []string{`data-live="tiles"`, "12,345"}, mustNot: []string{"<html", `data-live="types"`}},
	})
}

func TestFewRunsMakeNoRate(t *testing.T) {
	setup := func(f *fake) {
		f.counts = []models.Count{{Type: "any", State: models.StateFailed, N: 19}}
		f.minutes = []models.MinuteStat{{Minute: startOf(time.Now(), time.Minute), Type: "any", Failed: 19}}
		f.health.Finished5m, f.health.SuccessRate5m = 19, 0
	}
	runScenarios(t, setup, []scenario{
		{name: "no rate", url: "/", status: 200, header: browser(), must: []string{"19 runs: too few to say", "Everything works"}, mustNot: []string{"0 %</", "Some tasks fail"}},
	})
}

func TestTheOverviewListsWhatNeedsAPerson(t *testing.T) {
	f := newFake(t)
	recently := models.At(time.Now().Add(-time.Hour))
	f.counts = []models.Count{{Type: "gone", State: models.StatePending, N: 4}, {Type: "any", State: models.StateDead, N: 1}}
	f.groups = []models.ErrorGroup{{Type: "any", Fingerprint: "0123456789abcdef", Message: evil, N: 11, LastAt: recently}}
	f.add(models.Task{Suspected: "because"})
	f.add(models.Task{Suspected: "because", State: models.StateSuccess})
	f.paused["any"] = actors.Change{By: evil, Reason: "the printer burns" + evil}
	f.minutes = []models.MinuteStat{{Minute: startOf(time.Now(), time.Minute), Type: "report.generate", Promoted: 21}}
	f.schedules = []models.Schedule{
		{ID: 1, Name: "broken" + evil, Error: "no such type" + evil}, {ID: 2, Name: "late", MissedCount: 2, Cron: "0 7 * * *", Timezone: "UTC", NextAt: recently},
		{ID: 3, Name: "long ago", MissedCount: 2}, {ID: 4, Name: "asleep", Paused: true, NextAt: recently},
	}
	f.occurrences = []models.Occurrence{
		{ScheduleID: 2, At: recently, Outcome: models.OccurrenceMissed, CreatedAt: recently}, {ScheduleID: 2, At: recently - 1, Outcome: models.OccurrenceEnqueued, CreatedAt: recently},
		{ScheduleID: 3, At: 1, Outcome: models.OccurrenceMissed, CreatedAt: 1},
	}
	page := scenario{
		url: "/", status: 200, header: browser(),
		must: []string{
			`href="/dead/any/0123456789abcdef"`, "may have run twice after a crash", "<b>1 </b>", `href="/tasks?suspected=1"`, "the printer burns", `href="/types/any"`,
			"no handler", `href="/tasks?state=pending&amp;type=gone"`, "missed a run in the last 24 h", `href="/schedules/late"`, "At 07:00 every day", "cannot run", "were moved up",
		},
		mustNot: []string{"<img", "long ago", "asleep", "Nothing needs you now"},
	}.run(t, f).Body.String()
	require.Less(t, strings.Index(page, "no handler"), strings.Index(page, "were moved up"), "what is worst comes first")
	scenario{url: "/", status: 200, header: browser("Accept-Language", "zh"), must: []string{"需要关注", "最近 24 小时错过 1 次运行", "每天 07:00"}}.run(t, f)
}

func TestEveryCauseIsSaidInBothLanguages(t *testing.T) {
	args := map[string]any{"type": "mail" + evil, "n": 3, "name": "nightly", "error": evil, "actor": "queue", "percent": 12, "wait": "12m0s", "busy": 2, "total": 8, "free": "12 MiB"}
	for _, code := range actors.CauseCodes() {
		for lang, since := range map[string]string{"en": "since ", "zh": "自 "} {
			f := newFake(t)
			f.health.Status, f.health.Causes = actors.StatusDegraded, []actors.Cause{{Code: code, Args: args, Since: time.Now()}}
			scenario{url: "/", status: 200, header: browser("Accept-Language", lang), must: []string{`class="cause"`, since}, mustNot: []string{"cause.", "no value", "<img"}}.run(t, f)
		}
		_, ok := views.Chinese.Lookup("cause."+code, "n", 1)
		require.True(t, ok, code)
	}
}

func TestTheFirstStepsLeadToATask(t *testing.T) {
	scenario{url: "/", status: 200, header: browser(), must: []string{"Ready for the first task", "reax enqueue", "reax schedules add"}, mustNot: []string{"/demonstration", `class="tiles"`}}.run(t, newFake(t))

	f := withDemo(t)
	scenario{
		url: "/", status: 200, header: browser(),
		must:    []string{`action="/demonstration"`, "reax enqueue demo.report", "http://localhost:8080/api/v1/tasks", "python3"},
		mustNot: []string{"reax schedules add"},
	}.run(t, f)
	scenario{url: "/", status: 200, header: browser("Accept-Language", "zh"), must: []string{"运行演示任务", "http://localhost:8080/api"}}.run(t, f)
	w := scenario{method: "POST", url: "/demonstration", body: "x=y", status: 303, header: browser(), stored: 1}.run(t, f)
	require.Equal(t, "/tasks/1", w.Header().Get("Location"))
	require.Equal(t, byDashboard, f.enqueues[0].By)
	w = scenario{method: "POST", url: "/demonstration", body: "x=y", status: 303, header: browser()}.run(t, f)
	require.Equal(t, "/tasks/1", w.Header().Get("Location"), "a second press gives the same task")
	scenario{method: "POST", url: "/demonstration", body: "x=y", status: 403, header: browser("Sec-Fetch-Site", "cross-site")}.run(t, f)
	f.err = actors.ErrUnavailable
	scenario{method: "POST", url: "/demonstration", body: "x=y", status: 503, header: browser()}.run(t, f)
}

func TestManyViewersCostAsMuchAsOne(t *testing.T) {
	f := newFake(t)
	busyHour(f)
	s := newServer(t, f)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { s.snapshot(t.Context(), false) })
	}
	wg.Wait()
	require.LessOrEqual(t, f.reads.Load(), int64(2), "a second may have passed")

	before := f.reads.Load()
	s.overview.until = time.Now().Add(time.Hour)
	first := s.snapshot(t.Context(), false)
	s.overview.changes.Add(1)
	require.NotSame(t, first, s.snapshot(t.Context(), false), "what a live page was told of is not older than that")
	require.Equal(t, before+1, f.reads.Load())
}

func TestOneWhoGoesAwayTakesNothingFromTheOthers(t *testing.T) {
	f := newFake(t)
	busyHour(f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, newServer(t, f).snapshot(ctx, true).known)
}

func TestALargeOverviewIsSmall(t *testing.T) {
	f := newFake(t)
	for i := range 200 {
		name := fmt.Sprintf("team%d.a-rather-long-name-of-a-type", i)
		require.NoError(t, f.registry.Add(tasks.Definition{
			Name: name, Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: tasks.DefaultPolicy(),
			Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		}))
		f.counts = append(f.counts, models.Count{Type: name, State: models.StatePending, N: 1e6})
		f.groups = append(f.groups, models.ErrorGroup{Type: name, Fingerprint: "0123456789abcdef", Message: strings.Repeat("错", 500), N: 1e6, LastAt: start})
		f.paused[name] = actors.Change{By: "somebody", Reason: strings.Repeat("错", 300)}
		for m := range 24 * 60 {
			if i > 2 && m > 60 {
				break
			}
			row := models.MinuteStat{Minute: startOf(time.Now().Add(-time.Duration(m)*time.Minute), time.Minute), Type: name, Succeeded: int64(1e4 + m*i), Failed: int64(m)}
			row.RunHist.Add(time.Second)
			f.minutes = append(f.minutes, row)
		}
	}
	for _, url := range []string{"/", "/?span=24h"} {
		require.Less(t, scenario{url: url, status: 200, header: browser()}.run(t, f).Body.Len(), 60_000, url)
	}
}

func TestTroubleBeginsWhereTooManyRunsBegantoFail(t *testing.T) {
	minute := func(succeeded, failed int64) typeMinute { return typeMinute{succeeded, failed} }
	fill := func(change map[int]typeMinute) *typeFigures {
		f := &typeFigures{}
		for i := range f.minutes {
			f.minutes[i] = minute(10, 0)
		}
		for i, m := range change {
			f.minutes[i] = m
		}
		return f
	}
	bad := minute(5, 5)
	at := func(i int) models.Instant { return start.Add(time.Duration(i) * time.Minute) }
	all := map[int]typeMinute{}
	for i := range hourMinutes {
		all[i] = bad
	}
	for name, c := range map[string]struct {
		change map[int]typeMinute
		want   trouble
	}{
		"none":                      {nil, trouble{}},
		"a few":                     {map[int]typeMinute{58: minute(9, 1)}, trouble{}},
		"now":                       {map[int]typeMinute{58: bad, 59: bad}, trouble{percent: 20, since: at(58)}},
		"it ended":                  {map[int]typeMinute{40: bad, 41: bad}, trouble{}},
		"a quiet minute in between": {map[int]typeMinute{55: bad, 56: minute(0, 0), 57: bad}, trouble{percent: 25, since: at(55)}},
		"a good minute ends it":     {map[int]typeMinute{54: bad, 55: bad, 57: bad, 58: bad}, trouble{percent: 30, since: at(57)}},
		"too few runs":              {map[int]typeMinute{55: {}, 56: {}, 57: {}, 58: {}, 59: minute(0, 19)}, trouble{}},
		"all the hour":              {all, trouble{percent: 50, since: start, longer: true}},
	} {
		require.Equal(t, c.want, fill(c.change).troubleNow(start), name)
	}
}

func TestAShareIsNeverRoundedToAllOrNothing(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0: "0 %", 0.9999: "99.9 %", 0.0001: "0.1 %", 0.746: "74.6 %"} {
		require.Equal(t, want, percent(share))
	}
}

func TestACauseTellsTimeAsThePagesDo(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{})
	f.health.Status = actors.StatusDegraded
	f.health.Causes = []actors.Cause{{Code: actors.CauseWaiting, Args: map[string]any{"n": int64(3), "wait": 22*time.Minute + 11*time.Second, "busy": 1, "total": 4}, Since: time.Now()}}
	scenario{url: "/", status: 200, header: browser(), must: []string{"22 min 11 s"}, mustNot: []string{"22m11s"}}.run(t, f)
	scenario{url: "/", status: 200, header: browser("Accept-Language", "zh-CN"), must: []string{"22 分钟 11 秒"}, mustNot: []string{"22m11s"}}.run(t, f)
}
