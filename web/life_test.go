package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

var (
	_ Runtime = (*actors.Runtime)(nil)
	_ Ledger  = (*models.Store)(nil)
)

// world is a whole reax on a database of its own, seen through HTTP alone.
type world struct {
	t       *testing.T
	runtime *actors.Runtime
	handler http.Handler
	release chan struct{} // lets the runs of "gate" end
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, release: make(chan struct{})}
	registry := tasks.NewRegistry()
	tasks.Register(registry, "echo", func(ctx context.Context, p struct {
		N json.Number `json:"n,omitempty"`
	}) (map[string]json.Number, error) {
		tasks.RunOf(ctx).Logger.Info("echoing", "n", p.N)
		return map[string]json.Number{"n": p.N}, nil
	})
	tasks.Register(registry, "fail", func(context.Context, failParams) (any, error) {
		return nil, tasks.Permanent(errors.New("no <b>luck</b>"))
	})
	tasks.Register(registry, "gate", func(ctx context.Context, _ struct{}) (any, error) {
		select {
		case <-w.release:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}, tasks.Concurrency(2))
	require.NoError(t, registry.Add(tasks.Definition{
		Name: "blob", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
	logger := slog.New(slog.DiscardHandler)
	store, err := models.Open(t.Context(), models.Config{
		Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: logger,
	})
	require.NoError(t, err)
	w.runtime, err = actors.Start(t.Context(), store, registry, actors.Options{Logger: logger, ShutdownGrace: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.runtime.Stop(context.Background()))
		require.NoError(t, store.Close())
	})
	w.handler = New(Config{Runtime: w.runtime, Ledger: store, Logger: logger, Version: "1.2.3"}).Handler()
	return w
}

func (w *world) send(sc scenario) *httptest.ResponseRecorder {
	w.t.Helper()
	answer := send(w.handler, sc.request())
	text := answer.Body.String()
	require.Equal(w.t, sc.status, answer.Code, "%s %s answered: %s", sc.method, sc.url, text)
	for _, part := range sc.must {
		require.Contains(w.t, text, part)
	}
	for _, part := range sc.mustNot {
		require.NotContains(w.t, text, part)
	}
	return answer
}

// enqueue posts a task and gives its address.
func (w *world) enqueue(body string) string {
	w.t.Helper()
	return w.send(scenario{url: tasksURL, body: body, status: 201}).Header().Get("Location")
}

// wait reads an address each time something changes, until the answer has part.
func (w *world) wait(url, part string) string {
	w.t.Helper()
	changed := make(chan struct{}, 1)
	defer w.runtime.Subscribe(func([]string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	late := time.After(time.Minute)
	for {
		text := w.send(scenario{url: url, status: 200}).Body.String()
		if strings.Contains(text, part) {
			return text
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // in case the change came before we listened
		case <-late:
			w.t.Fatalf("%s never had %s: %s", url, part, text)
		}
	}
}

func (w *world) all() int {
	w.t.Helper()
	return len(readPage(w.t, w.send(scenario{url: tasksURL + "?limit=500", status: 200})).Tasks)
}

func TestATaskLivesOverHTTP(t *testing.T) {
	w := newWorld(t)
	url := w.enqueue(`{"type":"echo","params":{"n":12345678901234567890},"tags":["a"],"unique_key":"k"}`)
	text := w.wait(url, `"state":"success"`)
	require.Contains(t, text, `"result":{"n":12345678901234567890}`)
	require.Contains(t, text, `"params":{"n":12345678901234567890}`)
	require.Contains(t, text, `"attempts":[]`)
	require.Contains(t, w.wait(url+"/logs", "echoing"), `"attempt":1`)
	w.send(scenario{method: "POST", url: url + "/retry", status: 409, must: []string{`"wrong_state"`}})
	w.send(scenario{method: "POST", url: url + "/repeat", status: 201, must: []string{`"repeated_from":1`, `"tags":["a"]`}})
	w.send(scenario{url: url + "/repeat", body: `{"params":{"n":"x"}}`, status: 422, must: []string{`"/params/n"`}})
	w.send(scenario{url: tasksURL + "?type=echo&state=success&tag=a&q=1", status: 200, must: []string{`"id":1,`}})
	w.wait("/api/v1/stats", `"success":2`)
	w.send(scenario{url: "/api/v1/actors", status: 200, must: []string{"journal", "queue", "scheduler"}})
	w.send(scenario{url: "/healthz", status: 200, must: []string{`"status":"ok"`, `"database":"ok"`}})
	w.send(scenario{url: "/", status: 200, must: []string{"last 60 min: 2 succeeded and 0 failed", "Everything works"}})
}

func TestAFailedTaskIsRepairedOverHTTP(t *testing.T) {
	w := newWorld(t)
	url := w.enqueue(`{"type":"fail"}`)
	text := w.wait(url, `"state":"failed"`)
	require.Contains(t, text, `"error":"no <b>luck</b>"`)
	require.Contains(t, text, `"attempts":[{"attempt":1,"outcome":"failed"`)
	w.send(scenario{method: "POST", url: url + "/retry", status: 200, must: []string{`"state":"pending"`, `"failures":0`}})
	w.wait(url, `"attempt":2,"failures":1`)
	w.wait(url, `"state":"failed"`)
	w.send(scenario{url: "/api/v1/tasks/bulk", body: `{"action":"retry","filter":{"state":["failed"],"type":["fail"]}}`, status: 200, must: []string{`"matched":1,"done":1,"skipped":[],"skipped_total":0}`}})
	w.wait(url, `"attempt":3,`)
	w.wait(url, `"state":"failed"`)
	w.send(scenario{url: url + "/discard", body: `{"reason":"obsolete"}`, status: 200, must: []string{`"state":"cancelled"`}})
	w.send(scenario{url: url + "/discard", body: `{"reason":"again"}`, status: 409})
	w.send(scenario{url: "/api/v1/tasks/bulk", body: `{"action":"discard","ids":[1,99],"reason":"x"}`, status: 200, must: []string{`"done":0`, `"skipped_total":2`, `"id":99`}})
}

func TestARunningTaskIsCancelledOverHTTP(t *testing.T) {
	w := newWorld(t)
	url := w.enqueue(`{"type":"gate","timeout":"1h"}`)
	require.Contains(t, w.wait(url, `"state":"running"`), `"timeout":"1h"`)
	w.send(scenario{method: "POST", url: url + "/cancel", status: 200})
	require.Contains(t, w.wait(url, `"state":"cancelled"`), `"outcome":"cancelled"`)
	later := w.enqueue(`{"type":"gate","delay":3600}`)
	w.send(scenario{method: "POST", url: later + "/cancel", status: 200, must: []string{`"state":"cancelled"`, `"started_at":null`}})
}

func TestATypeIsPausedAndResizedOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.send(scenario{url: "/api/v1/types/gate/pause", body: `{"reason":"the bank is down"}`, status: 200})
	w.wait("/api/v1/types", `"paused":true,"pause_reason":"the bank is down","paused_by":"api"`)
	url := w.enqueue(`{"type":"gate"}`)
	w.send(scenario{url: url, status: 200, must: []string{`"state":"pending"`}})
	w.send(scenario{method: "PATCH", url: "/api/v1/types/gate", body: `{"concurrency":7}`, status: 200})
	w.wait("/api/v1/types", `"pool":{"concurrency":7`)
	w.send(scenario{method: "POST", url: "/api/v1/types/gate/resume", status: 200})
	w.wait(url, `"state":"running"`)
	close(w.release)
	w.wait(url, `"state":"success"`)
	w.send(scenario{method: "POST", url: "/api/v1/types/nothing/pause", status: 404, must: []string{`"unknown_type"`}})
}

func TestAUniqueKeyGivesItsHolder(t *testing.T) {
	w := newWorld(t)
	w.enqueue(`{"type":"gate","unique_key":"k"}`)
	w.send(scenario{url: tasksURL, body: `{"type":"gate","unique_key":"k"}`, status: 200, must: []string{`"id":1,`, `"duplicate":true`}})
	w.send(scenario{url: "/api/v1/tasks/batch", body: `{"tasks":[{"type":"gate","unique_key":"k"},{"type":"gate","unique_key":"l"},{"type":"gate","unique_key":"l"}]}`,
		status: 201, must: []string{`"id":1,`, `"duplicate":true`}})
	require.Equal(t, 2, w.all())
}

func TestTheRuntimeStoresNothingOfABadRequest(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`{"type":"no.such"}`, `{"type":"echo","params":{"m":1}}`, `{"type":"echo","params":[]}`, `{"type":"echo","priority":11}`,
		`{"type":"echo","params":{"n":"\u0000"}}`, `{"type":"echo","params":{"n":1e9999999}}`, `{"type":"echo","tags":["\n"]}`,
		`{"type":"echo","unique_key":"a\tb"}`, `{"type":"echo","run_at":"9999-01-01T00:00:00Z"}`, `{"type":"echo","delay":"99999h"}`,
		`{"type":"echo","params":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `}`,
	} {
		for url, text := range map[string]string{tasksURL: body, "/api/v1/tasks/batch": `{"tasks":[{"type":"echo"},` + body + `]}`} {
			answer := send(w.handler, scenario{url: url, body: text}.request())
			require.Contains(t, []int{400, 404, 422}, answer.Code, "%.200s: %s", text, answer.Body)
			requireProblem(t, answer)
			if url != tasksURL && answer.Code == 422 {
				require.NotContains(t, answer.Body.String(), `"/tasks/0`)
			}
		}
	}
	w.send(scenario{url: tasksURL, body: `{"type":"echo","tags":["\n"],"unique_key":"a\tb"}`, status: 422, must: []string{`"/tags/0"`, `"/unique_key"`}})
	w.send(scenario{url: "/api/v1/tasks/batch", body: `{"tasks":[{"type":"echo"},{"type":"echo","params":{"m":1},"tags":["\n"]}]}`, status: 422, must: []string{`"/tasks/1/params/m"`, `"/tasks/1/tags/0"`}})
	require.Zero(t, w.all())
}

func TestAStoppedRuntimeAnswers503(t *testing.T) {
	w := newWorld(t)
	url := w.enqueue(`{"type":"gate"}`)
	w.wait(url, `"state":"running"`)
	require.NoError(t, w.runtime.Stop(t.Context()))
	answer := w.send(scenario{url: tasksURL, body: `{"type":"gate"}`, status: 503, must: []string{`"unavailable"`, "stopping"}})
	requireProblem(t, answer)
	w.send(scenario{method: "POST", url: url + "/cancel", status: 503})
	w.send(scenario{url: "/healthz", status: 503})
	w.send(scenario{url: "/readyz", status: 503})
	// What was accepted can still be read.
	w.send(scenario{url: url, status: 200, must: []string{`"state":"pending"`}})
}

func TestAListHasLargeTasksWhole(t *testing.T) {
	w := newWorld(t)
	params := `{"data":"` + strings.Repeat("x", 50<<10) + `","n":12345678901234567890}`
	w.enqueue(`{"type":"blob","params":` + params + `}`)
	w.enqueue(`{"type":"blob"}`)
	w.send(scenario{url: tasksURL, status: 200, must: []string{`"params":{}`, `"params":` + params}})
}
