package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheListIsCompleteWithoutAScript(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	failed := s.enqueue(t, "P.perm", fields{"text": "needle"}, fields{"priority": 2}).ID
	s.awaitState(t, failed, "failed")
	for range 55 {
		s.enqueue(t, "P.log", fields{}, nil)
	}
	s.awaitQuiet(t)
	b := s.tab(t, look{scriptless: true})
	b.visit("/tasks")
	require.False(t, b.is(`"script" in document.documentElement.dataset`), "a script has run")
	rows := `document.querySelectorAll("tr[data-row]").length`
	require.True(t, b.is(rows+` === 50`))
	require.False(t, b.is(has("button.live, button.stale, button.copy", "")), "something that only a script can do is offered")
	require.Regexp(t, `\d\d:\d\d`, b.value(`document.querySelector("td.when time").textContent`), "a time without a clock")
	b.click("a[rel=next]", "")
	b.await(`location.search.includes("cursor") && ` + rows + ` === 6`)
	require.True(t, b.is(has(rowOf(failed), "it will never work")))

	b.click("nav.tabs a", b.says("state.failed"))
	b.await(rows + " === 1")
	b.fill("#f-q", "never work")
	b.fill("#f-type", "P.perm")
	b.click("form.filter button", b.says("tasks.apply"))
	b.await(`location.search.includes("type=P.perm") && ` + rows + ` === 1`)
	require.Equal(t, "failed", b.query("state"), "the tab is kept")
	b.fill("#f-q", "nothing like it")
	b.click("form.filter button", b.says("tasks.apply"))
	b.await(has(".empty", b.says("tasks.nomatch.title")))
	b.click(".empty a", "")
	b.await(rows + " === 1")

	b.click(rowOf(failed)+" input", "")
	b.click("button[name=do][value=retry]", "")
	b.await(has(".flash", "1 task will run again"))
	require.Equal(t, "failed", b.query("state"), "a form goes back to where it was")
	s.awaitTask(t, failed, "run again", func(v *task) bool { return v.State == "failed" && len(v.Attempts) == 2 })
}

func TestTheSettingsAreKeptAndThePageStaysTheSame(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	s.enqueue(t, "P.log", fields{}, nil)
	for _, scriptless := range []bool{false, true} {
		b := s.tab(t, look{scriptless: scriptless})
		b.visit("/tasks?type=P.log")
		set := func(name, value string) {
			b.click("details.menu > summary", "")
			b.click(fmt.Sprintf("details.menu button[name=%s][value=%s]", name, value), "")
		}
		set("theme", "dark")
		b.await(`document.documentElement.dataset.theme === "dark"`)
		set("lang", "zh-CN")
		b.await(`document.documentElement.lang === "zh-CN"`)
		b.await(has("h1", catalogueOf(t, "zh-CN")["tasks.title"]))
		b.click("details.menu > summary", "")
		b.fill("#zone", "Asia/Kathmandu")
		b.click("details.menu button[name=save]", "")
		b.await(has("footer", "Asia/Kathmandu"))
		require.Equal(t, "P.log", b.query("type"))
		require.Equal(t, "dark", b.value(`document.documentElement.dataset.theme`))
		offset := b.value(`document.querySelector("td.when time").dateTime`)
		require.Regexp(t, `(Z|[+-]\d\d:\d\d)$`, offset)
	}
}

func TestTheLanguageFollowsTheBrowser(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	b := s.tab(t, look{language: "zh-CN"})
	b.visit("/tasks")
	b.await(live)
	require.True(t, b.is(has("h1", b.says("tasks.title"))))
	require.Regexp(t, `\p{Han}`, b.says("tasks.title"))
	id := s.enqueue(t, "P.log", fields{}, nil).ID
	b.await(has(rowOf(id), b.says("state.success"))) // the updates are in the language too
	b.visit("/tasks?" + url.Values{"q": {"没有"}}.Encode())
	require.True(t, b.is(has(".empty", b.says("tasks.nomatch.title"))))
}
