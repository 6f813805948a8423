package web

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyATrustedProxySaysWhereARequestComesFrom(t *testing.T) {
	s := &Server{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	for name, c := range map[string]struct {
		peer   string
		header http.Header
		want   origin
	}{
		"nobody between":        {"203.0.113.9:1", nil, origin{address: "203.0.113.9"}},
		"a claim":               {"203.0.113.9:1", http.Header{"X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Prefix": {"/x"}}, origin{address: "203.0.113.9", relayed: true}},
		"a proxy on loopback":   {"127.0.0.1:1", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, origin{address: "127.0.0.1", relayed: true}},
		"one proxy":             {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"203.0.113.9"}}, origin{address: "203.0.113.9"}},
		"spoofed before it":     {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"127.0.0.1, 203.0.113.9"}}, origin{address: "203.0.113.9"}},
		"two proxies":           {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"1.1.1.1, 203.0.113.9", "10.0.0.2"}}, origin{address: "203.0.113.9"}},
		"all are ours":          {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, origin{address: "10.0.0.3"}},
		"rubbish ends the walk": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"203.0.113.9, unknown, 10.0.0.2"}}, origin{address: "10.0.0.2"}},
		"mapped and with ports": {"[::ffff:10.0.0.1]:1", http.Header{"X-Forwarded-For": {"[2001:db8::1]:443"}}, origin{address: "2001:db8::1"}},
		"by RFC 7239":           {"[::1]:1", http.Header{"Forwarded": {`for=1.1.1.1;proto=http, for="[2001:db8::1]:8";proto=https;by=x`}}, origin{address: "2001:db8::1", tls: true}},
		"hidden by RFC 7239":    {"10.0.0.1:1", http.Header{"Forwarded": {`for=1.1.1.1, for=_hidden`}}, origin{address: "10.0.0.1"}},
		"both agree":            {"10.0.0.1:1", http.Header{"Forwarded": {"for=203.0.113.9"}, "X-Forwarded-For": {"203.0.113.9"}}, origin{address: "203.0.113.9"}},
		"both differ":           {"10.0.0.1:1", http.Header{"Forwarded": {"for=127.0.0.1;proto=https"}, "X-Forwarded-For": {"203.0.113.9"}}, origin{address: "10.0.0.1"}},
		"TLS":                   {"10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https"}}, origin{address: "10.0.0.1", tls: true}},
		"TLS at the first only": {"10.0.0.1:1", http.Header{"X-Forwarded-Proto": {"https, http"}}, origin{address: "10.0.0.1"}},
		"a prefix":              {"10.0.0.1:1", http.Header{"X-Forwarded-Prefix": {"/team/reax/"}}, origin{address: "10.0.0.1", prefix: "/team/reax"}},
		"another host's prefix": {"10.0.0.1:1", http.Header{"X-Forwarded-Prefix": {"//evil.example"}}, origin{address: "10.0.0.1"}},
		"a prefix with markup":  {"10.0.0.1:1", http.Header{"X-Forwarded-Prefix": {`/"><script>`}}, origin{address: "10.0.0.1"}},
		"a prefix with dots":    {"10.0.0.1:1", http.Header{"X-Forwarded-Prefix": {"/../x"}}, origin{address: "10.0.0.1"}},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: c.header}
		if c.header == nil {
			r.Header = http.Header{}
		}
		require.Equal(t, c.want, s.originOf(r), name)
	}
}

func TestAPrefixOfAProxyIsPartOfEveryAddress(t *testing.T) {
	f := newFake(t)
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	header := func(more ...string) map[string]string {
		h := browser("X-Forwarded-For", "127.0.0.1", "X-Forwarded-Prefix", "/team", "X-Forwarded-Proto", "https")
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), TrustedProxies: trusted, AllowedHosts: []string{"tasks.example.com"}})
	page := send(s.Handler(), scenario{url: "/tasks?state=dead", header: header()}.request())
	require.Equal(t, 200, page.Code)
	require.Contains(t, page.Body.String(), `href="/team/static/`)
	require.Contains(t, page.Body.String(), `value="/team/tasks?state=dead"`, "where a form returns to")
	require.NotContains(t, page.Body.String(), `href="/tasks`)
	answer := send(s.Handler(), scenario{method: "POST", url: "/settings", body: "theme=dark&back=/team/tasks", header: header()}.request())
	require.Equal(t, "/team/tasks", answer.Header().Get("Location"))
	require.Contains(t, answer.Header().Get("Set-Cookie"), "; Secure", "the client speaks TLS")
	answer = send(s.Handler(), scenario{method: "POST", url: "/settings", body: "theme=dark&back=//evil", header: header()}.request())
	require.Equal(t, "/team/", answer.Header().Get("Location"))
	answer = send(s.Handler(), scenario{url: tasksURL, body: `{"type":"any"}`, header: map[string]string{"X-Forwarded-Prefix": "/team"}}.request())
	require.Equal(t, "/team/api/v1/tasks/1", answer.Header().Get("Location"))

	based := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), TrustedProxies: trusted, BasePath: "/team"})
	for _, address := range []string{"/tasks", "/team/tasks"} { // taken off by the proxy, or not
		page := send(based.Handler(), scenario{url: address, header: header()}.request())
		require.Equal(t, 200, page.Code, address)
		require.Contains(t, page.Body.String(), `href="/team/static/`)
		require.NotContains(t, page.Body.String(), "/team/team/")
	}
	require.Equal(t, 200, send(based.SocketHandler(), scenario{url: tasksURL}.request()).Code, "commands need not know the path")
	require.Equal(t, 404, send(based.Handler(), scenario{url: "/tasks"}.request()).Code)
}

// Whoever comes by way of a proxy that nobody has named is not this machine, though the proxy is.
func TestAnUnknownProxyIsNotThisMachine(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	require.Equal(t, 200, send(s.Handler(), scenario{url: tasksURL}.request()).Code)
	r := scenario{url: tasksURL, header: map[string]string{"X-Forwarded-For": "127.0.0.1"}}.request()
	require.Equal(t, 403, send(s.Handler(), r).Code)
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	f := newFake(t)
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), AllowedHosts: []string{"tasks.example.com"}})
	seen := 0
	for _, route := range s.echo.Routes() {
		if route.Path == "/events" {
			continue
		}
		seen++
		r := scenario{method: route.Method, url: route.Path, header: browser()}.request()
		r.Host, r.TLS = "tasks.example.com", &tls.ConnectionState{}
		h := send(s.Handler(), r).Header()
		what := route.Method + " " + route.Path
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors ", what)
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'", what)
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", what)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), what)
		require.Contains(t, []string{"same-origin", "no-referrer"}, h.Get("Referrer-Policy"), what)
		require.Equal(t, permissions, h.Get("Permissions-Policy"), what)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), what)
		require.NotEmpty(t, h.Get("Cross-Origin-Resource-Policy"), what)
		require.NotEmpty(t, h.Get("Cache-Control"), what)
		require.Equal(t, "max-age=31536000", h.Get("Strict-Transport-Security"), what)
		require.NotEmpty(t, h.Get("X-Request-Id"), what)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"), what)
	}
	require.Greater(t, seen, 50)
	for host, want := range map[string]string{"localhost:8080": "", "127.0.0.1": "", "[::1]:1": "", "tasks.example.com:443": "max-age=31536000"} {
		r := scenario{url: "/healthz"}.request()
		r.Host, r.TLS = host, &tls.ConnectionState{}
		require.Equal(t, want, send(s.Handler(), r).Header().Get("Strict-Transport-Security"), host)
	}
	r := scenario{url: "/healthz"}.request()
	r.Host = "tasks.example.com"
	require.Empty(t, send(s.Handler(), r).Header().Get("Strict-Transport-Security"), "without TLS")
}

func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"1.2.3.4, 10.0.0.1", `for="[2001:db8::1]:8";proto=https`, "unknown", ",,;=\"", "[::", "10.0.0.1:99999"} {
		f.Add(seed, seed)
	}
	s := &Server{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	f.Fuzz(func(t *testing.T, plain, full string) {
		o := s.originOf(&http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {plain}, "Forwarded": {full}, "X-Forwarded-Prefix": {plain}}})
		_, err := netip.ParseAddr(o.address)
		require.NoError(t, err)
		require.True(t, o.prefix == "" || isLocal(o.prefix), o.prefix)
	})
}
