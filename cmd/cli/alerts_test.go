package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	firingJSON = `{"id":2,"rule":"broken","when":"dead","state":"firing","since":"2026-11-29T07:00:00.000000Z","ended_at":null,"told_to":["ops","mail"],` +
		`"name":"report","error":"no such\u001b[31m customer","count":3,"value":"","limit":""}`
	overJSON = `{"id":1,"rule":"pile","when":"backlog","state":"ended","since":"2026-11-29T06:00:00.000000Z","ended_at":"2026-11-29T06:30:00.000000Z","told_to":[],` +
		`"name":"","error":"","count":0,"value":"2000","limit":"1000"}`
	ruleJSON = `{"name":"pile","file":false,"when":"backlog","over":"1000","below":null,"for":"5m","types":["report.*"],"receivers":["ops"],"state":"ok"}`
	muteJSON = `{"name":"disk","file":true,"when":"disk_low","over":null,"below":"5GiB","for":null,"types":[],"receivers":[],"state":"firing","mute":{"until":"2026-11-29T08:00:00.000000Z"}}`
)

func TestAlertsAndRulesForPeople(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/alerts":                             {{200, `{"open":[` + firingJSON + `],"history":[` + firingJSON + `,` + overJSON + `],"next_cursor":"MQ"}`}, {200, `{"open":[],"history":[],"next_cursor":null}`}},
		"GET /api/v1/alerts/rules":                       {{200, `{"rules":[` + muteJSON + `,` + ruleJSON + `],"receivers":[{"name":"ops","kind":"slack"}]}`}},
		"POST /api/v1/alerts/rules/disk/mute":            {{200, muteJSON}},
		"POST /api/v1/alerts/rules/a%2Fb/unmute":         {{200, ruleJSON}},
		"POST /api/v1/alerts/receivers/ops/test":         {{201, `{"id":7,"type":"reax.alert","trace_id":"0190ac"}`}},
		"GET /api/v1/tasks/7":                            {{200, `{"id":7,"type":"reax.alert","state":"failed","error":"the endpoint answered 410 Gone"}`}},
		"POST /api/v1/alerts/rules/gone/mute":            {{404, `{"status":404,"detail":"there is no such alert rule","code":"not_found","errors":[]}`}},
		"POST /api/v1/alerts/receivers/quiet%20one/test": {{404, `{"status":404,"detail":"there is no such receiver","code":"not_found","errors":[]}`}},
	})
	got := server.command().run(t, "alerts")
	require.Equal(t, result{0, "" +
		"STATE   RULE    SINCE                       ENDED                       TOLD      ABOUT\n" +
		"firing  broken  2026-11-29 09:00:00 +02:00  -                           ops,mail  report · 3× · no such\\x1b[31m customer\n" +
		"ended   pile    2026-11-29 08:00:00 +02:00  2026-11-29 08:30:00 +02:00  -         2000 (limit 1000)\n", "there are more: add --cursor MQ\n"}, got)
	require.Equal(t, "limit=20", server.calls[0].Query)
	got = server.command().run(t, "alerts", "--cursor", "MQ", "--limit", "5")
	require.Equal(t, result{0, "no alerts\n", ""}, got)
	require.Equal(t, "cursor=MQ&limit=5", server.calls[1].Query)
	got = server.command().run(t, "alerts", "rules")
	require.Equal(t, result{0, "" +
		"RULE  WHEN                                  STATE                                           FROM  TELLS\n" +
		"disk  disk_low below 5GiB                   firing, muted until 2026-11-29 10:00:00 +02:00  file  all\n" +
		"pile  backlog over 1000 for 5m of report.*  ok                                              page  ops\n\n" +
		"RECEIVER  KIND\nops       slack\n", ""}, got)
	for _, test := range []struct {
		args []string
		want result
		body string
	}{
		{[]string{"mute", "disk", "--until", "2026-11-29 10:00", "--reason", "a move"}, result{0, "disk is firing, muted until 2026-11-29 10:00:00 +02:00\n", ""}, `{"reason":"a move","until":"2026-11-29T10:00:00+02:00"}`},
		{[]string{"unmute", "a/b"}, result{0, "pile is ok\n", ""}, `{}`},
		{[]string{"mute", "gone"}, result{1, "", "reax: there is no such alert rule\n"}, `{}`},
		{[]string{"test", "ops"}, result{0, "accepted task 7 · reax.alert · trace 0190ac\n", ""}, ""},
		{[]string{"test", "quiet one"}, result{1, "", "reax: there is no such receiver\n"}, ""},
	} {
		got := server.command().run(t, append([]string{"alerts"}, test.args...)...)
		require.Equal(t, test.want, got)
		body := server.calls[len(server.calls)-1].Body
		if test.body == "" {
			require.Empty(t, body)
		} else {
			require.JSONEq(t, test.body, body)
		}
	}
	got = server.command().run(t, "alerts", "test", "ops", "--wait")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "410 Gone")
	require.Equal(t, 2, server.command().run(t, "alerts", "mute", "disk", "--until", "soon").code)
}
