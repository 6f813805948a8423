package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

const schedulesURL = "/api/v1/schedules"

// planned are the schedules that most scenarios run against.
func planned(f *fake) {
	f.plan(models.Schedule{
		Name: "daily", Cron: "30 2 * * *", Timezone: "America/New_York", Params: `{"n": 12345678901234567890}`, Missed: "run_once", Overlap: "skip",
		Tags: `["a"]`, Version: 3, NextAt: models.At(time.Date(2027, 3, 13, 7, 30, 0, 0, time.UTC)), LastAt: start, LastTaskID: 7, Runs: 5, MissedCount: 2,
	})
	f.plan(models.Schedule{Name: "file/hourly", Owner: models.OwnerFile, EveryUS: 3_600_000_000, Anchor: start, NextAt: start, Missed: "skip", Overlap: "allow"})
	f.plan(models.Schedule{Name: "broken", Cron: "0 0 31 2 *", Timezone: "Mars/Base", Error: "it never runs", Missed: "run_once", Overlap: "skip"})
	f.plan(models.Schedule{Name: "once", At: models.At(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), NextAt: models.At(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), Priority: 2, Missed: "run_all", Overlap: "queue_one"})
	for i, o := range []models.Occurrence{
		{ScheduleID: 1, Outcome: models.OccurrenceOverlap, BlockedBy: 7, Note: "task 7 is not finished"},
		{ScheduleID: 1, Outcome: models.OccurrenceEnqueued, TaskID: 7, Late: true},
	} {
		o.At, o.CreatedAt = start-models.Instant(i)*86_400_000_000, start
		f.occurrences = append(f.occurrences, o)
	}
	for i := range 100 {
		f.occurrences = append(f.occurrences, models.Occurrence{ScheduleID: 2, At: start - models.Instant(i), Outcome: models.OccurrenceMissed})
	}
}

func TestSchedulesAreShownWithTheirPlan(t *testing.T) {
	runScenarios(t, planned, []scenario{
		{name: "list", url: schedulesURL, status: 200, must: []string{
			`{"schedules":[{"name":"broken"`, `"error":"it never runs"`, `"next_at":null,"next":null`, `"description":""`,
			`"name":"daily","owner":"api","task":"any","cron":"30 2 * * *","every":null,"at":null,"anchor":null,"timezone":"America/New_York",` +
				`"params":{"n":12345678901234567890},"priority":null,"tags":["a"],"missed":"run_once","overlap":"skip","paused":false`,
			`"version":3,"next_at":"2027-03-13T07:30:00.000000Z","next":"2027-03-13T02:30:00-05:00","last_at":"2026-01-01T00:00:00.123456Z","last_task_id":7,` +
				`"last_outcome":"overlap","runs":5,"missed_count":2,"overlap_count":0,"error":""`,
			`"name":"file/hourly","owner":"file"`, `"every":"1h","at":null,"anchor":"2026-01-01T00:00:00.123456Z","timezone":"UTC"`,
			`"at":"2030-01-01T00:00:00.000000Z"`, `"priority":2`, `"last_outcome":""`, `"next_cursor":null`,
		}, mustNot: []string{"upcoming"}},
		{name: "of a type", url: schedulesURL + "?task=report.generate", status: 200, must: []string{`{"schedules":[],"next_cursor":null}`}},
		{name: "page", url: schedulesURL + "?limit=2", status: 200, must: []string{`"broken"`, `"daily"`, `"next_cursor":"ZGFpbHk"`}, mustNot: []string{"hourly"}},
		{name: "next page", url: schedulesURL + "?limit=2&cursor=ZGFpbHk", status: 200, must: []string{`"file/hourly"`, `"once"`, `"next_cursor":null`}, mustNot: []string{`"daily"`}},
		{name: "bad page", url: schedulesURL + "?limit=0&cursor=x", status: 422, must: []string{`"query.limit"`}},
		{name: "bad cursor", url: schedulesURL + "?cursor=%3Cscript%3E", status: 422, must: []string{`"query.cursor"`}, mustNot: []string{"<script>"}},
		{name: "unknown parameter", url: schedulesURL + "?name=x", status: 422, must: []string{`"query.name"`}},
		{name: "one", url: schedulesURL + "/daily", status: 200, must: []string{
			`"name":"daily"`, `"description_zh":"`,
			`"upcoming":[{"at":"2027-03-13T07:30:00.000000Z","local":"2027-03-13T02:30:00-05:00","wall":"2027-03-13 02:30"},` +
				`{"at":"2027-03-14T07:00:00.000000Z","local":"2027-03-14T03:00:00-04:00","wall":"2027-03-14 02:30","note":"gap","note_text":"The clock`,
			`"occurrences":[{"at":"2026-01-01T00:00:00.123456Z","local":"2025-12-31T19:00:00-05:00","outcome":"overlap","task_id":null,"late":false,"blocked_by":7,"note":"task 7 is not finished"`,
			`"outcome":"enqueued","task_id":7,"late":true,"blocked_by":null`,
		}},
		{name: "one that is broken", url: schedulesURL + "/broken", status: 200, must: []string{`"error":"it never runs"`, `"upcoming":[],"occurrences":[]`, `"timezone":"Mars/Base"`}},
		{name: "one with a slash in its name", url: schedulesURL + "/file%2Fhourly", status: 200, must: []string{`"name":"file/hourly"`, `"outcome":"missed"`}},
		{name: "a slash that is not encoded", url: schedulesURL + "/file/hourly", status: 404},
		{name: "an encoded name", url: schedulesURL + "/%64aily", status: 200},
		{name: "none", url: schedulesURL + "/weekly", status: 404, must: []string{`"not_found"`, `there is no schedule \"weekly\"`}},
		{name: "a hostile name", url: schedulesURL + "/%3Cscript%3E%00%0A", status: 404, must: []string{`\\x00\\n`}},
		{name: "a name that is not UTF-8", url: schedulesURL + "/%ff%fe", status: 404},
		{name: "a name without end", url: schedulesURL + "/" + strings.Repeat("x", 10000), status: 422, must: []string{`"path.name"`}, mustNot: []string{strings.Repeat("x", 1000)}},
		{name: "a name above its folder", url: schedulesURL + "/..%2F..%2Ftasks", status: 404},
	})
}

func TestADetailHasTheNextTenAndTheLatestSixty(t *testing.T) {
	f := newFake(t)
	planned(f)
	var shown scheduleDetailJSON
	decode := func(name string) {
		w := scenario{url: schedulesURL + "/" + name, status: 200}.run(t, f)
		shown = scheduleDetailJSON{}
		var raw struct {
			Upcoming, Occurrences []json.RawMessage
			Next                  *string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &raw))
		shown.Upcoming, shown.Occurrences, shown.Next = make([]UpcomingJSON, len(raw.Upcoming)), make([]occurrenceJSON, len(raw.Occurrences)), raw.Next
	}
	decode("file%2Fhourly")
	require.Len(t, shown.Upcoming, 10)
	require.Len(t, shown.Occurrences, 60)
	decode("once")
	require.Len(t, shown.Upcoming, 1)

	// A paused schedule has no next time, or one after the end of the pause.
	f.schedules[0].Paused = true
	decode("daily")
	require.Empty(t, shown.Upcoming)
	require.Nil(t, shown.Next)
	f.schedules[0].PausedUntil = models.At(time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC))
	decode("daily")
	require.Equal(t, "2028-01-01T02:30:00-05:00", *shown.Next)
	require.Len(t, shown.Upcoming, 10)
}

func TestALargeListEndsEarly(t *testing.T) {
	f := newFake(t)
	for i := range 10 {
		f.plan(models.Schedule{Name: fmt.Sprintf("s%d", i), Cron: "@daily", Params: `{"a":"` + strings.Repeat("x", maxListBytes/4) + `"}`})
	}
	scenario{url: schedulesURL, status: 200, must: []string{`"s3"`, `"next_cursor":"`}, mustNot: []string{`"s4"`}}.run(t, f)
}

func TestCreateSchedule(t *testing.T) {
	runScenarios(t, planned, []scenario{
		{name: "cron", url: schedulesURL, body: `{"name":"n","task":"any","cron":"@daily"}`, status: 201, must: []string{`"name":"n"`, `"cron":"@daily"`, `"version":1`}},
		{name: "interval", url: schedulesURL, body: `{"name":"n","task":"any","every":"90m"}`, status: 201, must: []string{`"every":"1h30m"`}},
		{name: "interval in seconds", url: schedulesURL, body: `{"name":"n","task":"any","every":90}`, status: 201, must: []string{`"every":"1m30s"`}},
		{name: "once", url: schedulesURL, body: `{"name":"n","task":"any","at":"2030-01-01T08:00:00+08:00"}`, status: 201, must: []string{`"at":"2030-01-01T00:00:00.000000Z"`}},
		{name: "nulls count as absent", url: schedulesURL, status: 201, body: `{"name":"n","task":"any","cron":"@daily","every":null,"at":null,"anchor":null,` +
			`"timezone":null,"params":null,"priority":null,"reason":null}`},
		{name: "nothing", url: schedulesURL, body: `{}`, status: 422, must: []string{`"/name"`, `"/task"`, `"/cron"`, "is required"}},
		{name: "no plan", url: schedulesURL, body: `{"name":"n","task":"any"}`, status: 422, must: []string{`"/cron"`}},
		{name: "two plans", url: schedulesURL, body: `{"name":"n","task":"any","cron":"@daily","every":"1h"}`, status: 422, must: []string{`"/every"`, "not both"}},
		{name: "every field", url: schedulesURL, status: 422, body: `{"name":"a b","task":"no.such","cron":"60 * * * *","timezone":"Asia/Shangai","params":[],"priority":11,` +
			`"tags":[""],"missed":"never","overlap":"maybe","reason":"` + strings.Repeat("x", 1001) + `","colour":"red"}`,
			must: []string{`"/name"`, `"/task"`, `"/cron"`, `"/timezone"`, `"/params"`, `"/priority"`, `"/tags/0"`, `"/missed"`, `"/overlap"`, `"/reason"`, `"/colour"`}},
		{name: "moments and intervals", url: schedulesURL, status: 422, body: `{"name":"n","task":"any","every":"90","at":"tomorrow","anchor":"x","timezone":"Nowhere"}`,
			must: []string{`"/every"`, `"/at"`, `"/anchor"`, `"/timezone"`}},
		{name: "no interval", url: schedulesURL, body: `{"name":"n","task":"any","every":0}`, status: 422, must: []string{`"/every"`, "longer than 0"}},
		{name: "negative interval", url: schedulesURL, body: `{"name":"n","task":"any","every":"-5s"}`, status: 422, must: []string{`"/every"`, "negative"}},
		{name: "an interval below a second", url: schedulesURL, body: `{"name":"n","task":"any","every":"500ms"}`, status: 422, must: []string{`"/every"`}},
		{name: "an impossible date", url: schedulesURL, body: `{"name":"n","task":"any","cron":"0 0 31 2 *"}`, status: 422, must: []string{`"/cron"`, "never runs"}},
		{name: "a zone in the pattern", url: schedulesURL, body: `{"name":"n","task":"any","cron":"TZ=UTC 0 0 * * *"}`, status: 422, must: []string{`"/cron"`, "timezone"}},
		{name: "a pattern without end", url: schedulesURL, body: `{"name":"n","task":"any","cron":"` + strings.Repeat("1,", 100000) + `1 * * * *"}`, status: 422, mustNot: []string{strings.Repeat("1,", 500)}},
		{name: "hostile zone", url: schedulesURL, body: `{"name":"n","task":"any","cron":"@daily","timezone":"../../etc/passwd"}`, status: 422, must: []string{`"/timezone"`}},
		{name: "the name of the preview", url: schedulesURL, body: `{"name":"preview","task":"any","cron":"@daily"}`, status: 422, must: []string{`"/name"`, "preview"}},
		{name: "a name that is taken", url: schedulesURL, body: `{"name":"daily","task":"any","cron":"@daily"}`, status: 422, must: []string{`"/name"`, "is taken"}},
		{name: "hostile names", url: schedulesURL, body: `{"name":"<script>alert(1)</script>","task":"\u202e","cron":"@daily"}`, status: 422, must: []string{`"/name"`, `"/task"`}, mustNot: []string{"<script>"}},
		{name: "zero character", url: schedulesURL, body: `{"name":"n\u0000","task":"any","cron":"@daily"}`, status: 422},
		{name: "no body", method: http.MethodPost, url: schedulesURL, status: 400},
		{name: "not JSON", url: schedulesURL, body: `{"name":"n",}`, status: 400, must: []string{`"bad_json"`}},
		{name: "a form", url: schedulesURL, body: `name=n`, status: 415, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		{name: "from another site", url: schedulesURL, body: `{"name":"n","task":"any","cron":"@daily"}`, status: 403, header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
	})
}

func TestAScheduleIsPassedOnAsItWasSent(t *testing.T) {
	f := newFake(t)
	w := scenario{url: schedulesURL, status: 201, body: `{"name":"team/daily","task":"any","every":3600,"anchor":"2026-01-01T00:30:00Z","timezone":"Asia/Shanghai",` +
		`"params":{"date":"{{ .ScheduledFor.Format \"2006-01-02\" }}", "n":12345678901234567890},"priority":2,"tags":["x"],"missed":"run_all","overlap":"queue_one","reason":" new "}`}.run(t, f)
	require.Equal(t, schedulesURL+"/team%2Fdaily", w.Header().Get("Location"))
	require.Equal(t, actors.ScheduleSpec{
		Name: "team/daily", Task: "any", Every: time.Hour, Anchor: time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC), Timezone: "Asia/Shanghai", Priority: 2,
		Params: json.RawMessage(`{"date":"{{ .ScheduledFor.Format \"2006-01-02\" }}", "n":12345678901234567890}`), Tags: []string{"x"}, Missed: "run_all", Overlap: "queue_one",
	}, f.specs[0])
	require.Equal(t, "new", f.changes[0].Reason)
	require.Equal(t, "api", f.changes[0].By)
	scenario{url: w.Header().Get("Location"), status: 200, must: []string{`"team/daily"`}}.run(t, f)
}

func TestChangeSchedule(t *testing.T) {
	patch := http.MethodPatch
	runScenarios(t, planned, []scenario{
		{name: "cron", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"cron":"0 16 * * *"}`, status: 200, must: []string{`"cron":"0 16 * * *"`, `"version":4`}},
		{name: "kind", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"every":"1h"}`, status: 200, must: []string{`"cron":null,"every":"1h"`}},
		{name: "name", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"name":"a/b"}`, status: 200, must: []string{`"name":"a/b"`}},
		{name: "nothing", method: patch, url: schedulesURL + "/daily", body: `{"version":3}`, status: 200},
		{name: "without a version", method: patch, url: schedulesURL + "/daily", body: `{"cron":"@daily"}`, status: 422, must: []string{`"/version"`, "is required"}},
		{name: "every field", method: patch, url: schedulesURL + "/daily", status: 422, body: `{"version":0,"name":"","task":"no.such","cron":"","timezone":"X/Y","params":1,` +
			`"priority":-1,"tags":["",2],"missed":"","overlap":"","owner":"api"}`,
			must: []string{`"/version"`, `"/name"`, `"/task"`, `"/cron"`, `"/timezone"`, `"/params"`, `"/priority"`, `"/tags/0"`, `"/missed"`, `"/overlap"`, `"/owner"`}},
		{name: "two plans", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"cron":"@daily","at":"2030-01-01T00:00:00Z"}`, status: 422, must: []string{`"/at"`}},
		{name: "no interval", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"every":"0s"}`, status: 422, must: []string{`"/every"`}},
		{name: "onto the preview", method: patch, url: schedulesURL + "/daily", body: `{"version":3,"name":"preview"}`, status: 422, must: []string{`"/name"`}},
		{name: "of the file", method: patch, url: schedulesURL + "/file%2Fhourly", body: `{"version":1,"cron":"@daily"}`, status: 409, must: []string{`"owned_by_file"`, "configuration file"}},
		{name: "of nothing", method: patch, url: schedulesURL + "/weekly", body: `{"version":1}`, status: 404, must: []string{"no schedule"}},
		{name: "without a body", method: patch, url: schedulesURL + "/daily", status: 400},
		{name: "the second editor", method: patch, url: schedulesURL + "/daily", status: 409,
			body: `{"version":2,"cron":"0 16 * * *","timezone":"America/New_York","priority":4,"params":{},"every":null,"overlap":"skip","tags":["b"],"name":"daily","task":"report.generate"}`,
			must: []string{
				`"code":"conflict"`, "version 3", `"current":{"name":"daily"`, `"last_outcome":"overlap"`,
				`{"location":"/cron","message":"is now 30 2 * * *","code":"is_now"},{"location":"/params","message":"is now {\"n\":`,
				`{"location":"/priority","message":"is now 0","code":"is_now"}`, `{"location":"/tags","message":"is now a","code":"is_now"}`, `{"location":"/task","message":"is now any","code":"is_now"}`,
			}, mustNot: []string{`"/timezone"`, `"/overlap"`, `"/name"`}},
		{name: "the second editor of the kind", method: patch, url: schedulesURL + "/once", body: `{"version":9,"at":"2031-01-01T00:00:00Z"}`, status: 409,
			must: []string{`{"location":"/at","message":"is now 2030-01-01T00:00:00.000000Z","code":"is_now"}`}},
	})
}

func TestAChangeIsPassedOnAsItWasSent(t *testing.T) {
	f := newFake(t)
	planned(f)
	scenario{method: "PATCH", url: schedulesURL + "/daily", status: 200, body: `{"version":3,"name":"n","task":"report.generate","at":"2030-01-01T00:00:00Z","timezone":"",` +
		`"params":{"a": 1},"priority":0,"tags":[],"missed":"skip","overlap":"allow","reason":"why"}`}.run(t, f)
	text := func(s string) *string { return &s }
	at, zero := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), 0
	require.Equal(t, actors.SchedulePatch{
		Version: 3, Name: text("n"), Task: text("report.generate"), At: &at, Timezone: text(""), Params: json.RawMessage(`{"a": 1}`), Priority: &zero,
		Tags: &[]string{}, Missed: text("skip"), Overlap: text("allow"),
	}, f.patches[0])
	require.Equal(t, "why", f.changes[0].Reason)
	scenario{method: "PATCH", url: schedulesURL + "/n", status: 200, body: `{"version":4,"every":60,"tags":null,"priority":null}`}.run(t, f)
	minute := time.Minute
	require.Equal(t, actors.SchedulePatch{Version: 4, Every: &minute}, f.patches[1])
}

func TestActionsOnSchedules(t *testing.T) {
	post, del := http.MethodPost, http.MethodDelete
	runScenarios(t, planned, []scenario{
		{name: "run", method: post, url: schedulesURL + "/daily/run", status: 201, stored: 1, must: []string{`"id":1,`, `"schedule":"daily","scheduled_for":null`}},
		{name: "run of the file's", url: schedulesURL + "/file%2Fhourly/run", body: `{"reason":"x"}`, status: 201, stored: 1, must: []string{`"schedule":"file/hourly"`}},
		{name: "run of nothing", method: post, url: schedulesURL + "/weekly/run", status: 404, must: []string{"no schedule"}},
		{name: "pause", method: post, url: schedulesURL + "/daily/pause", status: 200, must: []string{`"paused":true`, `"paused_by":"api"`, `"paused_until":null`, `"next_at":null`}},
		{name: "pause with reason and end", url: schedulesURL + "/file%2Fhourly/pause", body: `{"reason":" audit ","until":"2999-01-01T00:00:00Z"}`, status: 200,
			must: []string{`"pause_reason":"audit"`, `"paused_until":"2999-01-01T00:00:00.000000Z"`}},
		{name: "pause until the past", url: schedulesURL + "/daily/pause", body: `{"until":"2020-01-01T00:00:00Z"}`, status: 422, must: []string{`"/until"`, "future"}},
		{name: "pause with bad fields", url: schedulesURL + "/daily/pause", body: `{"until":"soon","reason":"` + strings.Repeat("x", 1001) + `","why":1}`, status: 422,
			must: []string{`"/until"`, `"/reason"`, `"/why"`}},
		{name: "pause of nothing", method: post, url: schedulesURL + "/weekly/pause", status: 404},
		{name: "resume", method: post, url: schedulesURL + "/daily/resume", status: 200, must: []string{`"paused":false`}},
		{name: "resume of nothing", method: post, url: schedulesURL + "/weekly/resume", status: 404},
		{name: "delete", method: del, url: schedulesURL + "/daily?reason=old", status: 204},
		{name: "delete with a long reason", method: del, url: schedulesURL + "/daily?reason=" + strings.Repeat("x", 1001), status: 422, must: []string{`"query.reason"`}},
		{name: "delete of the file's", method: del, url: schedulesURL + "/file%2Fhourly", status: 409, must: []string{`"owned_by_file"`}},
		{name: "delete of nothing", method: del, url: schedulesURL + "/weekly", status: 404},
		{name: "delete from another site", method: del, url: schedulesURL + "/daily", status: 403, header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		{name: "an action there is not", method: post, url: schedulesURL + "/daily/explode", status: 404},
		{name: "a change by GET", url: schedulesURL + "/daily/run", status: 405},
	})
}

func TestADeletedScheduleIsGone(t *testing.T) {
	f := newFake(t)
	planned(f)
	w := scenario{method: "DELETE", url: schedulesURL + "/daily?reason=+old+", status: 204}.run(t, f)
	require.Empty(t, w.Body.String())
	require.Equal(t, "old", f.changes[0].Reason)
	scenario{url: schedulesURL + "/daily", status: 404}.run(t, f)
}

func TestErrorsOfScheduleReadsAreHidden(t *testing.T) {
	for _, address := range []string{schedulesURL, schedulesURL + "/daily"} {
		f := newFake(t)
		f.readErr = errSecret
		scenario{url: address, status: 500, must: []string{`"code":"internal"`}, mustNot: []string{"secret", "table"}}.run(t, f)
	}
}

func TestPreview(t *testing.T) {
	at := func(query string) string { return schedulesURL + "/preview?" + query }
	runScenarios(t, planned, []scenario{
		{name: "cron over the gap", url: at("cron=30+2+*+*+*&timezone=America/New_York&from=2027-03-13T03:00:00-05:00&n=2"), status: 200, must: []string{
			`{"runs":[{"at":"2027-03-14T07:00:00.000000Z","local":"2027-03-14T03:00:00-04:00","wall":"2027-03-14 02:30","note":"gap","note_text":"The clock`,
			`{"at":"2027-03-15T06:30:00.000000Z","local":"2027-03-15T02:30:00-04:00","wall":"2027-03-15 02:30"}],"description":"`, `"description_zh":"`,
		}},
		{name: "ten by default", url: at("cron=@yearly&from=2026-06-01T00:00:00Z"), status: 200, must: []string{`"2036-01-01T00:00:00.000000Z"`}, mustNot: []string{"2037-"}},
		{name: "interval from its start", url: at("every=90m&from=2026-01-01T00:00:00Z&n=1"), status: 200, must: []string{`"2026-01-01T01:30:00.000000Z"`}},
		{name: "interval with an anchor", url: at("every=3600&anchor=2026-01-01T00:20:00Z&from=2026-01-01T00:30:00Z&n=1"), status: 200, must: []string{`"2026-01-01T01:20:00.000000Z"`}},
		{name: "once", url: at("at=2030-01-01T00:00:00Z&n=5"), status: 200, must: []string{`{"runs":[{"at":"2030-01-01T00:00:00.000000Z"`}},
		{name: "once, in the past", url: at("at=2020-01-01T00:00:00Z"), status: 200, must: []string{`{"runs":[]`}},
		{name: "nothing", url: at(""), status: 422, must: []string{`"query.cron"`}},
		{name: "everything wrong", url: at("cron=x&every=0&at=y&timezone=z&from=v&anchor=w"), status: 422,
			must: []string{`"query.cron"`, `"query.every"`, `"query.at"`, `"query.timezone"`, `"query.from"`, `"query.anchor"`}},
		{name: "two plans", url: at("cron=@daily&every=1h"), status: 422, must: []string{`"query.every"`}},
		{name: "zone and pattern", url: at("cron=60+*+*+*+*&timezone=Asia/Shangai"), status: 422, must: []string{`"query.cron"`, `"query.timezone"`}},
		{name: "too many", url: at("cron=@daily&n=101"), status: 422, must: []string{`"query.n"`}},
		{name: "unknown parameter", url: at("cron=@daily&tz=UTC"), status: 422, must: []string{`"query.tz"`}},
		{name: "hostile", url: at("cron=" + url.QueryEscape(`<img src=x onerror=alert(1)>`)), status: 422, mustNot: []string{"<img"}},
		{name: "long", url: at("cron=" + strings.Repeat("9", 20000) + "&timezone=" + strings.Repeat("z", 20000)), status: 422, mustNot: []string{strings.Repeat("9", 500), strings.Repeat("z", 500)}},
	})
}

func TestNamesOfTypesMayHaveSlashes(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{})
	for path, want := range map[string]int{
		"/api/v1/types/team%2Freport/pause": 404, "/api/v1/types/a%252Fb/pause": 404, "/api/v1/tasks%2F1": 404, "/api/v1/tasks/%31": 200,
		"/api/v1/%74asks/1": 200, "/static/x/..%2f..%2fgo.mod": 404,
	} {
		method := http.MethodGet
		if strings.HasSuffix(path, "pause") {
			method = http.MethodPost
		}
		w := scenario{method: method, url: path, status: want}.run(t, f)
		if strings.Contains(path, "team") {
			require.Contains(t, w.Body.String(), `\"team/report\"`)
		}
		if strings.Contains(path, "252") {
			require.Contains(t, w.Body.String(), `\"a%2Fb\"`)
		}
	}
}

func FuzzPreviewQuery(f *testing.F) {
	for _, seed := range []string{
		"cron=*/5+*+*+*+*&timezone=Europe/London&from=2026-01-01T00:00:00Z&n=100", "every=1e400", "every=1s&anchor=9999-12-31T23:59:59Z", "at=0001-01-01T00:00:00Z",
		"cron=0+0+29+2+5%235&from=9999-12-01T00:00:00Z", "timezone=%2e%2e%2f&cron=%00", "from=9999-12-31T23:59:59%2B23:59&cron=@hourly", "n=-1&cron=@daily",
	} {
		f.Add(seed)
	}
	h := newServer(f, newFake(f)).Handler()
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, schedulesURL, nil)
		r.RemoteAddr = "127.0.0.1:50000"
		r.Host, r.URL = "localhost", &url.URL{Path: schedulesURL + "/preview", RawQuery: query}
		w := send(h, r)
		if w.Code != http.StatusOK {
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
			requireProblem(t, w)
			return
		}
		var answer struct {
			Runs []struct{ At time.Time }
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		for i := range answer.Runs {
			require.True(t, i == 0 || answer.Runs[i].At.After(answer.Runs[i-1].At), "runs ascend")
		}
	})
}

func FuzzScheduleBody(f *testing.F) {
	for _, seed := range []string{
		`{"name":"n","task":"any","cron":"@daily"}`, `{"name":"a/b","task":"any","every":60,"timezone":"Asia/Shanghai"}`, `{"version":1,"at":"2030-01-01T00:00:00Z"}`,
		`{"name":1,"cron":[],"every":{},"at":1,"timezone":null}`, `{"version":1e3,"tags":["a",null],"priority":0.5}`,
	} {
		f.Add(seed)
	}
	h := newServer(f, newFake(f)).Handler()
	f.Fuzz(func(t *testing.T, body string) {
		for method, address := range map[string]string{http.MethodPost: schedulesURL, http.MethodPatch: schedulesURL + "/n"} {
			w := send(h, scenario{method: method, url: address, body: body}.request())
			require.Less(t, w.Code, 500, w.Body.String())
			if w.Code >= 400 {
				requireProblem(t, w)
			}
		}
	})
}
