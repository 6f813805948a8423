package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// web keeps no more connections open than the busiest test uses.
var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: 5 * time.Second}, Timeout: patience}

// api calls one server over HTTP.
type api struct{ base string }

// task is what the tests read of a task.
type task struct {
	ID                int64           `json:"id"`
	Type              string          `json:"type"`
	Params            json.RawMessage `json:"params"`
	Priority          int             `json:"priority"`
	State             string          `json:"state"`
	Suspected         string          `json:"suspected"`
	Stuck             bool            `json:"stuck"`
	Attempt           int             `json:"attempt"`
	Failures          int             `json:"failures"`
	Crashes           int             `json:"crashes"`
	MaxRetries        int             `json:"max_retries"`
	TraceID           string          `json:"trace_id"`
	UniqueKey         string          `json:"unique_key"`
	Tags              []string        `json:"tags"`
	Progress          int             `json:"progress"`
	Result            json.RawMessage `json:"result"`
	Error             string          `json:"error"`
	ErrorKind         string          `json:"error_kind"`
	Duplicate         bool            `json:"duplicate"`
	CancelRequestedAt *time.Time      `json:"cancel_requested_at"`
	Attempts          []attempt       `json:"attempts"`
}

type attempt struct {
	Attempt    int        `json:"attempt"`
	Outcome    string     `json:"outcome"`
	Error      string     `json:"error"`
	ErrorKind  string     `json:"error_kind"`
	Stack      string     `json:"stack"`
	FinishedAt *time.Time `json:"finished_at"`
	RetryAt    *time.Time `json:"retry_at"`
}

func (t *task) isFinal() bool {
	return slices.Contains([]string{"success", "failed", "dead", "cancelled"}, t.State)
}

// problem is the body of an answer that is an error.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// answer is one answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request. The error is there when no whole answer came back.
func (a *api) call(method, path string, body []byte) (answer, error) {
	req, err := http.NewRequest(method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, errors.Join(err, resp.Body.Close())
}

func (a *api) must(t *testing.T, method, path string, body []byte) answer {
	t.Helper()
	got, err := a.call(method, path, body)
	require.NoError(t, err)
	return got
}

// get reads an answer that must be 200 into v.
func (a *api) get(t *testing.T, path string, v any) {
	t.Helper()
	got := a.must(t, http.MethodGet, path, nil)
	require.Equal(t, http.StatusOK, got.status, "%s: %s", path, got.body)
	require.NoError(t, json.Unmarshal(got.body, v))
}

// fields are further fields of a request for a task.
type fields map[string]any

func body(typ string, params any, more fields) []byte {
	all := fields{"type": typ, "params": params}
	maps.Copy(all, more)
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // the tests' own values
	}
	return text
}

// post asks for a task, whatever the answer is.
func (a *api) post(t *testing.T, typ string, params any, more fields) answer {
	t.Helper()
	return a.must(t, http.MethodPost, "/api/v1/tasks", body(typ, params, more))
}

// enqueue asks for a task that must be accepted.
func (a *api) enqueue(t *testing.T, typ string, params any, more fields) task {
	t.Helper()
	got := a.post(t, typ, params, more)
	require.Contains(t, []int{http.StatusCreated, http.StatusOK}, got.status, "%s", got.body)
	return taskOf(t, got)
}

func taskOf(t *testing.T, got answer) task {
	t.Helper()
	var v task
	require.NoError(t, json.Unmarshal(got.body, &v), "%s", got.body)
	require.NotZero(t, v.ID, "%s", got.body)
	return v
}

func (a *api) task(t *testing.T, id int64) task {
	t.Helper()
	var v task
	a.get(t, fmt.Sprintf("/api/v1/tasks/%d", id), &v)
	return v
}

// act does something to a task, such as "retry".
func (a *api) act(t *testing.T, id int64, action string) answer {
	t.Helper()
	return a.must(t, http.MethodPost, fmt.Sprintf("/api/v1/tasks/%d/%s", id, action), []byte(`{}`))
}

// awaitTask waits until a task is as it should be.
func (a *api) awaitTask(t *testing.T, id int64, what string, is func(*task) bool) task {
	t.Helper()
	var v task
	until(t, patience, func() string {
		v = a.task(t, id)
		if is(&v) {
			return ""
		}
		return fmt.Sprintf("task %d is not %s: %+v", id, what, v)
	})
	return v
}

func (a *api) awaitState(t *testing.T, id int64, state string) task {
	t.Helper()
	return a.awaitTask(t, id, state, func(v *task) bool { return v.State == state })
}

// list reads every task that fits a query, newest first.
func (a *api) list(t *testing.T, query url.Values) (all []task) {
	t.Helper()
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", "500")
	for {
		var page struct {
			Tasks      []task  `json:"tasks"`
			NextCursor *string `json:"next_cursor"`
		}
		a.get(t, "/api/v1/tasks?"+query.Encode(), &page)
		all = append(all, page.Tasks...)
		if page.NextCursor == nil {
			return all
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// stats are the numbers of tasks by state.
func (a *api) counts(t *testing.T) map[string]int64 {
	t.Helper()
	var v struct {
		Counts map[string]int64 `json:"counts"`
	}
	a.get(t, "/api/v1/stats", &v)
	return v.Counts
}

// awaitQuiet waits until no task waits or runs.
func (a *api) awaitQuiet(t *testing.T) {
	t.Helper()
	until(t, patience, func() string {
		c := a.counts(t)
		if c["pending"]+c["running"]+c["retry_wait"] == 0 {
			return ""
		}
		return fmt.Sprintf("tasks wait or run: %v", c)
	})
}

// health is what /healthz says, with its status code.
type health struct {
	code     int
	Status   string   `json:"status"`
	Database string   `json:"database"`
	Reasons  []string `json:"reasons"`
}

func (a *api) health(t *testing.T) health {
	t.Helper()
	got := a.must(t, http.MethodGet, "/healthz", nil)
	h := health{code: got.status}
	require.NoError(t, json.Unmarshal(got.body, &h), "%s", got.body)
	return h
}

// requireProblem checks that an answer refuses in the shape that all refusals have.
func requireProblem(t *testing.T, got answer, status int, code string) problem {
	t.Helper()
	require.Equal(t, status, got.status, "%.2000s", got.body)
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	var p problem
	require.NoError(t, json.Unmarshal(got.body, &p), "%s", got.body)
	require.Equal(t, status, p.Status)
	require.Equal(t, code, p.Code, "%s", got.body)
	require.NotEmpty(t, p.Detail)
	return p
}
