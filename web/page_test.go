package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// browser is what a browser sends for a page.
func browser(more ...string) map[string]string {
	h := map[string]string{"Accept": "text/html,application/xhtml+xml;q=0.9"}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// requirePage checks what every page of the dashboard has, an answer to a form included.
func requirePage(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusSeeOther {
		require.True(t, isLocal(w.Header().Get("Location")), w.Header().Get("Location"))
		return
	}
	html := w.Body.String()
	require.Equal(t, "text/html; charset=UTF-8", w.Header().Get("Content-Type"), html)
	require.Equal(t, pagePolicy, w.Header().Get("Content-Security-Policy"))
	require.Regexp(t, `(?i)^<!doctype html><html lang="(en|zh-CN)"`, html)
	require.Equal(t, 1, strings.Count(html, "<h1"), "one heading")
	require.NotContains(t, html, "style=")
	require.NotRegexp(t, `<[^>]* on[a-z]+="`, html)
	require.Regexp(t, `</html>\s*$`, html, "the whole page")
	for _, key := range regexp.MustCompile(`>\s*([a-z_]+\.[a-z_]+(?:\.[a-z_]+)*)\s*<`).FindAllStringSubmatch(html, -1) {
		_, known := views.English.Lookup(key[1])
		require.False(t, known, "a key instead of its message: %s", key[1])
	}
}

func cookieOf(t *testing.T, w *httptest.ResponseRecorder, name string) *http.Cookie {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func TestTheOverviewInBothLanguages(t *testing.T) {
	f := newFake(t)
	f.counts = []models.Count{{Type: "any", State: models.StateDead, N: 7}, {Type: "b", State: models.StateRetryWait, N: 12345}}
	w := scenario{url: "/", status: 200, header: browser("Accept-Language", "en-GB,en;q=0.9"), must: []string{"Overview", "12,345", "Everything works"}}.run(t, f)
	require.Contains(t, w.Header().Get("Vary"), "Accept-Language")
	scenario{url: "/", status: 200, header: browser("Accept-Language", "zh-TW;q=0.3, zh-CN,en;q=0.1"), must: []string{"总览", "12,345"}, mustNot: []string{"Overview"}}.run(t, f)
}

func TestPagesEscapeWhatTheyShow(t *testing.T) {
	f := newFake(t)
	f.health.Status, f.health.Causes = "down", []actors.Cause{{Code: actors.CauseDatabase, Args: map[string]any{"error": evil}}}
	scenario{url: "/", status: 200, header: browser(), must: []string{"&lt;img"}, mustNot: []string{"<img"}}.run(t, f)
}

func TestTheOverviewShowsWithoutADatabase(t *testing.T) {
	f := newFake(t)
	f.readErr = errSecret
	scenario{url: "/", status: 200, header: browser(), must: []string{"does not answer"}, mustNot: []string{`class="tiles"`}}.run(t, f)
}

func TestLanguagesThatNobodySpeaksAreEnglish(t *testing.T) {
	for _, lang := range []string{"", "fr", "*", "\x00", ";;;q=", string(make([]byte, 100000))} {
		scenario{url: "/", status: 200, header: browser("Accept-Language", lang), must: []string{`lang="en"`}}.run(t, newFake(t))
	}
}

func TestTheFilesOfAPageMayBeKeptForEver(t *testing.T) {
	f := newFake(t)
	page := scenario{url: "/", status: 200}.run(t, f).Body.String()
	for file, mediaType := range map[string]string{"app.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "favicon.svg": "image/svg+xml"} {
		url := regexp.MustCompile(`(?:href|src)="(/static/[0-9a-f]+/` + regexp.QuoteMeta(file) + `)"`).FindStringSubmatch(page)
		require.NotNil(t, url, file)
		w := scenario{url: url[1], status: 200}.run(t, f)
		require.Equal(t, "public, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
		require.Equal(t, mediaType, w.Header().Get("Content-Type"))
	}
}

func TestErrorsAreAPageForABrowserAndAProblemForAProgram(t *testing.T) {
	runScenarios(t, nil, []scenario{
		{name: "no page", url: "/nothing", status: 404, header: browser(), must: []string{"There is nothing here", "Request", `href="/tasks"`}},
		{name: "in Chinese", url: "/nothing", status: 404, header: browser("Accept-Language", "zh"), must: []string{"这里什么也没有"}},
		{name: "for a program", url: "/nothing", status: 404},
		{name: "in the API", url: "/api/v1/nothing", status: 404, header: map[string]string{"Accept": "application/json"}},
		{name: "a foreign host", url: "/tasks", status: 403, header: browser("Host", "evil.example"), must: []string{"This is not allowed", "evil.example"}},
		{name: "a foreign form", method: "POST", url: "/tasks/bulk", body: "do=retry&id=1", status: 403, header: browser("Sec-Fetch-Site", "cross-site"), must: []string{"This is not allowed"}},
		{name: "a form from nowhere", method: "POST", url: "/tasks/bulk", body: "do=retry&id=1", status: 403, header: browser("Origin", "null")},
		{name: "a wrong method", method: "POST", url: "/tasks", body: "a=b", status: 405, header: browser(), must: []string{"The request is not valid"}},
	})
	f := newFake(t)
	f.readErr = errSecret
	scenario{url: "/tasks", status: 500, header: browser("X-Request-ID", "R-42"), must: []string{"R-42", "Something went wrong inside reax"}}.run(t, f)
	f.readErr = models.ErrNotFound
	scenario{url: "/tasks", status: 404, header: browser()}.run(t, f)
	f.readErr = &models.StateError{ID: 3, State: models.StateRunning, Action: "retry"}
	scenario{url: "/tasks", status: 409, header: browser(), must: []string{"That does not fit any more", "task 3 is running"}}.run(t, f)
	f.readErr = context.DeadlineExceeded
	w := scenario{url: "/tasks", status: 503, header: browser(), must: []string{"The database does not answer now"}}.run(t, f)
	require.Equal(t, "5", w.Header().Get("Retry-After"))
}

type panickyHealth struct{ *fake }

func (panickyHealth) Health() actors.Health { panic(errSecret) }

func TestAPanicOfAPageIsAPage(t *testing.T) {
	f := newFake(t)
	s := New(Config{Runtime: panickyHealth{f}, Ledger: f, Logger: slog.New(slog.DiscardHandler)})
	w := send(s.Handler(), scenario{url: "/", header: browser()}.request())
	require.Equal(t, 500, w.Code)
	requirePage(t, w)
	require.NotContains(t, w.Body.String(), "hunter2")
	require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"))
}

func TestSettingsAreKeptInTheBrowserAndGoBack(t *testing.T) {
	f := newFake(t)
	save := func(body string) *httptest.ResponseRecorder {
		return scenario{method: "POST", url: "/settings", body: body, status: 303, header: browser()}.run(t, f)
	}
	w := save("theme=dark&back=" + url.QueryEscape("/tasks?state=dead"))
	require.Equal(t, "/tasks?state=dead", w.Header().Get("Location"))
	c := cookieOf(t, w, themeCookie)
	require.Equal(t, "dark", c.Value)
	require.True(t, c.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, c.SameSite)
	require.Negative(t, cookieOf(t, save("theme=system"), themeCookie).MaxAge)
	require.Nil(t, cookieOf(t, save("theme=pink"), themeCookie))
	require.Equal(t, "zh-CN", cookieOf(t, save("lang=zh-CN"), langCookie).Value)
	require.Nil(t, cookieOf(t, save("lang=xx"), langCookie))
	require.Nil(t, cookieOf(t, save("lang=en&zone=Asia/Shanghai"), zoneCookie), "another button of the form")
	require.Equal(t, "Asia/Shanghai", cookieOf(t, save("save=zone&zone=Asia/Shanghai"), zoneCookie).Value)
	for _, zone := range []string{"Mars/Phobos", "../../etc/passwd", "Local", "", strings.Repeat("A", 1000), "<b>"} {
		w := save("save=zone&zone=" + url.QueryEscape(zone))
		require.Nil(t, cookieOf(t, w, zoneCookie), zone)
		require.NotNil(t, cookieOf(t, w, flashCookie), zone)
	}
	require.Equal(t, "compact", cookieOf(t, save("density=compact"), densityCookie).Value)
	require.Negative(t, cookieOf(t, save("density=comfortable"), densityCookie).MaxAge)
	require.Nil(t, cookieOf(t, save("density=huge"), densityCookie))
	require.Equal(t, "100", cookieOf(t, save("rows=100"), rowsCookie).Value)
	require.Nil(t, cookieOf(t, save("rows=5000"), rowsCookie), "no choice of ours")
	for _, back := range []string{"", "//evil.example", `/\evil.example`, "https://evil.example/", "javascript:alert(1)", "tasks", "/\tx", "/" + strings.Repeat("x", 5000)} {
		require.Equal(t, "/", save("theme=dark&back="+url.QueryEscape(back)).Header().Get("Location"), back)
	}
	scenario{url: "/", status: 200, header: browser("Cookie", "reax_theme=dark; reax_lang=zh-CN; reax_zone=Asia/Tokyo"), must: []string{
		`data-theme="dark"`, "总览", "Asia/Tokyo (UTC+9)",
	}}.run(t, f)
	scenario{url: "/", status: 200, header: browser("Cookie", "reax_density=compact; reax_rows=25"), must: []string{`data-density="compact"`, `value="25" aria-pressed="true"`}}.run(t, f)
	scenario{url: "/", status: 200, header: browser("Cookie", "reax_density=x; reax_rows=-1"), must: []string{`value="50" aria-pressed="true"`}, mustNot: []string{"data-density"}}.run(t, f)
	scenario{url: "/", status: 200, header: browser("Cookie", `reax_theme="><b>; reax_lang=xx; reax_zone=../x`), must: []string{`lang="en"`}, mustNot: []string{"data-theme"}}.run(t, f)
}

func TestABodyThatIsNoFormIsRefused(t *testing.T) {
	runScenarios(t, nil, []scenario{
		{name: "JSON", method: "POST", url: "/settings", body: `{"theme":"dark"}`, status: 415},
		{name: "broken", method: "POST", url: "/settings", body: "theme=%zz", status: 400, header: browser()},
		{name: "too large", method: "POST", url: "/settings", body: "a=" + strings.Repeat("b", maxBodyBytes), status: 413, header: browser()},
	})
}

func TestAFlashIsShownOnceAndSaysNothingOfItsOwn(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	w := send(s.Handler(), scenario{method: "POST", url: "/tasks/bulk", body: "do=retry&id=1&back=/tasks", header: browser()}.request())
	value := cookieOf(t, w, flashCookie).Value
	w = scenario{url: "/tasks", status: 200, header: browser("Cookie", flashCookie+"="+value), must: []string{`role="status"`, "2 tasks will run again; 1 were left alone (it runs)."}}.run(t, f)
	require.Negative(t, cookieOf(t, w, flashCookie).MaxAge, "it is taken")
	w = scenario{url: "/tasks", status: 200, header: map[string]string{"Cookie": flashCookie + "=" + value, fragmentsHeader: "tabs"}}.run(t, f)
	require.Nil(t, cookieOf(t, w, flashCookie), "a live update must not swallow it")
	for _, bad := range []string{"", "x", "e30", strings.Repeat("A", 10000), "eyJ0b25lIjoib2siLCJrZXkiOiI8Yj4ifQ"} {
		scenario{url: "/tasks", status: 200, header: browser("Cookie", flashCookie+"="+bad), mustNot: []string{`class="flash`}}.run(t, f)
	}
}

func TestSearchJumps(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{})
	f.add(models.Task{})
	for q, want := range map[string]string{
		"2": "/tasks/2", " #2 ": "/tasks/2", "99": "/tasks?q=99", "00000000000000000000000000000001": "/traces/00000000000000000000000000000001", "": "/tasks",
		"FFFFFFFFffffffffffffffffffffffff": "/traces/ffffffffffffffffffffffffffffffff", "any": "/tasks?type=any", "type:gone": "/tasks?type=gone",
		"i/o timeout": "/tasks?q=i%2Fo+timeout", "//evil.example": "/tasks?q=%2F%2Fevil.example",
	} {
		w := scenario{url: "/search?q=" + url.QueryEscape(q), status: 303, header: browser()}.run(t, f)
		require.Equal(t, want, w.Header().Get("Location"), q)
	}
	f.readErr = errSecret
	scenario{url: "/search?q=2", status: 500, header: browser()}.run(t, f)
}

func TestPagesWorkBelowAPath(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{})
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), BasePath: "/reax"})
	for _, url := range []string{"/reax/", "/reax/tasks", "/reax/tasks?q=x&state=dead", "/reax/nothing"} {
		html := send(s.Handler(), scenario{url: url, header: browser()}.request()).Body.String()
		for _, m := range regexp.MustCompile(`(?:href|src|action|data-events)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			require.True(t, strings.HasPrefix(m[1], "/reax/") || strings.HasPrefix(m[1], "#"), "%s on %s", m[1], url)
		}
	}
	w := send(s.Handler(), scenario{url: "/reax/search?q=1", header: browser()}.request())
	require.Equal(t, "/reax/tasks/1", w.Header().Get("Location"))
	w = send(s.Handler(), scenario{method: "POST", url: "/reax/settings", body: "theme=dark&back=/other", header: browser()}.request())
	require.Equal(t, "/reax/", w.Header().Get("Location"))
	require.Equal(t, "/reax/", cookieOf(t, w, themeCookie).Path)
}

func TestTheServersZoneIsARealOne(t *testing.T) {
	_, err := time.LoadLocation(serverZone().String())
	require.NoError(t, err)
	require.NotEqual(t, "Local", serverZone().String())
}
