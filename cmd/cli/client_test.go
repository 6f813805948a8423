package cli

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden files hold local times.
func init() { time.Local = time.FixedZone("", 2*60*60) }

// call is one request that the fake server got.
type call struct{ Method, Path, Query, Body, Auth string }

// fakeServer answers by "METHOD path"; a later answer of the same key follows the ones before, and the last one stays.
type fakeServer struct {
	*httptest.Server
	answers map[string][]answer
	calls   []call
}

type answer struct {
	status int
	body   string
}

func newFakeServer(t *testing.T, answers map[string][]answer) *fakeServer {
	t.Helper()
	f := &fakeServer{answers: answers}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the request: %v", err)
		}
		f.calls = append(f.calls, call{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Get("Authorization")})
		key := r.Method + " " + r.URL.EscapedPath()
		queue := f.answers[key]
		if len(queue) == 0 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"title":"Not Found","status":404,"detail":"there is nothing at this address","code":"not_found","errors":[]}`)
			return
		}
		if len(queue) > 1 {
			f.answers[key] = queue[1:]
		}
		w.WriteHeader(queue[0].status)
		_, _ = io.WriteString(w, queue[0].body)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) command() command {
	return command{env: map[string]string{"REAX_URL": f.URL, "REAX_TOKEN": "secret-token"}}
}

const (
	bigNumber = "12345678901234567890123.4567890123456789"

	taskJSON = `{"id":42,"type":"report.generate","params":{"user_id":` + bigNumber + `},"priority":5,"state":"success","suspected":"",` +
		`"stuck":false,"attempt":2,"failures":1,"crashes":0,"max_retries":3,"run_at":null,"trace_id":"0190aa","unique_key":"","tags":["a","b"],` +
		`"progress":0,"progress_note":"","result":{"rows":` + bigNumber + `},"error":"","error_kind":"","fingerprint":"","enqueued_by":"api",` +
		`"schedule":"","repeated_from":null,"created_at":"2026-11-29T07:00:00.000000Z","started_at":"2026-11-29T07:00:01.500000Z",` +
		`"finished_at":"2026-11-29T07:00:02.000000Z","updated_at":"2026-11-29T07:00:02.000000Z","attempts":[` +
		`{"attempt":1,"outcome":"retry","error":"no such table\nhint: \u001b[31mmigrate","error_kind":"error","fingerprint":"f","stack":"",` +
		`"worker":"report.generate/worker-1","started_at":"2026-11-29T07:00:00.000000Z","finished_at":"2026-11-29T07:00:01.000000Z",` +
		`"retry_at":"2026-11-29T07:00:01.500000Z","retry_rule":"10 s * 2^0"}]}`

	hostileJSON = `{"id":43,"type":"日报","params":{},"priority":1,"state":"running","suspected":"","stuck":false,"attempt":1,"failures":0,` +
		`"crashes":0,"max_retries":0,"trace_id":"0190ab","tags":[],"progress":40,"progress_note":"half\u001b]0;owned\u0007way","result":null,` +
		`"error":"","created_at":"2026-11-29T07:00:00.000000Z"}`

	deadJSON = `{"id":44,"type":"sms.push","state":"dead","attempt":4,"max_retries":3,"error":"refused\r\n\u001b[2Jall is well\u202e",` +
		`"created_at":"2026-11-29T07:00:00.000000Z"}`

	refusalJSON = `{"title":"Conflict","status":409,"detail":"task 42 is success: cancel does not apply","code":"wrong_state","errors":[]}`

	typesJSON = `{"types":[{"name":"report.generate","description":"Makes the\u001b[31m report","kind":"command","registered":true,"paused":true,` +
		`"schema":{"$ref":"#/$defs/P","$defs":{"P":{"type":"object","properties":{"user_id":{"type":"integer"},"date":{"type":"string"},` +
		`"share":{"type":["number","null"]},"on":{"type":"boolean"},"ids":{"type":"array"},"more":{"$ref":"#/$defs/M"},` +
		`"either":{"type":["integer","string"]}}},"M":{"type":"object"}}},"pool":{"concurrency":4,"busy":1,"ready":12}},{"name":"old","registered":false}]}`
)

func TestOutputForPeople(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/tasks":         {{200, `{"tasks":[` + deadJSON + `,` + hostileJSON + `,` + taskJSON + `],"next_cursor":"NDI"}`}},
		"GET /api/v1/tasks/42":      {{200, taskJSON}},
		"GET /api/v1/types":         {{200, typesJSON}},
		"GET /api/v1/tasks/42/logs": {{200, `{"attempt":2,"lines":[{"seq":1,"at":"2026-11-29T07:00:01.600000Z","level":"info","text":"one\u001b[1A"},{"seq":3,"at":"2026-11-29T07:00:01.700000Z","level":"stderr","text":"三"}],"next_after":null}`}},
		"GET /healthz":              {{200, `{"status":"ok","backlog":12,"oldest_wait_s":3.5,"workers_busy":1,"workers_total":8,"success_rate_5m":0.9876,"database":"ok","reasons":[]}`}},
		"GET /api/v1/stats":         {{200, `{"counts":{"pending":12,"running":1,"success":100}}`}},
		"GET /api/v1/actors":        {{200, `{"actors":[{"id":"reax","depth":0,"mailbox":0,"processed":5,"restarts":0,"doing":"","busy_ms":0,"last_panic":""},{"id":"reax/queue","depth":1,"mailbox":2,"processed":77,"restarts":1,"doing":"claim","busy_ms":1250,"last_panic":"boom\u001b[0m"}]}`}},
	})
	for name, args := range map[string][]string{
		"list": {"list"}, "show": {"show", "42"}, "types": {"types"}, "logs": {"logs", "42"}, "status": {"status"}, "actors": {"actors"},
	} {
		t.Run(name, func(t *testing.T) {
			got := server.command().run(t, args...)
			require.Zero(t, got.code, got.errOut)
			requireGolden(t, name+".txt", got.out+got.errOut)
			require.NotContains(t, got.out, "\x1b")
		})
	}
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestJSONIsTheAnswerOfTheServerUnchanged(t *testing.T) {
	list := `{"tasks":[` + taskJSON + `],"next_cursor":null}`
	server := newFakeServer(t, map[string][]answer{
		"GET /api/v1/tasks":            {{200, list + "\n"}},
		"GET /api/v1/tasks/42":         {{200, taskJSON}},
		"POST /api/v1/tasks":           {{201, taskJSON}},
		"POST /api/v1/tasks/42/retry":  {{200, taskJSON}},
		"POST /api/v1/tasks/42/repeat": {{201, taskJSON}},
		"GET /api/v1/types":            {{200, typesJSON}},
		"GET /healthz":                 {{503, `{"status":"degraded","backlog":9007199254740993}`}},
		"GET /api/v1/stats":            {{200, `{"n":` + bigNumber + `}`}},
	})
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"list", "--json"}, 0, list},
		{[]string{"show", "42", "--json"}, 0, taskJSON},
		{[]string{"enqueue", "report.generate", "--json"}, 0, taskJSON},
		{[]string{"enqueue", "report.generate", "--json", "--wait"}, 0, taskJSON},
		{[]string{"retry", "42", "--json"}, 0, taskJSON},
		{[]string{"repeat", "42", "--json"}, 0, taskJSON},
		{[]string{"types", "--json"}, 0, typesJSON},
		{[]string{"status", "--json"}, 1, `{"health":{"status":"degraded","backlog":9007199254740993},"stats":{"n":` + bigNumber + `}}`},
	} {
		got := server.command().run(t, test.args...)
		require.Equal(t, test.code, got.code, got.errOut)
		require.Equal(t, test.want+"\n", got.out)
	}
}

func TestARefusalIsPrintedAndExitsWithOne(t *testing.T) {
	invalid := `{"title":"Unprocessable Entity","status":422,"detail":"the request is not valid: 2 fields are wrong","code":"invalid",` +
		`"errors":[{"location":"/params/user_id","message":"must be > 0\u001b[0m"},{"location":"/tags/0","message":"must not be empty"}]}`
	server := newFakeServer(t, map[string][]answer{
		"POST /api/v1/tasks":           {{422, invalid}},
		"POST /api/v1/tasks/42/cancel": {{409, refusalJSON}},
		"POST /api/v1/tasks/44/cancel": {{200, deadJSON}},
		"GET /api/v1/types":            {{502, "<html>bad gateway</html>"}},
		"GET /api/v1/actors":           {{200, "<html>welcome</html>"}},
	})
	got := server.command().run(t, "enqueue", "x")
	require.Equal(t, result{1, "", "reax: the request is not valid: 2 fields are wrong\n  /params/user_id: must be > 0\\x1b[0m\n  /tags/0: must not be empty\n"}, got)

	got = server.command().run(t, "enqueue", "x", "--json")
	require.Equal(t, 1, got.code)
	require.Equal(t, invalid+"\n", got.out)

	// One refusal does not keep the next task from being changed.
	got = server.command().run(t, "cancel", "42", "44")
	require.Equal(t, result{1, "task 44 is dead\n", "task 42: task 42 is success: cancel does not apply\n"}, got)

	got = server.command().run(t, "types")
	require.Equal(t, result{1, "", "reax: the server answered 502 Bad Gateway\n"}, got)
	got = server.command().run(t, "actors")
	require.Contains(t, got.errOut, "is not a reax server")
	got = server.command().run(t, "show", "7")
	require.Equal(t, result{1, "", "reax: there is nothing at this address\n"}, got)
}

func TestEnqueueSendsWhatTheFlagsSay(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"POST /api/v1/tasks": {{201, taskJSON}}, "GET /api/v1/types": {{200, typesJSON}}})
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(file, []byte(" {\"from\": \"file\"}\n"), 0o600))
	for _, test := range []struct {
		name, stdin, want string
		args              []string
	}{
		{"nothing", "", `{"type":"report.generate"}`, nil},
		{"all", "", `{"type":"report.generate","params":{"a":"<b>"},"priority":1,"delay":"36h0m0s","max_retries":0,"timeout":"0s","unique_key":"k","tags":["x,y","z"],"trace_id":"ab"}`,
			[]string{"--params", `{"a":"<b>"}`, "--priority", "1", "--delay", "1d12h", "--max-retries", "0", "--timeout", "0s", "--unique-key", "k",
				"--tag", "x,y", "--tag", "z", "--trace-id", "ab"}},
		{"local time", "", `{"type":"report.generate","run_at":"2026-12-24T09:30:00+02:00"}`, []string{"--run-at", "2026-12-24 09:30"}},
		{"time with its offset", "", `{"type":"report.generate","run_at":"2026-12-24T09:30:00Z"}`, []string{"--run-at", "2026-12-24T09:30:00Z"}},
		{"params from a file", "", `{"type":"report.generate","params":{"from":"file"}}`, []string{"--params", "@" + file}},
		{"params from the standard input", `{"n":` + bigNumber + `}`, `{"type":"report.generate","params":{"n":` + bigNumber + `}}`, []string{"--params", "-"}},
		{"typed by the schema", "", `{"type":"report.generate","params":{"user_id":-5,"date":"2026-01-01","share":null,"on":true,"ids":[1,"a"],"more":{"b":1},"either":"7","other":"8","text":"a=b,c"}}`,
			[]string{"-p", "user_id=-5", "-p", "date=2026-01-01", "-p", "share=null", "-p", "on=true", "-p", `ids=[1,"a"]`, "-p", `more={"b":1}`,
				"-p", "either=7", "-p", "other=8", "-p", "text=a=b,c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server.calls = nil
			cmd := server.command()
			cmd.stdin = test.stdin
			got := cmd.run(t, append([]string{"enqueue", "report.generate"}, test.args...)...)
			require.Zero(t, got.code, got.errOut)
			require.Equal(t, "accepted task 42 · report.generate · trace 0190aa\n", got.out)
			last := server.calls[len(server.calls)-1]
			require.JSONEq(t, test.want, last.Body)
			require.Equal(t, test.want+"\n", last.Body)
			require.Equal(t, "Bearer secret-token", last.Auth)
		})
	}
}

func TestParametersThatCannotBeAreRefusedBeforeTheyAreSent(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"POST /api/v1/tasks": {{201, taskJSON}}, "GET /api/v1/types": {{200, typesJSON}}})
	for _, test := range []struct {
		want string
		code int
		args []string
	}{
		{`-p user_id: "five" is not of the type integer that the schema asks for`, 2, []string{"report.generate", "-p", "user_id=five"}},
		{`-p share: "x" is not of the type number or null that the schema asks for`, 2, []string{"report.generate", "-p", "share=x"}},
		{`-p user_id: must be KEY=VALUE`, 2, []string{"report.generate", "-p", "user_id"}},
		{`-p on: given twice`, 2, []string{"report.generate", "-p", "on=true", "-p", "on=false"}},
		{`there is no task type "report.generat" (did you mean report.generate?)`, 1, []string{"report.generat", "-p", "a=b"}},
		{"there is no task type \"z\": `reax types` lists those there are", 1, []string{"z", "-p", "a=b"}},
		{`--params must be a JSON object: it is null`, 2, []string{"z", "--params", "null"}},
		{`reading the parameters: open /no/such/file`, 1, []string{"z", "--params", "@/no/such/file"}},
	} {
		got := server.command().run(t, append([]string{"enqueue"}, test.args...)...)
		require.Equal(t, test.code, got.code)
		require.Contains(t, got.errOut, test.want)
	}
	for _, c := range server.calls {
		require.Equal(t, http.MethodGet, c.Method)
	}
}

func TestWaitFollowsATaskToItsEnd(t *testing.T) {
	running := answer{200, hostileJSON}
	server := newFakeServer(t, map[string][]answer{
		"POST /api/v1/tasks":           {{201, hostileJSON}},
		"GET /api/v1/tasks/43":         {running, running, {200, taskJSON}},
		"POST /api/v1/tasks/42/repeat": {{201, `{"id":44,"type":"sms.push","trace_id":"0190ac"}`}},
		"GET /api/v1/tasks/44":         {running, {200, deadJSON}},
	})
	got := server.command().run(t, "enqueue", "日报", "--wait")
	require.Equal(t, result{0, "accepted task 43 · 日报 · trace 0190ab\ntask 42 is success: {\"rows\":" + bigNumber + "}\n", ""}, got)

	got = server.command().run(t, "repeat", "42", "--wait", "--params", `{"a":1}`, "--reason", "again")
	require.Equal(t, 1, got.code)
	require.Equal(t, "task 44 is dead: refused\n\\x1b[2Jall is well\\u202e\n", got.errOut)
	require.Equal(t, `{"params":{"a":1},"reason":"again"}`+"\n", server.calls[4].Body)
}

func TestADuplicateSaysWhichTaskHoldsTheKey(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"POST /api/v1/tasks": {{200, `{"id":9,"type":"x","unique_key":"k","duplicate":true}`}}})
	got := server.command().run(t, "enqueue", "x", "--unique-key", "k")
	require.Equal(t, result{0, "task 9 holds the key \"k\" already: no new task was made\n", ""}, got)
}

func TestChangesSendReasonsAndSayWhatIsTrueNow(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{
		"POST /api/v1/tasks/43/cancel":       {{200, hostileJSON}},
		"POST /api/v1/tasks/44/discard":      {{200, `{"id":44,"state":"cancelled"}`}},
		"POST /api/v1/types/a%2Fb/pause":     {{200, `{}`}},
		"POST /api/v1/types/sms.push/resume": {{200, `{}`}},
		"PATCH /api/v1/types/sms.push":       {{200, `{}`}},
	})
	for _, test := range []struct {
		args           []string
		body, out, key string
	}{
		{[]string{"cancel", "43", "--reason", "why"}, `{"reason":"why"}`, "task 43 was asked to stop\n", "POST /api/v1/tasks/43/cancel"},
		{[]string{"discard", "44", "--reason", "old"}, `{"reason":"old"}`, "task 44 is cancelled\n", "POST /api/v1/tasks/44/discard"},
		{[]string{"pause", "a/b", "--reason", "down"}, `{"reason":"down"}`, "a/b is paused: what runs goes on, nothing new starts\n", "POST /api/v1/types/a%2Fb/pause"},
		{[]string{"resume", "sms.push"}, `{}`, "sms.push starts tasks again\n", "POST /api/v1/types/sms.push/resume"},
		{[]string{"resize", "sms.push", "8"}, `{"concurrency":8}`, "sms.push runs up to 8 tasks at one time\n", "PATCH /api/v1/types/sms.push"},
	} {
		got := server.command().run(t, test.args...)
		require.Equal(t, result{0, test.out, ""}, got)
		last := server.calls[len(server.calls)-1]
		require.Equal(t, test.key, last.Method+" "+last.Path)
		require.Equal(t, test.body+"\n", last.Body)
	}
}

func TestListSendsItsFilters(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"GET /api/v1/tasks": {{200, `{"tasks":[],"next_cursor":null}`}}})
	got := server.command().run(t, "list", "--state", "dead", "--state", "failed", "--type", "a", "--q", "boom & bust", "--tag", "t", "--trace-id", "ff",
		"--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02 00:00", "--limit", "7", "--cursor", "NDI")
	require.Zero(t, got.code, got.errOut)
	require.Equal(t, "cursor=NDI&from=2026-01-01T00%3A00%3A00Z&limit=7&q=boom+%26+bust&state=dead%2Cfailed&tag=t&to=2026-01-02T00%3A00%3A00%2B02%3A00&trace_id=ff&type=a",
		server.calls[0].Query)

	got = server.command().run(t, "list", "--sort=-duration", "--state", "running")
	require.Zero(t, got.code, got.errOut)
	require.Equal(t, "limit=50&sort=-duration&state=running", server.calls[1].Query)
	for _, args := range [][]string{{"--sort", "created"}, {"--sort=--duration"}} {
		got = server.command().run(t, append([]string{"list"}, args...)...)
		require.Equal(t, 2, got.code)
		require.Contains(t, got.errOut, "changed, priority or duration")
	}
	require.Len(t, server.calls, 2)

	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago, err := parseMomentOrAgo("90m", now)
	require.NoError(t, err)
	require.Equal(t, now.Add(-90*time.Minute), ago)
}

func TestSortedListShowsWhatItIsSortedByAndAmongHowMany(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"GET /api/v1/tasks": {{200, `{"tasks":[` + taskJSON + `,` + deadJSON + `],"next_cursor":null,"sorted_among":5000}`}}})
	for order, shows := range map[string]string{
		"-duration": `RUN\s+DURATION\s+ACCEPTED.*\n42 .* 2\s+500ms\s+20.*\n44 .* 4\s+-\s+20`,
		"priority":  `RUN\s+PRIORITY\s+ACCEPTED.*\n42 .* 2\s+5\s+20`,
		"changed":   `RUN\s+CHANGED\s+ACCEPTED.*\n42 .* 2\s+2026-11-29 \d\d:00:02 \S+\s+20`,
	} {
		got := server.command().run(t, "list", "--sort="+order)
		require.Zero(t, got.code)
		require.Regexp(t, shows, got.out)
		require.Equal(t, "sorted among the newest 5000 that match: there may be older ones\n", got.errOut)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	started := now.Add(-90*time.Minute - 400*time.Millisecond)
	require.Equal(t, "1h30m0s", (&task{State: "running", StartedAt: &started}).sortedBy(models.ByDuration, now))
}

func TestStatusFailsWhenTheServerIsNotOK(t *testing.T) {
	server := newFakeServer(t, map[string][]answer{"GET /healthz": {{503, `{"status":"draining","reasons":["reax is\u001b[0m stopping"]}`}}})
	got := server.command().run(t, "status")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "status   draining\n         reax is\\x1b[0m stopping\n")
}

func TestARedirectIsNotFollowed(t *testing.T) {
	target := newFakeServer(t, map[string][]answer{"GET /api/v1/types": {{200, typesJSON}}})
	server := httptest.NewServer(http.RedirectHandler(target.URL+"/api/v1/types", http.StatusFound))
	defer server.Close()
	got := command{env: map[string]string{"REAX_URL": server.URL}}.run(t, "types")
	require.Equal(t, result{1, "", "reax: the server answered 302 Found\n"}, got)
	require.Empty(t, target.calls)
}

func TestCommandsFindTheSocketOfTheDatabase(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("data", 0o700))
	require.NoError(t, os.WriteFile("reax.yaml", []byte("database: data/ledger.db\nwrong: key"), 0o600))

	got := command{}.run(t, "types")
	require.Equal(t, result{1, "", "reax: no server is running on data/reax.sock: start one with `reax serve`\n"}, got)
	got = command{}.run(t, "types", "--db", "other.db")
	require.Contains(t, got.errOut, "no server is running on reax.sock:")

	listener, err := listenSocket(t.Context(), filepath.Join(dir, "data", socketName))
	require.NoError(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"types": []any{}})
	})}}
	server.Start()
	defer server.Close()
	for _, test := range []struct {
		env  map[string]string
		args []string
	}{
		{nil, nil},
		{map[string]string{"REAX_DB": "data/ledger.db"}, nil},
		{map[string]string{"REAX_DB": "elsewhere/x.db"}, []string{"--db", "data/any.db"}},
		{map[string]string{"REAX_CONFIG": filepath.Join(dir, "reax.yaml")}, nil},
	} {
		got = command{env: test.env}.run(t, append([]string{"types"}, test.args...)...)
		require.Zero(t, got.code, got.errOut)
		require.Contains(t, got.out, "TYPE")
	}
	got = command{}.run(t, "types", "--config", "missing.yaml")
	require.Equal(t, result{1, "", "reax: there is no configuration file missing.yaml\n"}, got)
}

func TestNoServerAtAnAddressIsSaidInWords(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	got := command{}.run(t, "types", "--url", url)
	require.Equal(t, result{1, "", "reax: no server is running at " + url + "\n"}, got)
}
