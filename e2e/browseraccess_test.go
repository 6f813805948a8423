package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const goodPassword = "correct horse 电池"

// account makes an account, by the server if one runs.
func (p *place) account(t *testing.T, name, role string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.program, "user", "add", name, "--role", role, "--password-stdin")
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, bytes.NewBufferString(goodPassword+"\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// state is what the command line says of a task.
func (p *place) state(t *testing.T, id int64) string {
	t.Helper()
	var shown task
	require.NoError(t, json.Unmarshal([]byte(p.ok(t, "show", strconv.FormatInt(id, 10), "--json")), &shown))
	return shown.State
}

// awaitHead waits for a page with a heading, until nothing on it moves any more.
func (b *tab) awaitHead(key string) {
	b.t.Helper()
	b.await(has("h1", b.says(key)) + ` && document.readyState === "complete"`)
}

// signIn fills in the page that asks for it.
func (b *tab) signIn(name string) {
	b.t.Helper()
	b.awaitHead("login.title")
	b.fill("#name", name)
	b.fill("#password", goodPassword)
	b.click("button", b.says("login.submit"))
}

// What people meet of accounts: the sign-in, what each role may do, a session that ends in the middle of work, a restart,
// and a page of another port that wants to use the session.
func TestSigningInAndBeingSignedOut(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.account(t, "root", "admin")
	p.account(t, "op", "operator")
	p.account(t, "eye", "viewer")
	s := p.start(t)
	id := accepted(t, p.ok(t, "enqueue", "P.sleep", "-p", "ms=600000"))

	for _, way := range []look{{}, {scriptless: true, language: "zh-CN"}} {
		b := s.tab(t, way)
		b.forgive("401", "403")
		b.visit("/tasks?state=running")
		b.fill("#name", "eye")
		b.fill("#password", "not the password")
		b.click("button", b.says("login.submit"))
		b.await(has("[role=alert]", b.says("login.wrong")) + ` && document.readyState === "complete"`)
		b.signIn("eye")
		b.awaitPath("/tasks")
		require.Equal(t, "running", b.query("state"))
		require.False(t, b.is(has("a", b.says("nav.enqueue"))))
		require.Equal(t, http.StatusForbidden, b.load("/enqueue"))
		require.True(t, b.is(has("h1", b.says("error.role.title"))))
		b.visitAt("about:blank") // or it would look for the server while that restarts
	}

	b := s.tab(t, look{})
	b.forgive("401", "net::ERR_")
	b.visit("/tasks?state=running")
	b.signIn("op")
	b.await(live)
	require.False(t, b.is(`!!document.querySelector('a[href="/admin/users"]')`))
	b.click(fmt.Sprintf("input[name=id][value=%q]", strconv.FormatInt(id, 10)), "")
	// The session ends while a task is picked. The page says so, and loses nothing.
	p.ok(t, "user", "disable", "op")
	p.ok(t, "user", "enable", "op")
	accepted(t, p.ok(t, "enqueue", "P.log"))
	b.await(has("[data-live-text]", b.says("live.out")))
	b.click("button[name=do][value=cancel]", "")
	b.await(has("[role=status]", b.says("login.kept")))
	b.signIn("op")
	b.awaitHead("login.resend.title")
	require.Equal(t, "running", p.state(t, id))
	b.click("button", b.says("login.resend.submit"))
	b.await(`/^\/(bulk\/|tasks)/.test(location.pathname)`)

	// A restart ends no session.
	port := s.base[len("http://127.0.0.1:"):]
	s.stop(t)
	p.args = []string{"--addr", "127.0.0.1:" + port}
	s = p.start(t)
	b.visit("/tasks")
	require.True(t, b.is(has("a", b.says("nav.enqueue"))))

	// The same host with another port gets the cookie, and no more.
	other := accepted(t, p.ok(t, "enqueue", "P.sleep", "-p", "ms=600000"))
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>evil</title><form method="post" action="%s/tasks/bulk">
			<input name="do" value="cancel"><input name="id" value="%d"><button>win</button></form><img src="%[1]s/tasks/bulk?do=cancel&amp;id=%[2]d">
			<img src="%[1]s/logout"><script>fetch("%[1]s/api/v1/tasks/%[2]d/cancel", {method: "POST", mode: "no-cors", credentials: "include",
			headers: {"Content-Type": "text/plain"}, body: "{}"}).catch(() => {}).finally(() => document.title = "sent")</script>`, html.EscapeString(s.base), other)
	}))
	t.Cleanup(evil.Close)
	b.forgive("403", "404", "405", "Failed to load resource", "request to another server: "+evil.URL, "ERR_BLOCKED_BY")
	b.visitAt(evil.URL + "/")
	b.await(`document.title === "sent" && document.readyState === "complete"`)
	b.click("button", "win")
	b.await(has("h1", b.says("error.forbidden.title")))
	require.Equal(t, "running", p.state(t, other))
	b.visit("/account")
	b.click("main button", b.says("account.sign_out"))
	b.awaitHead("login.title")
	require.Equal(t, 200, b.load("/tasks"))
	require.True(t, b.is(has("h1", b.says("login.title"))))
}
