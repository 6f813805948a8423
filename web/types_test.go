package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestListTypes(t *testing.T) {
	setup := func(f *fake) {
		f.counts = []models.Count{
			{Type: "any", State: models.StateDead, N: 7}, {Type: "any", State: models.StatePending, N: 2},
			{Type: "gone", State: models.StatePending, N: 5}, {Type: "long.gone", State: models.StatePending, N: 0},
		}
	}
	runScenarios(t, setup, []scenario{{
		name: "with policy, pool and counts", url: "/api/v1/types", status: 200,
		must: []string{
			`{"types":[{"name":"any","registered":true`, `"dead":7`,
			`"name":"report.generate","registered":true,"description":"Writes a report","kind":"go","schema":{`, `"user_id"`, `"example":{`,
			`"policy":{"timeout":"2m","max_retries":3,"backoff_base":"10s","backoff_max":"2m","priority":5,"concurrency":4,"on_crash":"requeue","retry":"all"}`,
			`"pool":{"concurrency":4,"busy":1,"ready":2,"stuck":0}`, `"paused":false`,
			// Tasks whose handler is gone must not be out of sight.
			`"name":"gone","registered":false,"description":"","kind":"","schema":null,"example":null,"pool":{"concurrency":0`, `"pending":5`,
		},
		mustNot: []string{"long.gone"},
	}})
}

func TestChangesOfATypeAnswerWithTheType(t *testing.T) {
	post, patch := http.MethodPost, http.MethodPatch
	const url = "/api/v1/types/report.generate"
	runScenarios(t, nil, []scenario{
		{name: "pause", method: post, url: url + "/pause", status: 200, must: []string{`"name":"report.generate"`, `"paused":true`, `"paused_by":"api"`}},
		{name: "pause with a reason", url: url + "/pause", body: `{"reason":"the bank is down"}`, status: 200, must: []string{`"pause_reason":"the bank is down"`}},
		{name: "pause of nothing", method: post, url: "/api/v1/types/no.such/pause", status: 404, must: []string{`"unknown_type"`, "no.such"}},
		{name: "resume", method: post, url: url + "/resume", status: 200, must: []string{`"paused":false`}},
		{name: "resume of nothing", method: post, url: "/api/v1/types/no.such/resume", status: 404},
		{name: "resize", method: patch, url: url, body: `{"concurrency":9}`, status: 200, must: []string{`"pool":{"concurrency":9`}},
		{name: "resize of nothing", method: patch, url: "/api/v1/types/no.such", body: `{"concurrency":9}`, status: 404},
		{name: "resize to none", method: patch, url: url, body: `{"concurrency":0}`, status: 422, must: []string{`"/concurrency"`, "at least 1"}},
		{name: "resize beyond the limit", method: patch, url: url, body: `{"concurrency":10001}`, status: 422, must: []string{"10000"}},
		{name: "resize without a size", method: patch, url: url, body: `{}`, status: 422, must: []string{"is required"}},
		{name: "resize without a body", method: patch, url: url, status: 400},
		{name: "an encoded name", method: post, url: "/api/v1/types/report%2Egenerate/pause", status: 200},
		{name: "a hostile name", method: post, url: "/api/v1/types/%3Cscript%3E/pause", status: 404, must: []string{"unknown_type"}},
		{name: "a name with a slash", method: post, url: "/api/v1/types/a%2Fb/pause", status: 404},
	})
}

func TestActors(t *testing.T) {
	scenario{url: "/api/v1/actors", status: 200, must: []string{
		`{"actors":[{"id":"supervisor","parent":"","kind":"supervisor","depth":0`, `"id":"journal","parent":"supervisor","kind":"journal","depth":1`, `"processed":42`,
	}}.run(t, newFake(t))
}

func TestStats(t *testing.T) {
	const minute = models.Instant(60_000_000)
	first := models.Instant(1_767_225_600_000_000)
	setup := func(f *fake) {
		f.counts = []models.Count{{Type: "any", State: models.StateDead, N: 7}, {Type: "b", State: models.StateDead, N: 1}}
		var wait models.Histogram
		wait.Add(0)
		f.minutes = []models.MinuteStat{
			{Minute: first, Type: "any", Enqueued: 3, Succeeded: 1, WaitHist: wait}, {Minute: first, Type: "b", Enqueued: 4},
			{Minute: first + minute, Type: "any", Dead: 2}, {Minute: first + 100*minute, Type: "any", Dead: 9900},
		}
	}
	const url = "/api/v1/stats"
	runScenarios(t, setup, []scenario{
		{name: "a span", url: url + "?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z", status: 200,
			must: []string{
				`"counts":{"cancelled":0,"dead":8,"failed":0`, `"types":[{"type":"any","counts":{"dead":7}}`, `"backlog":3`,
				`"minutes":[{"at":"2026-01-01T00:00:00.000000Z","enqueued":7,"started":0,"succeeded":1`, `"dead":2`, `"wait":{"n":1,`, `"run":{"n":0,"p50_ms":0`,
			},
			mustNot: []string{"9900"}},
		{name: "the last hour", url: url, status: 200, must: []string{`"minutes":[]`}},
		{name: "bad ends", url: url + "?from=x&to=y", status: 422, must: []string{`"query.from"`, `"query.to"`}},
		{name: "backwards", url: url + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", status: 422, must: []string{"after from"}},
		{name: "too long", url: url + "?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z", status: 422, must: []string{"24h"}},
	})
}

func TestDurationsReadWell(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"90s", "1m30s"}, {"2m", "2m"}, {"1h", "1h"}, {"1h0m5s", "1h0m5s"}, {"1.5s", "1.5s"}, {"24h", "24h"}, {"10m", "10m"}, {"100ms", "100ms"}} {
		d, err := parseDuration(c.in)
		require.NoError(t, err)
		require.Equal(t, c.want, *durationText(d))
	}
	require.Nil(t, durationText(0))
}
