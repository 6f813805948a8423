package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

const tasksURL = "/api/v1/tasks"

func TestEnqueue(t *testing.T) {
	runScenarios(t, func(f *fake) { f.add(models.Task{UniqueKey: "daily"}) }, []scenario{
		{
			name: "answers with the task", url: tasksURL, status: 201, stored: 1,
			body: `{"type":"report.generate","params":{"user_id":1001,"date":"2026-01-31"},"priority":3,"tags":["a","b"]}`,
			must: []string{`"id":2,`, `"state":"pending"`, `"params":{"user_id":1001,"date":"2026-01-31"}`, `"priority":3`, `"tags":["a","b"]`, `"enqueued_by":"api"`},
			// A field that is not set must still be there, or be absent for good.
			mustNot: []string{`"duplicate"`, `"attempts"`, `"$schema"`},
		},
		{name: "params default to an empty object", url: tasksURL, body: `{"type":"any"}`, status: 201, stored: 1, must: []string{`"params":{}`, `"tags":[]`, `"result":null`, `"started_at":null`}},
		{name: "null counts as absent", url: tasksURL, status: 201, stored: 1, body: `{"type":"any","params":null,"priority":null,"run_at":null,"delay":null,"max_retries":null,"timeout":null,"unique_key":null,"tags":null,"trace_id":null}`},
		{name: "a held key gives its holder", url: tasksURL, body: `{"type":"any","unique_key":"daily"}`, status: 200, must: []string{`"id":1,`, `"duplicate":true`, `"unique_key":"daily"`}},
		{name: "unknown type", url: tasksURL, body: `{"type":"no.such"}`, status: 404, must: []string{`"unknown_type"`, `no.such`}},
		{name: "both times", url: tasksURL, body: `{"type":"any","run_at":"2026-01-31T09:30:00Z","delay":"1m"}`, status: 422, must: []string{`"/delay"`, "run_at"}},
		{name: "every bad field at once", url: tasksURL, status: 422, body: `{"type":"report.generate","params":{"date":5},"priority":11,"max_retries":-1,"timeout":"soon","tags":[""],"trace_id":"x","colour":"red"}`,
			must: []string{`"/params/user_id"`, `"/params/date"`, `"/priority"`, `"/max_retries"`, `"/timeout"`, `"/tags/0"`, `"/trace_id"`, `"/colour"`, "8 fields"}},
		{name: "every bad parameter at once", url: tasksURL, status: 422, body: `{"type":"report.generate","params":{"date":5,"user":1}}`, must: []string{`"/params/user_id"`, `"/params/date"`, `"/params/user"`}},
		{name: "unknown field", url: tasksURL, body: `{"type":"any","prioritty":1}`, status: 422, must: []string{`"/prioritty"`, "not a known field"}},
		{name: "names have one case", url: tasksURL, body: `{"Type":"any","type":"any"}`, status: 422, must: []string{`"/Type"`}},
		{name: "no type", url: tasksURL, body: `{}`, status: 422, must: []string{`"/type"`, "is required"}},
		{name: "tag of too many bytes", url: tasksURL, body: `{"type":"any","tags":["` + strings.Repeat("任", 22) + `"]}`, status: 422, must: []string{`"/tags/0"`, "64 bytes"}},
		{name: "too many tags", url: tasksURL, body: `{"type":"any","tags":[` + strings.Repeat(`"a",`, 20) + `"a"]}`, status: 422, must: []string{`"/tags"`, "20"}},
		{name: "key of too many bytes", url: tasksURL, body: `{"type":"any","unique_key":"` + strings.Repeat("é", 129) + `"}`, status: 422, must: []string{"256 bytes"}},
		{name: "trace id of zeros", url: tasksURL, body: `{"type":"any","trace_id":"` + strings.Repeat("0", 32) + `"}`, status: 422, must: []string{`"/trace_id"`}},
		{name: "params over their limit", url: tasksURL, body: `{"type":"any","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, status: 413, must: []string{"too_large", "1048576"}},
	})
}

func TestEnqueueSaysWhereTheTaskIs(t *testing.T) {
	w := scenario{url: tasksURL, body: `{"type":"any"}`, status: 201, stored: 1}.run(t, newFake(t))
	require.Equal(t, "/api/v1/tasks/1", w.Header().Get("Location"))
}

func TestEnqueuePassesEveryFieldOn(t *testing.T) {
	f := newFake(t)
	scenario{
		url: tasksURL, status: 201, stored: 1,
		body:   `{"type":"any","params":{"n": 1},"priority":1e0,"run_at":"2030-01-31T17:30:00+08:00","max_retries":0,"timeout":0,"unique_key":"k","tags":["x"],"trace_id":"0af7651916cd43dd8448eb211c80319c"}`,
		header: map[string]string{"traceparent": "00-11111111111111111111111111111111-2222222222222222-01"},
	}.run(t, f)
	req := f.enqueues[0]
	require.JSONEq(t, `{"n":1}`, string(req.Params))
	require.Equal(t, `{"n": 1}`, string(req.Params), "params are kept byte for byte")
	require.Equal(t, 1, req.Priority)
	require.True(t, req.RunAt.Equal(time.Date(2030, 1, 31, 9, 30, 0, 0, time.UTC)))
	require.Zero(t, *req.MaxRetries)
	require.Zero(t, *req.Timeout)
	require.Equal(t, "k", req.UniqueKey)
	require.Equal(t, []string{"x"}, req.Tags)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", req.TraceID)
	require.Equal(t, "api", req.By)
}

func TestEnqueueLeavesTheRestToTheType(t *testing.T) {
	f := newFake(t)
	scenario{url: tasksURL, body: `{"type":"any"}`, status: 201, stored: 1}.run(t, f)
	req := f.enqueues[0]
	require.Zero(t, req.Priority)
	require.Nil(t, req.MaxRetries)
	require.Nil(t, req.Timeout)
	require.True(t, req.RunAt.IsZero())
	require.Empty(t, req.TraceID)
}

func TestEnqueuePassesTheTraceOfItsCallerOn(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for url, body := range map[string]string{tasksURL: `{"type":"any"}`, tasksURL + "/batch": `{"tasks":[{"type":"any"}]}`} {
		f := newFake(t)
		scenario{url: url, body: body, status: 201, stored: 1, header: map[string]string{"traceparent": parent}}.run(t, f)
		require.Equal(t, parent, f.enqueues[0].Traceparent, url)
		require.Empty(t, f.enqueues[0].TraceID, url)
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	f := newFake(t)
	params := `{"big":9007199254740993,"huge":123456789012345678901234567890,"small":1.10,"tiny":1e-400,"html":"<b>&amp;</b>\u2028 "}`
	w := scenario{url: tasksURL, body: `{"type":"any","params":` + params + `}`, status: 201, stored: 1}.run(t, f)
	require.Contains(t, w.Body.String(), `"params":`+params, "on the way out")
	require.Equal(t, params, string(f.enqueues[0].Params), "on the way in")
	for _, url := range []string{tasksURL, tasksURL + "/1"} {
		scenario{url: url, status: 200, must: []string{`"params":` + params}}.run(t, f)
	}
}

func TestTheDelayCountsFromNow(t *testing.T) {
	for _, delay := range []string{`"90s"`, `90`, `"1m30s"`, `90.0`, `9e1`} {
		f := newFake(t)
		before := time.Now()
		scenario{url: tasksURL, body: `{"type":"any","delay":` + delay + `}`, status: 201, stored: 1}.run(t, f)
		require.WithinRange(t, f.enqueues[0].RunAt, before.Add(90*time.Second), time.Now().Add(90*time.Second), delay)
	}
}

func TestBatch(t *testing.T) {
	const url = "/api/v1/tasks/batch"
	many := func(n int) string {
		return `{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{"type":"any"},`, n), ",") + `]}`
	}
	runScenarios(t, func(f *fake) { f.add(models.Task{UniqueKey: "daily"}) }, []scenario{
		{name: "all", url: url, status: 201, stored: 2, body: `{"tasks":[{"type":"any","tags":["a"]},{"type":"report.generate","params":{"user_id":1}},{"type":"any","unique_key":"daily"}]}`,
			must: []string{`{"tasks":[{"id":2,`, `"id":3,`, `"duplicate":true`}},
		{name: "none when one is wrong", url: url, status: 422, body: `{"tasks":[{"type":"any"},{"type":"report.generate","params":{"user_id":0}},{"type":"no.such"}]}`,
			must: []string{`"/tasks/1/params/user_id"`, `"/tasks/2/type"`}},
		{name: "fields by index", url: url, status: 422, body: `{"tasks":[{"type":"any","priority":0},{"type":"any","delay":-1,"tags":[""]}]}`, must: []string{`"/tasks/0/priority"`, `"/tasks/1/delay"`, `"/tasks/1/tags/0"`}},
		{name: "a thousand", url: url, status: 201, stored: 1000, body: many(1000)},
		{name: "one too many", url: url, status: 422, body: many(1001), must: []string{`"/tasks"`, "1000"}},
		{name: "empty", url: url, status: 422, body: `{"tasks":[]}`, must: []string{`"/tasks"`}},
		{name: "missing", url: url, status: 422, body: `{}`, must: []string{`"/tasks"`}},
		{name: "null", url: url, status: 422, body: `{"tasks":null}`, must: []string{`"/tasks"`}},
		{name: "entries of the wrong kind", url: url, status: 422, body: `{"tasks":[1,null,{"type":"any"}]}`, must: []string{`"/tasks/0"`, `"/tasks/1"`}},
	})
}

// fieldsOf lists the names of a JSON object in the order in which they come.
func fieldsOf(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	var names []string
	depth := 0
	for decoder.More() || depth > 0 {
		token, err := decoder.Token()
		require.NoError(t, err)
		switch token {
		case json.Delim('{'):
			depth++
		case json.Delim('}'):
			depth--
		default:
			names = append(names, fmt.Sprint(token))
			var value json.RawMessage
			require.NoError(t, decoder.Decode(&value))
		}
		if depth == 0 {
			return names
		}
	}
	return names
}

func TestTheTaskHasExactlyItsFields(t *testing.T) {
	listed := strings.Fields(`id type params priority state suspected stuck attempt failures crashes max_retries run_at trace_id
		unique_key tags progress progress_note result error error_kind fingerprint enqueued_by schedule scheduled_for repeated_from created_at
		started_at finished_at updated_at`)
	f := newFake(t)
	w := scenario{url: tasksURL, body: `{"type":"any"}`, status: http.StatusCreated, stored: 1}.run(t, f)
	require.Equal(t, listed, fieldsOf(t, w.Body.Bytes()))

	w = scenario{url: tasksURL + "/1", status: 200}.run(t, f)
	require.Equal(t, append(listed, "cancel_requested_at", "promoted_at", "timeout", "attempts"), fieldsOf(t, w.Body.Bytes()))

	w = scenario{url: tasksURL, status: 200}.run(t, f)
	var page struct {
		Tasks []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
	require.Equal(t, listed, fieldsOf(t, page.Tasks[0]))
}
