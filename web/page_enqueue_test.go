package web

import (
	"context"
	"encoding/json"
	"html"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// mailSchema has a parameter of each kind.
const mailSchema = `{"type":"object","required":["to","loud"],"additionalProperties":false,
"$defs":{"size":{"type":"string","enum":["small","large"],"description":"How large"}},
"properties":{
	"to":{"type":"string","title":"Recipient","format":"email","minLength":3,"maxLength":99,"description":"Where it goes <b>","examples":["ana@example.com"]},
	"code":{"type":"string","pattern":"^[a-z]{2}[0-9]+$"},"odd":{"type":"string","pattern":"(?i)^x"},
	"body":{"type":"string","maxLength":5000},
	"copies":{"type":"integer","minimum":1,"maximum":20,"default":1},
	"account":{"type":"integer"},"rate":{"type":["number","null"]},
	"loud":{"type":"boolean"},"track":{"type":"boolean","default":true},
	"class":{"enum":["low","normal",3]},"lang":{"enum":["a","b","c","d","e","f"]},
	"size":{"$ref":"#/$defs/size"},"maybe":{"anyOf":[{"type":"integer","minimum":5},{"type":"null"}]},
	"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
	"token":{"type":"string","writeOnly":true},
	"cc":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"integer"}},
	"head":{"type":"object","properties":{"key":{"writeOnly":true}}},"any":true,"list":{"type":"array","items":{"type":"object"}}
}}`

func addType(t testing.TB, f *fake, name, schema string) {
	t.Helper()
	compiled, err := tasks.CompileSchema(json.RawMessage(schema))
	require.NoError(t, err)
	require.NoError(t, f.registry.Add(tasks.Definition{Name: name, Kind: tasks.KindCommand, Schema: compiled, Policy: tasks.DefaultPolicy(), Description: "Does <i>it</i>",
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
}

func newMail(t testing.TB) *fake {
	t.Helper()
	f := newFake(t)
	addType(t, f, "mail/send", mailSchema)
	return f
}

func TestTheChoiceOfAType(t *testing.T) {
	setup := func(f *fake) {
		f.counts = []models.Count{{Type: "gone <b>", State: models.StatePending, N: 2}, {Type: "any", State: models.StatePending, N: 1}}
		f.paused["any"] = actors.Change{Reason: "broken " + markup, By: "ana"}
	}
	runScenarios(t, setup, []scenario{
		{name: "all", url: "/enqueue", status: 200, header: browser(), must: []string{"report.generate", "Writes a report", `href="/enqueue/any"`, "Go function", "1 of 4 busy", "2 waiting", "paused", "broken &lt;img", "gone &lt;b&gt;", "unavailable"}, mustNot: []string{"<img", "/enqueue/gone"}},
		{name: "some", url: "/enqueue?q=WRITES", status: 200, header: browser(), must: []string{"report.generate"}, mustNot: []string{`href="/enqueue/any"`, "gone"}},
		{name: "none", url: "/enqueue?q=%3Cb%3E%22", status: 200, header: browser(), mustNot: []string{"<b>\""}},
		{name: "nothing", url: "/enqueue?q=nothing", status: 200, header: browser(), must: []string{"Nothing matches", "Show all types"}},
		{name: "Chinese", url: "/enqueue", status: 200, header: browser("Accept-Language", "zh"), must: []string{"提交任务", "已暂停", "不可用"}, mustNot: []string{"Enqueue a task"}},
		{name: "a region", url: "/enqueue", status: 200, header: map[string]string{fragmentsHeader: "enqueue-types"}, must: []string{`data-live="enqueue-types"`}, mustNot: []string{"<html"}},
	})
}

func TestTheFormOfASchema(t *testing.T) {
	f := newMail(t)
	const at = "/enqueue/mail%2Fsend"
	w := scenario{url: at, status: 200, header: browser(), must: []string{
		`type="email"`, `minlength="3"`, `maxlength="99"`, "Recipient", `placeholder="ana@example.com"`, "Where it goes &lt;b&gt;", "Does &lt;i&gt;it",
		`name="p.code"`, `pattern="[a-z]{2}[0-9]+"`, `<textarea id="p-3" name="p.body"`,
		`min="1"`, `max="20"`, "1 to 20", "default 1", `inputmode="numeric"`, `inputmode="decimal"`,
		`type="checkbox" id="p-7" name="p.loud"`, `type="radio" name="p.track" value="true"`, `value="&#34;low&#34;"`, `<select id="p-10" name="p.lang"`,
		"How large", `type="date"`, `type="datetime-local"`, `type="password"`, "one a line", `class="mono" id="p-18" name="p.head"`,
		`name="token" value="`, `name="when"`, "As the type says: 5", "10 – least urgent", `action="/enqueue/mail%2Fsend"`, "Write as JSON",
	}, mustNot: []string{"(?i)", "<i>it"}}.run(t, f)
	require.Less(t, w.Body.Len(), 60_000)
	scenario{url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"优先级", "必填", "每行一个"}, mustNot: []string{"one a line", "Priority"}}.run(t, f)
	scenario{url: at + "?as=json", status: 200, header: browser(), must: []string{`name="params"`, "Use the fields"}, mustNot: []string{`name="p.to"`}}.run(t, f)
	scenario{url: at + "?example=1", status: 200, header: browser(), must: []string{`value="ana@example.com"`}}.run(t, f)
	scenario{url: "/enqueue/any", status: 200, header: browser(), must: []string{`name="params"`}, mustNot: []string{"Use the fields"}}.run(t, f)
	scenario{url: "/enqueue/gone", status: 404, header: browser()}.run(t, f)
	scenario{method: "POST", url: "/enqueue/gone", body: "a=", status: 404, header: browser()}.run(t, f)
	addType(t, f, "plain", `{"type":"object","additionalProperties":false}`)
	scenario{url: "/enqueue/plain", status: 200, header: browser(), must: []string{"takes no parameters"}}.run(t, f)
}

// fill posts a form to the type mail/send.
func fill(t *testing.T, f *fake, status int, pairs ...string) *httptest.ResponseRecorder {
	t.Helper()
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	s := scenario{method: "POST", url: "/enqueue/mail%2Fsend", body: values.Encode(), status: status, header: browser("Cookie", zoneCookie+"=Europe/Berlin")}
	if status == 303 {
		s.stored = 1
	}
	return s.run(t, f)
}

func TestAFormBecomesATask(t *testing.T) {
	f := newMail(t)
	w := fill(t, f, 303, "p.to", "ana@example.com", "p.body", "one\r\ntwo", "p.copies", "3", "p.account", "12345678901234567890", "p.rate", "1.10",
		"p.loud", "true", "p.track", "false", "p.class", "3", "p.size", `"large"`, "p.day", "2026-01-31", "p.at", "2026-07-01T09:30", "p.token", " s ",
		"p.cc", "a@b\r\n\r\nc d\r\n", "p.ids", "12345678901234567890\n2", "p.head", "{\"n\": 1.0}", "p.any", "null",
		"when", "in", "delay", "90", "priority", "2", "max_retries", "0", "timeout", "2m", "unique_key", "k1", "tags", "x\r\n y \r\n", "trace_id", strings.Repeat("AB", 16))
	require.Equal(t, "/tasks/1", w.Header().Get("Location"))
	got := f.enqueues[0]
	require.Equal(t, `{"to":"ana@example.com","body":"one\ntwo","copies":3,"account":12345678901234567890,"rate":1.10,"loud":true,"track":false,"class":3,`+
		`"size":"large","day":"2026-01-31","at":"2026-07-01T09:30:00+02:00","token":" s ","cc":["a@b","c d"],"ids":[12345678901234567890,2],"head":{"n": 1.0},"any":null}`, string(got.Params))
	require.WithinDuration(t, time.Now().Add(90*time.Second), got.RunAt, time.Minute)
	got.Params, got.RunAt = nil, time.Time{}
	none, two := 0, 2*time.Minute
	require.Equal(t, actors.EnqueueRequest{Type: "mail/send", Priority: 2, MaxRetries: &none, Timeout: &two, UniqueKey: "k1", Tags: []string{"x", "y"}, TraceID: strings.Repeat("ab", 16), By: byDashboard}, got)

	fill(t, f, 303, "p.to", "ana@example.com", "when", "at", "run_at", "2026-07-01T09:30:15", "zone", "Asia/Shanghai", "delay", "ignored")
	require.Equal(t, `{"to":"ana@example.com","loud":false}`, string(f.enqueues[1].Params))
	require.Equal(t, "2026-07-01T01:30:15Z", f.enqueues[1].RunAt.UTC().Format(time.RFC3339), "in the zone that the form named")
	require.Zero(t, f.enqueues[1].Priority)
	fill(t, f, 303, "as", "json", "params", "{\"to\": \"ana@example.com\", \"loud\": false}")
	require.Equal(t, `{"to": "ana@example.com", "loud": false}`, string(f.enqueues[2].Params), "byte for byte")
}

func TestEveryBadFieldIsNamedAtItsPlace(t *testing.T) {
	f := newMail(t)
	for name, c := range map[string]struct {
		pairs []string
		must  []string
	}{
		"all at once": {[]string{"p.copies", "99", "p.account", "1e", "p.ids", "1\nx", "p.head", "{\"a\":", "p.class", "other", "when", "in", "delay", "soon", "max_retries", "-1", "trace_id", "x", "tags", strings.Repeat("y", 65)},
			[]string{"Recipient", `href="#p-4"`, "Must be at most 20.", "Must be a whole number.", "Not valid JSON, line 1", "Must be a duration such as", "Must be between 0 and 1000", "Must be 32 hexadecimal", "64 bytes", `value="99"`, `aria-invalid="true"`, "Entry 1"}},
		"required":     {[]string{"do", "enqueue"}, []string{"This is required.", "One field needs another look"}},
		"an entry":     {[]string{"p.to", "a@b.example", "p.ids", "1\nx"}, []string{"Entry 2: Must be a whole number."}},
		"a date":       {[]string{"p.to", "a@b.example", "p.day", "tomorrow", "p.at", "soon"}, []string{"Must be a date such as", "Must be a date and time"}},
		"no time":      {[]string{"p.to", "a@b.example", "when", "at"}, []string{`href="#f-run_at"`}},
		"a wrong time": {[]string{"p.to", "a@b.example", "when", "at", "run_at", "x"}, []string{"Must be a date and time"}},
		"no delay":     {[]string{"p.to", "a@b.example", "when", "in"}, []string{`href="#f-delay"`}},
		"markup":       {[]string{"p.to", markup, "p.head", markup, "p.body", "</textarea>" + markup}, []string{"&lt;img"}},
		"no JSON":      {[]string{"as", "json", "params", "{"}, []string{`href="#p-all"`, "Not valid JSON"}},
		"a wrong name": {[]string{"as", "json", "params", `{"to":"a@b.example","loud":true,"x":1}`}, []string{"x: The type has no such"}},
		"a hidden one": {[]string{"as", "json", "params", `{"to":"a@b.example","loud":true,"token":"` + hidden + `"}`}, []string{"The secret is hidden here"}},
		"deep inside":  {[]string{"p.to", "a@b.example", "p.head", `{"x":[{"key":"` + hidden + `"}]}`}, []string{"The secret is hidden here", `href="#p-18"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := fill(t, f, 422, c.pairs...)
			for _, part := range c.must {
				require.Contains(t, w.Body.String(), part)
			}
			require.NotContains(t, w.Body.String(), "<img")
		})
	}
	require.Empty(t, f.enqueues, "nothing is made")
	values := url.Values{"p.copies": {"99"}}
	scenario{method: "POST", url: "/enqueue/mail%2Fsend", body: values.Encode(), status: 422, header: browser("Accept-Language", "zh"), must: []string{"不能大于 20", "必填。"}}.run(t, f)
	f.err = actors.ErrUnavailable
	fill(t, f, 503, "p.to", "a@b.example")
	f.err = &tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/run_at", Message: "is more than ten years away"}, {Location: "/odd", Message: "is " + markup}}}
	w := fill(t, f, 422, "p.to", "a@b.example")
	require.Contains(t, w.Body.String(), "ten years")
	require.Contains(t, w.Body.String(), "is &lt;img")
	f.err = &actors.TooLargeError{What: "bytes of parameters", Limit: 5}
	fill(t, f, 413, "p.to", "a@b.example")
}

func TestAPreviewEnqueuesNothing(t *testing.T) {
	f := newMail(t)
	w := fill(t, f, 200, "do", "preview", "token", "tok", "p.to", "it's@example.com", "p.account", "12345678901234567890", "p.token", "hunter2", "when", "in", "delay", "1h", "priority", "1", "tags", "a")
	text := html.UnescapeString(w.Body.String())
	require.Contains(t, text, `"account": 12345678901234567890`)
	require.Contains(t, text, `"token": "`+hidden)
	require.Contains(t, text, `it'\''s@example.com`, "the shell gets it as it is")
	require.Contains(t, text, `"delay": "1h"`)
	require.Contains(t, text, "curl -sS 'http://localhost:8080/api/v1/tasks'")
	require.Contains(t, text, "would run at")
	require.Contains(t, text, `name="token" value="tok"`, "the form stays the same one")
	require.Empty(t, f.enqueues)
	body := regexp.MustCompile(`(?s)<code>(\{.*?)</code>`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, body)
	scenario{url: tasksURL, body: html.UnescapeString(body[1]), status: 422, must: []string{"/params/token"}}.run(t, f)
	scenario{url: tasksURL, body: strings.ReplaceAll(html.UnescapeString(body[1]), hidden, "x"), status: 201, stored: 1}.run(t, f)
	w = fill(t, f, 200, "do", "preview", "p.to", "a@b.example", "when", "at", "run_at", "2020-01-01T00:00")
	require.Contains(t, w.Body.String(), "that time has passed")
}

func TestAFormThatIsSentTwiceMakesOneTask(t *testing.T) {
	f := newMail(t)
	s := newServer(t, f)
	send := func(token string) string {
		w := send(s.Handler(), scenario{method: "POST", url: "/enqueue/any", body: url.Values{"params": {"{}"}, "token": {token}}.Encode(), header: browser()}.request())
		return w.Header().Get("Location")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { require.Equal(t, "/tasks/1", send(t.Name())) })
	}
	all.Wait()
	require.Equal(t, 1, f.stored())
	require.Equal(t, "/tasks/2", send(t.Name()+"2"))
	require.Equal(t, "/tasks/3", send(""))
	require.Equal(t, "/tasks/4", send(strings.Repeat("x", maxToken+1)))
}

func TestADuplicateIsSaid(t *testing.T) {
	f := newMail(t)
	fill(t, f, 303, "p.to", "a@b.example", "unique_key", "k")
	w := scenario{method: "POST", url: "/enqueue/mail%2Fsend", body: "p.to=a@b.example&unique_key=k", status: 303, header: browser()}.run(t, f)
	require.Equal(t, "/tasks/1", w.Header().Get("Location"))
	scenario{url: "/tasks", status: 200, header: browser("Cookie", flashCookie+"="+cookieOf(t, w, flashCookie).Value), must: []string{"task 1 holds the unique key already"}}.run(t, f)
}

func TestACopyStartsFromWhatTheTaskHad(t *testing.T) {
	f := newMail(t)
	f.add(models.Task{Type: "mail/send", Params: `{"to":"ana@example.com","account":12345678901234567890,"loud":true,"token":"hunter2","ids":[1,2]}`, Priority: 2, MaxRetries: 7, TimeoutUS: 60e6, Tags: `["x","y"]`, UniqueKey: "mine"})
	f.add(models.Task{Type: "mail/send", Params: `{"to":"two\nlines","loud":true,"token":"hunter2"}`})
	f.add(models.Task{Type: "any", Params: `{"b":1.10,"a":"` + markup + `"}`})
	const at = "/enqueue/mail%2Fsend?from="
	scenario{url: at + "1", status: 200, header: browser(), must: []string{
		`value="ana@example.com"`, `value="12345678901234567890"`, `checked`, "1\n2", "Hidden values are copied", `href="/tasks/1"`, `<option value="2" selected`, `value="7"`, `value="1m"`, "x\ny",
	}, mustNot: []string{hidden, `value="mine"`}}.run(t, f)
	scenario{url: at + "2", status: 200, header: browser(), must: []string{`name="params"`, `two\nlines`, hidden}, mustNot: []string{`name="p.to"`}}.run(t, f)
	scenario{url: "/enqueue/any?from=3", status: 200, header: browser(), must: []string{"1.10", "&lt;img"}, mustNot: []string{"<img"}}.run(t, f)
	require.Equal(t, "/enqueue/any?from=3", scenario{url: at + "3", status: 303, header: browser()}.run(t, f).Header().Get("Location"))
	require.Equal(t, "/enqueue/mail%2Fsend?from=1", scenario{url: "/enqueue?from=1", status: 303, header: browser()}.run(t, f).Header().Get("Location"))
	scenario{url: at + "99", status: 404, header: browser()}.run(t, f)
	scenario{url: at + "%3Cb%3E", status: 404, header: browser()}.run(t, f)
}

func TestTheWholeWayThroughAForm(t *testing.T) {
	w := newWorld(t)
	w.send(scenario{url: "/enqueue", status: 200, must: []string{"echo", "gate"}})
	w.send(scenario{url: "/enqueue/echo", status: 200, must: []string{`name="p.n"`}})
	to := w.send(scenario{method: "POST", url: "/enqueue/echo", body: "p.n=12345678901234567890.10&token=" + t.Name(), status: 303, header: browser()}).Header().Get("Location")
	again := w.send(scenario{method: "POST", url: "/enqueue/echo", body: "p.n=12345678901234567890.10&token=" + t.Name(), status: 303, header: browser()}).Header().Get("Location")
	require.Equal(t, to, again)
	page := w.wait(to, "Attempt 1 succeeded")
	require.Contains(t, page, "Enqueued by the dashboard")
	require.Contains(t, page, "12345678901234567890.10")
	w.send(scenario{url: "/enqueue/echo?from=1", status: 200, must: []string{`value="12345678901234567890.10"`}})
	w.send(scenario{method: "POST", url: "/enqueue/echo", body: "p.n=many", status: 422, header: browser(), must: []string{"Must be a number."}})
	require.Equal(t, 1, w.all())
}
