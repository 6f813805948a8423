package tasks

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHTTPRedirectsStayOnTheirHost(t *testing.T) {
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	var last string
	var chain atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		code := map[string]int{"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}[r.URL.Query().Get("code")]
		switch {
		case r.URL.Path == "/end":
			last = r.Method + " " + string(body) + " " + r.Header.Get("Idempotency-Key")
		case r.URL.Path == "/loop":
			chain.Add(1)
			http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
		default:
			w.Header()["Location"] = []string{r.URL.Query().Get("to")}
			w.WriteHeader(code)
		}
	})
	host := strings.TrimPrefix(url, "http://")

	for _, code := range []string{"307", "308"} {
		for _, to := range []string{"/end", "end%23part", url + "/end", "//" + host + "/end"} {
			last = ""
			_, err := callHTTP(t, HTTP{URL: url + "/x?code=" + code + "&to=" + to}, `{"a":1}`)
			require.NoError(t, err, to)
			require.Equal(t, `POST {"a":1} `+testTrace, last)
		}
	}
	for to, want := range map[string]string{
		other + "/end?key=hush":          "is another host and not followed",
		"https://" + host + "/end":       "is another host and not followed",
		"http://user:hush@" + host + "/": "user and password do not belong in it",
		"file:///etc/passwd":             "only http:// and https:// are possible",
		"http://[::1":                    "its Location is not a URL",
		"":                               "its Location is not a URL",
	} {
		_, err := callHTTP(t, HTTP{URL: url + "/x?code=307&to=" + strings.ReplaceAll(to, "?", "%3F")}, "{}")
		require.ErrorContains(t, err, "the endpoint answered 307 Temporary Redirect: ")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
		require.Equal(t, KindPermanent, Judge(err, DefaultPolicy()).Kind)
	}
	for _, code := range []string{"301", "302", "303"} {
		_, err := callHTTP(t, HTTP{URL: url + "/x?code=" + code + "&to=/end"}, "{}")
		require.ErrorContains(t, err, "such a redirect is not followed")
		require.Equal(t, KindPermanent, Judge(err, DefaultPolicy()).Kind)
	}
	_, err := callHTTP(t, HTTP{URL: url + "/loop"}, "{}")
	require.ErrorContains(t, err, "more than 5 redirects")
	require.Equal(t, KindPermanent, Judge(err, DefaultPolicy()).Kind)
	require.EqualValues(t, 6, chain.Load())
	require.Zero(t, elsewhere.Load())
}

func TestHTTPSameHostWithItsDefaultPort(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		same     bool
	}{
		{"http://a.example/x", "http://A.example:80/y", true},
		{"https://a.example:443/x", "https://a.example/y", true},
		{"http://a.example/x", "http://a.example:8080/y", false},
		{"http://a.example/x", "https://a.example/y", false},
		{"http://a.example/x", "http://a.example.evil/y", false},
		{"http://a.example/x", "//evil/y", false},
	} {
		from, err := parseEndpoint(tc.from)
		require.NoError(t, err)
		_, err = redirect(from, tc.to)
		require.Equal(t, tc.same, err == nil, "%s to %s: %v", tc.from, tc.to, err)
	}
}

func TestRetryAfterIsReadAndBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		" 5 ":                           5 * time.Second,
		"86401":                         24 * time.Hour,
		"99999999999999999999999":       24 * time.Hour,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Mon, 01 Mar 2027 12:00:00 GMT": 24 * time.Hour,
	} {
		require.Equal(t, want, retryAfter(header, now), header)
	}
}

func FuzzRetryAfterStaysWithinADay(f *testing.F) {
	f.Add("120")
	f.Add("Sun, 01 Mar 2026 12:00:30 GMT")
	f.Fuzz(func(t *testing.T, header string) {
		if wait := retryAfter(header, time.Unix(1_772_366_400, 0)); wait < 0 || wait > maxRetryAfter {
			t.Fatalf("%q gives %v", header, wait)
		}
	})
}

func TestHTTPIsValidatedAtStart(t *testing.T) {
	require.NoError(t, HTTP{URL: "https://a.example/x?y=1", Headers: map[string]string{"X-Team": "ops\tteam é"}}.Validate())
	for url, want := range map[string]string{
		"":                          "only http:// and https:// are possible",
		"a.example/x":               "only http:// and https:// are possible",
		"ftp://a.example":           "only http:// and https:// are possible",
		"file:///etc/passwd":        "only http:// and https:// are possible",
		"http:///x":                 "the host is missing",
		"http://:80/":               "the host is missing",
		"http://me:hush@a.example":  "user and password",
		"http://me@a.example":       "user and password",
		"http://a.example/#x":       "a fragment",
		"http://a.example:0/":       "the port is not between",
		"http://a.example:65536/":   "the port is not between",
		"http://a.example/%zz?hush": "not a URL",
		"http://a.example/\x00":     "not a URL",
		"http://a.example/" + strings.Repeat("x", 3000): "longer than 2048 bytes",
	} {
		err := HTTP{URL: url}.Validate()
		require.ErrorContains(t, err, "http: url: "+want, url)
		require.NotContains(t, err.Error(), "hush")
	}
	many := map[string]string{}
	for i := range 65 {
		many["X-"+strings.Repeat("y", i+1)] = ""
	}
	for want, headers := range map[string]map[string]string{
		"Content-Type is set by reax":          {"content-type": "text/plain"},
		"Idempotency-Key is set by reax":       {"idempotency-key": "1"},
		"X-Reax-Task-Id is set by reax":        {"X-REAX-TASK-ID": "1"},
		"Host is set by reax":                  {"Host": "b.example"},
		"Traceparent is set by reax":           {"traceparent": "1"},
		"Transfer-Encoding is set by reax":     {"Transfer-Encoding": "chunked"},
		"Proxy-Authorization is set by reax":   {"proxy-authorization": "hush"},
		`"X Team" is not a header's name`:      {"X Team": "hush"},
		`"" is not a header's name`:            {"": "hush"},
		`"X-É" is not a header's name`:         {"X-É": "hush"},
		"the value of X-A holds a control":     {"X-A": "hush\r\nX-B: 1"},
		"the value of X-A is longer than 8192": {"X-A": "hush" + strings.Repeat("x", 9000)},
		"X-A is given twice":                   {"x-a": "hush", "X-A": "hush"},
		"http: headers: more than 64":          many,
	} {
		err := HTTP{URL: "http://a.example", Headers: headers}.Validate()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
}
