package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

const alertsURL = "/api/v1/alerts"

func TestAlertsAreListedWithTheirHistory(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	withAlerts(f)
	s := newServer(t, f)
	type shown struct {
		ID                                           int64
		Rule, When, State, Name, Error, Value, Limit string
		Count                                        int64
		ToldTo                                       []string `json:"told_to"`
	}
	list := func(query string) (all struct {
		Open, History []shown
		NextCursor    *string `json:"next_cursor"`
	}) {
		t.Helper()
		w := send(s.Handler(), scenario{url: alertsURL + query}.request())
		require.Equal(t, 200, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
		return all
	}
	first := list("?limit=1")
	require.Equal(t, []shown{
		{ID: 2, Rule: "dead/all", When: "dead", State: "firing", Name: "report", Error: hostileText, Count: 3, ToldTo: []string{"ops"}},
		{ID: 3, Rule: "pile", When: "backlog", State: "pending", Value: "1500", Limit: "1000", ToldTo: []string{}},
	}, first.Open)
	require.Equal(t, first.Open[:1], first.History)
	second := list("?limit=1&cursor=" + *first.NextCursor)
	require.Empty(t, second.Open)
	require.Equal(t, []shown{{ID: 1, Rule: "gone", When: "backlog", State: "ended", Value: "2000", Limit: "1000", ToldTo: []string{}}}, second.History)
	require.Nil(t, second.NextCursor)
	runScenarios(t, withAlerts, []scenario{
		{name: "no cursor", url: alertsURL + "?cursor=x", status: 422, must: []string{"query.cursor"}},
		{name: "limit", url: alertsURL + "?limit=501", status: 422},
		{name: "rules", url: alertsURL + "/rules", status: 200, must: []string{
			`"name":"dead/all","file":true,"when":"dead","over":null,"below":null`, `"when":"backlog","over":"1000"`, `"clear":"100"`, `"for":"5m"`, `"state":"firing"`,
			`"state":"pending"`, `"below":"5GiB"`, `"mute":{"until":"`, `"by":"ann"`, `"receivers":[{"name":"ops","kind":"slack"}]`,
		}},
		{name: "rule", url: alertsURL + "/rules/dead%2Fall", status: 200, must: []string{`"clear_after":"1h"`}, mustNot: []string{`"mute"`}},
		{name: "no rule", url: alertsURL + "/rules/nothing", status: 404, must: []string{"there is no such alert rule"}},
	})
}

func TestRulesAreMadeReplacedMutedAndDeletedByPrograms(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	withAlerts(f)
	s := newServer(t, f)
	call := func(method, path, body string, status int, must ...string) {
		t.Helper()
		w := send(s.Handler(), scenario{method: method, url: alertsURL + path, body: body}.request())
		require.Equal(t, status, w.Code, "%s %s: %s", method, body, w.Body)
		for _, text := range must {
			require.Contains(t, w.Body.String(), text)
		}
	}
	for body, must := range map[string][]string{
		`{"name":"a b","when":"disk_low","below":"5"}`:                                     {`"location":"/below"`, "a size with its unit"},
		`{"name":"a b","when":"disk_low","below":"5GiB"}`:                                  {`"location":"/name"`},
		`{"name":"a","when":"mood"}`:                                                       {`"location":"/when"`},
		`{"when":"dead"}`:                                                                  {`"location":"/name"`},
		`{"name":"a","when":"dead","over":3,"within":"1m","samples":3}`:                    {`"location":"/over"`, `"location":"/within"`, `"location":"/samples"`, "is not allowed here"},
		`{"name":"a","when":"disk_low","over":3}`:                                          {`"location":"/over"`},
		`{"name":"a","when":"backlog","over":0}`:                                           {`"location":"/over"`, "must be more than 0"},
		`{"name":"a","when":"backlog","over":true}`:                                        {`"location":"/over"`},
		`{"name":"a","when":"success_rate","below":101}`:                                   {`"location":"/below"`, "between 1% and 100%"},
		`{"name":"a","when":"success_rate","below":"50%","clear":"40%"}`:                   {`"location":"/clear"`, "at least 50%"},
		`{"name":"a","when":"restarts","within":"1s"}`:                                     {`"location":"/within"`, "between 1m and 1d"},
		`{"name":"a","when":"dead","for":"soon","receivers":["nobody"]}`:                   {`"location":"/for"`},
		`{"name":"a","when":"dead","receivers":["nobody"],"types":["a b"]}`:                {`"location":"/receivers/0"`, `"location":"/types/0"`},
		`{"name":"a","when":"dead","mood":1,"reason":"` + strings.Repeat("x", 1001) + `"}`: {`"location":"/mood"`, `"location":"/reason"`},
	} {
		call(http.MethodPost, "/rules", body, 422, must...)
	}
	call(http.MethodPost, "/rules", `{"name":"pile","when":"dead"}`, 409, "conflict", "an alert rule of that name")
	call(http.MethodPost, "/rules", `{"name":"waits","when":"oldest_wait","over":"10m","types":["a","b.*"],"for":"90s","repeat":86400}`, 201, `"over":"10m"`, `"for":"1m30s"`, `"repeat":"24h"`)
	require.JSONEq(t, `{"kind":"oldest_wait","types":["a","b.*"],"limit":600000000000,"clear_after":60000000000,"for":90000000000,"repeat":86400000000000}`, f.rules[2].Spec)
	call(http.MethodPut, "/rules/waits", `{"name":"later","when":"success_rate","below":80,"clear":"90%","samples":5,"receivers":["ops"]}`, 200, `"name":"later"`, `"below":"80%"`, `"clear":"90%"`, `"samples":5`, `"receivers":["ops"]`)
	call(http.MethodPut, "/rules/nothing", `{"name":"later","when":"dead"}`, 404)
	call(http.MethodPut, "/rules/dead%2Fall", `{"name":"mine","when":"dead"}`, 409, "owned_by_file")
	call(http.MethodDelete, "/rules/dead%2Fall", "", 409, "owned_by_file")
	call(http.MethodDelete, "/rules/nothing", "", 404)
	call(http.MethodDelete, "/rules/later?reason="+strings.Repeat("x", 1001), "", 422, "query.reason")

	call(http.MethodPost, "/rules/later/mute", `{"reason":"the move","until":"2000-01-01T00:00:00Z"}`, 422, `"location":"/until"`)
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	call(http.MethodPost, "/rules/later/mute", `{"reason":"the move","until":"`+until+`"}`, 200, `"reason":"the move"`, strings.TrimSuffix(until, "Z"))
	call(http.MethodPost, "/rules/later/mute", "", 200, `"mute":{"until":null`)
	call(http.MethodPost, "/rules/later/unmute", `{"reason":"done"}`, 200, `"pending":0}`)
	call(http.MethodDelete, "/rules/later", "", 204)
	require.Len(t, f.rules, 2)
	call(http.MethodPost, "/receivers/ops/test", "", 201, `"id":9`)
	call(http.MethodPost, "/receivers/nobody/test", "", 404, "there is no such receiver")
	require.Equal(t, []string{"ops"}, f.tested)
	f.err = models.ErrTooMany
	call(http.MethodPost, "/rules", `{"name":"more","when":"dead"}`, 409, "there are 200 alert rules already")
}
