package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

const someError = "00112233445566aa"

// deadly gives the fake one group of errors of three tasks.
func deadly(f *fake) {
	at := models.At(time.Now().Add(-2 * time.Hour))
	f.counts = []models.Count{{Type: "any", State: models.StateDead, N: 2}, {Type: "any", State: models.StateFailed, N: 1}}
	f.groups = []models.ErrorGroup{
		{Type: "any", Fingerprint: someError, Kind: "error", Message: "no <b>route</b> to <n>", N: 3, FirstAt: at.Add(-time.Hour), LastAt: at},
		{Type: "<i>odd</i>", Fingerprint: "ffffffffffffffff", Message: "", N: 1, FirstAt: at.Add(-48 * time.Hour), LastAt: at.Add(-48 * time.Hour)},
	}
	f.times = []models.Instant{at, at, at.Add(-time.Hour)}
	for i := range 3 {
		f.add(models.Task{State: models.StateDead, Failures: 4, MaxRetries: 3, Fingerprint: someError, ErrorKind: "error", Error: "no <b>route</b> to 7",
			Params: fmt.Sprintf(`{"customer":{"id":4417},"n":%d}`, i)})
	}
	f.add(models.Task{Type: "<i>odd</i>", State: models.StateFailed, Failures: 1, Fingerprint: "ffffffffffffffff"})
}

func TestDeadLettersAreGroupedByTheirError(t *testing.T) {
	runScenarios(t, deadly, []scenario{
		{name: "all", url: "/dead", status: 200, header: browser(), must: []string{
			"no &lt;b&gt;route&lt;/b&gt; to &lt;n&gt;", "&lt;i&gt;odd", "an error without words", "attempt 4 of 4", "permanent error", "3 in the last 24 h",
			"2 groups with 4 tasks", `href="/dead/any/` + someError + `"`, `action="/dead/%3Ci%3Eodd%3C%2Fi%3E/ffffffffffffffff"`, "Retry 1 first", "Retry all 3…",
			"customer.id", "in 3 of 3", "param=customer.id%3D4417",
		}, mustNot: []string{"<b>route", "<i>odd", "your last visit"}},
		{name: "of a type", url: "/dead?type=any", status: 200, header: browser(), must: []string{"1 group with 3 tasks", "Clear filters"}, mustNot: []string{"&lt;i&gt;odd</b>"}},
		{name: "by a text", url: "/dead?q=ROUTE", status: 200, header: browser(), must: []string{"1 group with 3 tasks"}},
		{name: "by a fingerprint", url: "/dead?q=ffffffffffffffff", status: 200, header: browser(), must: []string{"1 group with 1 task"}},
		{name: "nothing matches", url: "/dead?q=%3Cscript%3E", status: 200, header: browser(), must: []string{"No group matches", "&lt;script&gt;"}, mustNot: []string{"<script>"}},
		{name: "a page that is none", url: "/dead?page=x&type=any", status: 200, header: browser(), must: []string{"1 group with 3 tasks"}},
		{name: "Chinese", url: "/dead", status: 200, header: browser("Accept-Language", "zh"), must: []string{"死信", "先重试 1 个", "3 个中有 3 个"}, mustNot: []string{"Retry"}},
		{name: "a region alone", url: "/dead", status: 200, header: map[string]string{fragmentsHeader: "dead"}, must: []string{`data-live="dead"`, "route"}, mustNot: []string{"<html", "f-type"}},
		{name: "the group", url: "/dead/any/" + someError, status: 200, header: browser(), must: []string{
			"no &lt;b&gt;route", `name="one" value="3"`, `name="id" value="1"`, "Retry all 3…", `value="fingerprint=` + someError + `&amp;type=any"`,
		}, mustNot: []string{"<b>route", "was retried first"}},
		{name: "an odd group", url: "/dead/%3Ci%3Eodd%3C%2Fi%3E/ffffffffffffffff", status: 200, header: browser(), must: []string{"&lt;i&gt;odd", "Retry"}, mustNot: []string{"<i>odd", "Retry all"}},
		{name: "no group", url: "/dead/any/0000000000000000", status: 404, header: browser()},
		{name: "no fingerprint", url: "/dead/any/x", status: 404, header: browser()},
		{name: "a cursor that is none", url: "/dead/any/" + someError + "?cursor=x", status: 422, header: browser()},
	})
	runScenarios(t, nil, []scenario{
		{name: "nothing yet", url: "/dead", status: 200, header: browser(), must: []string{"No dead letters"}, mustNot: []string{"No group matches"}},
		{name: "nothing for a week", url: "/dead?view=types", status: 200, header: browser(), must: []string{"No failures for 7 days"}},
	})
}

func TestTheMatrixCountsFailuresByTypeAndWindow(t *testing.T) {
	f := newFake(t)
	day := 24 * time.Hour
	f.failed = []fakeFailure{{"any", 2 * time.Hour, 20}, {"any", 20 * time.Hour, 10}, {"any", 2 * day, 10}, {"any", 5 * day, 10}, {"<i>odd</i>", 6 * day, 90}}
	w := scenario{url: "/dead?view=types", status: 200, header: browser(), must: []string{
		"&lt;i&gt;odd", `href="/tasks?state=failed%2Cdead&amp;type=any&amp;window=3h">20<`, `window=7d">50<`, "last 3 days",
	}, mustNot: []string{"<i>odd", `window=1h">0<`}}.run(t, f)
	require.Less(t, strings.Index(w.Body.String(), "odd"), strings.Index(w.Body.String(), ">any<"), "the type with the most first")
}

// The long windows are read once an hour: what has failed since counts in them all the same.
func TestTheMatrixCountsWhatFailedSinceItReadTheLongWindows(t *testing.T) {
	f := newFake(t)
	f.failed = []fakeFailure{{"any", 20 * time.Hour, 10}}
	s := newServer(t, f)
	matrix := func(at time.Time) []views.MatrixCell {
		m, err := s.deadMatrix(views.WithViewer(t.Context(), &views.Viewer{Locale: views.English, Zone: time.UTC, Now: at}))
		require.NoError(t, err)
		require.Len(t, m.Rows, 1)
		return m.Rows[0].Cells
	}
	count := func(cells []views.MatrixCell) (n []int64) {
		for _, c := range cells {
			n = append(n, c.N)
		}
		return n
	}
	now := time.Now().Truncate(time.Hour).Add(time.Hour)
	require.Equal(t, []int64{0, 0, 10, 10, 10}, count(matrix(now)))
	f.failed = append(f.failed, fakeFailure{"any", -time.Hour, 5}) // within the next hour
	require.Equal(t, []int64{0, 0, 10, 10, 10}, count(matrix(now.Add(59*time.Second))), "a minute is told once")
	require.Equal(t, []int64{5, 5, 15, 15, 15}, count(matrix(now.Add(5*time.Minute))))
	require.Equal(t, []int64{5, 5, 15, 15, 15}, count(matrix(now.Add(time.Hour))))
}

func TestARailTellsOfWhatDiedSinceTheLastVisit(t *testing.T) {
	f := newFake(t)
	deadly(f)
	s := newServer(t, f)
	get := func(path, cookie string) (html, next string) {
		r := scenario{url: path, header: browser()}.request()
		if cookie != "" {
			r.Header.Set("Cookie", seenCookie+"="+cookie)
		}
		w := send(s.Handler(), r)
		require.Equal(t, 200, w.Code)
		if c := cookieOf(t, w, seenCookie); c != nil {
			next = c.Value
		}
		return w.Body.String(), next
	}
	html, _ := get("/tasks", "")
	require.Contains(t, html, `class="count hot">3`, "never looked at")
	html, seen := get("/dead", "")
	require.NotContains(t, html, `class="count hot">3`, "here it is seen")
	require.NotContains(t, html, "your last visit", "there was none")
	html, _ = get("/tasks", seen)
	require.NotContains(t, html, `class="count hot">3`)

	// The visit before was long ago: what came since is marked, for as long as this visit takes.
	at := models.At(time.Now().Add(-5 * time.Hour))
	html, seen = get("/dead", fmt.Sprint(int64(at)))
	require.Contains(t, html, "new since your last visit")
	html, _ = get("/dead", seen)
	require.Contains(t, html, "new since your last visit", "also after a reload")
	at = models.At(time.Now().Add(-150 * time.Minute))
	html, _ = get("/dead", fmt.Sprint(int64(at)))
	require.Contains(t, html, "again since your last visit")
	html, _ = get("/tasks", fmt.Sprint(int64(at)))
	require.Contains(t, html, `class="count hot">3`)
	for _, bad := range []string{"x", "-1.5", "..", "99999999999999999999"} {
		get("/dead", bad)
	}
}

func TestOneIsRetriedFirst(t *testing.T) {
	f := newFake(t)
	deadly(f)
	at := "/dead/any/" + someError
	post := func(body string, status int) string {
		return scenario{method: "POST", url: at, body: body, status: status, header: browser()}.run(t, f).Header().Get("Location")
	}
	require.Equal(t, at+"?first=3", post("do=first&back=/dead", 303))
	require.Equal(t, models.StatePending, f.rows[2].State)
	for _, c := range []struct {
		state models.State
		error string
		must  string
	}{
		{models.StatePending, someError, "will try again by itself"},
		{models.StateRunning, "", "runs now"},
		{models.StateSuccess, "", "Retry the rest (3)…"},
		{models.StateDead, someError, "with the same error again"},
		{models.StateFailed, "another", "with another error"},
		{models.StateCancelled, "", "then cancelled"},
	} {
		f.rows[2].State, f.rows[2].Fingerprint = c.state, c.error
		scenario{url: at + "?first=3", status: 200, header: browser(), must: []string{c.must, `href="/tasks/3"`}}.run(t, f)
	}
	for _, none := range []string{"4", "999", "-1", "x", "%3Cb%3E"} { // of another type, gone, no number
		scenario{url: at + "?first=" + none, status: 200, header: browser(), mustNot: []string{"was retried first", "<b>&"}}.run(t, f)
	}

	for _, do := range []string{"retry", "discard"} {
		require.Equal(t, "/bulk/1?back=%2Fdead%3Ftype%3Dany", post("do="+do+"&back=/dead?type=any", 303))
		plan := f.plans[len(f.plans)-1]
		require.Equal(t, actors.Action(do), plan.Action)
		require.Equal(t, &models.Filter{Types: []string{"any"}, Fingerprint: someError}, plan.Filter)
	}
	post("do=explode", 422)
	require.Equal(t, "/bulk/1?back=%2F", post("do=retry&back=//evil.example", 303))
	f.err = &models.KeyHeldError{Key: "k", Holder: 1}
	require.Equal(t, "/dead", post("do=first&back=/dead", 303), "left alone")
	f.err, f.rows = nil, nil
	require.Equal(t, "/dead", post("do=first&back=/dead", 303), "nothing is left")
}

// What people say of an error stands with it, and a muted one calls nobody.
func TestAGroupIsNamedAndMuted(t *testing.T) {
	f := newFake(t)
	deadly(f)
	const at = "/dead/any/" + someError
	post := func(body string, status int, must ...string) string {
		return scenario{method: "POST", url: at + "/mark", body: body, status: status, header: browser(), must: must}.run(t, f).Header().Get("Location")
	}
	require.Equal(t, at, post("name=+the+%3Cb%3Eswitch%3C/b%3E+&note=see%0Athe+ticket&link=https://example.org/%3Cx%3E&mute=24h", 303))
	m := f.groupMarks[0]
	require.Equal(t, []any{"any", someError, "the <b>switch</b>", "see the ticket", true, "dashboard"}, []any{m.Type, m.Fingerprint, m.Name, m.Note, m.Muted, m.ChangedBy})
	require.InDelta(t, float64(models.At(time.Now().Add(24*time.Hour))), float64(m.MutedUntil), 60e6)

	html := scenario{url: "/dead", status: 200, header: browser(), must: []string{
		"the &lt;b&gt;switch", "see the ticket", "1 muted group<", "muted until", "1 group with 1 task<", `rel="noreferrer noopener"`,
	}, mustNot: []string{"<b>switch", "your last visit"}}.run(t, f).Body.String()
	require.Less(t, strings.Index(html, "&lt;i&gt;odd</b>"), strings.Index(html, "the &lt;b&gt;switch"), "folded at the end")
	scenario{url: "/dead?q=SWITCH", status: 200, header: browser(), must: []string{"1 muted group<"}, mustNot: []string{"No group matches"}}.run(t, f)
	scenario{url: at, status: 200, header: browser(), must: []string{"the &lt;b&gt;switch", `value="keep" selected`, "https://example.org/&lt;x&gt;"}}.run(t, f)
	scenario{url: "/dead", status: 200, header: browser("Accept-Language", "zh"), must: []string{"1 个已静音的分组", "静音至"}}.run(t, f)

	post("name=x&mute=keep", 303)
	require.Equal(t, m.MutedUntil, f.groupMarks[1].MutedUntil, "it stays as it was")
	post("name=x&mute=always", 303)
	require.True(t, f.groupMarks[2].Muted)
	require.Zero(t, f.groupMarks[2].MutedUntil)
	post("name=x&mute=no", 303)
	require.False(t, f.groupMarks[3].Muted)
	post("mute=for-ever", 422)
	f.err = tasks.Invalid("/link", "format.uri")
	post("name=kept&link=javascript:alert(1)", 422, `value="javascript:alert(1)"`, "Must be a web address", `aria-invalid="true"`, `value="kept"`)
	f.err = nil
	scenario{method: "POST", url: "/dead/any/0000000000000000/mark", body: "name=x", status: 404, header: browser()}.run(t, f)
}

func TestAMutedErrorIsNothingNew(t *testing.T) {
	f := newFake(t)
	deadly(f)
	hot := `class="count hot">3`
	scenario{url: "/tasks", status: 200, header: browser(), must: []string{hot}}.run(t, f)
	for i := range f.groups {
		f.groups[i].Mark = models.GroupMark{Muted: true}
	}
	scenario{url: "/tasks", status: 200, header: browser(), must: []string{`class="count">3`}, mustNot: []string{hot}}.run(t, f)
	f.groups[0].Mark.MutedUntil = models.At(time.Now().Add(-time.Second))
	scenario{url: "/tasks", status: 200, header: browser(), must: []string{hot}}.run(t, f)
}

// The parameters of a group are corrected by a patch, which is looked at before it is a plan.
func TestTheParametersOfAGroupAreCorrected(t *testing.T) {
	f := newFake(t)
	addSecret(t, f)
	deadly(f)
	f.groups = append(f.groups, models.ErrorGroup{Type: "secret", Fingerprint: "aaaaaaaaaaaaaaaa", N: 1, Message: "x"})
	const at = "/dead/any/" + someError + "/edit"
	scenario{url: at, status: 200, header: browser(), must: []string{"Edit the parameters of 3 tasks", "customer.id", "4417", `name="patch"`}, mustNot: []string{"<b>route"}}.run(t, f)
	scenario{url: at, status: 200, header: browser("Accept-Language", "zh"), must: []string{"修改 3 个任务的参数"}}.run(t, f)
	w := scenario{method: "POST", url: at, body: "patch=" + url.QueryEscape("{\r\n \"a\": null}"), status: 303, header: browser()}.run(t, f)
	require.Equal(t, "/bulk/1?back="+url.QueryEscape("/dead/any/"+someError), w.Header().Get("Location"))
	require.Equal(t, actors.ActionReplace, f.plans[0].Action)
	require.JSONEq(t, `{"a":null}`, string(f.plans[0].Patch))
	require.Equal(t, &models.Filter{Types: []string{"any"}, Fingerprint: someError}, f.plans[0].Filter)

	f.err = tasks.Invalid("/patch", "empty")
	scenario{method: "POST", url: at, body: "patch=" + url.QueryEscape(`{"<b>`), status: 422, header: browser(), must: []string{"Must not be empty", "&lt;b&gt;", `href="#patch"`}, mustNot: []string{`"<b>`}}.run(t, f)
	f.err = &actors.TooLargeError{What: "bytes of a patch", Limit: 65536}
	scenario{method: "POST", url: at, body: "patch=1", status: 422, header: browser(), must: []string{"65,536"}}.run(t, f)
	f.err = nil
	scenario{method: "POST", url: "/dead/secret/aaaaaaaaaaaaaaaa/edit", body: "patch=" + url.QueryEscape(`{"token":"••••"}`), status: 422, header: browser(), must: []string{"A hidden value must be written anew"}}.run(t, f)
	require.Len(t, f.plans, 1)
	scenario{url: "/dead/any/0000000000000000/edit", status: 404, header: browser()}.run(t, f)
}

func TestWhatARoleMayNotDoToAGroupIsOff(t *testing.T) {
	f := newFake(t)
	deadly(f)
	f.run, f.set = &models.BulkRun{ID: 7, Action: models.ActionDiscard, State: models.BulkPlanned, Matched: 3}, []int64{1}
	role := models.RoleViewer
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), Auth: func(*http.Request) (Identity, bool) { return Identity{"ann", role}, true }})
	ask := func(method, at, body string) (int, string) {
		w := send(s.Handler(), scenario{method: method, url: at, body: body, header: browser()}.request())
		return w.Code, w.Body.String()
	}
	const at = "/dead/any/" + someError
	off := func(html, do string) bool {
		button := regexp.MustCompile(`<button [^>]*value="` + do + `"[^>]*>`).FindString(html)
		require.NotEmpty(t, button)
		return strings.Contains(button, " disabled")
	}
	for _, r := range models.Roles {
		role = r
		for _, page := range []string{"/dead", at} {
			_, html := ask("GET", page, "")
			require.Equal(t, r == models.RoleViewer, off(html, "retry"), "%s on %s", r, page)
			require.Equal(t, r != models.RoleAdmin, off(html, "discard"), "%s on %s", r, page)
			require.Equal(t, r != models.RoleAdmin, strings.Contains(html, "This needs the role admin"))
		}
		_, html := ask("GET", "/bulk/7", "")
		require.Equal(t, r != models.RoleAdmin, strings.Contains(html, "This needs the role admin"))
	}
	role = models.RoleOperator
	for _, c := range [][2]string{{at, "do=discard"}, {"/tasks/bulk", "do=discard&id=1&reason=x"}, {"/bulk/7", "reason=x"}} {
		code, _ := ask("POST", c[0], c[1])
		require.Equal(t, 403, code, c[0])
	}
	require.Empty(t, f.plans)
	require.Empty(t, f.bulks)
	require.Empty(t, f.starts)
	code, _ := ask("POST", at, "do=retry")
	require.Equal(t, 303, code)
	role = models.RoleViewer
	for _, c := range [][2]string{{at + "/mark", "name=x"}, {at + "/edit", "patch=%7B%7D"}, {"/bulk/7/stop", "a=b"}} {
		code, _ := ask("POST", c[0], c[1])
		require.Equal(t, 403, code, c[0])
	}
}

func TestTheHoursOfAGroup(t *testing.T) {
	now := models.At(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	count := func(times []models.Instant) *views.DeadGroup {
		v := &views.DeadGroup{Hours: make([]int, sampleHours), Known: sampleHours}
		countHours(v, &groupFacts{times: times, size: wholeSample}, now)
		return v
	}
	v := count([]models.Instant{now, now.Add(time.Hour), now.Add(-59 * time.Minute), now.Add(-61 * time.Minute), now.Add(-23*time.Hour - time.Minute), now.Add(-24 * time.Hour), 0})
	require.Equal(t, 3, v.Hours[23])
	require.Equal(t, 1, v.Hours[22])
	require.Equal(t, 1, v.Hours[0])
	require.Equal(t, 5, v.Recent)
	require.False(t, v.AtLeast)
	require.Equal(t, sampleHours, v.Known)

	many := make([]models.Instant, wholeSample.times)
	for i := range many {
		many[i] = now.Add(-time.Duration(i) * 5 * time.Second)
	}
	v = count(many)
	require.True(t, v.AtLeast)
	require.Equal(t, 2, v.Known, "what was before the oldest that was read is not known")
	require.Equal(t, 720, v.Hours[23])
	many[0] = now.Add(-50 * time.Hour)
	v = count(many)
	require.False(t, v.AtLeast, "the oldest is older than the bars")
	require.Equal(t, sampleHours, v.Known)
}

func TestValuesThatManyTasksShareAreNamed(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	sample := func(params ...string) (all []models.Task) {
		for _, p := range params {
			all = append(all, models.Task{Type: "any", Params: p})
		}
		return all
	}
	common := func(params ...string) string {
		var b strings.Builder
		for _, c := range s.commonValues(sample(params...)) {
			fmt.Fprintf(&b, "%s=%s %d/%d;", c.Path, c.Value, c.N, c.Of)
		}
		return b.String()
	}
	require.Equal(t, "a.b=7 3/3;x=true 2/3;", common(`{"a":{"b":7},"x":true}`, `{"a":{"b":7},"x":true}`, `{"a":{"b":7},"x":false}`))
	require.Equal(t, "n=12345678901234567890 2/2;", common(`{"n":12345678901234567890}`, `{"n":12345678901234567890}`))
	require.Empty(t, common(`{"a":1}`), "one task has nothing in common")
	require.Empty(t, common(`{"a":1}`, `{"a":1}`, `{"a":2}`, `{"a":3}`), "half is not most")
	require.Empty(t, common(`[1]`, `[1]`, `{"a`, `{"a`, ``), "no objects")
	require.Empty(t, common(`{"a.b":1,"":1,"\"":1,"c=d":1,"l":[1],"z":null,"e":""}`, `{"a.b":1,"":1,"\"":1,"c=d":1,"l":[1],"z":null,"e":""}`), "what no filter can name")
	deep := strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)
	require.Empty(t, common(deep, deep))
	wide := `{"k0":1`
	for i := range 1000 {
		wide += fmt.Sprintf(`,"k%d":1`, i+1)
	}
	require.Equal(t, commonShown, strings.Count(common(wide+"}", wide+"}", wide+"}"), ";"))

	// Each value is a link whose list is that of the value.
	for range 2 {
		f.add(models.Task{Fingerprint: someError, Params: `{"a":{"b":"x=y &"}}`})
	}
	v, err := s.deadGroup(t.Context(), models.ErrorGroup{Type: "any", Fingerprint: someError}, 0)
	require.NoError(t, err)
	u, err := url.Parse(string(v.Common[0].URL))
	require.NoError(t, err)
	q := readTasksQuery(u.Query(), time.UTC, time.Now())
	require.Empty(t, q.faults)
	require.Equal(t, models.Filter{Types: []string{"any"}, Fingerprint: someError, Param: &models.Param{Path: "a.b", Value: "x=y &"}}, q.filter)
}

func TestTheSampleOfAGroupIsReadAgainWhenItChanged(t *testing.T) {
	f := newFake(t)
	deadly(f)
	f.groups = f.groups[:1]
	s := newServer(t, f)
	now := time.Now()
	show := func(at time.Time) views.DeadGroup {
		v, err := s.deadGroup(views.WithViewer(t.Context(), &views.Viewer{Now: at}), f.groups[0], 0)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, 3, show(now).Recent)
	f.times = f.times[:1]
	require.Equal(t, 3, show(now.Add(time.Hour)).Recent, "nothing came to the group")
	f.groups[0].N = 1
	require.Equal(t, 3, show(now.Add(time.Second)).Recent, "it was read just now")
	require.Equal(t, 1, show(now.Add(time.Minute)).Recent)
	f.readErr = errSecret
	require.Equal(t, 1, show(now.Add(time.Minute)).Recent)
}

func TestASmallSampleOfAGroupIsMadeWholeTheNextTime(t *testing.T) {
	f := newFake(t)
	deadly(f)
	s, now := newServer(t, f), time.Now()
	f.times = make([]models.Instant, 2*smallSample.times)
	for i := range f.times {
		f.times[i] = models.At(now)
	}
	show := func(at time.Time, size sampleSize) views.DeadGroup {
		v, err := s.deadGroupOfSize(views.WithViewer(t.Context(), &views.Viewer{Now: at}), f.groups[0], 0, size)
		require.NoError(t, err)
		return v
	}
	v := show(now, smallSample)
	require.Equal(t, smallSample.times, v.Recent)
	require.True(t, v.AtLeast, "there may be more of them")
	require.Equal(t, v, show(now.Add(time.Second), wholeSample), "it was read just now")
	v = show(now.Add(time.Minute), wholeSample)
	require.Equal(t, 2*smallSample.times, v.Recent)
	require.False(t, v.AtLeast)
}

func TestAPageOfGroupsIsSmall(t *testing.T) {
	f := newFake(t)
	at := models.At(time.Now())
	for i := range 60 {
		fingerprint := fmt.Sprintf("%016x", i)
		f.groups = append(f.groups, models.ErrorGroup{Type: "any", Fingerprint: fingerprint, Kind: "error", Message: strings.Repeat("错误 <x> ", 70), N: 1000, FirstAt: at.Add(-time.Hour), LastAt: at})
		for range 2 {
			f.add(models.Task{State: models.StateDead, Fingerprint: fingerprint, Params: `{"a":"` + strings.Repeat("文", 30) + `","b":1,"c":"` + strings.Repeat("<", 90) + `","d":true}`})
		}
	}
	for i := range wholeSample.times {
		f.times = append(f.times, at.Add(-time.Duration(i)*time.Minute))
	}
	w := scenario{url: "/dead", status: 200, header: browser(), must: []string{"60 groups", "page=2"}}.run(t, f)
	require.Less(t, w.Body.Len(), 60_000)
	scenario{url: "/dead?page=4", status: 200, header: browser(), must: []string{"Newest"}, mustNot: []string{`rel="next"`}}.run(t, f)
	f = newFake(t)
	deadly(f)
	for range views.DefaultPageSize {
		f.add(models.Task{State: models.StateDead, Fingerprint: someError, Error: strings.Repeat("错误<", 100), Params: `{"a":"` + strings.Repeat("文&", 100) + `"}`})
	}
	require.Less(t, scenario{url: "/dead/any/" + someError, status: 200, header: browser()}.run(t, f).Body.Len(), 60_000)
}
