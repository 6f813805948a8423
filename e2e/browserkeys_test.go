package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// listOf opens the list of n tasks that have ended; ids are newest first, as the rows are.
func listOf(t *testing.T, n int) (s *server, b *tab, ids []int64) {
	t.Helper()
	s = newPlace(t).start(t)
	for range n {
		ids = append([]int64{s.enqueue(t, "P.log", fields{}, nil).ID}, ids...)
	}
	s.awaitQuiet(t)
	b = openList(t, s, "/tasks")
	b.await(fmt.Sprintf(`document.querySelectorAll("tr[data-row]").length === %d`, n))
	return s, b, ids
}

// picked is the script for the ids of the rows that are selected.
const picked = `[...document.querySelectorAll("input[name=id]:checked")].map((e) => e.value).join()`

func (b *tab) requirePicked(ids ...int64) {
	b.t.Helper()
	want := ""
	for i, id := range ids {
		if i > 0 {
			want += ","
		}
		want += fmt.Sprint(id)
	}
	require.Equal(b.t, want, b.value(picked))
	if len(ids) == 0 {
		require.False(b.t, b.is(has(".bulk", "")), "the actions show without a selection")
		return
	}
	require.True(b.t, b.is(has(".bulk", fmt.Sprint(len(ids))+" "+b.says("bulk.picked"))), b.value(`document.querySelector(".bulk").textContent`))
}

func TestTheKeysMovePickAndOpen(t *testing.T) {
	t.Parallel()
	_, b, ids := listOf(t, 3)
	current := `document.querySelector("tr[data-current] input[name=id]")?.value ?? ""`
	for _, step := range []struct {
		key string
		at  int64
	}{{"j", ids[0]}, {"j", ids[1]}, {"k", ids[0]}, {"k", ids[0]}, {"j", ids[1]}, {"j", ids[2]}, {"j", ids[2]}} {
		b.press(step.key)
		require.Equal(t, fmt.Sprint(step.at), b.value(current), "after %s", step.key)
	}
	b.press("x")
	b.requirePicked(ids[2])
	b.press("kx")
	b.requirePicked(ids[1], ids[2])
	b.press("x")
	b.requirePicked(ids[2])

	b.press(kb.Enter)
	b.awaitPath(fmt.Sprintf("/tasks/%d", ids[1]))
}

func TestASlashGoesToTheSearchWhichJumpsToATask(t *testing.T) {
	t.Parallel()
	_, b, ids := listOf(t, 2)
	b.press("/")
	require.Equal(t, "search", b.value(`document.activeElement.id`))
	require.Empty(t, b.value(`document.activeElement.value`))
	b.press(fmt.Sprintf("/jx%d", ids[0]))
	require.Equal(t, fmt.Sprintf("/jx%d", ids[0]), b.value(`document.activeElement.value`), "the keys are letters in a field")
	b.requirePicked()
	b.fill("#search", fmt.Sprint(ids[0]))
	b.press(kb.Enter)
	b.awaitPath(fmt.Sprintf("/tasks/%d", ids[0]))
}

func TestTheHelpOpensByItsKeyAndClosesByEscape(t *testing.T) {
	t.Parallel()
	_, b, _ := listOf(t, 1)
	open := has("dialog[open]", b.says("keys.title"))
	b.press("?")
	b.await(open)
	b.press("j")
	require.False(t, b.is(has("tr[data-current]", "")), "a key went past an open dialog")
	b.press(kb.Escape)
	b.await("!" + open)
	b.press("?")
	b.await(open)
	b.click("dialog[open] button", "")
	b.await("!" + open)
}

func TestTheLettersOfTheRailGoToItsPages(t *testing.T) {
	t.Parallel()
	_, b, _ := listOf(t, 1)
	links := b.value(`[...document.querySelectorAll(".rail [data-key]")].map((e) => e.dataset.key + e.getAttribute("href")).join(" ")`)
	require.NotEmpty(t, links)
	b.press("e")
	b.awaitPath("/enqueue")
	b.press("t")
	b.awaitPath("/tasks")
}

// focused is the script for what has the focus: its place among all that can have it, whether it is in the window, and
// whether the ring around it can be seen. It ends at the page itself.
const focused = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return null;
	const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
	const r = e.getBoundingClientRect(), look = getComputedStyle(e), out = [];
	if (r.bottom < 0 || r.top > innerHeight || r.right < 0 || r.left > innerWidth) out.push("it is outside of the window");
	if (look.outlineStyle === "none" || parseFloat(look.outlineWidth) < 2) out.push("nothing shows that it has the focus");
	const shown = document.elementFromPoint(Math.min(Math.max(r.left + r.width / 2, 1), innerWidth - 2), Math.min(Math.max(r.top + r.height / 2, 1), innerHeight - 2));
	if (shown && !e.contains(shown) && !shown.contains(e) && !e.labels?.length) out.push("it is covered by " + shown.outerHTML.slice(0, 100));
	return {at: all.indexOf(e), what: e.outerHTML.slice(0, 160), fault: out.join("; ")};
})()`

// requireTabOrder goes through the page that is shown by the tabulator key alone, and gives what was passed.
func (b *tab) requireTabOrder(address string) (passed []string) {
	b.t.Helper()
	type stop struct {
		At          int
		What, Fault string
	}
	last := -1
	for {
		b.press(kb.Tab)
		at, err := eval[*stop](b, focused)
		require.NoError(b.t, err)
		if at == nil || at.At < last { // the browser itself, and then the page again
			return passed
		}
		require.Empty(b.t, at.Fault, "%s: %s", address, at.What)
		require.Greater(b.t, at.At, last, "%s: the focus stays at %s", address, at.What)
		last = at.At
		passed = append(passed, at.What)
	}
}

func TestAPhoneWithAKeyboardNeedsNothingElse(t *testing.T) {
	t.Parallel()
	s := newPlace(t).start(t)
	first, second := s.enqueue(t, "P.log", fields{}, nil).ID, s.enqueue(t, "P.log", fields{}, nil).ID
	s.awaitQuiet(t)
	b := s.tab(t, look{width: 390})
	b.visit("/tasks")
	b.await(live)
	passed := strings.Join(b.requireTabOrder("/tasks"), "\n")
	require.True(t, strings.HasPrefix(passed, `<a class="skip"`), "the way to the page itself comes first")
	for _, part := range []string{`id="search"`, "data-pause", `name="type"`, fmt.Sprintf(`value="%d"`, second), fmt.Sprintf(`href="/tasks/%d"`, first)} {
		require.Contains(t, passed, part)
	}
	b.visit("/tasks")
	b.await(live)
	b.press("jjx")
	b.requirePicked(first)
	b.press("kx")
	b.requirePicked(second, first)
	b.press("x" + kb.Enter)
	b.awaitPath(fmt.Sprintf("/tasks/%d", second))

	b.visit("/enqueue/P.log")
	passed = strings.Join(b.requireTabOrder("/enqueue/P.log"), "\n")
	for _, part := range []string{"<textarea", `value="now"`, "<summary"} {
		require.Contains(t, passed, part)
	}
}

func TestShiftSelectsARangeAndTheHeadSelectsAll(t *testing.T) {
	t.Parallel()
	// More than ten, since a range by the order of the letters would be another one.
	_, b, ids := listOf(t, 12)
	box := func(i int) string { return rowOf(ids[i]) + " input[name=id]" }
	shift := chromedp.ButtonModifiers(chromedp.ModifierShift)
	b.requirePicked()
	b.click(box(1), "")
	b.click(box(4), "", shift)
	b.requirePicked(ids[1:5]...)
	require.True(t, b.is(`document.querySelector("[data-all]").indeterminate`))
	b.click(box(3), "")
	b.click(box(2), "", shift)
	b.requirePicked(ids[1], ids[4])
	b.click(box(11), "", shift) // upwards and to the very last row
	b.requirePicked(append([]int64{ids[1]}, ids[2:]...)...)

	b.click("[data-all]", "")
	b.requirePicked(ids...)
	b.click("[data-all]", "")
	b.requirePicked()
}

func TestARowIsALink(t *testing.T) {
	t.Parallel()
	_, b, ids := listOf(t, 2)
	b.click(rowOf(ids[1])+" td.when", "")
	b.awaitPath(fmt.Sprintf("/tasks/%d", ids[1]))
}
