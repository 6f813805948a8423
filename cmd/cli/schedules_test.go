package cli

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/web"
)

const (
	dailyJSON = `{"name":"team/daily","owner":"api","task":"report.generate","cron":"30 2 * * *","every":null,"at":null,"anchor":null,` +
		`"timezone":"America/New_York","params":{"user_id":` + bigNumber + `},"priority":2,"tags":["a","b"],"missed":"run_once","overlap":"skip",` +
		`"paused":false,"pause_reason":"","paused_by":"","paused_until":null,"version":3,"next_at":"2027-03-13T07:30:00.000000Z",` +
		`"next":"2027-03-13T02:30:00-05:00","last_at":"2027-03-12T07:30:00.000000Z","last_task_id":7,"last_outcome":"overlap","runs":5,"missed_count":2,` +
		`"overlap_count":1,"error":"","description":"At 02:30 every day\u001b[31m","created_at":"2026-01-01T00:00:00.000000Z",` +
		`"updated_at":"2026-01-02T00:00:00.000000Z","updated_by":"socket"`
	dailyDetail = dailyJSON + `,"description_zh":"","upcoming":[{"at":"2027-03-13T07:30:00.000000Z","local":"2027-03-13T02:30:00-05:00","wall":"2027-03-13 02:30"},` +
		`{"at":"2027-03-14T07:00:00.000000Z","local":"2027-03-14T03:00:00-04:00","wall":"2027-03-14 02:30","note":"gap","note_text":"The clock skips 02:30."}],` +
		`"occurrences":[{"at":"2027-03-12T07:30:00.000000Z","local":"2027-03-12T02:30:00-05:00","outcome":"overlap","task_id":null,"late":false,"blocked_by":7,"note":""},` +
		`{"at":"2027-03-11T07:30:00.000000Z","local":"2027-03-11T02:30:00-05:00","outcome":"enqueued","task_id":7,"late":true,"blocked_by":null,"note":""},` +
		`{"at":"2027-03-10T07:30:00.000000Z","local":"2027-03-10T02:30:00-05:00","outcome":"error","task_id":null,"late":true,"blocked_by":null,"note":"no\u001b[2J type"}]}`
	pausedJSON = `{"name":"sync","owner":"file","task":"sms.push","cron":null,"every":"1h30m","timezone":"UTC","params":{},"priority":null,"tags":[],"missed":"skip",` +
		`"overlap":"allow","paused":true,"pause_reason":"audit\u202e","paused_by":"api","paused_until":"2027-01-01T00:00:00.000000Z","version":1,"next":null,` +
		`"last_outcome":"","description":"Every 90 minutes"}`
	brokenJSON = `{"name":"broken","owner":"api","task":"old","cron":"x","timezone":"Mars/Base","paused":false,"next":null,"error":"there is no time zone","version":1}`
	endedJSON  = `{"name":"once","owner":"api","task":"old","cron":null,"every":null,"at":"2026-01-01T00:00:00.000000Z","timezone":"UTC","next":null,"last_outcome":"missed","version":1}`
)

func TestSchedulesForPeople(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/schedules":              {{200, `{"schedules":[` + brokenJSON + `,` + endedJSON + `,` + pausedJSON + `,` + dailyJSON + `}],"next_cursor":"ZGFpbHk"}`}},
		"GET /api/v1/schedules/team%2Fdaily": {{200, dailyDetail}},
	})
	for name, args := range map[string][]string{
		"schedules": {"schedules"}, "schedule": {"schedules", "show", "team/daily"},
	} {
		t.Run(name, func(t *testing.T) {
			got := server.command().run(t, args...)
			require.Zero(t, got.code, got.errOut)
			requireGolden(t, name+".txt", got.out+got.errOut)
			require.NotContains(t, got.out, "\x1b")
		})
	}
	got := server.command().run(t, "schedules", "list", "--task", "sms.push", "--limit", "7", "--cursor", "YQ")
	require.Zero(t, got.code, got.errOut)
	require.Equal(t, "cursor=YQ&limit=7&task=sms.push", server.calls[len(server.calls)-1].Query)
}

func TestSchedulesAsJSONAreTheAnswerOfTheServerUnchanged(t *testing.T) {
	one := dailyJSON + "}"
	list := `{"schedules":[` + one + `],"next_cursor":null}`
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/schedules":            {{200, list}},
		"GET /api/v1/schedules/d":          {{200, dailyDetail}},
		"POST /api/v1/schedules":           {{201, one}},
		"PATCH /api/v1/schedules/d":        {{200, one}},
		"POST /api/v1/schedules/d/pause":   {{200, one}},
		"POST /api/v1/schedules/d/resume":  {{200, one}},
		"POST /api/v1/schedules/d/run":     {{201, taskJSON}},
		"DELETE /api/v1/schedules/d":       {{204, ""}},
		"DELETE /api/v1/schedules/of.file": {{409, refusalJSON}},
	})
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"schedules", "--json"}, 0, list},
		{[]string{"schedules", "list", "--json"}, 0, list},
		{[]string{"schedules", "show", "d", "--json"}, 0, dailyDetail},
		{[]string{"schedules", "add", "d", "--task", "x", "--cron", "@daily", "--json"}, 0, one},
		{[]string{"schedules", "edit", "d", "--cron", "@daily", "--json"}, 0, one},
		{[]string{"schedules", "pause", "d", "--json"}, 0, one},
		{[]string{"schedules", "resume", "d", "--json"}, 0, one},
		{[]string{"schedules", "run", "d", "--json"}, 0, taskJSON},
		{[]string{"schedules", "rm", "d", "--json"}, 0, "null"},
		{[]string{"schedules", "rm", "of.file", "--json"}, 1, refusalJSON},
	} {
		got := server.command().run(t, test.args...)
		require.Equal(t, test.code, got.code, got.errOut)
		require.Equal(t, test.want+"\n", got.out)
	}
}

func TestChangesOfSchedulesSendWhatTheFlagsSay(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/types":                  {{200, typesJSON}},
		"GET /api/v1/schedules/a%2Fb":        {{200, dailyDetail}},
		"POST /api/v1/schedules":             {{201, dailyJSON + "}"}},
		"PATCH /api/v1/schedules/a%2Fb":      {{200, dailyJSON + "}"}},
		"POST /api/v1/schedules/a%2Fb/pause": {{200, pausedJSON}},
		"POST /api/v1/schedules/d/resume":    {{200, endedJSON}},
		"POST /api/v1/schedules/a%2Fb/run":   {{201, taskJSON}},
		"DELETE /api/v1/schedules/a%2Fb":     {{204, ""}},
	})
	const saved = "team/daily: At 02:30 every day\\x1b[31m · next 2027-03-13 02:30:00 -05:00\n"
	for _, test := range []struct {
		name              string
		args              []string
		call, query, body string
		out               string
	}{
		{"add cron", []string{"add", "n", "--task", "report.generate", "--cron", "0 7 * * *", "--timezone", "Asia/Shanghai", "-p", "user_id=5", "-p", "date={{ .ScheduledFor }}",
			"--missed", "run_all", "--overlap", "allow", "--priority", "1", "--tag", "x,y", "--tag", "z", "--reason", "new"}, "POST /api/v1/schedules", "",
			`{"name":"n","task":"report.generate","cron":"0 7 * * *","timezone":"Asia/Shanghai","params":{"user_id":5,"date":"{{ .ScheduledFor }}"},"priority":1,` +
				`"tags":["x,y","z"],"missed":"run_all","overlap":"allow","reason":"new"}`, saved},
		{"add interval", []string{"add", "n", "--task", "t", "--every", "1d12h", "--params", `{"a":"<b>"}`}, "POST /api/v1/schedules", "",
			`{"name":"n","task":"t","every":"36h0m0s","params":{"a":"<b>"}}`, saved},
		{"add once, in its zone", []string{"add", "n", "--task", "t", "--at", "2026-12-24 09:30", "--timezone", "Asia/Shanghai"}, "POST /api/v1/schedules", "",
			`{"name":"n","task":"t","at":"2026-12-24T09:30:00+08:00","timezone":"Asia/Shanghai"}`, saved},
		{"add once, local", []string{"add", "n", "--task", "t", "--at", "2026-12-24 09:30"}, "POST /api/v1/schedules", "",
			`{"name":"n","task":"t","at":"2026-12-24T09:30:00+02:00"}`, saved},
		{"edit", []string{"edit", "a/b", "--cron", "0 8 * * *", "-p", "user_id=6"}, "PATCH /api/v1/schedules/a%2Fb", "", `{"version":3,"cron":"0 8 * * *","params":{"user_id":6}}`, saved},
		{"edit of a version", []string{"edit", "a/b", "--version", "2", "--rename", "c", "--task", "sms.push", "--missed", "skip"}, "PATCH /api/v1/schedules/a%2Fb", "",
			`{"version":2,"name":"c","task":"sms.push","missed":"skip"}`, saved},
		{"edit to once, in its zone", []string{"edit", "a/b", "--at", "2026-12-24 09:30"}, "PATCH /api/v1/schedules/a%2Fb", "", `{"version":3,"at":"2026-12-24T09:30:00-05:00"}`, saved},
		{"pause", []string{"pause", "a/b", "--reason", "audit", "--until", "2027-01-01T00:00:00Z"}, "POST /api/v1/schedules/a%2Fb/pause", "",
			`{"reason":"audit","until":"2027-01-01T00:00:00Z"}`, "sync: Every 90 minutes · paused until 2027-01-01 00:00:00 +00:00\n"},
		{"resume", []string{"resume", "d"}, "POST /api/v1/schedules/d/resume", "", `{}`, "once:  · has no next run\n"},
		{"run", []string{"run", "a/b", "--reason", "now"}, "POST /api/v1/schedules/a%2Fb/run", "", `{"reason":"now"}`, "accepted task 42 · report.generate · trace 0190aa\n"},
		{"rm", []string{"rm", "a/b", "--reason", "old & gone"}, "DELETE /api/v1/schedules/a%2Fb", "reason=old+%26+gone", "", "a/b is deleted; its tasks stay\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := server.command().run(t, append([]string{"schedules"}, test.args...)...)
			require.Equal(t, result{0, test.out, ""}, got)
			last := server.calls[len(server.calls)-1]
			require.Equal(t, test.call, last.Method+" "+last.Path)
			require.Equal(t, test.query, last.Query)
			if test.body != "" {
				test.body += "\n"
			}
			require.Equal(t, test.body, last.Body)
		})
	}
}

func TestAPauseMayEndAfterAWhile(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"POST /api/v1/schedules/d/pause": {{200, pausedJSON}}})
	before := time.Now()
	require.Zero(t, server.command().run(t, "schedules", "pause", "d", "--until", "2h").code)
	var body struct{ Until time.Time }
	require.NoError(t, json.Unmarshal([]byte(server.calls[0].Body), &body))
	require.False(t, body.Until.Before(before.Add(2*time.Hour-time.Second)), body.Until)
	require.False(t, body.Until.After(time.Now().Add(2*time.Hour)), body.Until)
}

func TestTheSecondEditorIsToldWhatIsThereNow(t *testing.T) {
	conflict := `{"title":"Conflict","status":409,"detail":"schedule d was changed by api meanwhile: it has version 4 now, and the change was made for version 3","code":"conflict",` +
		`"errors":[{"location":"/cron","message":"is now 0 9 * * *"}],"current":` + dailyJSON + `}}`
	server := newFakeServer(t, map[string][]answer{"GET /api/v1/schedules/d": {{200, dailyDetail}}, "PATCH /api/v1/schedules/d": {{409, conflict}}})
	got := server.command().run(t, "schedules", "edit", "d", "--cron", "0 8 * * *")
	require.Equal(t, result{1, "", "reax: schedule d was changed by api meanwhile: it has version 4 now, and the change was made for version 3\n  /cron: is now 0 9 * * *\n"}, got)
}

func TestMistakesWithSchedulesAreFoundBeforeTheServer(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"no plan", "missing flags: --cron", []string{"add", "n", "--task", "t"}},
		{"two plans", "can't be used together", []string{"add", "n", "--task", "t", "--cron", "@daily", "--every", "1h"}},
		{"no task", "missing flags: --task", []string{"add", "n", "--cron", "@daily"}},
		{"bad interval", "--every: a duration needs a unit", []string{"add", "n", "--task", "t", "--every", "90"}},
		{"bad moment", `--at: "soon" is not a time`, []string{"add", "n", "--task", "t", "--at", "soon"}},
		{"bad zone", `--timezone: there is no time zone "X/Y"`, []string{"add", "n", "--task", "t", "--at", "2026-01-01", "--timezone", "X/Y"}},
		{"nothing to change", "nothing to change", []string{"edit", "n", "--reason", "x"}},
		{"bad end", `--until: "soon" is not a time`, []string{"pause", "n", "--until", "soon"}},
		{"preview of nothing", "missing flags", []string{"preview"}},
		{"preview of an impossible date", `--cron: "0 0 31 2 *" never runs`, []string{"preview", "--cron", "0 0 31 2 *"}},
		{"preview of no interval", "--every: must be longer than 0", []string{"preview", "--every", "0s"}},
		{"preview of too many", "-n must be from 1 to 100", []string{"preview", "--cron", "@daily", "-n", "101"}},
		{"preview in no language", `--lang must be one of`, []string{"preview", "--cron", "@daily", "--lang", "tlh"}},
		{"preview from nowhere", `--from: "x" is not a time`, []string{"preview", "--cron", "@daily", "--from", "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := command{}.run(t, append([]string{"schedules"}, test.args...)...)
			require.Equal(t, 2, got.code, got.errOut)
			require.Contains(t, got.errOut, test.want)
			require.Empty(t, got.out)
		})
	}
}

func TestAPreviewNeedsNoServer(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"schedules", "preview", "--cron", "30 2 * * *", "--timezone", "America/New_York", "--from", "2027-03-13 02:30", "-n", "2"}
	got := command{}.run(t, args...)
	require.Zero(t, got.code, got.errOut)
	require.Regexp(t, `^At 02:30 .*America/New_York\nRUN  +DAY  NOTE\n2027-03-14 03:00:00 -04:00  Sun  .*02:30.*03:00.*\n2027-03-15 02:30:00 -04:00  Mon\n$`, got.out)

	got = command{}.run(t, append(args, "--lang", "zh")...)
	require.Contains(t, got.out, "02:30")
	require.Contains(t, got.out, "时钟拨快")

	got = command{}.run(t, append(args, "--json")...)
	require.Zero(t, got.code, got.errOut)
	var preview struct {
		Runs []struct {
			At, Local time.Time
			Note      string
		}
		Description string
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &preview))
	require.Len(t, preview.Runs, 2)
	require.Equal(t, "gap", preview.Runs[0].Note)
	require.True(t, preview.Runs[0].At.Equal(time.Date(2027, 3, 14, 7, 0, 0, 0, time.UTC)))

	got = command{}.run(t, "schedules", "preview", "--every", "1d12h", "--from", "2026-01-01T00:00:00Z", "-n", "1", "--timezone", "UTC")
	require.Contains(t, got.out, "2026-01-02 12:00:00 +00:00")
	got = command{}.run(t, "schedules", "preview", "--at", "2026-01-01T00:00:00Z", "--from", "2026-01-02T00:00:00Z")
	require.Contains(t, got.out, "no run after 2026-01-02 00:00:00 +00:00")
	require.True(t, web.Reserved("preview"))
}
