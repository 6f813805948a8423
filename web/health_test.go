package web

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
)

func TestHealth(t *testing.T) {
	for status, code := range map[string]int{
		actors.StatusOK: 200, actors.StatusDegraded: 200, actors.StatusDraining: 503, actors.StatusDown: 503,
	} {
		f := newFake(t)
		f.health.Status = status
		w := scenario{url: "/healthz", status: code, must: []string{`"status":"` + status + `"`, `"backlog":3,"oldest_wait_s":1.5,"workers_busy":1,"workers_total":8,"success_rate_5m":0.75,"database":"ok","reasons":[]`}}.run(t, f)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		scenario{url: "/readyz", status: code, must: []string{`"status":"` + status + `"`}}.run(t, f)
	}
}

func TestHealthSaysWhy(t *testing.T) {
	f := newFake(t)
	f.health = actors.Health{Status: actors.StatusDegraded, DatabaseReason: "locked for 12 s", Reasons: []string{"the database is locked"}}
	scenario{url: "/healthz", status: 200, must: []string{`"database":"locked for 12 s"`, `"reasons":["the database is locked"]`, `"success_rate_5m":null`}}.run(t, f)
	// What cannot be stored cannot be accepted.
	scenario{url: "/readyz", status: 503, must: []string{`"ready":false`}}.run(t, f)
}

// sick is a runtime with a health of its own.
type sick struct {
	Runtime
	health actors.Health
}

func (s sick) Health() actors.Health { return s.health }

func TestHealthNamesNothingToWhoMayNotReadTheDashboard(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	h := actors.Health{Status: actors.StatusDown, Backlog: 7, DatabaseReason: "secret.db is locked"}
	for _, code := range actors.CauseCodes() {
		h.Causes = append(h.Causes, actors.Cause{Code: code, Args: map[string]any{"type": "secret.type"}})
		h.Reasons = append(h.Reasons, "secret.type has "+code)
		require.NotEmpty(t, healthReasons[code], code)
	}
	g.server.runtime = sick{g.server.runtime, h}
	all := g.as("", scenario{url: "/healthz", status: 503, must: []string{`"status":"down"`, `"backlog":7`, `"database":"not available"`, `"causes":["blocked","stuck",`, "Nothing can be stored."}, mustNot: []string{"secret"}})
	var v struct{ Reasons, Causes []string }
	require.NoError(t, json.Unmarshal(all.Body.Bytes(), &v))
	require.Equal(t, actors.CauseCodes(), v.Causes)
	require.Len(t, v.Reasons, len(v.Causes))
	require.NotContains(t, v.Reasons, "")

	names := []string{"secret.type has missed", "secret.db is locked", `"causes":["blocked"`}
	g.as("eye", scenario{url: "/healthz", status: 503, must: names})
	g.as("", scenario{url: "/healthz", status: 503, must: names, header: g.token(actors.NewToken{Name: "watch", Role: viewer})})
	g.as("", scenario{url: "/healthz", status: 503, mustNot: names[:2], header: g.token(actors.NewToken{Name: "mail", Role: admin, Types: []string{"mail"}})})
	g.as("", scenario{url: "/healthz", status: 503, mustNot: names[:2], header: map[string]string{"Authorization": "Bearer reax_wrong"}})
	require.Contains(t, send(g.server.SocketHandler(), scenario{url: "/healthz"}.request()).Body.String(), "secret.db")
}

func TestHealthAnswersWhileTheDatabaseDoesNot(t *testing.T) {
	f := newFake(t)
	f.readErr, f.err, f.block = errSecret, errSecret, true
	scenario{url: "/healthz", status: 200}.run(t, f)
	scenario{url: "/readyz", status: 200, must: []string{`"ready":true`}}.run(t, f)
}

func TestHealthAnswersToHEAD(t *testing.T) {
	scenario{method: http.MethodHead, url: "/healthz", status: 200}.run(t, newFake(t))
}

func TestAWriteThatTheDatabaseCannotTakeIsAnswered503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.block = true
		begin := time.Now()
		scenario{url: tasksURL, body: `{"type":"any"}`, status: 503, must: []string{`"unavailable"`}}.run(t, f)
		require.Equal(t, writeTimeout, time.Since(begin))
		begin = time.Now()
		scenario{url: "/api/v1/tasks/bulk", body: `{"action":"retry","ids":[1]}`, status: 503}.run(t, f)
		require.Equal(t, bulkTimeout, time.Since(begin))
	})
}

func TestACallerThatIsGoneEndsItsWait(t *testing.T) {
	f := newFake(t)
	f.block = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := send(newServer(t, f).Handler(), scenario{url: tasksURL, body: `{"type":"any"}`}.request().WithContext(ctx))
	require.Equal(t, 503, w.Code)
	require.Zero(t, f.stored())
}
