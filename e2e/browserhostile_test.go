package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile is text that does harm where it is taken for markup, for a part of an attribute, a script or an address.
const hostile = `<img src=x onerror=alert(1)> "onmouseover="alert(2) '` + "`" + `</textarea></title></script><script>alert(3)</script> javascript:alert(4) {{.}} ${alert(5)} %22%3E<b id=harm>` + "\u202e\u2066x"

func TestHostileTextStaysTextOnEveryPage(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	params := fields{"text": hostile, hostile: hostile, "data": fields{hostile: []string{hostile}}}
	more := fields{"tags": []string{hostile[:60]}, "unique_key": hostile[:100], "max_retries": 0}
	for _, typ := range []string{"P.err", "P.ret"} {
		got := s.post(t, typ, params, more)
		if got.status != http.StatusCreated { // what is refused need not be shown; the rest must be
			got = s.post(t, typ, fields{"text": hostile}, fields{"max_retries": 0})
		}
		require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	}
	raw := s.post(t, "P.raw", fields{hostile: hostile}, nil)
	require.Equal(t, http.StatusCreated, raw.status, "%s", raw.body)
	s.awaitQuiet(t)
	later := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, fields{"delay": "1h"}).ID
	reason := fmt.Appendf(nil, `{"reason":%s}`, js(hostile))
	require.Less(t, s.must(t, http.MethodPost, fmt.Sprintf("/api/v1/tasks/%d/cancel", later), reason).status, 300)
	require.Less(t, s.must(t, http.MethodPost, "/api/v1/types/P.log/pause", reason).status, 300)
	schedule := fmt.Appendf(nil, `{"name":"nightly","task":"P.raw","every":"24h","params":{%[1]s:%[1]s},"tags":[%[2]s]}`, js(hostile), js(hostile[:60]))
	got := s.must(t, http.MethodPost, "/api/v1/schedules", schedule)
	require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	require.Less(t, s.must(t, http.MethodPost, "/api/v1/schedules/nightly/pause", reason).status, 300)

	b := s.tab(t, look{})
	b.forgive("400", "404", "422")
	q := url.QueryEscape(hostile)
	pages := s.pages(t, 1, 100)
	for _, v := range s.list(t, nil) {
		pages = append(pages, fmt.Sprintf("/tasks/%d", v.ID))
	}
	pages = append(pages, "/tasks?q="+q, "/tasks?type="+q, "/tasks?tag="+q, "/tasks?trace_id="+q, "/search?q="+q, "/dead?q="+q,
		"/schedules?q="+q, "/enqueue?q="+q, "/enqueue/"+url.PathEscape(hostile), "/types/"+url.PathEscape(hostile), "/actors?node="+q, "/"+url.PathEscape(hostile))
	shown := 0
	for _, address := range pages {
		b.load(address)
		b.requireHarmless(address)
		if strings.Contains(b.value(`document.body.innerText`), "<img src=x onerror=alert(1)>") {
			shown++
		}
	}
	require.GreaterOrEqual(t, shown, 8, "hardly a page shows the text, so this test shows nothing")
}

func TestHostileTextStaysTextAfterALiveUpdateAndInANotice(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := openList(t, s, "/tasks")
	id := s.enqueue(t, "P.err", fields{"text": hostile}, fields{"max_retries": 0}).ID
	b.await(has(rowOf(id), "<img src=x onerror=alert(1)>"))
	b.requireHarmless("the list")
	b.visit("/dead")
	b.await(live)
	b.await(has("article", "<img src=x onerror=alert"))
	s.enqueue(t, "P.err", fields{"text": hostile}, fields{"max_retries": 0})
	b.await(has("article .many", "2"))
	b.requireHarmless("the dead letters")

	b.visit("/tasks")
	b.click("details.menu > summary", "")
	b.fill("#zone", hostile[:60])
	b.click("details.menu button[name=save]", "")
	b.await(has(".flash", "<img src=x onerror=alert(1)>"))
	b.requireHarmless("a notice")
}

// requireHarmless checks that nothing of the hostile text became markup, or hides or turns letters of the page. Dialogs and requests to elsewhere are faults of
// the tab already.
func (b *tab) requireHarmless(where string) {
	b.t.Helper()
	require.Empty(b.t, b.value(`(() => {
		const found = [...document.querySelectorAll("img, script:not([src]), #harm, [onmouseover], [onerror], a[href^='javascript']")].map((e) => e.outerHTML);
		for (const e of document.querySelectorAll("a[href], form[action], [formaction]")) {
			const to = new URL(e.href || e.formAction || e.action, location.href);
			if (to.origin !== location.origin) found.push("leads elsewhere: " + to);
		}
		const hidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/.exec(document.body.innerText);
		if (hidden) found.push("a letter that cannot be seen: " + hidden[0].codePointAt(0).toString(16));
		return found.join("\n");
	})()`), where)
}
