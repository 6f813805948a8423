package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
)

// grove is a fake with a tree of its own.
type grove struct {
	*fake
	rows []actors.TreeRow
}

func (g *grove) Tree() []actors.TreeRow { return g.rows }

func someTree() []actors.TreeRow {
	crash := time.Now().Add(-time.Minute)
	rows := []actors.TreeRow{
		{ID: "reax", Kind: "supervisor", Processed: 9},
		{ID: "reax/journal", Parent: "reax", Kind: "journal", Depth: 1, Doing: "Commit", Busy: 3 * time.Second, Mailbox: 1234, Processed: 5},
		{ID: "reax/pools", Parent: "reax", Kind: "pools", Depth: 1},
		{ID: "reax/pools/team|mail", Parent: "reax/pools", Kind: "pool", Depth: 2},
		{ID: "reax/scheduler", Parent: "reax", Kind: "scheduler", Depth: 1, Restarts: 2, LastPanic: "panic: " + markup, LastStack: "frame 1 " + markup, PanicAt: crash},
	}
	for i := range 200 {
		w := actors.TreeRow{ID: fmt.Sprintf("reax/pools/team|mail/w$%d", i), Parent: "reax/pools/team|mail", Kind: "worker", Depth: 3, Processed: 1}
		if i < 4 {
			w.Doing, w.Busy = fmt.Sprintf("task %d, run 1", 40+i), time.Duration(i+1)*time.Hour
		}
		rows = append(rows, w)
	}
	return rows
}

// look asks for the tree.
func look(t *testing.T, rows []actors.TreeRow, address string, header map[string]string) string {
	t.Helper()
	s := newServer(t, newFake(t))
	s.runtime = &grove{newFake(t), rows}
	w := send(s.Handler(), scenario{url: address, header: header}.request())
	require.Equal(t, 200, w.Code)
	if header[fragmentsHeader] == "" {
		requirePage(t, w)
	}
	return w.Body.String()
}

func TestTheTreeOfActorsIsTrue(t *testing.T) {
	html := look(t, someTree(), "/actors", browser())
	for _, part := range []string{
		"1 actor is stuck", `href="/actors?node=reax%2Fjournal"`, "Commit", "1,234", "196 idle workers", `href="/tasks/43"`, "task 43", "4 h", "team/mail", "crashed", "restarts</span> 2",
		`class="pill failed"`, "Choose an actor",
	} {
		require.Contains(t, html, part)
	}
	require.Equal(t, 1, strings.Count(html, `class="pill failed"`), "a worker may take hours")
	require.NotContains(t, html, "<img")
	require.NotContains(t, html, "w$199")
	require.Less(t, len(html), 60_000)
	require.Contains(t, look(t, nil, "/actors", browser()), "0 actors")
	require.Contains(t, look(t, someTree(), "/actors", browser("Accept-Language", "zh")), "196 个空闲的工作者")
	part := look(t, someTree(), "/actors?node=reax/journal", map[string]string{fragmentsHeader: "tree,node,verdict"})
	require.NotContains(t, part, "<html")
	require.Contains(t, part, `aria-current="true"`)
}

func TestAnActorIsShownWithItsLastCrash(t *testing.T) {
	at := func(id string) string { return "/actors?node=" + url.QueryEscape(id) }
	html := look(t, someTree(), at("reax/scheduler"), browser())
	require.Contains(t, html, "panic: &lt;img")
	require.Contains(t, html, "frame 1 &lt;img")
	require.NotContains(t, html, "<img")
	require.Contains(t, look(t, someTree(), at("reax/journal"), browser()), "more than a second")
	require.Contains(t, look(t, someTree(), at("reax/pools/team|mail"), browser()), `href="/types/team%2Fmail"`)
	html = look(t, someTree(), at("reax/pools/team|mail/w$199"), browser())
	require.Contains(t, html, "195 idle workers")
	require.Contains(t, html, "It has not crashed")
	for _, id := range []string{"reax/gone", markup, strings.Repeat("x", 5000)} {
		html := look(t, someTree(), at(id), browser())
		require.NotContains(t, html, "<img")
		require.NotContains(t, html, "Last crash")
	}
	require.Contains(t, look(t, someTree(), at("reax/gone"), browser()), "This actor is gone")
}

func TestManyWorkersAtWorkAreNotAllListed(t *testing.T) {
	rows := []actors.TreeRow{{ID: "reax", Kind: "supervisor"}, {ID: "reax/pools", Parent: "reax", Kind: "pools"}}
	for p := range 20 {
		pool := fmt.Sprintf("reax/pools/p%d", p)
		rows = append(rows, actors.TreeRow{ID: pool, Parent: "reax/pools", Kind: "pool"})
		for w := range 100 {
			rows = append(rows, actors.TreeRow{ID: fmt.Sprintf("%s/w$%d", pool, w), Parent: pool, Kind: "worker", Doing: fmt.Sprintf("task %d, run 1", w), Busy: time.Duration(w) * time.Second})
		}
	}
	html := look(t, rows, "/actors", browser())
	require.Contains(t, html, "96 more workers at work")
	require.Contains(t, html, "task 99", "the longest are shown")
	require.Less(t, len(html), 100_000)
}

func TestARowWithoutItsParentIsNotLost(t *testing.T) {
	html := look(t, []actors.TreeRow{{ID: "reax/pools/a/w$1", Parent: "reax/pools/a", Kind: "worker"}, {ID: "x", Parent: "x", Kind: "odd"}}, "/actors", browser())
	require.Contains(t, html, "w$1")
	require.Contains(t, html, "2 actors")
}

func TestATypeIsDrivenFromTheDashboard(t *testing.T) {
	w := newWorld(t)
	w.enqueue(`{"type":"gate"}`)
	w.wait("/actors", `href="/tasks/1"`)
	w.send(scenario{url: "/types/gate", status: 200, header: browser(), must: []string{"1 of 2 busy"}})
	w.send(scenario{method: "POST", url: "/types/gate/pause", body: "reason=audit", status: 303, header: browser()})
	w.wait("/types/gate", "audit")
	w.send(scenario{method: "POST", url: "/types/gate/resume", body: "reason=", status: 303, header: browser()})
	w.send(scenario{method: "POST", url: "/types/gate/resize", body: "concurrency=5", status: 303, header: browser()})
	w.wait("/types/gate", "1 of 5 busy")
	close(w.release)
	w.wait("/actors", "journal")
}

func TestAScheduleLivesInTheDashboard(t *testing.T) {
	w := newWorld(t)
	const form = "name=team/tick&task=blob&kind=every&every=1s&timezone=UTC&params=%7B%22at%22%3A%22%7B%7B+.ScheduledFor+%7D%7D%22%7D"
	w.send(scenario{method: "POST", url: "/schedules/new", body: form, status: 303, header: browser()})
	w.wait("/schedules/team%2Ftick", `href="/tasks/1"`)
	w.wait("/schedules", "success")
	w.send(scenario{method: "POST", url: "/schedules/new", body: form, status: 422, header: browser(), must: []string{"s-name-error"}})
	w.send(scenario{method: "POST", url: "/schedules/new", body: strings.Replace(form, "ScheduledFor", "Nothing", 1) + "&x=", status: 422, header: browser(), must: []string{"s-params-error", "/at:"}})
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/pause", body: "reason=audit", status: 303, header: browser()})
	w.wait("/schedules/team%2Ftick", "audit")
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/edit", body: strings.Replace(form, "every=1s", "every=1h", 1) + "&version=1", status: 303, header: browser()})
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/edit", body: form + "&version=1", status: 409, header: browser(), must: []string{"Somebody was faster", "It is now: 1h"}})
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/run", body: "token=a", status: 303, header: browser()})
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/resume", body: "a=", status: 303, header: browser()})
	w.send(scenario{method: "POST", url: "/schedules/team%2Ftick/delete", body: "reason=old", status: 303, header: browser()})
	w.send(scenario{url: "/schedules/team%2Ftick", status: 404, header: browser()})
}
