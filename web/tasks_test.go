package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

type pageOfIDs struct {
	Tasks []struct {
		ID int64
	}
	NextCursor *string `json:"next_cursor"`
}

func readPage(t *testing.T, w *httptest.ResponseRecorder) pageOfIDs {
	t.Helper()
	var page pageOfIDs
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
	return page
}

func seedTasks(n int) func(*fake) {
	return func(f *fake) {
		for i := range n {
			task := models.Task{Type: "any"}
			if i%2 == 1 {
				task.Type, task.State = "report.generate", models.StateDead
			}
			f.add(task)
		}
	}
}

func TestListTasks(t *testing.T) {
	runScenarios(t, seedTasks(4), []scenario{
		{name: "newest first", url: tasksURL, status: 200, must: []string{`{"tasks":[{"id":4,`, `"next_cursor":null}`}},
		{name: "state", url: tasksURL + "?state=dead", status: 200, must: []string{`"id":4,`, `"id":2,`}, mustNot: []string{`"id":3,`}},
		{name: "states with commas", url: tasksURL + "?state=dead,failed", status: 200, must: []string{`"id":4,`}, mustNot: []string{`"id":3,`}},
		{name: "states one by one", url: tasksURL + "?state=failed&state=dead", status: 200, must: []string{`"id":4,`}, mustNot: []string{`"id":3,`}},
		{name: "type", url: tasksURL + "?type=any", status: 200, must: []string{`"id":3,`}, mustNot: []string{`"id":4,`}},
		{name: "trace", url: tasksURL + "?trace_id=00000000000000000000000000000002", status: 200, must: []string{`"id":2,`}, mustNot: []string{`"id":1,`}},
		{name: "nothing is a list too", url: tasksURL + "?from=2027-01-01T00:00:00Z", status: 200, must: []string{`{"tasks":[],"next_cursor":null}`}},
		{name: "the zone of from", url: tasksURL + "?from=2026-01-01T08:00:00%2B08:00&to=2026-01-01T00:00:01Z", status: 200, must: []string{`"id":1,`}},
		{name: "times in UTC with microseconds", url: tasksURL, status: 200, must: []string{`"created_at":"2026-01-01T00:00:00.123456Z"`, `"finished_at":null`}},
		{name: "every bad field at once", url: tasksURL + "?state=broken&from=yesterday&to=1&trace_id=xyz&cursor=%21", status: 422, must: []string{`"query.state"`, "retry_wait", `"query.from"`, `"query.to"`, `"query.trace_id"`, `"query.cursor"`}},
		{name: "limit zero", url: tasksURL + "?limit=0", status: 422, must: []string{`"query.limit"`}},
		{name: "limit too high", url: tasksURL + "?limit=501", status: 422, must: []string{"500"}},
		{name: "unknown field", url: tasksURL + "?stat=dead", status: 422, must: []string{`"query.stat"`}},
		{name: "search without end", url: tasksURL + "?q=" + strings.Repeat("x", 201), status: 422, must: []string{`"query.q"`}},
		{name: "search that is no text", url: tasksURL + "?q=%ff", status: 422, must: []string{`"query.q"`}},
		{name: "search with a zero", url: tasksURL + "?q=%00", status: 422},
		{name: "a bare number is no cursor", url: tasksURL + "?cursor=3", status: 422},
		{name: "a cursor of another number", url: tasksURL + "?cursor=LTU", status: 422},
		{name: "a state without end", url: tasksURL + "?state=" + strings.Repeat("x", 10000), status: 422, mustNot: []string{strings.Repeat("x", 1000)}},
	})
}

func TestPagesFollowEachOtherWithoutGapsOrRepeats(t *testing.T) {
	f := newFake(t)
	seedTasks(123)(f)
	var seen []int64
	url := tasksURL + "?limit=50"
	for range 3 {
		page := readPage(t, scenario{url: url, status: 200}.run(t, f))
		for _, task := range page.Tasks {
			seen = append(seen, task.ID)
		}
		if page.NextCursor == nil {
			break
		}
		url = tasksURL + "?limit=50&cursor=" + *page.NextCursor
	}
	require.Len(t, seen, 123)
	for i, id := range seen {
		require.Equal(t, int64(123-i), id)
	}
	// A page that ends with the last task says so.
	page := readPage(t, scenario{url: tasksURL + "?limit=123", status: 200}.run(t, f))
	require.Nil(t, page.NextCursor)
	require.Len(t, page.Tasks, 123)
	page = readPage(t, scenario{url: tasksURL, status: 200}.run(t, f))
	require.Len(t, page.Tasks, 50)
}

func TestAPageOfLargeTasksIsShortAndGoesOn(t *testing.T) {
	f := newFake(t)
	for range 8 {
		f.add(models.Task{Params: `{"a":"` + strings.Repeat("x", 1<<20-10) + `"}`})
	}
	total, url := 0, tasksURL+"?limit=500"
	for {
		w := scenario{url: url, status: 200}.run(t, f)
		require.Less(t, w.Body.Len(), maxListBytes+2<<20)
		page := readPage(t, w)
		require.NotEmpty(t, page.Tasks)
		total += len(page.Tasks)
		if page.NextCursor == nil {
			break
		}
		url = tasksURL + "?limit=500&cursor=" + *page.NextCursor
	}
	require.Equal(t, 8, total)
}

func TestGetTask(t *testing.T) {
	f := newFake(t)
	id := f.add(models.Task{
		State: models.StateDead, Attempt: 2, Failures: 2, MaxRetries: 1, TimeoutUS: (2 * time.Minute).Microseconds(), Tags: `["a"]`,
		Error: "no <b>luck</b>", ErrorKind: "error", StuckAt: start, PromotedAt: start, Result: `{"n":12345678901234567890}`, RepeatedFrom: 5,
	})
	f.attempts = []models.Attempt{
		{TaskID: id, Attempt: 1, Outcome: models.OutcomeRetry, Error: "first", Stack: "main.go:7", RetryAt: start, StartedAt: start},
		{TaskID: id, Attempt: 2, Outcome: models.OutcomeDead, Error: "second"},
	}
	scenario{url: tasksURL + "/1", status: 200, must: []string{
		`"timeout":"2m"`, `"stuck":true`, `"promoted_at":"2026-01-01T00:00:00.123456Z"`, `"cancel_requested_at":null`,
		`"attempts":[{"attempt":1,"outcome":"retry","error":"first"`, `"stack":"main.go:7"`, `"attempt":2,"outcome":"dead"`,
		`"result":{"n":12345678901234567890}`, `"repeated_from":5`, `"error":"no <b>luck</b>"`, `"tags":["a"]`,
	}}.run(t, f)
	f.add(models.Task{})
	scenario{url: tasksURL + "/2", status: 200, must: []string{`"attempts":[]`, `"timeout":null`, `"repeated_from":null`}}.run(t, f)
}

func TestStoredTextThatIsNoJSONDoesNotBreakTheList(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{Result: `{"head":"xxx … 70000 bytes left out … "tail"}`, Tags: "broken", Error: "bytes \xff"})
	w := scenario{url: tasksURL, status: 200, must: []string{`"result":"{\"head\"`, `"tags":[]`}}.run(t, f)
	require.True(t, json.Valid(w.Body.Bytes()))
}

func TestGetLogs(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{Attempt: 2})
	for i := range 5 {
		f.logs = append(f.logs, models.LogLine{TaskID: 1, Attempt: 2, Seq: i + 1, At: start, Level: "info", Text: fmt.Sprintf("line %d", i+1)})
	}
	f.logs = append(f.logs, models.LogLine{TaskID: 1, Attempt: 1, Seq: 1, At: start, Level: "stderr", Text: "the first run"})
	const url = tasksURL + "/1/logs"
	for _, sc := range []scenario{
		{url: url, status: 200, must: []string{`{"attempt":2,"lines":[{"seq":1,"at":"2026-01-01T00:00:00.123456Z","level":"info","text":"line 1"}`, `"next_after":null`}, mustNot: []string{"first run"}},
		{url: url + "?attempt=1", status: 200, must: []string{`"attempt":1`, "first run"}, mustNot: []string{"line 1"}},
		{url: url + "?limit=2", status: 200, must: []string{"line 2", `"next_after":2`}, mustNot: []string{"line 3"}},
		{url: url + "?limit=2&after=3", status: 200, must: []string{"line 5", `"next_after":null`}, mustNot: []string{"line 3"}},
		{url: url + "?attempt=9", status: 200, must: []string{`"lines":[]`}},
		{url: url + "?limit=1001", status: 422, must: []string{`"query.limit"`}},
		{url: url + "?after=-1", status: 422},
		{url: url + "?attempt=99999999999999999999", status: 422},
		{url: tasksURL + "/2/logs", status: 404, must: []string{`"not_found"`}},
	} {
		sc.run(t, f)
	}
}
