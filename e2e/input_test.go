package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadInputIsRefusedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)

	const tasks, batch, bulk = "/api/v1/tasks", "/api/v1/tasks/batch", "/api/v1/tasks/bulk"
	post, patch, get := http.MethodPost, http.MethodPatch, http.MethodGet
	nested := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	nestedObject := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	sleep := func(more string) string { return `{"type":"P.sleep","params":{"ms":1}` + more + `}` }
	cases := []struct {
		name, method, path, body string
		status                   int
		code, location           string
	}{
		{"no body", post, tasks, ``, 400, "bad_json", ""},
		{"only spaces", post, tasks, " \n\t ", 400, "bad_json", ""},
		{"half an object", post, tasks, `{"type":"P.log"`, 400, "bad_json", ""},
		{"a trailing comma", post, tasks, `{"type":"P.log",}`, 400, "bad_json", ""},
		{"two values", post, tasks, `{"type":"P.log"}{"type":"P.log"}`, 400, "bad_json", ""},
		{"NaN", post, tasks, `{"type":"P.sleep","params":{"ms":NaN}}`, 400, "bad_json", ""},
		{"bytes that are no UTF-8", post, tasks, "{\"type\":\"P.log\",\"params\":{\"text\":\"\xff\xfe\"}}", 400, "bad_json", ""},
		{"a zero byte", post, tasks, "{\"type\":\"P.log\x00\"}", 400, "bad_json", ""},
		{"a list", post, tasks, `[]`, 422, "invalid", ""},
		{"null", post, tasks, `null`, 422, "invalid", ""},
		{"no type", post, tasks, `{"params":{}}`, 422, "invalid", "/type"},
		{"a type that is a number", post, tasks, `{"type":1}`, 422, "invalid", "/type"},
		{"an unknown type", post, tasks, `{"type":"P.never"}`, 404, "unknown_type", ""},
		{"a type of markup", post, tasks, `{"type":"<img src=x>"}`, 404, "unknown_type", ""},
		{"an unknown field", post, tasks, sleep(`,"prio":1`), 422, "invalid", "/prio"},
		{"a field in capitals", post, tasks, sleep(`,"Priority":1`), 422, "invalid", "/Priority"},
		{"a field twice", post, tasks, sleep(`,"priority":1,"priority":2`), 422, "invalid", ""},
		{"parameters that are a list", post, tasks, `{"type":"P.log","params":[]}`, 422, "invalid", "/params"},
		{"a parameter of the wrong type", post, tasks, `{"type":"P.sleep","params":{"ms":"1"}}`, 422, "invalid", "/params/ms"},
		{"a parameter that is a fraction", post, tasks, `{"type":"P.sleep","params":{"ms":1.5}}`, 422, "invalid", "/params/ms"},
		{"a parameter below its minimum", post, tasks, `{"type":"P.sleep","params":{"ms":-1}}`, 422, "invalid", "/params/ms"},
		{"a parameter over 64 bits", post, tasks, `{"type":"P.sleep","params":{"n":1` + strings.Repeat("0", 30) + `}}`, 422, "invalid", "/params/n"},
		{"an unknown parameter", post, tasks, `{"type":"P.sleep","params":{"msec":1}}`, 422, "invalid", "/params/msec"},
		{"a zero character", post, tasks, `{"type":"P.log","params":{"text":"a\u0000b"}}`, 422, "invalid", ""},
		{"a zero character where any text may be", post, tasks, `{"type":"P.raw","params":{"text":"a\u0000b"}}`, 422, "invalid", ""},
		{"half a surrogate pair", post, tasks, `{"type":"P.raw","params":{"text":"\ud800"}}`, 422, "invalid", ""},
		{"a key twice in the parameters", post, tasks, `{"type":"P.raw","params":{"a":1,"a":2}}`, 422, "invalid", ""},
		{"5,000 lists in each other", post, tasks, `{"type":"P.raw","params":{"a":` + nested + `}}`, 422, "invalid", ""},
		{"5,000 objects in each other", post, tasks, `{"type":"P.raw","params":` + nestedObject + `}`, 422, "invalid", ""},
		{"5,000 lists alone", post, tasks, nested, 422, "invalid", ""},
		{"parameters of 3 MB", post, tasks, `{"type":"P.raw","params":{"a":"` + strings.Repeat("a", 3_000_000) + `"}}`, 413, "too_large", ""},
		{"a body of 5 MB", post, tasks, `{"type":"P.raw","params":{"a":"` + strings.Repeat("a", 5<<20) + `"}}`, 413, "too_large", ""},
		{"a body of 50 MB", post, tasks, strings.Repeat(" ", 50<<20), 413, "too_large", ""},
		{"a unique key with a zero character", post, tasks, sleep(`,"unique_key":"a\u0000b"`), 422, "invalid", ""},
		{"a unique key of 300 bytes", post, tasks, sleep(`,"unique_key":"` + strings.Repeat("語", 100) + `"`), 422, "invalid", "/unique_key"},
		{"a tag with a zero character", post, tasks, sleep(`,"tags":["a","b\u0000"]`), 422, "invalid", ""},
		{"a tag with a new line", post, tasks, sleep(`,"tags":["a\nb"]`), 422, "invalid", "/tags/0"},
		{"an empty tag", post, tasks, sleep(`,"tags":[""]`), 422, "invalid", "/tags/0"},
		{"a long tag", post, tasks, sleep(`,"tags":["` + strings.Repeat("a", 65) + `"]`), 422, "invalid", "/tags/0"},
		{"tags that are text", post, tasks, sleep(`,"tags":"a"`), 422, "invalid", "/tags"},
		{"too many tags", post, tasks, sleep(`,"tags":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21"]`), 422, "invalid", "/tags"},
		{"a trace id with a new line", post, tasks, sleep(`,"trace_id":"a\nb"`), 422, "invalid", "/trace_id"},
		{"a trace id in capitals", post, tasks, sleep(`,"trace_id":"` + strings.Repeat("A", 32) + `"`), 422, "invalid", "/trace_id"},
		{"run_at in words", post, tasks, sleep(`,"run_at":"tomorrow"`), 422, "invalid", "/run_at"},
		{"run_at without an offset", post, tasks, sleep(`,"run_at":"2030-01-01T00:00:00"`), 422, "invalid", "/run_at"},
		{"run_at in the year 9999", post, tasks, sleep(`,"run_at":"9999-12-31T23:59:59Z"`), 422, "invalid", "/run_at"},
		{"run_at and delay", post, tasks, sleep(`,"run_at":"2030-01-01T00:00:00Z","delay":"1s"`), 422, "invalid", "/delay"},
		{"a delay without a unit", post, tasks, sleep(`,"delay":"10"`), 422, "invalid", "/delay"},
		{"a batch of nothing", post, batch, `{"tasks":[]}`, 422, "invalid", "/tasks"},
		{"a batch with one bad task", post, batch, `{"tasks":[{"type":"P.log"},{"type":"P.never"}]}`, 422, "invalid", "/tasks/1/type"},
		{"a batch with a bad parameter", post, batch, `{"tasks":[{"type":"P.log"},{"type":"P.sleep","params":{"ms":-1}}]}`, 422, "invalid", "/tasks/1/params/ms"},
		{"a batch of 1,001", post, batch, `{"tasks":[` + strings.Repeat(`{"type":"P.log"},`, 1000) + `{"type":"P.log"}]}`, 422, "invalid", "/tasks"},
		{"a bulk action nobody knows", post, bulk, `{"action":"explode","ids":[1]}`, 422, "invalid", "/action"},
		{"a bulk action on nothing", post, bulk, `{"action":"retry"}`, 422, "invalid", ""},
		{"a task that is not there", get, tasks + "/4611686018427387904", ``, 404, "not_found", ""},
		{"a task number below one", get, tasks + "/-1", ``, 422, "invalid", "path.id"},
		{"a task number over 64 bits", get, tasks + "/99999999999999999999", ``, 422, "invalid", "path.id"},
		{"a limit below one", get, tasks + "?limit=-1", ``, 422, "invalid", "query.limit"},
		{"a limit over 64 bits", get, tasks + "?limit=99999999999999999999", ``, 422, "invalid", "query.limit"},
		{"an unknown state", get, tasks + "?state=happy", ``, 422, "invalid", "query.state"},
		{"a cursor that is none", get, tasks + "?cursor=zzz", ``, 422, "invalid", "query.cursor"},
		{"an unknown filter", get, tasks + "?stat=dead", ``, 422, "invalid", "query.stat"},
		{"a size of zero", patch, "/api/v1/types/P.log", `{"concurrency":0}`, 422, "invalid", "/concurrency"},
		{"a size below zero", patch, "/api/v1/types/P.log", `{"concurrency":-5}`, 422, "invalid", "/concurrency"},
		{"an enormous size", patch, "/api/v1/types/P.log", `{"concurrency":1e300}`, 422, "invalid", "/concurrency"},
		{"the size of a type that is not there", patch, "/api/v1/types/P.never", `{"concurrency":1}`, 404, "unknown_type", ""},
		{"a reason of 1,001 bytes", post, "/api/v1/types/P.log/pause", `{"reason":"` + strings.Repeat("a", 1001) + `"}`, 422, "invalid", "/reason"},
		{"an address that is not there", get, "/api/v1/nothing", ``, 404, "not_found", ""},
		{"a method that is not there", http.MethodDelete, tasks, ``, 405, "method_not_allowed", ""},
	}
	for field, bads := range map[string][]string{
		"priority":    {"0", "-1", "11", "1.5", "1e400", "-9223372036854775809", "99999999999999999999999", `"5"`, "true", "[]"},
		"max_retries": {"-1", "1001", "0.5", "1e400", "99999999999999999999999", `"3"`, "{}"},
		"timeout":     {"-1", `"-1s"`, "1e400", "99999999999999999999999", `"9999999h"`, `"soon"`, "[]", "true"},
		"delay":       {"-1", `"-1s"`, "1e400", "99999999999999999999999", `"9999999999h"`, `"later"`, "[]"},
	} {
		for _, bad := range bads {
			cases = append(cases, struct {
				name, method, path, body string
				status                   int
				code, location           string
			}{field + " " + bad, post, tasks, sleep(fmt.Sprintf(",%q:%s", field, bad)), 422, "invalid", "/" + field})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := s.must(t, c.method, c.path, []byte(c.body))
			found := requireProblem(t, got, c.status, c.code)
			require.Less(t, len(got.body), 64<<10, "the answer does not repeat what it was sent")
			locations := []string{""}
			for _, e := range found.Errors {
				locations = append(locations, e.Location)
				require.NotEmpty(t, e.Message)
			}
			require.Contains(t, locations, c.location, "%s", got.body)
			if c.status == http.StatusRequestEntityTooLarge {
				require.Regexp(t, `limit is \d+`, found.Detail)
			}
		})
	}
	require.Empty(t, s.list(t, nil), "something was stored")
	require.False(t, s.hasEnded())
	require.Empty(t, s.logged(t, "request failed"), "an answer was not thought of")
	s.stop(t)
	require.Empty(t, p.requireBooks(t, nil))
}

func TestWhatIsAcceptedIsGivenBackUnchanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	texts := []string{
		`"plain"`, `""`, `"\u202eright to left"`, `"👩‍🚀 👍🏽"`, `"\ud83d\ude00"`, `"` + strings.Repeat("\u0301", 10_000) + `"`,
		`"<img src=x onerror=alert(1)>"`, `"</script>"`, `"\" onmouseover=\"alert(1)"`, `"line\nline\ttab"`, `"\u0001\u001f\u007f"`,
		`9007199254740993`, `-9223372036854775808`, `18446744073709551616`, `0.1000000000000000055511151231257827`, `1e-7`, `1E+2`, `-0`,
		`[]`, `{}`, `null`, `[ 1 , 2 ]`, `{"":1}`, `{"__proto__":1,"a/b":2,"~":3}`, strings.Repeat("[", 90) + strings.Repeat("]", 90),
	}
	var ids []int64
	for _, text := range texts {
		params := `{"value": ` + text + `}`
		got := s.must(t, http.MethodPost, "/api/v1/tasks", []byte(`{"type":"P.raw","params":`+params+`}`))
		require.Equal(t, http.StatusCreated, got.status, "%s: %s", text, got.body)
		v := taskOf(t, got)
		ids = append(ids, v.ID)
		v = s.awaitState(t, v.ID, "success")
		require.Equal(t, compact(t, params), compact(t, string(v.Params)), "parameters")
		require.Equal(t, compact(t, params), compact(t, string(v.Result)), "what the handler was given and gave back")
	}
	const key = "clé 鍵 👩‍🚀 <b>\u202e"
	v := s.enqueue(t, "P.log", fields{}, fields{"unique_key": key, "tags": []string{"重", "<i>"}, "delay": "1h"})
	require.Equal(t, key, v.UniqueKey)
	require.Equal(t, []string{"重", "<i>"}, s.task(t, v.ID).Tags)
	require.Equal(t, http.StatusOK, s.act(t, v.ID, "cancel").status)
	s.stop(t)
	p.requireBooks(t, append(ids, v.ID))

	// And byte for byte in the file.
	var raw string
	require.NoError(t, p.database(t).QueryRow(`SELECT params FROM tasks WHERE id = ?`, ids[11]).Scan(&raw))
	require.Equal(t, `{"value": 9007199254740993}`, raw)
}

// compact leaves out spaces and keeps every digit.
func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, []byte(text)), "%s", text)
	return out.String()
}

// A bad result or error text must never keep the end of a run from being written.
func TestBadTextsOfAHandlerDoNotKeepItsRunFromEnding(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	var ids []int64
	run := func(typ string, params fields) task {
		v := s.enqueue(t, typ, params, fields{"max_retries": 0})
		ids = append(ids, v.ID)
		return s.awaitTask(t, v.ID, "final", (*task).isFinal)
	}
	for _, raw := range []string{"fffe", "00", "ed a0 80", "22ff22", "2261", "7b7d7b7d", "22 5c7530303030 22", "22 5c7564383030 22"} {
		v := run("P.ret", fields{"hex": strings.ReplaceAll(raw, " ", "")})
		require.Equal(t, "failed", v.State, "a result that is no JSON, %s: %+v", raw, v)
		require.NotEmpty(t, v.Error)
		require.Equal(t, 1, v.Attempt, "the work is done and would be done twice")
		v = run("P.err", fields{"hex": strings.ReplaceAll(raw, " ", "")})
		require.Equal(t, "dead", v.State, "an error text of %s", raw)
		require.NotEmpty(t, v.Error)
		require.NotContains(t, v.Error, "\x00")
	}
	v := run("P.err", fields{"text": "<script>alert(1)</script>\r\n\u202e" + strings.Repeat("\u0301", 3000)})
	require.Equal(t, "dead", v.State)
	require.Contains(t, v.Error, "<script>alert(1)</script>")
	s.awaitQuiet(t)
	s.stop(t)
	p.requireBooks(t, ids)
}

func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_BACKOFF=10ms,10ms")
	s := p.start(t)
	size := func() int64 {
		var pages, page int64
		require.NoError(t, p.database(t).QueryRow(`SELECT page_count, page_size FROM pragma_page_count, pragma_page_size`).Scan(&pages, &page))
		return pages * page
	}
	before := size()

	big := s.enqueue(t, "P.err", fields{"bytes": 70_000_000}, fields{"max_retries": 2}).ID
	v := s.awaitState(t, big, "dead")
	require.Len(t, v.Attempts, 3)
	for _, a := range v.Attempts {
		requireCut(t, a.Error, 16<<10)
	}
	requireCut(t, v.Error, 16<<10)

	ret := s.enqueue(t, "P.ret", fields{"bytes": 20_000_000}, nil).ID
	v = s.awaitTask(t, ret, "final", (*task).isFinal)
	require.Equal(t, "success", v.State)
	requireCut(t, string(v.Result), 64<<10)

	talk := s.enqueue(t, "P.talk", fields{"lines": 20_000}, nil).ID
	require.Equal(t, 100, s.awaitState(t, talk, "success").Progress, "the last word of a run is kept")
	var page struct {
		Lines []struct {
			Text string `json:"text"`
		} `json:"lines"`
	}
	s.get(t, fmt.Sprintf("/api/v1/tasks/%d/logs?limit=1", talk), &page)
	require.Contains(t, page.Lines[0].Text, "number=1", "the first lines are kept")
	s.get(t, fmt.Sprintf("/api/v1/tasks/%d/logs?after=19999", talk), &page)
	require.Contains(t, page.Lines[0].Text, "number=20000", "and the last ones")
	var kept int
	require.NoError(t, p.database(t).QueryRow(`SELECT count(*) FROM task_logs WHERE task_id = ?`, talk).Scan(&kept))
	require.LessOrEqual(t, kept, 1000, "with the line that says how many were left out")
	require.Less(t, size()-before, int64(1<<20), "what the file grew by")

	ids := []int64{big, ret, talk}
	params := fields{"value": strings.Repeat("a", 1_000_000)}
	for range 20 {
		ids = append(ids, s.enqueue(t, "P.raw", params, nil).ID)
	}
	s.awaitQuiet(t)
	got := s.must(t, http.MethodGet, "/api/v1/tasks?limit=100", nil)
	require.Equal(t, http.StatusOK, got.status)
	require.Less(t, len(got.body), 6<<20, "a page of tasks with large parameters ends early")
	require.Len(t, s.list(t, nil), len(ids), "and the next one goes on there")
	s.stop(t)
	p.requireBooks(t, ids)
}

// requireCut checks that a text was shortened to its head and its tail, between letters, and says so.
func requireCut(t *testing.T, text string, limit int) {
	t.Helper()
	require.LessOrEqual(t, len(text), limit)
	require.Regexp(t, `\d+ bytes left out`, text)
	require.Contains(t, text[:100], "head語")
	require.Contains(t, text[len(text)-100:], "語tail")
	require.NotContains(t, text, "\ufffd")
}
