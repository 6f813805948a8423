package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// The main path: with scripts, without, and in Chinese. Without scripts a page is loaded again to see what is new.
var ways = map[string]look{"with scripts": {}, "without scripts": {scriptless: true}, "in Chinese": {language: "zh-CN"}}

func TestTheMainPathOfATask(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t, "PROBE_BACKOFF=20ms,50ms").start(t)
			b := s.tab(t, way)
			b.enqueueByForm("P.sleep", "600000")
			b.watchAndCancel(s)
			b.enqueueByForm("P.sleep", "700")
			b.becomes(b.taskState("success"))

			// It fails four times, and succeeds when somebody tries it again.
			b.enqueueByForm("P.fail", "", "n", "4")
			b.becomes(b.taskState("dead"))
			require.Contains(t, b.value(`document.querySelector("main").innerText`), "failure 4")
			b.retryFromTheDeadLetters(s, b.shownTask())
		})
	}
}

// enqueueByForm goes from the top bar to the task's page, by the form of the type. ms and more are its parameters.
func (b *tab) enqueueByForm(typ, ms string, more ...string) {
	b.t.Helper()
	b.visit("/")
	b.click(".bar a.primary", b.says("nav.enqueue"))
	b.awaitPath("/enqueue")
	b.click("ul.choices a.open", typ)
	b.awaitPath("/enqueue/" + typ)
	if ms != "" {
		b.fill(`[name="p.ms"]`, ms)
	}
	for i := 0; i < len(more); i += 2 {
		b.fill(fmt.Sprintf(`[name="p.%s"]`, more[i]), more[i+1])
	}
	b.click("form.enqueue button.primary", b.says("enqueue.submit"))
	b.await(`/^\/tasks\/\d+$/.test(location.pathname)`)
	b.await(has("h1", typ))
}

// shownTask is the id of the task whose page is shown.
func (b *tab) shownTask() int64 {
	b.t.Helper()
	id, err := strconv.ParseInt(strings.TrimPrefix(b.value("location.pathname"), "/tasks/"), 10, 64)
	require.NoError(b.t, err)
	return id
}

// taskState is the script for whether the page of a task shows that state.
func (b *tab) taskState(state string) string {
	return has(`[data-live="task-state"]`, b.says("state."+state))
}

func (b *tab) watchAndCancel(s *server) {
	b.t.Helper()
	id := b.shownTask()
	b.becomes(b.taskState("running"))
	b.click("#do-cancel", b.says("task.do.cancel"))
	b.await(has(".flash", b.after("task.did.stop")))
	b.becomes(b.taskState("cancelled"))
	require.Equal(b.t, "cancelled", s.task(b.t, id).State)
	require.True(b.t, b.is(`document.getElementById("do-cancel").getAttribute("aria-disabled") === "true"`), "what makes no sense is offered")
}

func (b *tab) retryFromTheDeadLetters(s *server, id int64) {
	b.t.Helper()
	b.click(".rail a", b.says("nav.dead"))
	b.awaitPath("/dead")
	b.await(has("article", "P.fail"))
	b.click("article button", b.says("dead.retry_one"))
	b.awaitPath("/dead/P.fail/")
	b.becomes(has(".canary", b.says("dead.canary.success")))
	require.Equal(b.t, 5, s.awaitState(b.t, id, "success").Attempt, "one click makes one run")
	b.visit("/dead")
	b.becomes(has(".empty", b.says("dead.none.title")))
}

// after is the text of the message catalogue after its last variable.
func (b *tab) after(key string) string {
	b.t.Helper()
	require.Contains(b.t, b.catalogue, key, "the catalogue has no such text")
	text := b.catalogue[key]
	return strings.TrimSpace(text[strings.LastIndex(text, "}}")+len("}}"):])
}

func TestAllThatMatchAreRetriedAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t, "PROBE_WORKERS=8").start(t)
			dead, n := fields{"max_retries": 0}, 300
			if way != (look{}) {
				n = 60 // more than are retried without a question
			}
			for range n {
				s.enqueue(t, "P.fail", fields{"n": 1}, dead)
			}
			other := s.enqueue(t, "P.err", fields{"text": "leave me alone"}, dead).ID
			s.awaitQuiet(t)
			require.EqualValues(t, n+1, s.counts(t)["dead"])

			b := s.tab(t, way)
			b.visit("/tasks?state=dead")
			b.fill("#f-type", "P.fail")
			b.click("form.filter button", b.says("tasks.apply"))
			b.await(`location.search.includes("type=P.fail")`)
			b.click("input[name=id]", "")
			b.click(".bulk input[name=scope]", "")
			b.click(".bulk button[value=retry]", b.says("bulk.retry"))
			b.awaitPath("/bulk/")
			require.True(t, b.is(has("h1", fmt.Sprint(n))), b.value(`document.querySelector("main").innerText`))
			require.EqualValues(t, n+1, s.counts(t)["dead"], "it has begun before somebody said yes")
			b.click("form.question button.primary", fmt.Sprint(n))
			b.await("!" + has("form.question", "")) // without scripts, loading again too soon would take the form back
			b.becomes(has(".figure", fmt.Sprint(n)) + " && " + has("h1", b.says("bulk.finished.retry")))
			s.awaitQuiet(t)
			require.EqualValues(t, n, s.counts(t)["success"])
			require.Equal(t, "dead", s.task(t, other).State)
		})
	}
}

func TestATypeIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t).start(t)
			b := s.tab(t, way)
			b.visit("/types")
			b.click("tr[data-row] a.open", "P.log")
			b.awaitPath("/types/P.log")
			b.click(".actions a", b.says("types.pause"))
			b.fill(".confirm [name=reason]", "the printer burns")
			b.click(".confirm button.primary", b.says("types.pause.button"))
			b.await(has(".banner.paused", "the printer burns"))

			id := s.enqueue(t, "P.log", fields{}, nil).ID
			b.visit(fmt.Sprintf("/tasks/%d", id))
			b.becomes(b.taskState("pending"))
			b.becomes(has(".why", b.after("task.gate.paused")))
			require.Equal(t, "pending", s.task(t, id).State)

			b.visit("/types/P.log")
			b.click(".actions a", b.says("types.resume"))
			b.click(".confirm button.primary", b.says("types.resume.button"))
			b.await("!" + has(".confirm", "") + " && !" + has(".banner.paused", ""))
			s.awaitState(t, id, "success")
		})
	}
}

func TestAScheduleIsEditedAndRunByHand(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t).start(t)
			got := s.must(t, http.MethodPost, "/api/v1/schedules", []byte(`{"name":"nightly","task":"P.log","every":"12h"}`))
			require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
			b := s.tab(t, way)
			b.visit("/schedules")
			b.click("tr[data-row] a.open", "nightly")
			b.awaitPath("/schedules/nightly")
			b.click(".actions a", b.says("schedules.edit"))
			b.awaitPath("/schedules/nightly/edit")
			b.click("input[name=kind][value=cron]", "")
			b.fill("input[name=cron]", "30 2 * * 1")
			b.fill("input[name=timezone]", "Asia/Shanghai")
			if !way.scriptless {
				b.await(has("#preview", "02:30"))
			}
			b.click("button[value=save]", "")
			b.await(`location.pathname === "/schedules/nightly"`)
			b.await(has("main", "Asia/Shanghai"))
			var after struct{ Cron, Timezone string }
			s.get(t, "/api/v1/schedules/nightly", &after)
			require.Equal(t, "30 2 * * 1", after.Cron)
			require.Equal(t, "Asia/Shanghai", after.Timezone)

			b.click(".actions button", b.says("schedules.run"))
			b.await(has(".flash a", b.says("shell.open")))
			b.click(".flash a", "")
			b.await(has("h1", "P.log"))
			s.awaitState(t, b.shownTask(), "success")
		})
	}
}

func TestThePlanOfAScheduleIsPreviewedWhileSomebodyTypes(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := s.tab(t, look{})
	b.visit("/schedules/new")
	b.click("input[name=kind][value=cron]", "")
	b.click("input[name=cron]", "")
	b.press("61 * * * *")
	b.await(has("#preview .error", ""))
	require.Equal(t, "61 * * * *", b.value(`document.querySelector("input[name=cron]").value`))
	b.fill("input[name=cron]", "5 4 * * *")
	b.await(has("#preview", "04:05"))
	require.True(t, b.is(`document.activeElement.name === "cron"`))
}

func TestTheActorTreeShowsWhoWorksAndWhoCrashed(t *testing.T) {
	t.Parallel()
	s := newPlace(t, "PROBE_WORKERS=1").start(t)
	b := openList(t, s, "/actors")
	b.click(".tree summary:has(a[href$='P.log'])", "P.log")
	id := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
	b.await(has(fmt.Sprintf(`.tree .node:has(a[href="/tasks/%d"])`, id), b.says("actors.working")))

	s.enqueue(t, "P.panic", fields{}, fields{"max_retries": 0})
	crashed := `.tree .leaf:has(.alarm) > .node > a`
	b.await(has(crashed, ""))
	require.True(t, b.is(has(".tree .leaf:has(.alarm)", b.says("actors.restarts"))))
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")
	require.True(t, b.is(`!!document.querySelector(".tree details[open] > summary a[href$='P.log']")`), "an update folded what was unfolded")
	require.True(t, b.is(has(fmt.Sprintf(`.tree a[href="/tasks/%d"]`, id), "")), "a crash beside it ended a run")

	b.click(crashed, "")
	b.await(has("main pre", "a probe panics"))
	b.click("summary", b.says("part.stack"))
	b.await(has("main details[open] pre", "goroutine"))
}

func TestADiscardIsAskedForInADialogThatEscapeCloses(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	id := s.enqueue(t, "P.perm", fields{}, nil).ID
	s.awaitState(t, id, "failed")
	b := openList(t, s, fmt.Sprintf("/tasks/%d", id))
	open := has("dialog[open]", fmt.Sprint(id))
	b.click("#do-discard", "")
	b.await(open)
	b.press(kb.Escape)
	b.await("!" + open)
	b.click("#do-discard", "")
	b.await(open)
	b.fill("dialog[open] textarea", "not needed")
	s.enqueue(t, "P.log", fields{}, nil)
	s.awaitQuiet(t)
	require.True(t, b.is(open+` && document.querySelector("dialog[open] textarea").value === "not needed"`))
	require.True(t, b.is(`window.stillThere`), "the page was loaded again")
	b.click("dialog[open] button.danger", "")
	b.await(has(".flash", b.after("task.did.discard")))
	require.Equal(t, "cancelled", s.task(t, id).State)
}

func TestASecondSendOfAFormMakesNoSecondTask(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := s.tab(t, look{})
	b.visit("/enqueue/P.log")
	b.do(evalOnly(`(() => {
		const form = document.querySelector("form.enqueue"), fields = new URLSearchParams(new FormData(form, form.querySelector("button.primary")));
		const send = () => fetch(form.action, {method: "POST", body: fields});
		Promise.all([send(), send()]).then(send).then(() => { window.sent = true; });
	})()`))
	b.await(`window.sent`)
	b.click("form.enqueue button.primary", "")
	b.await(`/^\/tasks\/\d+$/.test(location.pathname)`)
	require.Len(t, s.list(t, nil), 1)
}
