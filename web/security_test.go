package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

func TestOnlyKnownHostsAreAnswered(t *testing.T) {
	f := newFake(t)
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), AllowedHosts: []string{"Tasks.Example.com", "10.0.0.7"}})
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST:1": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "[::1]": 200,
		"tasks.example.com": 200, "tasks.example.com.:443": 200, "10.0.0.7:80": 200,
		"evil.example.com": 403, "localhost.evil.com": 403, "127.0.0.1.evil.com:8080": 403, "": 403, "127.0.0.2": 403, "<script>": 403,
	} {
		r := scenario{url: "/healthz"}.request()
		r.Host = host
		w := send(s.Handler(), r)
		require.Equal(t, status, w.Code, "host %q", host)
		if status == 403 {
			requireProblem(t, w)
			require.NotContains(t, w.Body.String(), "<script>")
		}
		require.Equal(t, 200, send(s.SocketHandler(), r).Code, "on the socket, host %q", host)
	}
}

func TestChangesFromForeignPagesAreRefused(t *testing.T) {
	setup := func(f *fake) { f.add(models.Task{State: models.StateDead}) }
	enqueue := func(name string, status int, header map[string]string) scenario {
		sc := scenario{name: name, url: tasksURL, body: `{"type":"any"}`, status: status, header: header}
		if status == 201 {
			sc.stored = 1
		}
		return sc
	}
	runScenarios(t, setup, []scenario{
		enqueue("cross-site", 403, map[string]string{"Sec-Fetch-Site": "cross-site"}),
		enqueue("another port", 403, map[string]string{"Origin": "http://localhost:9999"}),
		enqueue("another origin", 403, map[string]string{"Origin": "https://evil.example.com"}),
		enqueue("no origin at all", 403, map[string]string{"Origin": "null"}),
		enqueue("same origin", 201, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8080"}),
		enqueue("a program", 201, nil),
		enqueue("a form", 415, map[string]string{"Content-Type": "multipart/form-data; boundary=x"}),
		{name: "an action", method: "POST", url: tasksURL + "/1/retry", status: 403, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, must: []string{`"forbidden"`}},
		{name: "reading is harmless", url: tasksURL, status: 200, header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		{name: "no action by GET", method: "GET", url: tasksURL + "/1/retry", status: 405},
		{name: "no method by header", method: "POST", url: "/api/v1/types/any", status: 405, header: map[string]string{"X-HTTP-Method-Override": "PATCH"}},
	})
}

func TestAnswersCarrySecurityHeaders(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, url := range []string{"/", "/tasks", "/events/", tasksURL, "/healthz", "/nothing", "/api/v1/openapi.json"} {
		w := send(s.Handler(), scenario{url: url}.request())
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), url)
		referrer := "no-referrer"
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			referrer = "same-origin" // its forms would else be sent with the origin "null"
		}
		require.Equal(t, referrer, w.Header().Get("Referrer-Policy"), url)
		require.True(t, strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'"), url)
		require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe", url)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), url)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), url)
	}
}

func TestRequestIDs(t *testing.T) {
	s := newServer(t, newFake(t))
	for id, kept := range map[string]bool{
		"abc-DEF-123": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a\nb": false, `"a"`: false, "ä": false, "": false,
	} {
		r := scenario{url: "/healthz"}.request()
		r.Header["X-Request-Id"] = []string{id}
		got := send(s.Handler(), r).Header().Get("X-Request-Id")
		require.NotEmpty(t, got)
		require.Equal(t, kept, got == id, "%q became %q", id, got)
		require.True(t, isRequestID(got))
	}
}

type panicky struct{ *fake }

func (panicky) Tree() []actors.TreeRow { panic(errSecret) }

func TestAPanicIsA500WithAnIDThatTheLogHas(t *testing.T) {
	f := newFake(t)
	var log bytes.Buffer
	s := New(Config{Runtime: panicky{f}, Ledger: f, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	w := send(s.Handler(), scenario{url: "/api/v1/actors"}.request())
	require.Equal(t, 500, w.Code)
	requireProblem(t, w)
	require.NotContains(t, w.Body.String(), "hunter2")
	require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"))
	require.Contains(t, log.String(), "hunter2")
	require.Contains(t, log.String(), "security_test.go", "the stack")
	require.Contains(t, log.String(), w.Header().Get("X-Request-Id"))
	require.Equal(t, 200, send(s.Handler(), scenario{url: "/healthz"}.request()).Code, "afterwards")
}

func TestTheRequestLogNamesTheRouteAndNothingPrivate(t *testing.T) {
	f := newFake(t)
	var log bytes.Buffer
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	r := scenario{url: tasksURL + "?q=private", header: map[string]string{"X-Request-ID": "abc"}}.request()
	send(s.Handler(), r)
	r = scenario{url: tasksURL, body: `{"type":"any","params":{"password":"private"}}`}.request()
	send(s.Handler(), r)
	send(s.Handler(), scenario{url: tasksURL + "/123456"}.request())
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 3)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	require.Equal(t, "GET", line["method"])
	require.Equal(t, tasksURL, line["route"])
	require.EqualValues(t, 200, line["status"])
	require.Equal(t, "abc", line["request_id"])
	require.Contains(t, line, "cost_ms")
	require.Contains(t, lines[1], `"status":201`)
	require.Contains(t, lines[2], `"status":404`)
	require.NotContains(t, log.String(), "private")
	require.NotContains(t, log.String(), "123456")

	log.Reset()
	send(s.Handler(), scenario{url: "/healthz"}.request())
	require.Empty(t, log.String(), "a check every few seconds is no news")
}

func TestItWorksBelowAPath(t *testing.T) {
	f := newFake(t)
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), BasePath: "/reax/"})
	mux := http.NewServeMux()
	mux.Handle("/reax/", s.Handler())
	get := func(url string) *httptest.ResponseRecorder { return send(mux, scenario{url: url}.request()) }
	require.Equal(t, 200, get("/reax/healthz").Code)
	require.Equal(t, 404, get("/healthz").Code)
	require.Contains(t, get("/reax/").Body.String(), `href="/reax/static/`)
	require.Contains(t, get("/reax/api/v1/openapi.json").Body.String(), `"servers":[{"url":"/reax/"}]`)
	w := send(mux, scenario{url: "/reax" + tasksURL, body: `{"type":"any"}`}.request())
	require.Equal(t, "/reax/api/v1/tasks/1", w.Header().Get("Location"))
	require.Panics(t, func() { New(Config{BasePath: "reax"}) })
	require.Panics(t, func() { New(Config{BasePath: "/:a"}) })
}
