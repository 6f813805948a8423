package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const statusKey = "0123456789abcdef0123"

// strange is a request of somebody from another machine.
func strange(address string, header map[string]string) scenario {
	return scenario{url: address, header: header}
}

func statusOf(t *testing.T, change func(*StatusConfig)) *guarded {
	t.Helper()
	return newGuarded(t, func(c *Config) {
		c.Status = StatusConfig{Access: StatusPublic, Title: "Team reports", Embed: []string{"https://intranet.example", "http://127.0.0.1:9000"},
			Groups: []StatusGroup{{Name: "Mail & more", Types: []string{"ma*"}}}}
		if change != nil {
			change(&c.Status)
		}
	})
}

var statusPaths = []string{"/status", "/status/embed", "/status/badge.svg", "/status.json"}

func TestTheStatusPageIsForWhomTheConfigurationSays(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	ask := func(name, address string, header map[string]string) int {
		t.Helper()
		return g.as(name, strange(address, header)).Code
	}
	relayed := map[string]string{"X-Forwarded-For": "203.0.113.9"}
	for _, path := range statusPaths {
		g.server.status = newStatusPage(StatusConfig{})
		require.Equal(t, 404, ask("", path, nil), path)
		require.Equal(t, 404, ask("root", path, nil), "off is off for all")

		g.server.status = newStatusPage(StatusConfig{Access: StatusPublic})
		require.Equal(t, 200, ask("", path, relayed), path)

		g.server.status = newStatusPage(StatusConfig{Access: StatusPublic, Local: true})
		require.Equal(t, 200, ask("", path, nil), path)
		require.Equal(t, 404, ask("", path, relayed), "what a proxy sends on comes from elsewhere")

		g.server.status = newStatusPage(StatusConfig{Access: StatusLink, Key: statusKey})
		require.Equal(t, 404, ask("", path, nil), path)
		require.Equal(t, 404, ask("", path+"?key="+statusKey[1:], nil))
		require.Equal(t, 404, ask("", path+"?key=", nil))
		require.Equal(t, 200, ask("eye", path, nil), "who is signed in needs no key")
		w := g.as("", strange(path+"?key="+statusKey, nil))
		require.Equal(t, 200, w.Code)
		require.Equal(t, "private, max-age=30", w.Header().Get("Cache-Control"))
		g.server.status = newStatusPage(StatusConfig{Access: StatusLink})
		require.Equal(t, 404, ask("", path+"?key=", nil), "no key is no key")
	}
	g.server.status = newStatusPage(StatusConfig{Access: StatusLink, Key: statusKey})
	g.as("eye", scenario{url: "/status", status: 200, mustNot: []string{statusKey}})
	g.as("", scenario{url: "/status?key=" + statusKey, status: 200, must: []string{"/status?key=" + statusKey + "&amp;lang=zh-CN"}})
}

func TestOnlyTheEmbeddedStatusMayBeAFrame(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	for path, want := range map[string]string{
		"/status":           "frame-ancestors 'none'",
		"/status/embed":     "frame-ancestors https://intranet.example http://127.0.0.1:9000",
		"/status.json":      "frame-ancestors 'none'",
		"/status/badge.svg": "frame-ancestors 'none'",
	} {
		w := g.as("", strange(path, map[string]string{"Origin": "https://intranet.example"}))
		require.Equal(t, 200, w.Code, path)
		policy := w.Header().Get("Content-Security-Policy")
		require.True(t, strings.HasSuffix(policy, want), policy)
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "script-src")
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		require.Empty(t, w.Header().Get("Set-Cookie"))
		require.Equal(t, path == "/status/badge.svg", w.Header().Get("Cross-Origin-Resource-Policy") == "cross-origin", path)
		require.NotContains(t, w.Body.String(), "<script")
		require.NotContains(t, w.Body.String(), "style=")
	}
	g.server.status = newStatusPage(StatusConfig{Access: StatusPublic})
	require.Contains(t, g.as("", strange("/status/embed", nil)).Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
}

func TestTheStatusPageSpeaksAndLooksAsItIsAsked(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	chinese := map[string]string{"Accept-Language": "zh"}
	for _, sc := range []scenario{
		{url: "/status", must: []string{`lang="en"`, "Team reports", "Mail &amp; more", "Everything is working", "Working", `http-equiv="refresh" content="60"`, "/status?lang=zh-CN"}},
		{url: "/status", header: chinese, must: []string{`lang="zh-CN"`, "一切正常", "/status?lang=en"}},
		{url: "/status?lang=en", header: chinese, must: []string{`lang="en"`}},
		{url: "/status/embed?theme=dark&compact=1", must: []string{`data-theme="dark"`, `class="words"`}, mustNot: []string{"<svg class=\"days\"", "Past incidents", "/status?lang"}},
		{url: "/status/embed?theme=red", must: []string{`class="days"`}, mustNot: []string{"data-theme"}},
		{url: "/status/badge.svg", must: []string{"<title>Team reports: Working</title>", `xmlns="http://www.w3.org/2000/svg"`}},
		{url: "/status/badge.svg?lang=zh-CN&group=Mail+%26+more", must: []string{"<title>Mail &amp; more: 正常</title>"}},
		{url: "/status.json", must: []string{`"status":"ok"`, `"name":"Mail \u0026 more"`, `"stale":false`, `"incidents":[]`}},
	} {
		sc.status = 200
		g.as("", sc)
	}
	require.Equal(t, 404, g.as("", strange("/status/badge.svg?group=nothing", nil)).Code)
}

func TestAnAnswerOfTheStatusIsGivenAgain(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	first := g.as("", strange("/status", map[string]string{"Accept-Encoding": "gzip, br"}))
	require.Equal(t, "gzip", first.Header().Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(bytes.NewReader(first.Body.Bytes()))
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	plain := g.as("", strange("/status", nil))
	require.Equal(t, plain.Body.String(), string(text))
	tag := first.Header().Get("ETag")
	require.Equal(t, tag, plain.Header().Get("ETag"))
	same := g.as("", strange("/status", map[string]string{"If-None-Match": tag}))
	require.Equal(t, http.StatusNotModified, same.Code)
	require.Empty(t, same.Body.String())
	require.Equal(t, "public, max-age=30", same.Header().Get("Cache-Control"))

	facts := g.server.status.data.latest.Load()
	for range 3 {
		g.as("", strange("/status/embed?key=%00&x=1", nil))
	}
	require.Same(t, facts, g.server.status.data.latest.Load())
	require.Len(t, facts.bodies, 2, "what means nothing makes no answer of its own")
}

// slowLedger counts how often a status is read, and can refuse.
type slowLedger struct {
	Ledger
	mu    sync.Mutex
	reads int
	err   error
}

func (l *slowLedger) MinuteStats(ctx context.Context, from, to models.Instant) ([]models.MinuteStat, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.err != nil {
		return nil, l.err
	}
	return l.Ledger.MinuteStats(ctx, from, to)
}

func TestWithoutADatabaseTheStatusIsTheLastThatWasKnown(t *testing.T) {
	t.Parallel()
	g := statusOf(t, nil)
	ledger := &slowLedger{Ledger: g.store, err: errors.New("hunter2: disk I/O error")}
	g.server.ledger = ledger
	page := &g.server.status.data
	g.as("", scenario{url: "/status", status: 200, must: []string{"The status is not known"}, mustNot: []string{"hunter2"}})
	ledger.err = nil
	page.changed.Store(true)
	var all sync.WaitGroup
	before := ledger.reads
	for range 20 {
		all.Go(func() { send(g.handler, strange("/status", nil).request()) })
	}
	all.Wait()
	require.Equal(t, before+1, ledger.reads, "one reads for all")
	g.as("", scenario{url: "/status", status: 200, must: []string{"Everything is working"}})

	ledger.err = errors.New("hunter2: disk I/O error")
	for _, c := range []struct {
		age     time.Duration
		must    string
		badge   string
		program string
	}{
		{3 * time.Minute, "Everything is working", "Working", `"status":"ok"`},
		{6 * time.Minute, "The status is not known", "Unknown", `"status":"unknown"`},
	} {
		facts := page.latest.Load()
		facts.UpdatedAt = models.At(time.Now().Add(-c.age))
		page.changed.Store(true)
		g.as("", scenario{url: "/status", status: 200, must: []string{c.must, "This is what was last known", views.English.Text("unit.minute", "v", int(c.age/time.Minute))}, mustNot: []string{"hunter2"}})
		g.as("", scenario{url: "/status/badge.svg", status: 200, must: []string{c.badge}})
		g.as("", scenario{url: "/status/badge.svg?group=Mail+%26+more", status: 200, must: []string{c.badge}})
		g.as("", scenario{url: "/status.json", status: 200, must: []string{c.program, `"stale":true`}})
	}
}

// What is told to strangers is told of groups: no name of a type, no parameter and no error comes out, whatever happens.
func TestTheStatusPageTellsNothingOfTasks(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	cfg := StatusConfig{Access: StatusPublic, Groups: []StatusGroup{{Name: "Everything", Types: []string{"*"}, Samples: 1}}}
	w.server.status = newStatusPage(cfg)
	for _, mode := range []string{"fail", "permanent", "panic", "ok"} {
		_, err := w.runtime.Enqueue(t.Context(), actors.EnqueueRequest{Type: "vault", Params: json.RawMessage(strings.ReplaceAll(vaultParams, "%q", `"`+mode+`"`)), By: "canary-by", Tags: []string{"canary-tag"}, UniqueKey: "canary-key"})
		require.NoError(t, err)
	}
	require.NoError(t, w.runtime.Pause(t.Context(), "echo", actors.Change{By: "canary-person", Reason: "canary-reason"}))
	_, err := w.runtime.CreateSchedule(t.Context(), actors.ScheduleSpec{Name: "canary-plan", Task: "vault", Every: time.Hour, Timezone: "UTC", Params: []byte(`{"token":"canary"}`)}, actors.Change{By: "canary"})
	require.NoError(t, err)
	_, err = w.runtime.PauseSchedule(t.Context(), "canary-plan", time.Now().Add(time.Hour), actors.Change{By: "canary", Reason: "canary"})
	require.NoError(t, err)
	_, err = w.runtime.OpenIncident(t.Context(), actors.NewIncident{Kind: models.IncidentTrouble, Title: "A title", Severity: models.SeverityMinor, State: models.IncidentInvestigating, Text: "for all"}, actors.Change{By: "canary-operator"})
	require.NoError(t, err)
	w.finish(1)
	for _, path := range append(statusPaths, "/status?lang=zh-CN", "/status/embed?compact=1") {
		text := send(w.handler, strange(path, nil).request()).Body.String()
		require.NotEmpty(t, text)
		for _, word := range []string{"canary", "vault", "echo", "7736251", "panic", "worker"} {
			require.NotContains(t, strings.ToLower(text), word, path)
		}
	}
	text := send(w.handler, strange("/status", nil).request()).Body.String()
	require.Contains(t, text, "A title")
	require.Contains(t, text, "Some of its regular runs are paused until")
}
