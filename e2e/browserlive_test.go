package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/require"
)

// live is the script for whether the page says that it is connected.
const live = `document.documentElement.dataset.conn === "on"`

// rowOf is the selector of a task's row in the list.
func rowOf(id int64) string { return fmt.Sprintf(`tr[data-row]:has(input[name=id][value="%d"])`, id) }

// openList opens the list and marks the page, so that a test can tell an update from a page that was loaded again.
func openList(t *testing.T, s *server, path string) *tab {
	t.Helper()
	b := s.tab(t, look{})
	b.visit(path)
	b.await(live)
	b.do(mark)
	return b
}

var mark = evalOnly(`window.stillThere = true`)

func TestTheListFollowsWhatHappensWithoutBeingLoadedAgain(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := openList(t, s, "/tasks")
	b.await(has("button.live", b.says("live.on")))
	b.await(has(".empty", b.says("tasks.none.title")))

	id := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
	b.await(has(rowOf(id), b.says("state.running")))
	b.await(has(`nav.tabs a[href*="state=running"] .count`, "1"))
	s.act(t, id, "cancel")
	b.await(has(rowOf(id), b.says("state.cancelled")))
	b.await(has(`nav.tabs a[href*="state=running"] .count`, "0"))
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")
}

func TestTheOverviewsFiguresFollowWhatHappens(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	s.enqueue(t, "P.log", fields{}, nil) // before the first task the page says how to begin
	s.awaitQuiet(t)
	b := openList(t, s, "/")
	dead := `document.querySelector(".tiles a[href*='state=dead'], .tiles a[href*='/dead']").textContent`
	before := b.value(dead)
	s.enqueue(t, "P.perm", fields{}, nil)
	s.enqueue(t, "P.fail", fields{"n": -1}, fields{"max_retries": 0})
	b.await(dead + " !== " + js(before))
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")
}

func TestAPausedPageStandsStillAndCatchesUpLater(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := openList(t, s, "/tasks")
	b.click("button.live", b.says("live.on"))
	b.await(has("button.live[aria-pressed=true]", b.says("live.paused")))
	id := s.enqueue(t, "P.log", fields{}, nil).ID
	s.awaitState(t, id, "success")
	require.False(t, b.is(has(rowOf(id), "")))
	b.click("button.live", b.says("live.paused"))
	b.await(has("button.live", b.says("live.on")))
	b.await(has(rowOf(id), b.says("state.success")))
}

func TestThePageSaysThatTheServerIsGoneAndCatchesUpWhenItIsBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	b := openList(t, s, "/tasks")
	b.forgive("net::ERR_", "Failed to load resource")

	s.kill(t)
	b.await(has("button.live", b.says("live.off")))
	p.args = []string{"--addr", strings.TrimPrefix(s.base, "http://")}
	s = p.start(t)
	id := s.enqueue(t, "P.log", fields{}, nil).ID
	b.await(has("button.live", b.says("live.on")))
	b.await(has(rowOf(id), b.says("state.success")))
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")
}

// A proxy in between answers for a server that restarts, and a browser then gives its stream up for good.
func TestThePageComesBackAfterAProxyAnsweredForTheServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.config(t, "trusted_proxies: [127.0.0.1/32]\n") // nobody else's proxy may ask as long as there are no accounts
	s := p.start(t)
	target, err := url.Parse(s.base)
	require.NoError(t, err)
	var refused atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" && !refused.Swap(true) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(proxy.CloseClientConnections)

	behind := &server{api: &api{base: proxy.URL}}
	b := behind.tab(t, look{})
	b.forgive("502")
	b.visit("/tasks")
	b.await(live)
	require.True(t, refused.Load())
	id := s.enqueue(t, "P.log", fields{}, nil).ID
	b.await(has(rowOf(id), b.says("state.success")))
}

func TestTypingSurvivesAnUpdate(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := openList(t, s, "/tasks")
	b.click("#f-q", "")
	b.press("half a wo")
	id := s.enqueue(t, "P.log", fields{}, nil).ID
	b.await(has(rowOf(id), b.says("state.success")))
	b.press("rd")
	require.True(t, b.is(`document.activeElement.id === "f-q" && document.activeElement.value === "half a word"`))
}

func TestASelectionSurvivesAnUpdateAndNewResultsAreOffered(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	old := s.enqueue(t, "P.log", fields{}, nil).ID
	s.awaitState(t, old, "success")
	b := openList(t, s, "/tasks")
	require.False(t, b.is(has(".stale", "")))
	b.click(rowOf(old)+" input[name=id]", "")
	b.await(has(".bulk", "1 "+b.says("bulk.picked")))

	id := s.enqueue(t, "P.log", fields{}, nil).ID
	b.await(has("button.stale", b.says("live.stale")))
	require.True(t, b.is(fmt.Sprintf(`document.querySelector(%s).checked`, js(rowOf(old)+" input[name=id]"))))
	require.False(t, b.is(has(rowOf(id), "")), "the rows were replaced under a selection")
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")

	b.click("button.stale", "")
	b.await(has(rowOf(id), ""))
}

func TestAClickIsNotLostToAnUpdateBetweenItsHalves(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	old := s.enqueue(t, "P.log", fields{}, nil).ID
	s.awaitState(t, old, "success")
	b := openList(t, s, "/tasks")
	x, y := b.place(rowOf(old)+" a.open", "")
	b.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	id := s.enqueue(t, "P.perm", fields{}, nil).ID
	b.await(has(".rail a[href='/dead'] .count", "1")) // the rest of the page follows
	require.False(t, b.is(has(rowOf(id), "")), "the rows were replaced under the mouse")
	b.mouse(input.DispatchMouseEventTypeMouseReleased, x, y)
	b.awaitPath(fmt.Sprintf("/tasks/%d", old))
}

func TestSelectedTextSurvivesAnUpdate(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	old := s.enqueue(t, "P.log", fields{}, nil).ID
	s.awaitState(t, old, "success")
	b := openList(t, s, "/tasks")
	b.do(evalOnly(fmt.Sprintf(`getSelection().selectAllChildren(document.querySelector(%s))`, js(rowOf(old)+" a.open"))))
	s.enqueue(t, "P.log", fields{}, nil)
	b.await(has("button.stale", ""))
	require.Contains(t, b.value(`getSelection().toString()`), "P.log")
}

func TestAStopOfTheServerDoesNotWaitForOpenPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.config(t, "shutdown_grace: 10m\n")
	s := p.start(t)
	b := openList(t, s, "/tasks")
	b.forgive("net::ERR_", "Failed to load resource")
	// Were an open page waited for, the stop would last the whole grace, which is longer than the patience of the test.
	s.stop(t)
	b.await(has("button.live", b.says("live.off")))
}
