package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const hostileText = `<script>alert(1)</script>`

// withAlerts has a rule of the file, one of the page and one that is muted, and what they have found.
func withAlerts(f *fake) {
	f.alertOptions = actors.AlertOptions{
		Rules:     []actors.AlertRule{actors.AlertRule{Name: "dead/all", File: true, AlertSpec: models.AlertSpec{Kind: models.AlertDead}}.WithDefaults()},
		Receivers: []actors.AlertReceiver{{Name: "ops", Kind: "slack"}},
	}
	f.rules = []models.AlertRule{
		{Name: "pile", Spec: `{"kind":"backlog","limit":1000,"clear":100,"for":300000000000,"clear_after":60000000000,"types":["report.*"]}`},
		{Name: "disk", Spec: `{"kind":"disk_low","limit":5368709120,"clear_after":60000000000}`},
	}
	f.mutes = map[string]models.AlertMute{"disk": {Rule: "disk", Until: models.At(time.Now().Add(time.Hour)), Reason: hostileText, Actor: "ann"}}
	f.alerts = []models.Alert{
		{ID: 1, Rule: "gone", Kind: models.AlertBacklog, Since: start, BeganAt: start, EndedAt: start + 60_000_000, Facts: `{"value":2000,"limit":1000}`},
		{ID: 2, Rule: "dead/all", Kind: models.AlertDead, Key: "report/f", Since: start, BeganAt: start, ToldAt: start, ToldTo: models.NewTypeNames([]string{"ops"}),
			Facts: `{"name":"report","fingerprint":"f","error":"` + hostileText + `","count":3}`},
		{ID: 3, Rule: "pile", Kind: models.AlertBacklog, Since: start, Facts: `{"value":1500,"limit":1000}`},
	}
}

func TestTheAlertsPageSaysWhatIsWrongAndWhoIsTold(t *testing.T) {
	t.Parallel()
	html := map[string]string{"Accept": "text/html"}
	runScenarios(t, withAlerts, []scenario{
		{name: "list", url: "/alerts", header: html, status: 200, mustNot: []string{hostileText}, must: []string{
			"dead/all", "from the file", "firing", "told: ops", "&lt;script&gt;", `href="/dead/report/f"`, "pile", "more than 1000 tasks wait", "begins after 5m", "ends past 100",
			"pending", "muted", "less than 5GiB are free", "2000 tasks wait, the limit is 1000", "Send test", `value="ops"`,
		}},
		{name: "in Chinese", url: "/alerts", header: map[string]string{"Accept": "text/html", "Accept-Language": "zh-CN"}, status: 200, must: []string{"告警中", "等待的任务超过 1000 个"}},
		{name: "place in the history", url: "/alerts?before=x", header: html, status: 422},
		{name: "rule of the file", url: "/alerts/dead%2Fall", header: html, status: 200, must: []string{"from the configuration file", `action="/alerts/dead%2Fall/mute"`}, mustNot: []string{"/delete", `name="clear_after"`}},
		{name: "rule of the page", url: "/alerts/pile", header: html, status: 200, must: []string{`value="1000"`, "report.*", `action="/alerts/pile/delete"`, "pending"}},
		{name: "rule that is muted", url: "/alerts/disk", header: html, status: 200, must: []string{`action="/alerts/disk/unmute"`, "&lt;script&gt;", "ann"}, mustNot: []string{hostileText}},
		{name: "no rule", url: "/alerts/nothing", header: html, status: 404},
		{name: "choice", url: "/alerts/new", header: html, status: 200, must: []string{"Dead tasks", "?kind=disk_low"}},
		{name: "form", url: "/alerts/new?kind=restarts", header: html, status: 200, must: []string{`name="window"`, `value="10m"`, "there are: ops"}, mustNot: []string{`name="types"`}},
	})
}

func TestRulesAreMadeChangedMutedAndDeletedByForms(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	withAlerts(f)
	s := newServer(t, f)
	post := func(path string, status int, form url.Values) string {
		t.Helper()
		sc := scenario{method: http.MethodPost, url: path, body: form.Encode(), header: map[string]string{"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}}
		w := send(s.Handler(), sc.request())
		require.Equal(t, status, w.Code, w.Body.String())
		return w.Body.String() + w.Header().Get("Location")
	}
	text := post("/alerts/new", 422, url.Values{"kind": {models.AlertDisk}, "name": {"a b"}, "limit": {"5"}, "for": {"soon"}})
	require.Contains(t, text, "Must look like 5GiB.")
	require.Contains(t, text, "Must be a length of time")
	text = post("/alerts/new", 422, url.Values{"kind": {models.AlertSuccess}, "name": {"pile"}, "limit": {"50"}, "clear": {"40"}, "receivers": {"nobody"}, "samples": {"9"}})
	require.Contains(t, text, "Must be at least 50%")
	require.Contains(t, text, `there is no receiver &#34;nobody&#34;`)
	require.Contains(t, post("/alerts/new", 422, url.Values{"kind": {models.AlertDead}, "name": {"pile"}}), "a rule of that name")
	post("/alerts/new", 422, url.Values{"kind": {"mood"}, "name": {"x"}})
	post("/alerts/new", 303, url.Values{"kind": {models.AlertWait}, "name": {"waits"}, "limit": {"10m"}, "types": {"a\r\nb.*"}})
	require.JSONEq(t, `{"kind":"oldest_wait","types":["a","b.*"],"limit":600000000000,"clear_after":60000000000}`, f.rules[2].Spec)
	require.Equal(t, "/alerts/later", post("/alerts/waits", 303, url.Values{"name": {"later"}, "limit": {"20m"}}))
	require.Equal(t, "later", f.rules[2].Name)
	post("/alerts/dead%2Fall", 409, url.Values{"name": {"mine"}})
	post("/alerts/dead%2Fall/delete", 409, url.Values{})

	post("/alerts/later/mute", 422, url.Values{"until": {"forever"}})
	require.Contains(t, post("/alerts/later/mute", 422, url.Values{"until": {"1h"}, "reason": {strings.Repeat("x", 2000)}}), "at most 1000 bytes")
	post("/alerts/later/mute", 303, url.Values{"until": {"4h"}, "reason": {"the move"}})
	require.Equal(t, "the move", f.mutes["later"].Reason)
	require.Greater(t, f.mutes["later"].Until, models.At(time.Now().Add(3*time.Hour)))
	post("/alerts/later/mute", 303, url.Values{"until": {"always"}})
	require.Zero(t, f.mutes["later"].Until)
	post("/alerts/later/unmute", 303, url.Values{})
	require.Empty(t, f.mutes)
	post("/alerts/later/fly", 404, url.Values{})
	require.Equal(t, "/alerts", post("/alerts/later/delete", 303, url.Values{}))
	require.Len(t, f.rules, 2)

	post("/alerts/receivers/test", 303, url.Values{"receiver": {"ops"}})
	post("/alerts/receivers/test", 404, url.Values{"receiver": {"nobody"}})
	require.Equal(t, []string{"ops"}, f.tested)
}

func TestTheTypeThatSendsMessagesIsNotOfferedToPeople(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	tasks.Register(f.registry, tasks.NoticeType, func(context.Context, tasks.Notice) (any, error) { return nil, nil }, tasks.Internal())
	scenario{url: "/enqueue", header: map[string]string{"Accept": "text/html"}, status: 200, must: []string{"report.generate"}, mustNot: []string{tasks.NoticeType}}.run(t, f)
	html := map[string]string{"Accept": "text/html"}
	scenario{url: "/types", header: html, status: 200, must: []string{tasks.NoticeType, "reax’s own"}}.run(t, f)
	scenario{url: "/types/" + tasks.NoticeType, header: html, status: 200, must: []string{"reax’s own", "/pause"}, mustNot: []string{`href="/enqueue/` + tasks.NoticeType, "/schedules/new?task"}}.run(t, f)
	for _, method := range []string{"GET", "POST"} {
		scenario{method: method, url: "/enqueue/" + tasks.NoticeType, header: html, status: 422, must: []string{"reax itself makes the tasks of &#34;reax.alert&#34;"}}.run(t, f)
	}
	scenario{url: "/api/v1/types", status: 200, must: []string{`"internal":false},{"name":"reax.alert"`, `"internal":true`}}.run(t, f)
}
