package web

import (
	"context"
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
