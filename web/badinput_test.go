package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBadBodiesAreRefusedAndNothingIsStored(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	runScenarios(t, nil, []scenario{
		{name: "not JSON", url: tasksURL, body: `{"type":"any",}`, status: 400, must: []string{`"bad_json"`, "line 1, column 15"}},
		{name: "second line", url: tasksURL, body: "{\n  \"type\": any}", status: 400, must: []string{"line 2, column 11"}},
		{name: "cut off", url: tasksURL, body: `{"type":"any"`, status: 400, must: []string{`"bad_json"`}},
		{name: "trailing garbage", url: tasksURL, body: `{"type":"any"} x`, status: 400, must: []string{`"bad_json"`}},
		{name: "two values", url: tasksURL, body: `{"type":"any"}{"type":"any"}`, status: 400},
		{name: "no body", method: "POST", url: tasksURL, status: 400, must: []string{"empty"}},
		{name: "blank body", url: tasksURL, body: "  \n", status: 400, must: []string{"empty"}},
		{name: "NaN", url: tasksURL, body: `{"type":"any","params":{"a":NaN}}`, status: 400},
		{name: "an array", url: tasksURL, body: `[]`, status: 422, must: []string{"object"}},
		{name: "null", url: tasksURL, body: `null`, status: 422},
		{name: "text", url: tasksURL, body: `"any"`, status: 422},
		{name: "zero character", url: tasksURL, body: `{"type":"any","params":{"a":"\u0000"}}`, status: 422, must: []string{`u0000`, "line 1"}},
		{name: "zero character in a tag", url: tasksURL, body: `{"type":"any","tags":["\u0000"]}`, status: 422},
		{name: "raw zero byte", url: tasksURL, body: "{\"type\":\"any\x00\"}", status: 400},
		{name: "invalid UTF-8", url: tasksURL, body: "{\"type\":\"any\",\"params\":{\"a\":\"\xff\xfe\"}}", status: 400, must: []string{"UTF-8"}},
		{name: "invalid UTF-8 in a key", url: tasksURL, body: "{\"type\":\"any\",\"unique_key\":\"\xff\"}", status: 400},
		{name: "half a surrogate pair", url: tasksURL, body: `{"type":"any","params":{"a":"\ud800"}}`, status: 422, must: []string{"surrogate"}},
		{name: "the other half", url: tasksURL, body: `{"type":"any","params":{"a":"\udc00x"}}`, status: 422, must: []string{"surrogate"}},
		{name: "5,000 levels", url: tasksURL, body: `{"type":"any","params":{"a":` + deep(5000) + `}}`, status: 422, must: []string{"nesting"}},
		{name: "1,000,000 levels", url: tasksURL, body: `{"type":"any","params":{"a":` + deep(1000000) + `}}`, status: 400, must: []string{"nesting"}},
		{name: "a name twice", url: tasksURL, body: `{"type":"any","type":"report.generate"}`, status: 422, must: []string{"twice"}},
		{name: "a name twice in the params", url: tasksURL, body: `{"type":"any","params":{"a":1,"a":2}}`, status: 422, must: []string{"twice"}},
		{name: "params are a list", url: tasksURL, body: `{"type":"any","params":[1]}`, status: 422, must: []string{`"/params"`}},
		{name: "params are text", url: tasksURL, body: `{"type":"any","params":"{}"}`, status: 422, must: []string{`"/params"`}},
		{name: "markup", url: tasksURL, body: `{"<script>alert(1)</script>":1,"type":"any"}`, status: 422, mustNot: []string{"<script>"}},
		{name: "a name without end", url: tasksURL, body: `{"` + strings.Repeat("x", 100000) + `":1,"type":"any"}`, status: 422, mustNot: []string{strings.Repeat("x", 1000)}},
		{name: "a type without end", url: tasksURL, body: `{"type":"` + strings.Repeat("x", 100000) + `"}`, status: 422, mustNot: []string{strings.Repeat("x", 1000)}},
		{name: "a form", url: tasksURL, body: `type=any`, status: 415, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, must: []string{"application/json"}},
		{name: "JSON as plain text", url: tasksURL, body: `{"type":"any"}`, status: 415, header: map[string]string{"Content-Type": "text/plain"}},
		{name: "no media type", url: tasksURL, body: `{"type":"any"}`, status: 201, stored: 1, header: map[string]string{"Content-Type": ""}},
		{name: "media type with a charset", url: tasksURL, body: `{"type":"any"}`, status: 201, stored: 1, header: map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		{name: "odd text is stored as it is", url: tasksURL, body: `{"type":"any","params":{"":"\u202e😀` + strings.Repeat("\u0301", 10000) + `"}}`, status: 201, stored: 1, must: []string{"😀"}},
	})
}

func TestNumbersOutOfRangeAreRefusedInEveryField(t *testing.T) {
	numbers := []string{"-1", "-99999999999999999999", "99999999999999999999", "1e400", "-1e400", "1e9999999999", "1.5", "true", `"1"`, "[]", "{}", "1e-9999999"}
	for _, field := range []string{"priority", "max_retries", "delay", "timeout"} {
		for _, number := range numbers {
			if (field == "delay" || field == "timeout") && number == "1.5" {
				continue // one and a half seconds
			}
			t.Run(field+" "+number, func(t *testing.T) {
				scenario{url: tasksURL, status: 422, body: fmt.Sprintf(`{"type":"any",%q:%s}`, field, number)}.run(t, newFake(t))
			})
		}
	}
	for _, number := range numbers {
		for _, query := range []string{"limit", "cursor"} {
			scenario{url: tasksURL + "?" + query + "=" + strings.Trim(number, `"`) + "x", status: 422}.run(t, newFake(t))
			if number != `"1"` || query == "cursor" {
				scenario{url: tasksURL + "?" + query + "=" + strings.Trim(number, `"`), status: 422}.run(t, newFake(t))
			}
		}
		if number != `"1"` {
			scenario{method: "PATCH", url: "/api/v1/types/any", body: `{"concurrency":` + number + `}`, status: 422}.run(t, newFake(t))
		}
		scenario{url: "/api/v1/tasks/bulk", body: `{"action":"retry","ids":[` + number + `]}`, status: 422}.run(t, newFake(t))
	}
}

func TestABodyOverTheLimitIsRefusedUnread(t *testing.T) {
	f := newFake(t)
	h := newServer(t, f).Handler()
	r := scenario{method: "POST", url: tasksURL}.request()
	r.Body = io.NopCloser(iotest.ErrReader(fmt.Errorf("the body was read")))
	r.ContentLength = 50 << 20
	w := send(h, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), "4194304")
	requireProblem(t, w)

	// A body of unknown length is cut at the limit.
	endless := &counter{}
	r = scenario{method: "POST", url: tasksURL}.request()
	r.Body, r.ContentLength = io.NopCloser(endless), -1
	w = send(h, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, w.Body.String())
	require.Less(t, endless.n, maxBodyBytes+1<<20)
	require.Zero(t, f.stored())
}

// counter is a body without end.
type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.n += len(p)
	return len(p), nil
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	f := newFake(t)
	r := scenario{method: "POST", url: tasksURL}.request()
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"type":"any"}`), iotest.ErrReader(io.ErrUnexpectedEOF)))
	w := send(newServer(t, f).Handler(), r)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Zero(t, f.stored())
}

func TestA50MBBodyOverTheWireIsRefused(t *testing.T) {
	f := newFake(t)
	server := httptest.NewServer(newServer(t, f).Handler())
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	client.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
	body := &counter{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+tasksURL, io.LimitReader(body, 50<<20))
	require.NoError(t, err)
	request.ContentLength = 50 << 20
	request.Header.Set("Expect", "100-continue") // as curl does; without it the answer may be lost with the connection
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	require.Zero(t, body.n, "bytes sent")
	require.Zero(t, f.stored())
}
