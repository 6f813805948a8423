package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// vaultSchema hides values in each of the ways that a schema can.
const vaultSchema = `{"type":"object","$defs":{"secret":{"type":"string","writeOnly":true,"default":"canary-default"}},
	"properties":{"mode":{"type":"string"},"token":{"type":"string","writeOnly":true,"examples":["canary-example"]},"pass":{"type":"string","format":"password"},
	"ref":{"$ref":"#/$defs/secret","default":"canary-ref"},"head":{"type":"object","properties":{"key":{"writeOnly":true}}},
	"list":{"type":"array","items":{"type":"object","properties":{"key":{"format":"password"},"n":{}}}},"all":{"allOf":[{"type":"string"},{"writeOnly":true}]},
	"words":{"type":"array","items":{"type":"string","writeOnly":true}},"number":{"type":"integer","writeOnly":true}},
	"patternProperties":{"^x_":{"writeOnly":true}}}`

// The secrets are seven digits or words that begin with canary, so that each can be found however it is written.
const vaultParams = `{"mode":%q,"token":"canary-token","pass":"canary-pass","ref":"canary-ref2","head":{"key":{"a":"canary-head"}},"list":[{"key":"canary-list","n":1}],
	"all":"canary-all","words":["canary-word"],"number":7736251,"x_y":"canary-pattern"}`

var secretText = regexp.MustCompile(`(?i)canary|7736251`)

// walker is a whole reax whose every page and file is read.
type walker struct {
	*world
	server *Server
	store  *models.Store
	log    *safeLog
}

// safeLog is a log that is written and read at the same time.
type safeLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// newWalker starts a reax with the types "vault", whose parameters have secrets, and "echo", which repeats what it is told as
// result, log line, note and error.
func newWalker(t *testing.T) *walker {
	t.Helper()
	log := &safeLog{}
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	registry := tasks.NewRegistry()
	add := func(name string, schema *tasks.Schema, handler tasks.Handler) {
		policy := tasks.DefaultPolicy()
		policy.MaxRetries = 0
		require.NoError(t, registry.Add(tasks.Definition{Name: name, Kind: tasks.KindGo, Schema: schema, Policy: policy, Handler: handler}))
	}
	repeat := func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		run := tasks.RunOf(ctx)
		run.Logger.Info("got "+string(params), "params", string(params)) //nolint:sloglint // as careless as a handler may be
		run.Output("stdout", string(params))
		run.Progress(1, 2, string(params))
		var p struct{ Mode, Say string }
		_ = json.Unmarshal(params, &p)
		text := p.Say
		if text == "" {
			text = string(params)
		}
		switch p.Mode {
		case "fail":
			return nil, errors.New(text)
		case "permanent":
			return nil, tasks.Permanent(errors.New(text))
		case "panic":
			panic(text)
		}
		return params, nil
	}
	add("vault", compiledSchema(t, vaultSchema), repeat)
	add("echo", tasks.AnyObject(), repeat)
	store, err := models.Open(t.Context(), models.Config{Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: logger})
	require.NoError(t, err)
	runtime, err := actors.Start(t.Context(), store, registry, actors.Options{Logger: logger})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runtime.Stop(context.Background()))
		require.NoError(t, store.Close())
	})
	server := New(Config{Runtime: runtime, Ledger: store, Logger: logger, Version: "1.2.3", Accounts: runtime.Accounts()})
	return &walker{&world{t: t, runtime: runtime, handler: server.Handler()}, server, store, log}
}

// finish waits until n tasks have ended. It looks often: subscribers are told twice a second at most.
func (w *walker) finish(n int) {
	w.t.Helper()
	for w.ended() < n {
		select {
		case <-time.After(time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatal("the tasks never ended")
		}
	}
}

// rest waits until a task has ended.
func (w *walker) rest(id int64) {
	w.t.Helper()
	for {
		task, err := w.store.Task(w.t.Context(), id)
		require.NoError(w.t, err)
		if task.State.IsFinal() {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatal("the task never ended")
		}
	}
}

// ended is how many tasks have ended.
func (w *walker) ended() (n int) {
	counts, err := w.store.Counts(w.t.Context())
	require.NoError(w.t, err)
	for _, c := range counts {
		if c.State.IsFinal() {
			n += int(c.N)
		}
	}
	return n
}

// live finds the regions of a page that the script fetches.
var live = regexp.MustCompile(`data-live="([^"]+)"`)

// addresses are all addresses that answer to GET: each route, with what there is for the names in it.
func (w *walker) addresses(more ...string) []string {
	names := map[string][]string{":type": {"vault", "echo"}, ":action": {"pause", "resume", "resize"}, ":hash": {"x"}, ":file": {"app.css"}}
	counts, err := w.store.ErrorGroups(w.t.Context(), 100)
	require.NoError(w.t, err)
	groups := map[string][]string{}
	for _, g := range counts {
		groups[g.Type] = append(groups[g.Type], g.Fingerprint)
	}
	page, err := w.store.List(w.t.Context(), models.Filter{}, 500)
	require.NoError(w.t, err)
	var traces []string
	for i, t := range page.Tasks {
		if step := len(page.Tasks)/8 + 1; i%step == 0 { // some of them, of all ages
			names[":id"] = append(names[":id"], fmt.Sprint(t.ID))
			traces = append(traces, t.TraceID)
		}
	}
	schedules, err := w.store.Schedules(w.t.Context())
	require.NoError(w.t, err)
	var plans []string
	for _, c := range schedules {
		plans = append(plans, c.Name)
	}
	var all []string
	for _, route := range w.server.echo.Routes() {
		if route.Method != http.MethodGet || strings.HasSuffix(route.Path, "/events") || strings.Contains(route.Path, "/static/") {
			continue
		}
		found := []string{route.Path}
		for _, part := range strings.Split(route.Path, "/") {
			if !strings.HasPrefix(part, ":") {
				continue
			}
			values := names[part]
			switch {
			case part == ":name" && strings.Contains(route.Path, "/types/"):
				values = names[":type"]
			case part == ":name" && strings.Contains(route.Path, "/alerts/"):
				values = []string{"r"}
			case part == ":id" && strings.Contains(route.Path, "/incidents/"):
				values = []string{"1", "2"}
			case part == ":name":
				values = plans
			case strings.HasPrefix(part, ":trace"), part == ":id" && strings.Contains(route.Path, "/traces/"):
				values = traces
			case part == ":fingerprint":
				values = slices.Concat(groups["vault"], groups["echo"])
			}
			require.NotEmpty(w.t, values, "nothing to put for %s of %s", part, route.Path)
			var next []string
			for _, path := range found {
				for _, v := range values {
					next = append(next, strings.Replace(path, "/"+part, "/"+url.PathEscape(v), 1))
				}
			}
			found = next
		}
		all = append(all, found...)
	}
	for _, id := range names[":id"] {
		all = append(all, "/enqueue/vault?from="+id, "/enqueue/vault?as=json&from="+id, "/enqueue/echo?as=json&from="+id, "/tasks/"+id+"/error.txt?attempt=1", apiPath+"/tasks/"+id+"/logs?attempt=1")
	}
	return append(all, more...)
}

// walk reads each address as a program, as a browser and as the script does, and shows every answer to see.
func (w *walker) walk(addresses []string, see func(address string, r *httptest.ResponseRecorder)) {
	w.t.Helper()
	for _, address := range addresses {
		see(address, send(w.handler, scenario{url: address}.request()))
		page := send(w.handler, scenario{url: address, header: browser()}.request())
		see(address, page)
		var regions []string
		for _, match := range live.FindAllStringSubmatch(page.Body.String(), -1) {
			regions = append(regions, match[1])
		}
		if len(regions) > 0 {
			header := browser(fragmentsHeader, strings.Join(regions[:min(len(regions), maxFragments)], ","))
			see(address, send(w.handler, scenario{url: address, header: header}.request()))
		}
	}
}

// post sends a form as the dashboard does and gives the answer.
func (w *walker) post(address string, pairs ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	header := browser("Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded")
	r := scenario{method: "POST", url: address, body: form.Encode(), header: header}.request()
	return send(w.handler, r)
}

func TestNoSecretComesOutAnywhere(t *testing.T) {
	w := newWalker(t)
	clean := func(what string, r *httptest.ResponseRecorder) {
		t.Helper()
		require.Less(t, r.Code, 500, what)
		text := r.Body.String() + fmt.Sprint(r.Header())
		if at := secretText.FindStringIndex(text); at != nil {
			t.Fatalf("%s answered %d: …%s…", what, r.Code, text[max(at[0]-200, 0):min(at[1]+100, len(text))])
		}
	}
	do := func(method, address, body string, status int) *httptest.ResponseRecorder {
		t.Helper()
		r := send(w.handler, scenario{method: method, url: address, body: body}.request())
		require.Equal(t, status, r.Code, "%s %s: %s", method, address, r.Body)
		clean(method+" "+address, r)
		return r
	}
	params := func(mode string) string { return fmt.Sprintf(vaultParams, mode) }
	modes := []string{"ok", "fail", "permanent", "panic", "fail"}
	var batch []string
	for _, mode := range modes {
		batch = append(batch, fmt.Sprintf(`{"type":"vault","params":%s,"tags":["a"]}`, params(mode)))
	}
	do("POST", tasksURL, batch[0], 201)
	do("POST", tasksURL+"/batch", `{"tasks":[`+strings.Join(batch, ",")+`]}`, 201)
	do("POST", tasksURL, `{"type":"vault","params":{"token":7736251,"pass":["canary"],"x_y":"canary"}}`, 422)
	do("POST", tasksURL, `{"type":"vault","params":{"token":"••••"}}`, 422)
	w.finish(6)
	do("POST", tasksURL+"/1/repeat", `{"reason":"again"}`, 201)
	do("POST", tasksURL+"/1/repeat", `{"params":{"mode":"ok","token":"••••","number":"••••"}}`, 201)
	do("POST", tasksURL+"/1/repeat", `{"params":{"mode":"ok","x_new":"••••"}}`, 422)
	w.finish(8)
	task, err := w.store.Task(t.Context(), 8)
	require.NoError(t, err)
	require.JSONEq(t, `{"mode":"ok","token":"canary-token","number":7736251}`, task.Params, "what was sent back as shown is what it was")
	do("POST", "/api/v1/schedules", `{"name":"s","task":"vault","every":"1h","params":`+params("ok")+`}`, 201)
	do("PATCH", "/api/v1/schedules/s", `{"version":1,"params":{"mode":"ok","token":"••••","pass":"canary-new"}}`, 200)
	do("PATCH", "/api/v1/schedules/s", `{"version":1,"params":{"mode":"ok"}}`, 409)
	do("PATCH", "/api/v1/schedules/s", `{"version":2,"task":"echo"}`, 422)
	plan, err := w.store.Schedule(t.Context(), "s")
	require.NoError(t, err)
	require.JSONEq(t, `{"mode":"ok","token":"canary-token","pass":"canary-new"}`, plan.Params)
	do("POST", "/api/v1/schedules/s/run", `{}`, 201)
	do("POST", tasksURL+"/bulk", `{"action":"retry","filter":{"type":["vault"],"state":["dead","failed"]}}`, 200)
	w.finish(9)

	for _, do := range []string{"preview", "refused"} {
		form := []string{"p.mode", "ok", "p.token", "canary-token", "p.pass", "canary-pass", "p.ref", "canary-ref2", "do", do, "delay", do, "when", "in"}
		clean("a form", w.post("/enqueue/vault", form...))
	}
	clean("a copy", w.post("/enqueue/vault", "from", "1", "p.mode", "ok", "do", "preview"))
	require.Equal(t, 303, w.post("/enqueue/vault", "from", "1", "p.mode", "ok", "p.head", `{"key":"••••"}`, "p.list", `[{"key":"••••","n":1}]`).Code)
	w.finish(10)
	task, err = w.store.Task(t.Context(), 10)
	require.NoError(t, err)
	for _, secret := range []string{"canary-token", "canary-pass", "canary-ref2", "canary-head", "canary-list", "canary-all", "canary-word", "7736251"} {
		require.Contains(t, task.Params, secret, "an edited copy keeps what the form does not show")
	}

	more := []string{
		"/tasks?type=vault&state=dead", "/tasks/export.csv?type=vault", "/tasks/export.json?type=vault", "/search?q=1", "/tasks?q=canary-token",
		"/audit?target=schedule&id=s", "/audit/export.csv?target=schedule", apiPath + "/audit?target=schedule", tasksURL + "?limit=500", "/enqueue/vault?example=1&as=json",
	}
	seen := 0
	w.walk(w.addresses(more...), func(address string, r *httptest.ResponseRecorder) {
		if strings.Contains(address, "canary") { // the form shows what is looked for
			return
		}
		seen++
		clean(address, r)
	})
	require.Greater(t, seen, 200)
	require.NotRegexp(t, secretText, w.log.String(), "the log at the level debug")
	for _, column := range []string{"tasks.error", "tasks.result", "tasks.progress_note", "attempts.error", "task_logs.text", "audit.before", "audit.after", "error_groups.message"} {
		table, name, _ := strings.Cut(column, ".")
		var n int64
		require.NoError(t, w.store.Reader().Raw("SELECT count(*) FROM "+table+" WHERE "+name+" LIKE '%canary%' OR "+name+" LIKE '%7736251%'").Scan(&n).Error)
		require.Zero(t, n, column)
	}

	for address, refused := range map[string]bool{
		"/tasks?param=token=canary-token": true, "/tasks?params.head.key.a=x": true, "/tasks?type=vault&param=words.0=x": true, `/tasks?param=tok"en=x`: true,
		`/tasks?param=list.0={"key":"canary"}`: true, "/tasks?type=gone&param=a=b": true, "/tasks/export.csv?param=x_y=1": true,
		"/tasks?param=mode=ok": false, "/tasks?type=echo&param=token=x": false,
	} {
		r := send(w.handler, scenario{url: strings.NewReplacer(`"`, "%22", "{", "%7B", "}", "%7D").Replace(address), header: browser()}.request())
		require.Equal(t, refused, r.Code == 422, "%s: %d", address, r.Code)
	}
}

// hostileTexts are what somebody could write to have it run by the browser of whoever looks at it.
var hostileTexts = []string{
	`<img src=x onerror=alert(1) data-h30>`, `"onmouseover="alert(1)" data-h30="`, `</script><script data-h30>alert(1)</script>`,
	`javascript:alert(1)//data-h30`, `'><iframe srcdoc="<script data-h30>">`, "<!--<svg/onload=alert(1) data-h30>", "a\u202e\u0085\u2028<b data-h30>",
}

var (
	hostileElements = map[string]bool{"img": true, "iframe": true, "object": true, "embed": true, "base": true, "math": true, "frame": true, "audio": true, "video": true}
	linkAttributes  = map[string]bool{"href": true, "src": true, "action": true, "formaction": true, "cite": true, "poster": true, "data": true, "ping": true}
	safeLink        = regexp.MustCompile(`^(https?://|/[^/\\]|/$|#|\?)`)
)

// requireHarmless fails when anything of a hostile text has become more than text.
func requireHarmless(t *testing.T, what string, r *httptest.ResponseRecorder) {
	t.Helper()
	for name, values := range r.Header() {
		for _, v := range values {
			require.NotContains(t, v, "\n", "%s: %s", what, name)
			if name == "Location" {
				require.Regexp(t, `^(/[^/\\]|/$)`, v, what)
			}
		}
	}
	mediaType := r.Header().Get("Content-Type")
	if !strings.HasPrefix(mediaType, "text/html") {
		require.NotContains(t, mediaType, "xml", what)
		require.Equal(t, "nosniff", r.Header().Get("X-Content-Type-Options"), what)
		return
	}
	doc, err := html.Parse(r.Body)
	require.NoError(t, err, what)
	for node := range doc.Descendants() {
		if node.Type != html.ElementNode {
			if node.Type == html.CommentNode {
				t.Fatalf("%s: a comment %q", what, node.Data)
			}
			continue
		}
		if hostileElements[node.Data] {
			t.Fatalf("%s: <%s>", what, node.Data)
		}
		for _, a := range node.Attr {
			bad := strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || a.Key == "data-h30"
			if bad || linkAttributes[a.Key] && !safeLink.MatchString(a.Val) {
				t.Fatalf("%s: <%s %s=%q>", what, node.Data, a.Key, a.Val)
			}
		}
		if node.Data == "script" {
			require.Nil(t, node.FirstChild, "%s: a script in the page", what)
		}
	}
}

func TestHostileTextsStayTexts(t *testing.T) {
	w := newWalker(t)
	accepted := func(r *httptest.ResponseRecorder, status int, what string) {
		t.Helper()
		require.Equal(t, status, r.Code, "%s: %s", what, r.Body)
		requireHarmless(t, what, r)
	}
	n := 0
	for i, text := range hostileTexts {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		say := string(quoted)
		for _, mode := range []string{"ok", "fail", "permanent", "panic"} {
			body := fmt.Sprintf(`{"type":"echo","params":{"mode":%q,"say":%s,%s:"k","link":{"%s":[%s]}},"tags":[%s]}`, mode, say, say, "u", say, say)
			accepted(send(w.handler, scenario{url: tasksURL, body: body}.request()), 201, body)
			n++
		}
		for _, body := range []string{
			fmt.Sprintf(`{"type":%s}`, say), fmt.Sprintf(`{"type":"echo","trace_id":%s}`, say), fmt.Sprintf(`{"type":"vault","params":{"number":%s}}`, say),
			fmt.Sprintf(`{%s:1}`, say), fmt.Sprintf(`{"type":"echo","tags":%s}`, say),
		} {
			r := send(w.handler, scenario{url: tasksURL, body: body}.request())
			require.Contains(t, []int{404, 422}, r.Code, body)
			requireHarmless(t, body, r)
		}
		accepted(send(w.handler, scenario{url: "/api/v1/schedules", body: fmt.Sprintf(`{"name":%s,"task":"echo","every":"1h"}`, say)}.request()), 422, "a schedule's name")
		accepted(send(w.handler, scenario{url: "/api/v1/schedules", body: fmt.Sprintf(`{"name":"s%d","task":"echo","every":"1h","params":{"say":%s},"tags":[%s],"reason":"r"}`, i, say, say)}.request()), 201, "a schedule")
		requireHarmless(t, "a schedule's form", w.post("/schedules/new", "name", text, "task", text, "kind", "cron", "cron", text, "timezone", text, "params", text, "tags", text))
		requireHarmless(t, "a form", w.post("/enqueue/vault", "p.mode", text, "p.number", text, "extra", text, "unique_key", text, "trace_id", text, "run_at", text, "delay", text, "tags", text, "zone", text))
		requireHarmless(t, "an incident", w.post("/incidents", "kind", models.IncidentTrouble, "title", text, "severity", "minor", "state", "investigating", "text", text+"\n\n[x]("+text+")"))
		requireHarmless(t, "an alert", w.post("/alerts/new", "kind", models.AlertBacklog, "name", text, "types", text, "receivers", text))
		requireHarmless(t, "an alert", w.post("/alerts/new", "kind", models.AlertBacklog, "name", "r"))
		requireHarmless(t, "settings", w.post("/settings", "zone", text, "lang", text, "theme", text, "back", text))
		if !strings.ContainsAny(text, "\u202e\u0085\u2028") {
			r := send(w.handler, scenario{url: "/api/v1/types/echo/pause", body: fmt.Sprintf(`{"reason":%s}`, say)}.request())
			accepted(r, 200, "a pause")
			accepted(send(w.handler, scenario{url: "/api/v1/types/echo/resume", body: fmt.Sprintf(`{"reason":%s}`, say)}.request()), 200, "a resume")
			accepted(send(w.handler, scenario{url: "/api/v1/schedules/s0/pause", body: fmt.Sprintf(`{"reason":%s}`, say)}.request()), 200, "a pause of a schedule")
		}
		_, err = w.runtime.Accounts().CreateUser(t.Context(), text, models.RoleViewer, "a long password 123", actors.Change{By: text, Address: text, RequestID: text})
		require.Error(t, err, "an account's name")
	}
	w.finish(n)
	for _, g := range must(w.store.ErrorGroups(t.Context(), 100)) {
		for _, text := range hostileTexts {
			requireHarmless(t, "a mark", w.post("/dead/"+g.Type+"/"+g.Fingerprint+"/mark", "name", text, "note", text, "link", text, "reason", text))
		}
	}
	// What no route lets through may still be in the ledger: it came another way, or with a former version.
	for _, text := range hostileTexts {
		require.NoError(t, w.store.Writer().Exec("INSERT INTO audit (at, actor, action, target, target_id, reason, before, after, address, request_id) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			text, text, text, text, text, text, `{"`+strings.ReplaceAll(text, `"`, ``)+`":"x"}`, text, text).Error)
		require.NoError(t, w.store.Writer().Exec("UPDATE tasks SET suspected = ?, trace_id = ?, unique_key = id || ?, enqueued_by = ?, worker = ?, schedule = ?, progress_note = ? WHERE id = (SELECT max(id) FROM tasks WHERE unique_key IS NULL)",
			text, text, text, text, text, text, text).Error)
	}
	var more []string
	for _, text := range hostileTexts {
		q := url.QueryEscape(text)
		for _, address := range []string{
			"/tasks?q=%s&type=%s", "/tasks?tag=%s", "/tasks?param=%s=%s", "/tasks?state=%s", "/tasks?priority=%s", "/tasks?from=%s&to=%s", "/tasks?trace_id=%s", "/tasks?cursor=%s",
			"/tasks?schedule=%s&fingerprint=%s&window=%s", "/tasks?%s=%s", "/search?q=%s", "/dead?q=%s&first=%s", "/audit?actor=%s&action=%s&target=%s&id=%s&window=%s", "/audit?from=%s&cursor=%s",
			"/enqueue?q=%s&from=%s", "/enqueue/%s", "/tasks/%s", "/types/%s", "/schedules/%s", "/schedules?q=%s", "/bulk/%s", "/dead/%s/0123456789abcdef", "/nothing/%s", "/login?next=%s",
			"/schedules/new?name=%s&task=%s&cron=%s&timezone=%s&kind=%s", "/traces/%s", apiPath + "/tasks?q=%s", apiPath + "/schedules/preview?cron=%s&timezone=%s", "/tasks/export.csv?q=%s", "/tasks/1?attempt=%s&before=%s",
		} {
			more = append(more, strings.ReplaceAll(address, "%s", strings.ReplaceAll(q, "+", "%20")))
		}
	}
	w.walk(append(w.addresses(), more...), func(address string, r *httptest.ResponseRecorder) {
		require.Less(t, r.Code, 500, address)
		requireHarmless(t, address, r)
	})
	for line := range strings.Lines(w.log.String()) {
		require.True(t, json.Valid([]byte(line)), "a line of the log is not JSON: %s", line)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
