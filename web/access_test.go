package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const (
	goodPassword = "correct horse 电池"
	// cheapHash is that of goodPassword, at a cost that tests can pay.
	cheapHash = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$O4D21+MzuNNJviEHdAGB7qUusO0nexotN1qAvTY6m0Q"
)

// guarded is a whole reax with accounts: root, op and eye, of the three roles.
type guarded struct {
	t       *testing.T
	server  *Server
	runtime *actors.Runtime
	store   *models.Store
	handler http.Handler
	cookies map[string]string // of who is signed in, by name
}

func newGuarded(t *testing.T, change ...func(*Config)) *guarded {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	store, err := models.Open(t.Context(), models.Config{Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: logger})
	require.NoError(t, err)
	require.NoError(t, models.NewWriter(store, "").Write(func(tx *models.Tx) error {
		for _, u := range []models.User{{Name: "root", Role: admin}, {Name: "op", Role: operator}, {Name: "eye", Role: viewer}} {
			u.NameKey, u.Password = u.Name, cheapHash
			if _, err := tx.CreateUser(u, models.Actor{Name: "test"}); err != nil {
				return err
			}
		}
		return nil
	}))
	registry := tasks.NewRegistry()
	for _, name := range []string{"mail", "report"} {
		tasks.Register(registry, name, func(ctx context.Context, p struct {
			Fail  bool   `json:"fail,omitempty"`
			Token string `json:"token,omitempty" jsonschema:"format=password"`
		}) (any, error) {
			if p.Fail {
				return nil, tasks.Permanent(context.Canceled)
			}
			return nil, nil
		})
	}
	runtime, err := actors.Start(t.Context(), store, registry, actors.Options{Logger: logger, ShutdownGrace: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runtime.Stop(context.Background()))
		require.NoError(t, store.Close())
	})
	cfg := Config{Runtime: runtime, Ledger: store, Logger: logger, Version: "1.2.3", Accounts: runtime.Accounts()}
	for _, f := range change {
		f(&cfg)
	}
	g := &guarded{t: t, server: New(cfg), runtime: runtime, store: store, cookies: map[string]string{}}
	g.handler = g.server.Handler()
	return g
}

// as sends a request as somebody who is signed in, or as nobody.
func (g *guarded) as(name string, sc scenario) *httptest.ResponseRecorder {
	g.t.Helper()
	r := sc.request()
	if name != "" {
		if g.cookies[name] == "" {
			g.signIn(name)
		}
		r.Header.Add("Cookie", g.cookies[name])
		if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" && sc.header["No-Origin"] == "" {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	w := send(g.handler, r)
	if sc.status != 0 {
		require.Equal(g.t, sc.status, w.Code, "%s %s as %q: %s", r.Method, sc.url, name, w.Body)
	}
	for _, part := range sc.must {
		require.Contains(g.t, w.Body.String(), part)
	}
	for _, part := range sc.mustNot {
		require.NotContains(g.t, w.Body.String(), part)
	}
	return w
}

// signIn keeps the cookie of a new session.
func (g *guarded) signIn(name string) *http.Cookie {
	g.t.Helper()
	w := g.as("", scenario{url: "/login", method: "POST", body: form("name", name, "password", goodPassword), header: browser(), status: 303})
	for _, c := range w.Result().Cookies() {
		if strings.HasPrefix(c.Name, "reax_session") {
			g.cookies[name] = c.Name + "=" + c.Value
			return c
		}
	}
	g.t.Fatal("no cookie")
	return nil
}

// token makes a token and gives its header.
func (g *guarded) token(n actors.NewToken) map[string]string {
	g.t.Helper()
	_, secret, err := g.runtime.Accounts().CreateToken(g.t.Context(), n, actors.Change{By: "test"})
	require.NoError(g.t, err)
	return map[string]string{"Authorization": "Bearer " + secret}
}

func form(pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

func codeOf(w *httptest.ResponseRecorder) string {
	var p problemJSON
	_ = json.Unmarshal(w.Body.Bytes(), &p) // a page has no code
	return p.Code
}

// pathOf fills the parameters of a route with something.
func pathOf(route string) string {
	return regexp.MustCompile(`:[a-z_]+`).ReplaceAllStringFunc(route, func(name string) string {
		if name == ":id" || name == ":attempt" {
			return "999"
		}
		return "mail"
	})
}

// Whatever is registered is walked as nobody, as each role, as tokens and from the socket. A route without a role does
// not even get here: New panics.
func TestEveryRouteAsksForItsRole(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.server.EndStreams()
	tokenOf := map[models.Role]map[string]string{}
	for _, role := range models.Roles {
		tokenOf[role] = g.token(actors.NewToken{Name: string(role), Role: role})
	}
	limited := g.token(actors.NewToken{Name: "limited", Role: admin, Types: []string{"mail"}})
	names := map[models.Role]string{viewer: "eye", operator: "op", admin: "root"}
	refused := func(w *httptest.ResponseRecorder) bool {
		return w.Code == 401 || codeOf(w) == missingRole || codeOf(w) == signedOut
	}
	for _, route := range g.server.echo.Routes() {
		need, named := g.server.roles[route.Method+" "+route.Path]
		require.True(t, named, route)
		if strings.HasSuffix(route.Path, "/logout") || strings.HasSuffix(route.Path, "/login") {
			require.Equal(t, anyone, need)
			continue // which change who it is
		}
		sc := scenario{method: route.Method, url: pathOf(route.Path)}
		what := route.Method + " " + sc.url

		nobody := g.as("", sc)
		require.Equal(t, need != anyone, refused(nobody), "%s as nobody: %d", what, nobody.Code)
		if need != anyone {
			require.Equal(t, 401, nobody.Code, what)
			require.Equal(t, "Bearer", nobody.Header().Get("WWW-Authenticate"))
		}
		for _, role := range models.Roles {
			w := g.as(names[role], sc)
			require.Equal(t, !role.May(need), refused(w), "%s as %s: %d %s", what, role, w.Code, w.Body)
			sc.header = tokenOf[role]
			w = g.as("", sc)
			require.Equal(t, !role.May(need), refused(w), "%s with a token of the role %s: %d %s", what, role, w.Code, w.Body)
			sc.header = nil
		}
		sc.header = limited
		_, scoped := scopes[route.Method+" "+route.Path]
		require.Equal(t, need != anyone && !scoped, refused(g.as("", sc)), "%s with a token of one type", what)
		sc.header = nil
		require.False(t, refused(send(g.server.SocketHandler(), sc.request())), "%s from the socket", what)

		if route.Method == http.MethodGet && need != anyone && !strings.Contains(route.Path, "/api/") && !strings.HasSuffix(route.Path, "/events") {
			sc.header = browser()
			w := g.as("", sc)
			require.Equal(t, 303, w.Code, what)
			require.True(t, strings.HasPrefix(w.Header().Get("Location"), "/login"), what)
		}
	}
	for route := range scopes {
		require.Contains(t, g.server.roles, route, "a scope of no route")
	}
	for _, bad := range []string{"Bearer ", "Bearer reax_x", "Basic cm9vdDpyb290", "x"} {
		require.Equal(t, 401, g.as("", scenario{url: tasksURL, header: map[string]string{"Authorization": bad}}).Code, bad)
	}
}

func TestNobodyIsAskedToSignInOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	w := g.as("", scenario{url: "/tasks?state=dead", header: browser(), status: 303})
	require.Equal(t, "/login?next=%2Ftasks%3Fstate%3Ddead", w.Header().Get("Location"))
	g.as("", scenario{url: "/login?next=%2Ftasks%3Fstate%3Ddead", header: browser(), status: 200,
		must: []string{`value="/tasks?state=dead"`, "Sign in", `autocomplete="current-password"`}, mustNot: []string{`class="rail"`, "/enqueue"}})
	g.as("", scenario{url: "/nothing", header: browser(), status: 404, mustNot: []string{`class="rail"`}})

	g.as("", scenario{url: "/login", method: "POST", body: form("name", "root", "password", "wrong password", "next", "/tasks"), header: browser(), status: 401,
		must: []string{"The name or the password is wrong", `value="root"`, `value="/tasks"`}, mustNot: []string{"wrong password"}})
	g.as("", scenario{url: "/login", method: "POST", body: form("name", `"><b>`, "password", "x"), header: browser("Accept-Language", "zh"), status: 401,
		must: []string{"名称或密码不正确"}, mustNot: []string{"<b>"}})
	for next, want := range map[string]string{
		"/tasks?state=dead": "/tasks?state=dead", "": "/", "//evil.example": "/", "https://evil.example/": "/", "/login?next=/login": "/", "/logout": "/", `/\evil.example`: "/",
	} {
		w = g.as("", scenario{url: "/login", method: "POST", body: form("name", "ROOT", "password", goodPassword, "next", next), header: browser(), status: 303})
		require.Equal(t, want, w.Header().Get("Location"), next)
	}

	c := g.signIn("root")
	require.Equal(t, "reax_session_8080", c.Name)
	require.True(t, c.HttpOnly)
	require.False(t, c.Secure)
	require.Equal(t, http.SameSiteLaxMode, c.SameSite)
	require.Equal(t, int((30 * 24 * time.Hour).Seconds()), c.MaxAge)
	secure := scenario{url: "/login", method: "POST", body: form("name", "root", "password", goodPassword), header: browser()}.request()
	secure.TLS = &tls.ConnectionState{}
	require.Contains(t, send(g.handler, secure).Header().Get("Set-Cookie"), "; Secure")
	g.as("root", scenario{url: "/", header: browser(), status: 200, must: []string{`href="/account"`, `href="/admin/users"`, ">root<"}, mustNot: []string{"No accounts"}})
	require.Equal(t, 303, g.as("root", scenario{url: "/login", header: browser()}).Code)
	require.Equal(t, 204, g.as("root", scenario{url: "/login", header: browser(fragmentsHeader, "rail")}).Code, "the page of a kept form asks for news, and stays")

	// A sign-in never goes on with a session that somebody else may have put there, and ends the one that was.
	before := g.cookies["root"]
	w = g.as("root", scenario{url: "/login", method: "POST", body: form("name", "root", "password", goodPassword), header: browser(), status: 303})
	g.cookies["root"] = strings.Split(w.Header().Get("Set-Cookie"), ";")[0]
	require.NotEqual(t, before, g.cookies["root"])
	g.as("", scenario{url: tasksURL, header: map[string]string{"Cookie": before}, status: 401})

	w = g.as("root", scenario{url: "/logout", method: "POST", body: "x=y", header: browser(), status: 303})
	require.Contains(t, w.Header().Get("Set-Cookie"), "Max-Age=0")
	g.as("", scenario{url: tasksURL, header: map[string]string{"Cookie": g.cookies["root"]}, status: 401})
	g.as("", scenario{url: "/tasks", header: map[string]string{"Accept": "text/html", fragmentsHeader: "tabs", "Cookie": g.cookies["root"]}, status: 401})
}

// A form whose session has ended is neither lost nor done: after the sign-in one press sends it.
func TestAFormOutlivesItsSession(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	sent := form("do", "retry", "id", "7", "id", "8", "back", "/tasks?state=dead", "reason", `"><script>`)
	w := g.as("", scenario{url: "/tasks/bulk", method: "POST", body: sent, header: browser("Referer", "http://localhost:8080/tasks?state=dead"), status: 401,
		must: []string{"nothing was done yet", `name="kept_path" value="/tasks/bulk"`, `name="next" value="/tasks?state=dead"`}, mustNot: []string{"<script>"}})
	require.Equal(t, pagePolicy, w.Header().Get("Content-Security-Policy"))
	kept := regexp.MustCompile(`name="kept" value="([^"]*)"`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, kept)
	values := strings.ReplaceAll(kept[1], "&amp;", "&")

	wrong := g.as("", scenario{url: "/login", method: "POST", header: browser(), status: 401,
		body: form("name", "op", "password", "x", "kept_path", "/tasks/bulk", "kept", values, "next", "/tasks")})
	require.Contains(t, wrong.Body.String(), kept[1], "a wrong password loses nothing")
	w = g.as("", scenario{url: "/login", method: "POST", header: browser(), status: 200,
		body: form("name", "op", "password", goodPassword, "kept_path", "/tasks/bulk", "kept", values, "next", "/tasks"),
		must: []string{"Session renewed, press again", `action="/tasks/bulk"`, `name="id" value="7"`, `name="id" value="8"`, `name="do" value="retry"`, ">op<"}, mustNot: []string{"<script>"}})
	require.NotEmpty(t, w.Header().Get("Set-Cookie"))
	w = g.as("op", scenario{url: "/tasks/bulk", method: "POST", body: sent, header: browser(), status: 303})
	require.Equal(t, "/tasks?state=dead", w.Header().Get("Location"))

	for name, sc := range map[string]scenario{
		"a password":       {url: "/account/password", body: form("current_password", "hunter2", "new_password", "hunter2")},
		"a new account":    {url: "/admin/users", body: form("name", "x", "new_password", "hunter2")},
		"a long form":      {url: "/tasks/bulk", body: form("id", strings.Repeat("1", maxKept))},
		"what is no form":  {url: "/tasks/bulk", body: "{}", header: map[string]string{"Content-Type": "application/json"}},
		"a secret of mail": {url: "/enqueue/mail", body: form("p.token", "hunter2", "p.fail", "true", "params", `{"token":"hunter2"}`)},
	} {
		sc.method = "POST"
		header := browser()
		maps.Copy(header, sc.header)
		sc.header, sc.status, sc.mustNot = header, 401, []string{"hunter2"}
		w := g.as("", sc)
		require.Equal(t, name == "a secret of mail", strings.Contains(w.Body.String(), "kept_path"), name)
	}
	// To a program the same is a problem.
	require.Equal(t, signedOut, codeOf(g.as("", scenario{url: tasksURL, body: "{}", status: 401})))
}

func TestForeignPagesCannotUseASession(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.signIn("root")
	const bulk = "do=cancel&id=1"
	for name, header := range map[string]map[string]string{
		"another site":           {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"another port":           {"Origin": "http://localhost:9999"},
		"another port, modern":   {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9999"},
		"nowhere":                {"Origin": "null"},
		"no word where it is of": {"No-Origin": "yes"},
	} {
		header["Accept"] = "text/html"
		g.as("root", scenario{url: "/tasks/bulk", method: "POST", body: bulk, header: header, status: 403})
		header["Content-Type"] = "text/plain"
		header["Accept"] = "application/json"
		w := g.as("root", scenario{url: tasksURL, method: "POST", body: `{"type":"mail"}`, header: header, status: 403})
		require.Equal(t, "forbidden", codeOf(w), name)
		g.as("root", scenario{url: "/logout", method: "POST", body: "x=y", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403})
		g.as("", scenario{url: "/login", method: "POST", body: form("name", "root", "password", goodPassword), header: map[string]string{"Origin": "http://localhost:9999"}, status: 403})
	}
	g.as("root", scenario{url: "/tasks/bulk?" + bulk, header: browser(), status: 404})
	page, err := g.store.List(t.Context(), models.Filter{}, 10)
	require.NoError(t, err)
	require.Empty(t, page.Tasks)
	g.as("root", scenario{url: tasksURL, body: `{"type":"mail"}`, status: 201})
}

func TestATokenOfSomeTypesKeepsToThem(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	mail := g.token(actors.NewToken{Name: "mail", Role: admin, Types: []string{"mail"}})
	ask := func(status int, method, url, body string, must ...string) string {
		t.Helper()
		return g.as("", scenario{method: method, url: url, body: body, header: mail, status: status, must: must}).Body.String()
	}
	g.as("root", scenario{url: tasksURL, body: `{"type":"report","params":{"fail":true},"unique_key":"k","delay":"1h"}`, status: 201}) // task 1
	ask(201, "POST", tasksURL, `{"type":"mail","params":{"fail":true},"delay":"1h"}`, `"enqueued_by":"token:mail"`)                    // task 2
	ask(403, "POST", tasksURL, `{"type":"report"}`, `not for tasks of the type \"report\"`)
	ask(403, "POST", tasksURL, `{"type":"nothing"}`)
	text := ask(409, "POST", tasksURL, `{"type":"mail","unique_key":"k"}`, "of another type")
	require.NotContains(t, text, `"id":1`)
	ask(403, "POST", tasksURL+"/batch", `{"tasks":[{"type":"mail"},{"type":"report"}]}`)

	require.NotContains(t, ask(200, "GET", tasksURL, "", `"id":2`), `"id":1`)
	ask(403, "GET", tasksURL+"?type=report", "")
	ask(200, "GET", tasksURL+"?type=mail", "")
	ask(200, "GET", tasksURL+"/2", "")
	ask(403, "GET", tasksURL+"/1", "")
	ask(403, "GET", tasksURL+"/1/logs", "")
	ask(403, "POST", tasksURL+"/1/cancel", "{}")
	ask(404, "GET", tasksURL+"/99", "")
	ask(403, "POST", tasksURL+"/bulk", `{"action":"cancel","ids":[2,1]}`)
	ask(403, "POST", tasksURL+"/bulk", `{"action":"cancel","filter":{"type":["report"]}}`)
	ask(200, "POST", tasksURL+"/bulk", `{"action":"cancel","filter":{"state":["pending"]}}`, `"matched":1`)
	require.NotContains(t, ask(200, "GET", "/api/v1/types", "", `"mail"`), `"report"`)
	ask(200, "POST", "/api/v1/types/mail/pause", "{}")
	ask(403, "POST", "/api/v1/types/report/pause", "{}")
	ask(403, "GET", "/api/v1/stats", "")
	ask(403, "GET", "/tasks/export.csv", "")
	g.as("root", scenario{url: tasksURL + "/1", status: 200, must: []string{`"state":"pending"`}})

	// An operator's bulk is no way around what only an admin may do.
	g.as("op", scenario{url: tasksURL + "/bulk", body: `{"action":"discard","ids":[1],"reason":"x"}`, status: 403, must: []string{missingRole}})
	g.as("op", scenario{url: tasksURL + "/1/discard", body: `{"reason":"x"}`, status: 403})
}
