package tasks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		CloseIdleConnections()
		server.Close()
	})
	return server.URL
}

func callHTTP(t testing.TB, h HTTP, params string) (json.RawMessage, error) {
	t.Helper()
	require.NoError(t, h.Validate())
	ctx, _ := withTranscript(t.Context())
	return h.handler()(ctx, json.RawMessage(params))
}

func TestHTTPRequestCarriesTheRun(t *testing.T) {
	const params = ` {"n": 12345678901234567890, "text":"é"} `
	var got *http.Request
	var body []byte
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	_, err := callHTTP(t, HTTP{URL: url + "/sms?x=1", Headers: map[string]string{"X-Team": "ops", "accept": "text/plain"}}, params)
	require.NoError(t, err)
	require.Equal(t, params, string(body))
	require.Equal(t, int64(len(params)), got.ContentLength)
	require.Equal(t, "POST /sms?x=1", got.Method+" "+got.URL.String())
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "reax/1", "X-Reax-Task-Id": "7", "X-Reax-Attempt": "2",
		"X-Reax-Type": "report.generate", "Idempotency-Key": testTrace, "X-Team": "ops", "Accept": "text/plain", "X-Reax-Signature": "",
	} {
		require.Equal(t, want, got.Header.Get(name), name)
	}
	require.Regexp(t, `^00-`+testTrace+`-[0-9a-f]{16}-01$`, got.Header.Get("Traceparent"))
}

func TestHTTPSignatureCanBeVerified(t *testing.T) {
	const secret, params = "hush-hush", `{"a":1}`
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		at, hexMAC, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Reax-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(at + "." + string(body)))
		if want, _ := hex.DecodeString(hexMAC); !hmac.Equal(mac.Sum(nil), want) {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	_, err := callHTTP(t, HTTP{URL: url, Secret: secret}, params)
	require.NoError(t, err)
	_, err = callHTTP(t, HTTP{URL: url, Secret: "other"}, params)
	require.ErrorContains(t, err, "403 Forbidden")
	require.Equal(t, "t=1700000000,v1=1b6ad1bc9bf48c52ce01939866d5877c6cc4e87ddad27e16673cb8c4964394a3",
		sign("k", []byte(`{"a":1}`), time.Unix(1700000000, 0)))
}

func TestHTTPAnswerDecidesTheOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		code  int
		after string
		body  string
		text  string
		want  Verdict
	}{
		"408":                     {408, "", "", "the endpoint answered 408 Request Timeout", Verdict{Kind: KindError, Retryable: true}},
		"425":                     {425, "", "", "the endpoint answered 425 Too Early", Verdict{Kind: KindError, Retryable: true}},
		"429 with seconds":        {429, "7", "slow down", "the endpoint answered 429 Too Many Requests: slow down", Verdict{KindError, true, 7 * time.Second, true}},
		"500":                     {500, "", " oops \n", "the endpoint answered 500 Internal Server Error: oops", Verdict{Kind: KindError, Retryable: true}},
		"503 with date":           {503, "Mon, 01 Jan 2125 00:00:00 GMT", "", "the endpoint answered 503 Service Unavailable", Verdict{KindError, true, maxRetryAfter, true}},
		"503 with no wait":        {503, "0", "", "the endpoint answered 503 Service Unavailable", Verdict{Kind: KindError, Retryable: true}},
		"503 with nonsense":       {503, "soon", "", "the endpoint answered 503 Service Unavailable", Verdict{Kind: KindError, Retryable: true}},
		"599":                     {599, "", "", "the endpoint answered 599", Verdict{Kind: KindError, Retryable: true}},
		"400":                     {400, "", `{"error":"no user"}`, `the endpoint answered 400 Bad Request: {"error":"no user"}`, Verdict{Kind: KindPermanent}},
		"400 ignores a wait":      {400, "7", "", "the endpoint answered 400 Bad Request", Verdict{Kind: KindPermanent}},
		"404":                     {404, "", "", "the endpoint answered 404 Not Found", Verdict{Kind: KindPermanent}},
		"304":                     {304, "", "", "the endpoint answered 304 Not Modified (such a redirect is not followed)", Verdict{Kind: KindPermanent}},
		"a body that is not text": {500, "", "a\xff\x00b", "the endpoint answered 500 Internal Server Error: a\uFFFD\uFFFDb", Verdict{Kind: KindError, Retryable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tc.after != "" {
					w.Header().Set("Retry-After", tc.after)
				}
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.body)
			})
			result, err := callHTTP(t, HTTP{URL: url}, "{}")
			require.Nil(t, result)
			require.EqualError(t, err, tc.text)
			require.Equal(t, tc.want, Judge(err, DefaultPolicy()))
			require.Equal(t, tc.want.Retryable, Judge(err, Policy{RetryOnlyMarked: true}).Retryable)
		})
	}
}

func TestHTTPBodyIsTheResult(t *testing.T) {
	for name, tc := range map[string]struct {
		code       int
		body, want string
	}{
		"JSON as it is":    {200, ` {"n": 12345678901234567890.10 } `, ` {"n": 12345678901234567890.10 } `},
		"created":          {201, `[1]`, `[1]`},
		"a scalar":         {200, `5`, `5`},
		"nothing":          {204, ``, ``},
		"blanks":           {200, " \n", ``},
		"text":             {202, "done, \"all\"\n", `"done, \"all\""`},
		"two JSON values":  {200, `{} {}`, `"{} {}"`},
		"not UTF-8":        {200, "\"a\xff\"", `"\"a\ufffd\""`},
		"too deep to be":   {200, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), `"` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `"`},
		"as long as it is": {200, `"` + strings.Repeat("x", maxAnswer-2) + `"`, `"` + strings.Repeat("x", maxAnswer-2) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.body)
			})
			result, err := callHTTP(t, HTTP{URL: url}, "{}")
			require.NoError(t, err)
			require.Equal(t, tc.want, string(result))
		})
	}
}

func TestHTTPBodiesAreReadOnlyInPart(t *testing.T) {
	for _, code := range []int{200, 400, 500} {
		var sent atomic.Int64
		done := make(chan struct{})
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			defer close(done)
			w.WriteHeader(code)
			block := []byte(strings.Repeat("x", 32<<10))
			for sent.Load() < 1<<30 {
				n, err := w.Write(block)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		result, err := callHTTP(t, HTTP{URL: url}, "{}")
		if code == 200 {
			require.NoError(t, err)
			require.True(t, json.Valid(result))
			require.Contains(t, string(result), "the answer is longer than 1048576 bytes")
			require.Less(t, len(result), maxTextResult+200)
		} else {
			require.Error(t, err)
			require.Less(t, len(err.Error()), maxErrorBody+200)
		}
		<-done
		require.Less(t, sent.Load(), int64(64<<20), "the connection must be closed")
	}
}

func TestHTTPDeadlineEndsTheCallWhereverItHangs(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"before the answer": func(http.ResponseWriter) {},
		"in the result": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"a":`)
		},
		"in an error": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `slow`)
		},
	} {
		for _, cause := range []error{ErrTimeout, ErrCancelled, ErrShutdown} {
			t.Run(name+" "+cause.Error(), func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				url := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the caller went away
					answer(w)
					_ = http.NewResponseController(w).Flush()
					cancel(cause)
					<-r.Context().Done()
				})
				_, err := HTTP{URL: url}.handler()(ctx, json.RawMessage("{}"))
				require.ErrorIs(t, err, cause)
				require.NotContains(t, err.Error(), url)
			})
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endingBody ends its run's context when it is read.
type endingBody struct{ end func() }

func (b endingBody) Read([]byte) (int, error) {
	b.end()
	return 0, io.ErrUnexpectedEOF
}

func TestHTTPDeadlineInsideABodyKeepsItsCause(t *testing.T) {
	guard, err := newHostGuard(nil)
	require.NoError(t, err)
	httpClient := clientFor(nil, guard)
	transport := httpClient.Transport
	t.Cleanup(func() { httpClient.Transport = transport })
	for code, text := range map[int]string{
		200: "the endpoint has not answered: " + ErrTimeout.Error(),
		500: ErrTimeout.Error() + ": the endpoint answered 500 Internal Server Error",
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		httpClient.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Body: io.NopCloser(endingBody{func() { cancel(ErrTimeout) }})}, nil
		})
		_, err := HTTP{URL: "http://a.example"}.handler()(ctx, json.RawMessage("{}"))
		require.ErrorIs(t, err, ErrTimeout)
		require.EqualError(t, err, text)
	}
}

// serveRaw answers each connection with bytes that need not be HTTP, and closes it.
func serveRaw(t testing.TB, answer string, reset bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(conn, answer)
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

func TestHTTPBrokenAnswersAreWorthARetry(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, url := range map[string]string{
		"nobody listens":         closed.URL,
		"no such host":           "http://no-such-host.invalid/",
		"closed without a word":  serveRaw(t, "", false),
		"reset":                  serveRaw(t, "", true),
		"not HTTP":               serveRaw(t, "SSH-2.0-x\r\n"+strings.Repeat("y", 10_000), false),
		"shorter than its word":  serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", false),
		"chunk without end":      serveRaw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a", false),
		"header without end":     serveRaw(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20), false),
		"impossible length":      serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}", false),
		"broken in the redirect": serveRaw(t, "HTTP/1.1 307 Temporary Redirect\r\nContent-Le", false),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := callHTTP(t, HTTP{URL: url + "?key=hush-hush"}, "{}")
			require.ErrorContains(t, err, "the endpoint could not be called: ")
			require.True(t, Judge(err, Policy{RetryOnlyMarked: true}).Retryable)
			require.NotContains(t, err.Error(), "hush-hush")
			require.Less(t, len(err.Error()), maxErrorBody+200)
		})
	}
}

func TestHTTPLongerBodyThanItsLengthIsCut(t *testing.T) {
	result, err := callHTTP(t, HTTP{URL: serveRaw(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}}}}}", false)}, "{}")
	require.NoError(t, err)
	require.Equal(t, "{}", string(result))
}

func TestHTTPAttemptSendsTheRequestOnce(t *testing.T) {
	var calls atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) > 1 {
			// The kept connection breaks after the work was done: Go's transport would repeat a request with an
			// Idempotency-Key here.
			panic(http.ErrAbortHandler)
		}
	})
	_, err := callHTTP(t, HTTP{URL: url}, "{}")
	require.NoError(t, err)
	_, err = callHTTP(t, HTTP{URL: url}, "{}")
	require.Error(t, err)
	require.EqualValues(t, 2, calls.Load())
}

func TestHTTPConnectionsAreReused(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(func() {
		CloseIdleConnections()
		server.Close()
	})
	for range 10 {
		_, err := callHTTP(t, HTTP{URL: server.URL}, "{}")
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, opened.Load())
}

func TestHTTPErrorsHoldNoSecret(t *testing.T) {
	headers := map[string]string{"Authorization": "Bearer hush-hush-1", "X-Team": "ops"}
	echo := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			_ = r.Header.Write(w)
			_, _ = io.WriteString(w, "hush-hush-2")
		}
	}
	for _, code := range []int{400, 500} {
		_, err := callHTTP(t, HTTP{URL: serve(t, echo(code)), Headers: headers, Secret: "hush-hush-2"}, "{}")
		require.ErrorContains(t, err, "X-Team: ops")
		require.ErrorContains(t, err, "[redacted]")
		require.NotContains(t, err.Error(), "hush-hush")
	}
}
