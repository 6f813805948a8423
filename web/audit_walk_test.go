package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

// notAudited are the routes that change something of which the audit tells nothing, and why.
var notAudited = map[string]string{
	"POST /demonstration":                "enqueues: each task tells by whom and from where it was accepted",
	"POST /enqueue/:type":                "enqueues",
	"POST /api/v1/tasks":                 "enqueues",
	"POST /api/v1/tasks/batch":           "enqueues",
	"POST /alerts/receivers/test":        "enqueues",
	"POST /settings":                     "is kept in the browser alone",
	"POST /tasks/bulk":                   "plans and changes no task; the start of the plan is audited",
	"POST /dead/:type/:fingerprint/edit": "plans",

	"POST /api/v1/alerts/receivers/:name/test": "enqueues",
}

// Whatever somebody changes can be found in the audit, with who, from where, and by which request.
func TestEveryChangeIsAudited(t *testing.T) {
	w := newWalker(t)
	cookie := ""
	send := func(method, address, body string, header map[string]string) int {
		t.Helper()
		if cookie != "" {
			header["Cookie"] = cookie
		}
		r := scenario{method: method, url: address, body: body, header: header}.request()
		answer := send(w.handler, r)
		if set := answer.Header().Get("Set-Cookie"); strings.Contains(set, "session") {
			cookie, _, _ = strings.Cut(set, ";")
		}
		require.Less(t, answer.Code, 400, "%s %s: %s", method, address, answer.Body)
		return answer.Code
	}
	call := func(method, address, body string) func() {
		return func() { t.Helper(); send(method, address, body, map[string]string{"Sec-Fetch-Site": "same-origin"}) }
	}
	form := func(address, body string) func() {
		return func() {
			t.Helper()
			send("POST", address, body, browser("Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded"))
		}
	}
	task := func(mode string) int64 {
		t.Helper()
		made, err := w.runtime.Enqueue(t.Context(), actors.EnqueueRequest{Type: "echo", Params: json.RawMessage(fmt.Sprintf(`{"mode":%q,"say":"no"}`, mode))})
		require.NoError(t, err)
		w.rest(made.Task.ID)
		return made.Task.ID
	}
	ofTask := func(address, mode string, as func(address, body string) func(), body string) func() {
		return func() { t.Helper(); as(fmt.Sprintf(address, task(mode)), body)() }
	}
	post := func(address, body string) func() { return call("POST", address, body) }
	waiting := func(address string, as func(address, body string) func()) func() {
		return func() {
			t.Helper()
			require.NoError(t, w.runtime.Pause(t.Context(), "echo", actors.Change{By: "test"}))
			made, err := w.runtime.Enqueue(t.Context(), actors.EnqueueRequest{Type: "echo", Params: json.RawMessage("{}")})
			require.NoError(t, err)
			as(fmt.Sprintf(address, made.Task.ID), "")()
			require.NoError(t, w.runtime.Resume(t.Context(), "echo", actors.Change{By: "test"}))
		}
	}
	group := func() string {
		t.Helper()
		task("fail")
		groups := must(w.store.ErrorGroups(t.Context(), 1))
		return "/dead/echo/" + groups[0].Fingerprint
	}
	bulk := func() int64 {
		t.Helper()
		task("fail")
		run, err := w.runtime.PlanBulk(t.Context(), actors.BulkRequest{Action: actors.ActionRetry, Filter: &models.Filter{States: []models.State{models.StateDead}}, Change: actors.Change{By: "test"}})
		require.NoError(t, err)
		return run.ID
	}
	named := func(kind string) string {
		var name string
		require.NoError(t, w.store.Reader().Raw("SELECT name FROM "+kind+" ORDER BY id DESC LIMIT 1").Scan(&name).Error)
		return name
	}
	last := func() (e models.Audit) {
		require.NoError(t, w.store.Reader().Raw("SELECT * FROM audit WHERE actor <> 'test' ORDER BY id DESC LIMIT 1").Scan(&e).Error)
		return e
	}
	steps := []struct {
		route string
		do    func()
	}{
		{"POST /tasks/:id/retry", ofTask("/tasks/%d/retry", "fail", form, "")},
		{"POST /api/v1/tasks/:id/retry", ofTask("/api/v1/tasks/%d/retry", "fail", post, `{"reason":"r"}`)},
		{"POST /tasks/:id/cancel", waiting("/tasks/%d/cancel", form)},
		{"POST /api/v1/tasks/:id/cancel", waiting("/api/v1/tasks/%d/cancel", post)},
		{"POST /tasks/:id/discard", ofTask("/tasks/%d/discard", "fail", form, "reason=r")},
		{"POST /api/v1/tasks/:id/discard", ofTask("/api/v1/tasks/%d/discard", "fail", post, `{"reason":"r"}`)},
		{"POST /tasks/:id/repeat", ofTask("/tasks/%d/repeat", "ok", form, "")},
		{"POST /api/v1/tasks/:id/repeat", ofTask("/api/v1/tasks/%d/repeat", "ok", post, "")},
		{"POST /api/v1/tasks/bulk", func() { task("fail"); post("/api/v1/tasks/bulk", `{"action":"retry","filter":{"state":["dead"]}}`)() }},
		{"POST /bulk/:id", func() { form(fmt.Sprintf("/bulk/%d", bulk()), "spread=60")() }},
		{"POST /bulk/:id/stop", func() {
			id := bulk()
			_, err := w.runtime.StartBulk(t.Context(), id, 1<<40, actors.Change{By: "test"})
			require.NoError(t, err)
			form(fmt.Sprintf("/bulk/%d/stop", id), "")()
		}},
		{"POST /dead/:type/:fingerprint", func() { form(group(), "do=first")() }},
		{"POST /dead/:type/:fingerprint/mark", func() { form(group()+"/mark", "name=known")() }},
		{"POST /types/:name/:action", form("/types/echo/pause", "reason=r")},
		{"POST /api/v1/types/:name/resume", post("/api/v1/types/echo/resume", "")},
		{"POST /api/v1/types/:name/pause", post("/api/v1/types/vault/pause", "")},
		{"PATCH /api/v1/types/:name", call("PATCH", "/api/v1/types/vault", `{"concurrency":2}`)},
		{"POST /schedules/new", form("/schedules/new", "name=a&task=echo&kind=every&every=1h&timezone=UTC&params={}")},
		{"POST /schedules/:name/edit", form("/schedules/a/edit", "version=1&name=a&task=echo&kind=every&every=2h&timezone=UTC&params={}&missed=skip&overlap=skip")},
		{"POST /schedules/:name/pause", form("/schedules/a/pause", "reason=r")},
		{"POST /schedules/:name/resume", form("/schedules/a/resume", "")},
		{"POST /schedules/:name/run", form("/schedules/a/run", "")},
		{"POST /schedules/:name/delete", form("/schedules/a/delete", "confirm=a&reason=r")},
		{"POST /api/v1/schedules", post("/api/v1/schedules", `{"name":"b","task":"echo","every":"1h"}`)},
		{"PATCH /api/v1/schedules/:name", call("PATCH", "/api/v1/schedules/b", `{"version":1,"every":"2h"}`)},
		{"POST /api/v1/schedules/:name/pause", post("/api/v1/schedules/b/pause", "")},
		{"POST /api/v1/schedules/:name/resume", post("/api/v1/schedules/b/resume", "")},
		{"POST /api/v1/schedules/:name/run", post("/api/v1/schedules/b/run", "")},
		{"DELETE /api/v1/schedules/:name", call("DELETE", "/api/v1/schedules/b", "")},

		{"POST /incidents", form("/incidents", "kind="+models.IncidentTrouble+"&title=slow&severity=minor&state=investigating&text=x")},
		{"POST /incidents/:id", form("/incidents/1", "state=identified&text=y")},
		{"POST /incidents/:id/edit", form("/incidents/1/edit", "kind="+models.IncidentTrouble+"&title=slower&severity=major")},
		{"POST /alerts/new", form("/alerts/new?kind="+models.AlertBacklog, "name=r&kind="+models.AlertBacklog)},
		{"POST /alerts/:name", form("/alerts/r", "name=r&limit=5&kind="+models.AlertBacklog)},
		{"POST /alerts/:name/:action", form("/alerts/r/mute", "until=1h&reason=r")},

		{"POST /api/v1/alerts/rules", post("/api/v1/alerts/rules", `{"name":"p","when":"backlog"}`)},
		{"PUT /api/v1/alerts/rules/:name", call("PUT", "/api/v1/alerts/rules/p", `{"name":"p","when":"dead"}`)},
		{"POST /api/v1/alerts/rules/:name/mute", post("/api/v1/alerts/rules/p/mute", `{"reason":"r"}`)},
		{"POST /api/v1/alerts/rules/:name/unmute", post("/api/v1/alerts/rules/p/unmute", "")},
		{"DELETE /api/v1/alerts/rules/:name", call("DELETE", "/api/v1/alerts/rules/p?reason=r", "")},

		{"POST /admin/users", form("/admin/users", "name=root&role=admin&new_password=a+long+password+123&again=a+long+password+123&repeat_password=a+long+password+123")},
		{"POST /login", form("/login", "name=root&password=a+long+password+123")},
		{"POST /api/v1/users", post("/api/v1/users", `{"name":"ana","role":"viewer","password":"a long password 123"}`)},
		{"PATCH /api/v1/users/:name", call("PATCH", "/api/v1/users/ana", `{"role":"operator"}`)},
		{"POST /admin/users/:name/:action", form("/admin/users/ana/disable", "")},
		{"DELETE /api/v1/users/:name", call("DELETE", "/api/v1/users/ana", "")},
		{"POST /api/v1/tokens", post("/api/v1/tokens", `{"name":"ci","role":"viewer"}`)},
		{"DELETE /api/v1/tokens/:name", call("DELETE", "/api/v1/tokens/ci", "")},
		{"POST /admin/tokens", form("/admin/tokens", "name=two&role=viewer&days=30")},
		{"POST /admin/tokens/revoke", func() { form("/admin/tokens/revoke", "name="+named("api_tokens"))() }},
		{"POST /account/tokens", form("/account/tokens", "name=own&role=viewer&days=30")},
		{"POST /account/tokens/revoke", form("/account/tokens/revoke", "name=own")},
		{"POST /account/sessions", func() {
			mine := cookie
			cookie = ""
			form("/login", "name=root&password=a+long+password+123")()
			cookie = mine
			form("/account/sessions", "end=others")()
			require.Equal(t, "end_sessions", last().Action)
		}},
		{"POST /account/password", form("/account/password", "current_password=a+long+password+123&new_password=another+password+123&again=another+password+123&repeat_password=another+password+123")},
		{"POST /logout", form("/logout", "")},
	}
	known := []string{}
	for _, step := range steps {
		known = append(known, step.route)
		before := last()
		step.do()
		if strings.HasSuffix(step.route, "/repeat") { // its entry comes after the answer
			require.NoError(t, w.runtime.Resume(t.Context(), "echo", actors.Change{By: "test"}))
		}
		after := last()
		require.Greater(t, after.ID, before.ID, "%s has left no entry", step.route)
		require.NotEmpty(t, after.Actor, step.route)
		require.Equal(t, "127.0.0.1", after.Address, step.route)
		require.NotEmpty(t, after.RequestID, step.route)
		require.NotContains(t, after.Before+after.After, "password", step.route)
	}
	for _, route := range w.server.echo.Routes() {
		name := route.Method + " " + route.Path
		if route.Method == http.MethodGet || route.Method == http.MethodHead || notAudited[name] != "" || !changes(route.Method) {
			continue
		}
		require.True(t, slices.Contains(known, name), "%s changes something: is it audited?", name)
	}
	require.NoError(t, w.runtime.Drain(context.Background()))
}
