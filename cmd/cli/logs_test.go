package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// streams answers each request for a log with the next of some texts, as server-sent events, and keeps the queries.
func streamsOf(t *testing.T, texts ...string) (url string, queries *[]string) {
	t.Helper()
	var mu sync.Mutex
	queries = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n := len(*queries)
		*queries = append(*queries, r.URL.RawQuery)
		if status, text, ok := strings.Cut(texts[n], "!"); ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(map[string]int{"503": 503, "404": 404}[status])
			_, _ = io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 3000\n\n"+texts[n])
	}))
	t.Cleanup(server.Close)
	return server.URL, queries
}

func lineEvent(attempt, seq int, text string) string {
	return fmt.Sprintf("id: %d-%d\nevent: line\ndata: {\"seq\":%d,\"at\":\"2026-11-29T07:00:00Z\",\"level\":\"info\",\"text\":\"%s\"}\n\n", attempt, seq, seq, text)
}

const logAt = "2026-11-29 09:00:00 +02:00 info   "

func TestLogsFollowATaskOverItsRunsAndBreaks(t *testing.T) {
	url, queries := streamsOf(t,
		lineEvent(1, 1, "a")+": still here\n\n"+lineEvent(1, 2, "b")+"id: 1-3\nevent: line\ndata: {\"se", // breaks off
		`503!{"status":503,"detail":"draining","code":"unavailable"}`,
		lineEvent(1, 3, "c")+"event: end\ndata: {\"attempt\":1,\"state\":\"retry_wait\",\"final\":false}\n\n",
		lineEvent(2, 1, `d\u001b[1A`)+"event: end\ndata: {\"attempt\":2,\"state\":\"success\",\"final\":true}\n\n")
	got := command{env: map[string]string{"REAX_URL": url}}.run(t, "logs", "5", "-f")
	require.Zero(t, got.code, got.errOut)
	require.Equal(t, logAt+"a\n"+logAt+"b\n"+logAt+"c\n"+logAt+`d\x1b[1A`+"\n", got.out)
	require.Equal(t, []string{"follow=true", "after=2&attempt=1&follow=true", "after=2&attempt=1&follow=true", "attempt=2&follow=true"}, *queries)
}

func TestLogsFollowOneRunAsJSON(t *testing.T) {
	url, queries := streamsOf(t, lineEvent(2, 7, "a")+"event: end\ndata: {\"attempt\":2,\"state\":\"retry_wait\",\"final\":false}\n\n")
	got := command{env: map[string]string{"REAX_URL": url}}.run(t, "logs", "5", "-f", "--attempt", "2", "--json")
	require.Zero(t, got.code, got.errOut)
	require.JSONEq(t, `{"seq":7,"at":"2026-11-29T07:00:00Z","level":"info","text":"a"}`, got.out)
	require.Equal(t, []string{"attempt=2&follow=true"}, *queries)
}

func TestALogThatCannotBeFollowedIsAnErrorAtOnce(t *testing.T) {
	const refusal = `404!{"title":"Not Found","status":404,"detail":"there is no such task","code":"not_found","errors":[]}`
	url, _ := streamsOf(t, refusal)
	got := command{env: map[string]string{"REAX_URL": url}}.run(t, "logs", "5", "-f")
	require.Equal(t, result{1, "", "reax: there is no such task\n"}, got)

	url, queries := streamsOf(t, lineEvent(1, 1, "a"), refusal) // retention came by
	got = command{env: map[string]string{"REAX_URL": url}}.run(t, "logs", "5", "-f")
	require.Equal(t, 1, got.code)
	require.Equal(t, "reax: there is no such task\n", got.errOut)
	require.Len(t, *queries, 2)

	url, queries = streamsOf(t, lineEvent(1, 1, "a"), "event: line\ndata: <html>\n\n")
	got = command{env: map[string]string{"REAX_URL": url}}.run(t, "logs", "5", "-f")
	require.Contains(t, got.errOut, "reading a line of the log")
	require.Len(t, *queries, 2, "what is no stream of reax is not asked for again")
}
