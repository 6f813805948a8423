package e2e

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFormOfAnotherSiteIsRefused(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	id := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
	s.awaitState(t, id, "running")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>evil</title><form method="post" action="%s">
			<input name="do" value="cancel"><input name="id" value="%d"><button>win</button></form>
			<img src="%[1]s?do=cancel&amp;id=%[2]d">`, html.EscapeString(s.base+"/tasks/bulk"), id)
	}))
	t.Cleanup(evil.Close)
	_, port, err := net.SplitHostPort(evil.Listener.Addr().String())
	require.NoError(t, err)
	// The same host with another port is another origin too, though browsers send their cookies there.
	for _, origin := range []string{"http://127.0.0.1:" + port, "http://localhost:" + port} {
		b := s.tab(t, look{})
		b.forgive("request to another server: "+origin, "403", "405", "Failed to load resource", "ERR_BLOCKED_BY")
		b.visitAt(origin + "/")
		b.click("button", "win")
		b.awaitPath("/tasks/bulk")
		b.await(has("h1", b.says("error.forbidden.title")))
	}
	require.Equal(t, "running", s.task(t, id).State)
	require.Nil(t, s.task(t, id).CancelRequestedAt)
}

func TestThePagesRunNoScriptButTheirOwn(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := s.tab(t, look{})
	b.forgive("Content Security Policy", "violates the following")
	b.visit("/tasks")
	// What a hole in the escaping would let in.
	b.do(evalOnly(`document.body.insertAdjacentHTML("beforeend", "<img src=x id=x onerror='window.ran = 1'><p id=y style='color: red'>y</p>");
		document.body.append(Object.assign(document.createElement("script"), {textContent: "window.ran = 2"}));
		document.body.append(Object.assign(document.createElement("script"), {src: "http://127.0.0.1:1/x.js"}));
		fetch("http://127.0.0.1:1/").catch(() => { window.refused = true; });
		document.getElementById("x").decode().catch(() => { window.failed = true; })`))
	b.forgive("127.0.0.1:1/", b.base+"/x")
	b.await(`window.refused && window.failed`)
	require.True(t, b.is(`window.ran === undefined`))
	require.NotContains(t, b.value(`getComputedStyle(document.getElementById("y")).color`), "255, 0, 0")
}
