package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A page of a listed origin shows the status in a frame, and the page of any other shows none.
func TestTheStatusIsEmbeddedWhereItMayBe(t *testing.T) {
	t.Parallel()
	var base string
	intranet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := "/status/embed?compact=1&theme=dark"
		if strings.HasPrefix(r.URL.Path, "/whole") {
			path = "/status"
		}
		fmt.Fprintf(w, `<!doctype html><title>intranet</title><iframe src="%s%s" width="320" height="200"></iframe><img src="%[1]s/status/badge.svg">`, base, path)
	}))
	t.Cleanup(intranet.Close)
	_, port, err := net.SplitHostPort(intranet.Listener.Addr().String())
	require.NoError(t, err)
	p := newPlace(t)
	p.config(t, `status: {access: public, embed: ["http://127.0.0.1:`+port+`"], groups: [{name: Probes, types: ["*"]}]}`)
	s := p.start(t)
	base = s.base

	for _, c := range []struct {
		address string
		shown   bool
	}{
		{"http://127.0.0.1:" + port + "/", true},
		{"http://127.0.0.1:" + port + "/whole", false}, // which is no frame of anybody
		{"http://localhost:" + port + "/", false},      // the same machine by another name is another origin
	} {
		b := s.tab(t, look{})
		b.forgive("request to another server: http://127.0.0.1:"+port, "request to another server: http://localhost:"+port, "frame-ancestors", "ERR_BLOCKED_BY", "Framing", "Refused to frame", "favicon.ico", "404")
		b.visitAt(c.address)
		b.await(`document.querySelector("img").complete && document.querySelector("img").naturalWidth > 0`)
		until(t, patience, func() string {
			shown, refused := b.frame(s.base+"/status"), b.heard("frame-ancestors")
			if shown == refused {
				return "the browser has neither shown the frame nor refused it"
			}
			require.Equal(t, c.shown, shown, c.address)
			return ""
		})
	}
}

// frame reports whether a frame of the page shows an address that begins so.
func (b *tab) frame(address string) bool {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, page.GetFrameTree, cdp.Empty{})
	require.NoError(b.t, err)
	return slices.ContainsFunc(result.FrameTree.ChildFrames, func(child *page.FrameTree) bool {
		return strings.HasPrefix(child.Frame.URL, address) && child.Frame.UnreachableURL == ""
	})
}

// heard reports whether the browser has found a fault with a text in it, forgiven or not.
func (f *faults) heard(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.found, func(fault string) bool { return strings.Contains(fault, text) })
}

// The status page tells without a script and in either language how things are, and what an operator writes stands on it.
func TestWhatAnOperatorWritesStandsOnTheStatusPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.config(t, `status: {access: public, title: Probes, groups: [{name: Probes, types: ["*"]}]}`)
	s := p.start(t)
	op := s.tab(t, look{scriptless: true})
	op.visit("/incidents")
	op.click("summary", op.says("incidents.new.incident"))
	op.fill("#incident-title", "The network is slow")
	op.fill("#incident-text", "We **know** of it.")
	op.click("#new-incident button", op.says("incidents.publish"))
	op.await(has("h1", "The network is slow"))

	reader := s.tab(t, look{scriptless: true, language: "zh-CN", width: 390})
	reader.visit("/status")
	reader.await(has(".overall", reader.says("status.overall.incident")))
	reader.await(has(".incident h3", "The network is slow"))
	reader.await(has(".incident .prose strong", "know"))
	require.True(t, reader.is(`document.documentElement.scrollWidth <= innerWidth`), "it fits a phone")
}
