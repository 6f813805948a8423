package cli

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOneTraceIDFollowsATaskEverywhere: from its caller through the answer, the log, the pages, the metrics and the spans
// to the endpoint that it calls.
func TestOneTraceIDFollowsATaskEverywhere(t *testing.T) {
	stub := newOTLPStub(t)
	called := make(chan http.Header, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.Header }))
	t.Cleanup(endpoint.Close)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reax.yaml"),
		[]byte("otlp: {endpoint: '"+stub.URL+"'}\ntasks: {sms.push: {http: {url: '"+endpoint.URL+"'}}}\n"), 0o600))
	p := startProcess(t, dir)

	get := func(path, accept string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", path, text)
		return string(text)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	got := command{env: map[string]string{"REAX_URL": p.url, "TRACEPARENT": callersCall}}.run(t, "enqueue", "sms.push", "--wait")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "trace "+callersTrace)
	header := <-called
	require.Equal(t, callersTrace, strings.Split(header.Get("Traceparent"), "-")[1])

	require.Contains(t, get("/api/v1/tasks/1", "application/json"), `"trace_id":"`+callersTrace+`"`)
	require.Contains(t, get("/api/v1/tasks?trace_id="+callersTrace, "application/json"), `"id":1,`)
	require.Contains(t, get("/tasks/1", "text/html"), callersTrace)
	require.Contains(t, get("/traces/"+callersTrace, "text/html"), "sms.push")
	require.Contains(t, get("/metrics", "application/openmetrics-text"), `# {trace_id="`+callersTrace+`"}`)

	require.Zero(t, p.stop(t, syscall.SIGTERM), p.log.String())
	steps := map[string]bool{}
	for line := range strings.Lines(p.log.String()) {
		var step struct {
			TraceID string `json:"trace_id"`
			Action  string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &step), line)
		if step.TraceID == callersTrace {
			steps[step.Action] = true
		}
	}
	require.True(t, steps["enqueue"] && steps["finish"], "%v\n%s", steps, p.log)
	for _, name := range []string{"enqueue sms.push", "run sms.push"} {
		require.Len(t, stub.named(name), 1)
		require.Equal(t, callersTrace, hex.EncodeToString(stub.named(name)[0].GetTraceId()))
	}
	require.Equal(t, hex.EncodeToString(stub.named("run sms.push")[0].GetSpanId()), strings.Split(header.Get("Traceparent"), "-")[2])
}
