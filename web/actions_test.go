package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func TestActions(t *testing.T) {
	setup := func(f *fake) {
		f.add(models.Task{State: models.StateDead})
		f.add(models.Task{State: models.StateRunning})
		f.add(models.Task{State: models.StateSuccess, Params: `{"a": 1}`})
	}
	post := http.MethodPost
	long := strings.Repeat("x", actors.MaxReasonBytes+1)
	runScenarios(t, setup, []scenario{
		{name: "retry", method: post, url: tasksURL + "/1/retry", status: 200, must: []string{`"id":1,`, `"state":"pending"`}},
		{name: "retry with a reason", url: tasksURL + "/1/retry", body: `{"reason":"fixed"}`, status: 200},
		{name: "retry of what runs", method: post, url: tasksURL + "/2/retry", status: 200},
		{name: "retry of a success", method: post, url: tasksURL + "/3/retry", status: 409, must: []string{`"wrong_state"`, "success"}},
		{name: "retry of nothing", method: post, url: tasksURL + "/9/retry", status: 404, must: []string{`"not_found"`}},
		{name: "cancel", method: post, url: tasksURL + "/2/cancel", status: 200, must: []string{`"state":"cancelled"`}},
		{name: "cancel with an unknown field", url: tasksURL + "/2/cancel", body: `{"why":"x"}`, status: 422, must: []string{`"/why"`}},
		{name: "cancel with a long reason", url: tasksURL + "/2/cancel", body: `{"reason":"` + long + `"}`, status: 422, must: []string{`"/reason"`, "1000 bytes"}},
		{name: "discard", url: tasksURL + "/1/discard", body: `{"reason":"obsolete"}`, status: 200, must: []string{`"state":"cancelled"`}},
		{name: "discard without a body", method: post, url: tasksURL + "/1/discard", status: 400},
		{name: "discard without a reason", url: tasksURL + "/1/discard", body: `{}`, status: 422, must: []string{`"/reason"`, "is required"}},
		{name: "discard with a blank reason", url: tasksURL + "/1/discard", body: `{"reason":"  "}`, status: 422},
		{name: "discard of a success", url: tasksURL + "/3/discard", body: `{"reason":"x"}`, status: 409},
		{name: "repeat", method: post, url: tasksURL + "/3/repeat", status: 201, stored: 1, must: []string{`"id":4,`, `"repeated_from":3`, `"params":{"a":1}`}},
		{name: "repeat with params", url: tasksURL + "/3/repeat", body: `{"params":{"n":12345678901234567890}}`, status: 201, stored: 1, must: []string{`{"n":12345678901234567890}`}},
		{name: "repeat with other params", url: tasksURL + "/3/repeat", body: `{"params":[]}`, status: 422, must: []string{`"/params"`}},
		{name: "repeat of what runs", method: post, url: tasksURL + "/2/repeat", status: 409},
		{name: "repeat of nothing", method: post, url: tasksURL + "/9/repeat", status: 404},
		{name: "an action there is not", method: post, url: tasksURL + "/1/explode", status: 404},
	})
}

func TestChangesAreRecordedWithWhoAndWhy(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{State: models.StateDead})
	sc := scenario{url: tasksURL + "/1/discard", body: `{"reason":" obsolete "}`, header: map[string]string{"X-Request-ID": "abc-1"}}
	r := sc.request()
	r.RemoteAddr = "127.0.0.1:5000"
	require.Equal(t, 200, send(newServer(t, f).Handler(), r).Code)
	require.Equal(t, actors.Change{By: "api", Reason: "obsolete", Address: "127.0.0.1", RequestID: "abc-1"}, f.changes[0])

	r = scenario{method: "POST", url: tasksURL + "/1/retry"}.request()
	r.RemoteAddr = "@"
	require.Equal(t, 200, send(newServer(t, f).SocketHandler(), r).Code)
	require.Equal(t, "socket", f.changes[1].By)
	require.Empty(t, f.changes[1].Address)
}

func TestRepeatKeepsTheOldParamsUnlessTold(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{State: models.StateSuccess})
	scenario{url: tasksURL + "/1/repeat", body: `{"params":null,"reason":"again"}`, status: 201, stored: 1}.run(t, f)
	require.Nil(t, f.repeats[0])
	require.Equal(t, "again", f.changes[0].Reason)
	scenario{url: tasksURL + "/1/repeat", body: `{"params":{"b": 2.0}}`, status: 201, stored: 1}.run(t, f)
	require.Equal(t, `{"b": 2.0}`, string(f.repeats[1]))
}

func TestBulk(t *testing.T) {
	const url = "/api/v1/tasks/bulk"
	report := []string{`{"id":5,"matched":3,"done":2,"skipped":[{"id":9,"reason":"it runs"}],"skipped_total":1}`}
	runScenarios(t, nil, []scenario{
		{name: "ids", url: url, body: `{"action":"retry","ids":[1,2,9]}`, status: 200, must: report},
		{name: "filter", url: url, body: `{"action":"cancel","filter":{"state":["dead"],"type":["any"],"from":"2026-01-01T00:00:00Z"}}`, status: 200, must: report},
		{name: "discard", url: url, body: `{"action":"discard","ids":[1],"reason":"obsolete"}`, status: 200},
		{name: "discard without a reason", url: url, body: `{"action":"discard","ids":[1]}`, status: 422, must: []string{`"/reason"`}},
		{name: "neither", url: url, body: `{"action":"retry"}`, status: 422, must: []string{"exactly one"}},
		{name: "both", url: url, body: `{"action":"retry","ids":[1],"filter":{"state":["dead"]}}`, status: 422, must: []string{"exactly one"}},
		{name: "no ids", url: url, body: `{"action":"retry","ids":[]}`, status: 422, must: []string{`"/ids"`}},
		{name: "all tasks", url: url, body: `{"action":"retry","filter":{}}`, status: 422, must: []string{`"/filter"`, "every task"}},
		{name: "all tasks since", url: url, body: `{"action":"retry","filter":{"from":"2026-01-01T00:00:00Z"}}`, status: 422, must: []string{`"/filter"`}},
		{name: "blank state", url: url, body: `{"action":"retry","filter":{"state":[""]}}`, status: 422, must: []string{`"/filter"`}},
		{name: "unknown state", url: url, body: `{"action":"retry","filter":{"state":["broken"]}}`, status: 422, must: []string{`"/filter/state"`}},
		{name: "misspelt filter", url: url, body: `{"action":"retry","filter":{"state":["dead"],"tpye":["any"]}}`, status: 422, must: []string{`"/filter/tpye"`}},
		{name: "unknown action", url: url, body: `{"action":"delete","ids":[1]}`, status: 422, must: []string{`"/action"`, "discard"}},
		{name: "bad ids", url: url, body: `{"action":"retry","ids":[1,0,-5,99999999999999999999]}`, status: 422, must: []string{`"/ids/1"`, `"/ids/2"`, `"/ids/3"`}, mustNot: []string{`"/ids/0"`}},
		{name: "too many ids", url: url, body: `{"action":"retry","ids":[` + strings.Repeat("1,", actors.MaxBulkTasks) + `1]}`, status: 422, must: []string{"100000"}},
	})
}

func TestBulkPassesTheSetOn(t *testing.T) {
	f := newFake(t)
	scenario{url: "/api/v1/tasks/bulk", status: 200, body: `{"action":"retry","filter":{"state":["dead","failed"],"type":["any"],"q":" x ","tag":"t","to":"2026-01-01T00:00:00Z"},"reason":"fixed"}`}.run(t, f)
	scenario{url: "/api/v1/tasks/bulk", status: 200, body: `{"action":"cancel","ids":[3,1]}`}.run(t, f)
	require.Equal(t, actors.ActionRetry, f.bulks[0].Action)
	require.Equal(t, "fixed", f.bulks[0].Change.Reason)
	require.Equal(t, &models.Filter{
		States: []models.State{models.StateDead, models.StateFailed}, Types: []string{"any"}, Text: "x", Tag: "t", CreatedTo: 1_767_225_600_000_000,
	}, f.bulks[0].Filter)
	require.Equal(t, []int64{3, 1}, f.bulks[1].IDs)
	require.Nil(t, f.bulks[1].Filter)
}
