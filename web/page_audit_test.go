package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func addAudit(f *fake) {
	f.plan(models.Schedule{Name: "nightly", Task: "any", Cron: "@daily", Params: "{}"})
	f.audit = []models.Audit{
		{At: start, Actor: "ana", Action: "pause", Target: "type", TargetID: "any", Reason: "the gateway is down", Address: "192.0.2.7", RequestID: "R7"},
		{At: start + 1, Actor: "ben", Action: "update", Target: "schedule", TargetID: "nightly", Before: `{"cron":"@daily","params":"{\"a\":1}"}`, After: `{"cron":"@hourly","params":"{\"a\":2}"}`},
		{At: start + 2, Actor: "dashboard", Action: "retry", Target: "task", TargetID: "7", Before: "dead", Reason: "=1+1"},
		{At: start + 3, Actor: "ana", Action: "replace", Target: "bulk", TargetID: "3", After: `{"matched":12,"done":11}`},
		{At: start + 4, Actor: "ana", Action: "mute", Target: "group", TargetID: "a/b/0123456789abcdef"},
	}
}

func TestTheAuditSaysWhoChangedWhat(t *testing.T) {
	f := newFake(t)
	addAudit(f)
	scenario{url: "/audit", status: 200, header: browser(), must: []string{
		"ana", "Paused", `href="/types/any"`, "the gateway is down", "192.0.2.7", "R7", `href="/schedules/nightly"`, "@daily", "@hourly", `href="/tasks/7"`, "5 entries",
		`href="/bulk/3"`, `href="/dead/a%2Fb/0123456789abcdef"`, `href="/audit/export.csv"`, `class="item" href="/audit"`,
	}}.run(t, f)
	scenario{url: "/audit?target=task&id=7", status: 200, header: browser(), must: []string{"1 entry", "Retried", "dead"}, mustNot: []string{"gateway"}}.run(t, f)
	scenario{url: "/audit?actor=eve", status: 200, header: browser(), must: []string{"Nothing matches"}}.run(t, f)
	scenario{url: "/audit?id=7", status: 422, header: browser(), must: []string{"Choose the kind of the target too"}}.run(t, f)
	scenario{url: "/audit?cursor=x&from=x", status: 422, header: browser(), must: []string{"Begin with the newest"}}.run(t, f)
	scenario{url: "/audit?actor=ana", status: 200, header: browser("Accept-Language", "zh"), must: []string{"审计日志", "暂停", "3 条记录"}}.run(t, f)
	scenario{url: "/audit", status: 200, header: browser(), must: []string{"Nothing was changed yet"}}.run(t, newFake(t))
	f.readErr = errSecret
	scenario{url: "/audit", status: 500, header: browser()}.run(t, f)
}

func TestTheAuditGoesPageByPage(t *testing.T) {
	f := newFake(t)
	for i := range 120 {
		f.audit = append(f.audit, models.Audit{At: start + models.Instant(i), Actor: "ana", Action: "retry", Target: "task", TargetID: fmt.Sprint(i + 1)})
	}
	page := scenario{url: "/audit", status: 200, header: browser(), must: []string{`href="/tasks/120"`, `rel="next"`}, mustNot: []string{`href="/tasks/1"`}}.run(t, f).Body.String()
	_, link, _ := strings.Cut(page, `href="/audit?cursor=`)
	link, _, _ = strings.Cut(link, `"`)
	scenario{url: "/audit?cursor=" + link, status: 200, header: browser(), must: []string{`href="/tasks/80"`, "Newest"}, mustNot: []string{`href="/tasks/81"`}}.run(t, f)
	type part struct {
		Entries    []struct{ ID int64 } `json:"entries"`
		NextCursor *string              `json:"next_cursor"`
	}
	var all part
	for url := apiPath + "/audit?limit=50"; url != ""; {
		var next part
		require.NoError(t, json.Unmarshal(scenario{url: url, status: 200}.run(t, f).Body.Bytes(), &next))
		all.Entries = append(all.Entries, next.Entries...)
		if url = ""; next.NextCursor != nil {
			url = apiPath + "/audit?limit=50&cursor=" + *next.NextCursor
		}
	}
	require.Len(t, all.Entries, 120)
}

func TestTheAuditAsFileAndAsJSON(t *testing.T) {
	f := newFake(t)
	addAudit(f)
	w := scenario{url: "/audit/export.csv?actor=dashboard", status: 200}.run(t, f)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.Body.String(), "\ufeff"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{auditColumns, {"3", "2026-01-01T00:00:00.123458Z", "dashboard", "retry", "task", "7", "'=1+1", "dead", "", "", ""}}, rows)
	require.Contains(t, w.Header().Get("Content-Disposition"), "attachment; filename=\"reax-audit-")
	scenario{url: apiPath + "/audit?target=schedule", status: 200, must: []string{`"before":{"cron":"@daily","params":"{\"a\":1}"}`, `"next_cursor":null`, `"target_id":"nightly"`}, mustNot: []string{"gateway"}}.run(t, f)
	for query, want := range map[string]string{"from=x": "query.from", "id=7": "query.id", "cursor=x": "query.cursor", "limit=501": "limit", "x=1": "x"} {
		scenario{url: apiPath + "/audit?" + query, status: 422, must: []string{want}}.run(t, f)
	}
	scenario{url: "/audit/export.csv?from=x", status: 422}.run(t, f)
}

func FuzzAuditQuery(f *testing.F) {
	for _, seed := range []string{"actor=ana&target=task&id=7&window=1h", "from=2026-01-01T09:00&to=x", "cursor=MS4x", "id=%ff&actor=%00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := scenario{url: "/audit"}.request()
		r.URL.RawQuery = query
		q := readAuditQuery(r.URL.Query(), time.UTC, start.Time())
		again := readAuditQuery(q.values(), time.UTC, start.Time())
		again.filter.After = q.filter.After
		require.Equal(t, q.filter, again.filter, "an address made from a query has the same filter")
		if p := q.filter.After; q.faults["cursor"] == "" && q.cursor != "" {
			require.Equal(t, q.cursor, encodeAuditCursor(p))
		}
	})
}
