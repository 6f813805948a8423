package web

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

func TestWhoGuessesHasToWait(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		tries := newTries()
		at := func(account, address string) time.Duration { return tries.begin(account, address, time.Now()) }
		for range 5 {
			require.Zero(t, at("ann", "10.0.0.1"))
		}
		require.Equal(t, time.Second, at("ann", "10.0.0.1"))
		require.Equal(t, time.Second, at("ann", "10.0.0.2"), "from another place too")
		require.Zero(t, at("bob", "10.0.0.1"), "another account is no reason to wait yet")
		for _, seconds := range []int{1, 2, 4, 8, 16, 30, 30} {
			time.Sleep(time.Duration(seconds)*time.Second - time.Millisecond)
			require.Positive(t, at("ann", "10.0.0.1"))
			time.Sleep(time.Millisecond)
			require.Zero(t, at("ann", "10.0.0.1"))
		}
		tries.forgive("ann", "10.0.0.1")
		require.Zero(t, at("ann", "10.0.0.3"), "who knows the password begins anew")

		for i := range 15 {
			require.Zero(t, at(string(rune('a'+i)), "10.0.0.9"))
		}
		require.Positive(t, at("z", "10.0.0.9"), "one place cannot try every account")
		time.Sleep(forgetTries)
		require.Zero(t, at("z", "10.0.0.9"))

		var table tryTable
		for i := range maxTryEntries + 100 {
			table.fail(string(rune(i))+"x", time.Now())
		}
		require.LessOrEqual(t, len(table.entries), maxTryEntries)
	})
	for address, want := range map[string]string{"10.0.0.1": "10.0.0.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "::ffff:10.0.0.1": "::ffff:10.0.0.1", "": ""} {
		require.Equal(t, want, networkOf(address))
	}
}

func TestTooManyTriesAreAnsweredBeforeThePasswordIsLookedAt(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	try := func(status int, password string) http.Header {
		return g.as("", scenario{url: "/login", method: "POST", body: form("name", "eye", "password", password), header: browser(), status: status}).Header()
	}
	for range 5 {
		try(401, "wrong password")
	}
	require.Equal(t, "1", try(429, goodPassword).Get("Retry-After"))
	require.Contains(t, g.as("root", scenario{url: "/", header: browser(), status: 200}).Body.String(), "Overview", "nobody else waits")
}

// bare is a reax without an account.
func bare(t *testing.T) (*Server, *actors.Runtime) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	store, err := models.Open(t.Context(), models.Config{Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: logger})
	require.NoError(t, err)
	runtime, err := actors.Start(t.Context(), store, tasks.NewRegistry(), actors.Options{Logger: logger, ShutdownGrace: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runtime.Stop(context.Background()))
		require.NoError(t, store.Close())
	})
	return New(Config{Runtime: runtime, Ledger: store, Logger: logger, Accounts: runtime.Accounts()}), runtime
}

func TestWithoutAccountsThisMachineMayDoEverythingAndNoOther(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	ask := func(address string, sc scenario) int {
		r := sc.request()
		r.RemoteAddr = address
		return send(s.Handler(), r).Code
	}
	for address, status := range map[string]int{"127.0.0.1:1": 200, "[::1]:1": 200, "10.0.0.1:1": 403, "[2001:db8::1]:1": 403, "@": 403} {
		require.Equal(t, status, ask(address, scenario{url: "/", header: browser()}), address)
		require.Equal(t, status, ask(address, scenario{url: tasksURL}), address)
		require.Equal(t, 200, ask(address, scenario{url: "/healthz"}), address)
	}
	require.Equal(t, 403, ask("127.0.0.1:1", scenario{url: "/", header: map[string]string{"X-Forwarded-For": "10.0.0.1"}}), "a proxy asks for somebody else")
	for _, url := range []string{"/", "/tasks", "/admin/users"} {
		page := send(s.Handler(), scenario{url: url, header: browser()}.request()).Body.String()
		require.Contains(t, page, "No accounts: anyone on this machine can do everything.")
		require.Contains(t, page, "reax user add NAME --role admin")
		require.NotContains(t, page, "/logout")
	}
	require.Equal(t, 303, ask("127.0.0.1:1", scenario{url: "/login", header: browser()}))

	// The first account closes the door, at once and behind whoever made it.
	add := func(role string) int {
		return ask("127.0.0.1:1", scenario{url: "/admin/users", method: "POST", header: browser(), body: form("name", "root", "role", role, "new_password", goodPassword)})
	}
	require.Equal(t, 422, add("operator"))
	require.Equal(t, 303, add("admin"))
	require.Equal(t, 303, ask("127.0.0.1:1", scenario{url: "/admin/users", header: browser()}))
	require.Equal(t, 401, ask("127.0.0.1:1", scenario{url: tasksURL}))
	require.Equal(t, 401, ask("10.0.0.1:1", scenario{url: tasksURL}))

	// Now an address is as good as a name, for it is no name that a foreign page could bend.
	r := scenario{url: "/healthz"}.request()
	for host, status := range map[string]int{"10.0.0.7:8080": 200, "[2001:db8::1]": 200, "evil.example": 403} {
		r.Host = host
		require.Equal(t, status, send(s.Handler(), r).Code, host)
	}
}

func TestAnotherProgramCanSayWhoAsks(t *testing.T) {
	t.Parallel()
	auth := func(r *http.Request) (Identity, bool) {
		name := r.Header.Get("X-User")
		return Identity{Name: name, Role: map[string]models.Role{"ann": operator, "eve": "owner"}[name]}, name != ""
	}
	g := newGuarded(t, func(c *Config) { c.Auth = auth })
	ask := func(user string, status int, sc scenario) string {
		t.Helper()
		if sc.header == nil {
			sc.header = map[string]string{}
		}
		sc.header["X-User"], sc.status = user, status
		return g.as("", sc).Body.String()
	}
	require.Contains(t, ask("ann", 201, scenario{url: tasksURL, body: `{"type":"mail"}`}), `"enqueued_by":"ann"`)
	ask("", 401, scenario{url: tasksURL})
	ask("", 401, scenario{url: "/tasks", header: browser()})
	ask("eve", 401, scenario{url: tasksURL})
	ask("ann", 403, scenario{url: tasksURL + "/1/discard", body: `{"reason":"x"}`})
	page := ask("ann", 200, scenario{url: "/tasks", header: browser()})
	for _, own := range []string{"/logout", "/account", "/admin/users"} {
		require.NotContains(t, page, own)
	}
	ask("ann", 404, scenario{url: "/login", method: "POST", body: form("name", "root", "password", goodPassword), header: browser()})
	ask("ann", 404, scenario{url: "/account", header: browser()})
}

func TestPagesLeaveOutWhatARoleMayNotDo(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.as("root", scenario{url: tasksURL, body: `{"type":"mail","delay":"1h"}`, status: 201})
	for name, want := range map[string]struct{ must, mustNot []string }{
		"eye":  {[]string{">eye<", "This needs the role operator."}, []string{`href="/enqueue"`, `formaction="/tasks/1/cancel"`, "/admin/users"}},
		"op":   {[]string{`href="/enqueue"`, `formaction="/tasks/1/cancel"`, "This needs the role admin."}, []string{"/admin/users"}},
		"root": {[]string{`href="/enqueue"`, `formaction="/tasks/1/cancel"`, "/admin/users"}, []string{"This needs the role"}},
	} {
		g.as(name, scenario{url: "/tasks/1", header: browser(), status: 200, must: want.must, mustNot: want.mustNot})
	}
	g.as("eye", scenario{url: "/schedules", header: browser(), status: 200, mustNot: []string{"/schedules/new"}})
	g.as("eye", scenario{url: "/types/mail", header: browser(), status: 200, mustNot: []string{"/types/mail/pause"}})
	g.as("eye", scenario{url: "/enqueue", header: browser(), status: 403, must: []string{"Your role does not allow this", `class="rail"`}})
	g.as("op", scenario{url: "/admin/users", header: browser("Accept-Language", "zh"), status: 403, must: []string{"您的角色不允许此操作"}})
}

func TestAnAdminKeepsTheAccounts(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	post := func(url string, status int, body string) string {
		t.Helper()
		w := g.as("root", scenario{url: url, method: "POST", body: body, header: browser(), status: status})
		if status == 303 {
			return w.Header().Get("Location")
		}
		return w.Body.String()
	}
	page := post("/admin/users", 422, form("name", `<img src=x>`, "role", "viewer", "new_password", goodPassword))
	require.NotContains(t, page, "<img src=x")
	require.NotContains(t, page, goodPassword)
	require.Contains(t, post("/admin/users", 422, form("name", "ROOT", "role", "viewer", "new_password", goodPassword)), "There is an account with this name.")
	require.Contains(t, post("/admin/users", 422, form("name", "new", "role", "viewer", "new_password", "short")), "Write at least 10 characters")
	require.Equal(t, "/admin/users", post("/admin/users", 303, form("name", "小明", "role", "viewer", "new_password", goodPassword)))
	g.as("root", scenario{url: "/admin/users", header: browser(), status: 200, must: []string{"小明", "eye", "can sign in"}})

	g.signIn("eye")
	g.as("root", scenario{url: "/admin/users/eye", header: browser("User-Agent", "x"), status: 200, must: []string{"127.0.0.1", "Set the role"}})
	require.Equal(t, "/admin/users/eye", post("/admin/users/eye/role", 303, "role=operator"))
	g.as("eye", scenario{url: "/enqueue", header: browser(), status: 200})
	post("/admin/users/eye/role", 422, "role=owner")
	post("/admin/users/eye/disable", 303, "x=y")
	g.as("eye", scenario{url: tasksURL, status: 401})
	post("/admin/users/eye/enable", 303, "x=y")
	g.signIn("eye")
	post("/admin/users/eye/sessions", 303, "end=all")
	g.as("eye", scenario{url: tasksURL, status: 401})
	g.signIn("eye")
	post("/admin/users/eye/password", 303, form("new_password", "another password"))
	g.as("eye", scenario{url: tasksURL, status: 401})
	post("/admin/users/eye/explode", 404, "x=y")
	post("/admin/users/nobody/role", 404, "role=viewer")
	post("/admin/users/root/disable", 303, "x=y")
	g.as("root", scenario{url: tasksURL, status: 200})
	require.Equal(t, "/admin/users", post("/admin/users/eye/delete", 303, "x=y"))
	g.as("root", scenario{url: "/admin/users/eye", header: browser(), status: 404})

	rows, err := g.store.AuditOf(t.Context(), "user", "eye", 100)
	require.NoError(t, err)
	var actions []string
	for _, row := range rows {
		actions = append(actions, row.Actor+" "+row.Action)
		require.NotContains(t, row.Before+row.After, "password")
	}
	require.Contains(t, actions, "root set_role")
	require.Contains(t, actions, "root delete")
	require.Contains(t, actions, "eye sign_in")
}

func TestSomebodyKeepsTheirOwnAccount(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.signIn("op")
	other := g.cookies["op"]
	g.signIn("op")
	post := func(url string, status int, body string, must ...string) string {
		t.Helper()
		return g.as("op", scenario{url: url, method: "POST", body: body, header: browser(), status: status, must: must}).Body.String()
	}
	page := g.as("op", scenario{url: "/account", header: browser(), status: 200, must: []string{"this one", "Sign out all others"}}).Body.String()
	require.NotContains(t, page, strings.Split(other, "=")[1])
	id := regexp.MustCompile(`name="end" value="(\d+)"`).FindStringSubmatch(page)
	require.NotNil(t, id)
	post("/account/sessions", 303, "end="+id[1])
	g.as("", scenario{url: tasksURL, header: map[string]string{"Cookie": other}, status: 401})
	post("/account/sessions", 303, "end="+id[1])

	post("/account/password", 422, form("current_password", "wrong one", "new_password", "another password"), "This is not your password.")
	post("/account/password", 422, form("current_password", goodPassword, "new_password", "short"), "at least 10 characters")
	g.signIn("op")
	other = g.cookies["op"]
	g.signIn("op")
	post("/account/password", 303, form("current_password", goodPassword, "new_password", "another password"))
	g.as("op", scenario{url: "/account", header: browser(), status: 200})
	g.as("", scenario{url: tasksURL, header: map[string]string{"Cookie": other}, status: 401})

	post("/account/tokens", 422, form("name", "mine", "role", "admin", "days", "90"), "Choose a role that the account has.")
	post("/account/tokens", 422, form("name", "mine", "role", "viewer", "types", "no type!\nx", "days", "90"), "names of task types")
	page = post("/account/tokens", 200, form("name", "mine", "role", "operator", "types", "mail", "days", "90"), "nobody can show it again", "The token mine")
	secret := regexp.MustCompile(`value="(reax_[A-Z2-7]{26})"`).FindStringSubmatch(page)
	require.NotNil(t, secret)
	bearer := map[string]string{"Authorization": "Bearer " + secret[1]}
	g.as("", scenario{url: tasksURL, header: bearer, status: 200})
	g.as("op", scenario{url: "/account", header: browser(), status: 200, must: []string{"mine", "operator · mail"}, mustNot: []string{secret[1]}})
	g.as("root", scenario{url: "/admin/tokens", header: browser(), status: 200, must: []string{"mine", "for op"}, mustNot: []string{secret[1]}})
	g.as("eye", scenario{url: "/account/tokens/revoke", method: "POST", body: "name=mine", header: browser(), status: 303})
	g.as("", scenario{url: tasksURL, header: bearer, status: 200})
	post("/account/tokens/revoke", 303, "name=mine")
	g.as("", scenario{url: tasksURL, header: bearer, status: 401})
	page = g.as("root", scenario{url: "/admin/tokens", method: "POST", body: form("name", "mine", "role", "viewer", "days", "0"), header: browser(), status: 200}).Body.String()
	require.Contains(t, page, "never")
	g.as("root", scenario{url: "/admin/tokens", method: "POST", body: form("name", "mine", "role", "viewer", "days", "0"), header: browser(), status: 422, must: []string{"There is a token with this name."}})
}
