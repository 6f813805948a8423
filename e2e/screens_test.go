package e2e

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	href   = regexp.MustCompile(`<a\s[^>]*href="(/[^"#]*)`)
	number = regexp.MustCompile(`\d+|[0-9a-f]{12,}`)
)

// shape is what the addresses of like pages have in common.
func shape(address string) string {
	path, query, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[2] != "new" {
		parts[2] = "*"
	}
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return number.ReplaceAllString(strings.Join(parts, "/"), "*") + "?" + strings.Join(names, "&")
}

// pages follows the links of the pages from the first one, and gives some pages of each shape, at most most of them.
func (s *server) pages(t *testing.T, each, most int) (found []string) {
	t.Helper()
	seen, shapes := map[string]bool{"/": true}, map[string]int{}
	for queue := []string{"/"}; len(queue) > 0 && len(found) < most; queue = queue[1:] {
		address := queue[0]
		if shapes[shape(address)]++; shapes[shape(address)] > each {
			continue
		}
		got := s.must(t, http.MethodGet, address, nil)
		require.Less(t, got.status, 300, "a link leads to %s:\n%.1000s", address, got.body)
		if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			continue
		}
		found = append(found, address)
		for _, match := range href.FindAllSubmatch(got.body, -1) {
			// Of the filters of a list, which are many, each alone is enough.
			if link := html.UnescapeString(string(match[1])); !seen[link] && strings.Count(link, "=") < 2 {
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	return found
}

// looks are those that a page must fit: the narrowest with the longer words, and the other language. Pictures are made
// in more of them.
func looks() map[string]look {
	all := map[string]look{"narrow": {width: 390}, "chinese": {language: "zh-CN"}}
	if os.Getenv(screensVariable) != "" {
		all["light"], all["dark"] = look{}, look{dark: true}
	}
	return all
}

// REAX_SCREENS names a folder into which the tests save a picture of each page in each look.
const screensVariable = "REAX_SCREENS"

func TestEveryPageFitsEveryScreen(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	pages := s.pages(t, 1, 100)
	for _, section := range []string{"/", "/tasks", "/dead", "/schedules", "/types", "/actors", "/enqueue"} {
		require.Contains(t, pages, section, "no link leads to it")
	}
	for _, state := range []string{"pending", "running", "retry_wait", "success", "failed", "dead"} {
		one := s.list(t, url.Values{"state": {state}})[0]
		pages = append(pages, "/tasks?state="+state, fmt.Sprintf("/tasks/%d", one.ID))
	}
	for name, l := range looks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.tab(t, l)
			for _, address := range pages {
				b.visit(address)
				b.requireSoundPage(address)
				if name == "narrow" { // the longer words; one language is enough
					b.requireFits(address)
				}
				b.picture(name, address)
			}
			b.forgive("404")
			require.Equal(t, http.StatusNotFound, b.load("/tasks/999999"))
			b.requireSoundPage("/tasks/999999")
			b.picture(name, "/not-found")
		})
	}
	t.Run("pictures for the README", func(t *testing.T) {
		t.Parallel()
		b := s.tab(t, look{width: 1440})
		for name, address := range map[string]string{"overview": "/", "tasks": "/tasks"} {
			b.visit(address)
			b.await(live)
			b.savePicture(filepath.Join("readme", name+".png"))
		}
	})
}

func TestEveryPageOfAnEmptyServerFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.program = reaxProgram
	s := p.start(t)
	b := s.tab(t, look{width: 390, dark: true})
	for _, address := range s.pages(t, 1, 100) {
		b.visit(address)
		b.requireSoundPage(address)
		b.picture("empty", address)
	}
}

// requireSoundPage checks what holds for every page, whatever it shows.
func (b *tab) requireSoundPage(address string) {
	b.t.Helper()
	faults := b.value(`(() => {
		const faults = [], root = document.documentElement, all = (s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility());
		if (root.scrollWidth > root.clientWidth) {
			const wide = all("main *").filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, pre, svg"))[0];
			faults.push("it is wider than the screen: " + wide?.outerHTML.slice(0, 300));
		}
		if (all("h1").length !== 1) faults.push("it has " + all("h1").length + " h1");
		if (!document.title) faults.push("it has no title");
		if (!document.querySelector("main")) faults.push("it has no main");
		const named = (e) => e.ariaLabel || e.title || e.textContent.trim() || e.labels?.length || e.getAttribute("aria-labelledby") || e.type === "hidden";
		for (const e of all("a, button, summary, input, select, textarea")) if (!named(e)) faults.push("it has no name: " + e.outerHTML.slice(0, 300));
		const ids = [...document.querySelectorAll("[id]")].map((e) => e.id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
		if (twice.length) faults.push("ids are not unique: " + twice);
		for (const e of document.querySelectorAll("[style], script:not([src]), style")) faults.push("inline style or script: " + e.outerHTML.slice(0, 300));
		if (/\{\{\.[a-z]|<no value>|%!\(/.test(document.body.innerText)) faults.push("a text was not filled in");
		return faults.join("\n");
	})()`)
	if faults != "" {
		b.t.Errorf("%s in %+v:\n%s", address, b.look, faults)
	}
}

// fits are windows in which no page may be wider than the window: the smallest of phones, 200 % of a small screen, and
// the narrowest that has the rail at its side.
var fits = []struct {
	width int64
	scale float64
}{{320, 1}, {640, 2}, {901, 1}}

// requireFits checks the page that is shown in all of fits. What is a little wider scrolls in its own place; where there is
// a rail, a list has left out enough for its columns to have room.
func (b *tab) requireFits(address string) {
	b.t.Helper()
	for _, f := range fits {
		b.do(chromedp.EmulateViewport(f.width, 900, chromedp.EmulateScale(f.scale)))
		faults := b.value(`(() => {
			const root = document.documentElement, faults = [];
			if (root.clientWidth !== ` + fmt.Sprint(f.width) + `) faults.push("the window has " + root.clientWidth + " pixels");
			if (root.scrollWidth > root.clientWidth) faults.push("it is " + root.scrollWidth + " pixels wide");
			if (root.clientWidth > 900) for (const e of document.querySelectorAll(".list .scroll")) {
				if (e.scrollWidth > e.clientWidth) faults.push("a list of " + e.scrollWidth + " pixels has room for " + e.clientWidth);
			}
			return faults.join("\n");
		})()`)
		if faults != "" {
			b.t.Errorf("%s in a window of %d pixels:\n%s", address, f.width, faults)
		}
	}
	b.do(chromedp.EmulateViewport(cmp.Or(b.look.width, 1280), 900))
}

// picture saves the whole page.
func (b *tab) picture(kind, address string) {
	b.t.Helper()
	if os.Getenv(screensVariable) == "" {
		return
	}
	width := cmp.Or(b.look.width, 1280)
	b.do(chromedp.EmulateViewport(width, int64(max(900, b.number(`document.documentElement.scrollHeight`)))))
	name := strings.Trim(unsafe.ReplaceAllString(address, "_"), "_")
	b.savePicture(cmp.Or(name, "overview") + "-" + kind + ".png")
	b.do(chromedp.EmulateViewport(width, 900))
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9.=-]+`)

// savePicture saves what the window shows, when the tests are to make pictures.
func (b *tab) savePicture(name string) {
	b.t.Helper()
	dir := os.Getenv(screensVariable)
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), picture, 0o600))
}
