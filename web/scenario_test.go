package web

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// scenario is one request and what its answer must and must not say.
type scenario struct {
	name    string
	method  string // GET, or POST when there is a body
	url     string
	body    string
	header  map[string]string
	status  int
	must    []string
	mustNot []string
	stored  int // tasks that it adds
}

// servers are reused from one scenario to the next, each by one at a time: making one compiles many schemas. It is no
// sync.Pool, which throws away what it is given under the race detector and at each garbage collection.
var servers struct {
	mu   sync.Mutex
	free []*Server
}

// newServer gives a test a server for itself.
func newServer(t testing.TB, f *fake) *Server {
	t.Helper()
	s, done := borrowServer(f)
	t.Cleanup(done)
	return s
}

// borrowServer is the one place that decides what the scenarios run against.
func borrowServer(f *fake) (s *Server, done func()) {
	servers.mu.Lock()
	if n := len(servers.free); n > 0 {
		s, servers.free = servers.free[n-1], servers.free[:n-1]
	}
	servers.mu.Unlock()
	if s == nil {
		s = New(Config{Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)})
	}
	s.runtime, s.ledger = f, f
	s.overview.latest, s.overview.history = nil, history{}
	s.failures.Store(nil)
	s.samples.all = nil
	return s, func() {
		servers.mu.Lock()
		defer servers.mu.Unlock()
		servers.free = append(servers.free, s)
	}
}

func (sc scenario) run(t *testing.T, f *fake) *httptest.ResponseRecorder {
	t.Helper()
	s, done := borrowServer(f)
	defer done()
	return sc.on(t, s, f)
}

// on is run on a server of one's own.
func (sc scenario) on(t *testing.T, s *Server, f *fake) *httptest.ResponseRecorder {
	t.Helper()
	before := f.stored()
	w := send(s.Handler(), sc.request())
	text := w.Body.String()
	require.Equal(t, sc.status, w.Code, "the answer was: %s", text)
	for _, part := range sc.must {
		require.Contains(t, text, part)
	}
	for _, part := range append(sc.mustNot, "hunter2", "goroutine ") {
		require.NotContains(t, text, part)
	}
	require.Equal(t, before+sc.stored, f.stored(), "tasks stored")
	switch {
	case strings.Contains(sc.header["Accept"], "text/html"):
		requirePage(t, w)
	case w.Code >= 400 && !strings.HasSuffix(sc.url, "z"):
		requireProblem(t, w)
	}
	return w
}

func (sc scenario) request() *http.Request {
	method := sc.method
	if method == "" {
		method = http.MethodGet
		if sc.body != "" {
			method = http.MethodPost
		}
	}
	var body io.Reader
	if sc.body != "" {
		body = strings.NewReader(sc.body)
	}
	r := httptest.NewRequest(method, sc.url, body)
	r.Host = "localhost:8080"
	r.RemoteAddr = "127.0.0.1:50000"
	if sc.body != "" {
		r.Header.Set("Content-Type", "application/json")
		if strings.Contains(sc.header["Accept"], "text/html") {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	for name, value := range sc.header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	return r
}

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func runScenarios(t *testing.T, setup func(*fake), scenarios []scenario) {
	t.Helper()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if setup != nil {
				setup(f)
			}
			sc.run(t, f)
		})
	}
}
