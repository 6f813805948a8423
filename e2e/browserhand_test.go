package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// visit loads a page, whose answer must have the status 200.
func (b *tab) visit(path string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, b.load(path), path)
}

// load loads a page and gives the status of the answer.
func (b *tab) load(path string) int {
	b.t.Helper()
	answer, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(b.base+path))
	require.NoError(b.t, err, path)
	return int(answer.Status)
}

// query is what the address of the page says of a name.
func (b *tab) query(name string) string {
	b.t.Helper()
	at, err := url.Parse(b.value("location.href"))
	require.NoError(b.t, err)
	return at.Query().Get(name)
}

func eval[T any](b *tab, expression string) (T, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
}

// value is a text that the page knows.
func (b *tab) value(expression string) string {
	b.t.Helper()
	text, err := eval[string](b, expression)
	require.NoError(b.t, err, expression)
	return text
}

func (b *tab) number(expression string) int {
	b.t.Helper()
	n, err := eval[int](b, expression)
	require.NoError(b.t, err, expression)
	return n
}

// is reports whether something holds in the page.
func (b *tab) is(expression string) bool {
	b.t.Helper()
	yes, err := eval[bool](b, expression)
	require.NoError(b.t, err, expression)
	return yes
}

// await waits until something holds in the page, which may be on its way to another.
func (b *tab) await(expression string) {
	b.t.Helper()
	until(b.t, patience, func() string {
		if yes, err := eval[bool](b, expression); err != nil || !yes {
			return fmt.Sprintf("this does not hold: %s (%v)", expression, err)
		}
		return ""
	})
}

// becomes waits until something holds: by live updates, or without scripts by loading the page again.
func (b *tab) becomes(expression string) {
	b.t.Helper()
	if !b.look.scriptless {
		b.await(expression)
		return
	}
	until(b.t, patience, func() string {
		yes, err := eval[bool](b, expression)
		if err == nil && yes {
			return ""
		}
		return fmt.Sprintf("this does not hold after loading again: %s (%v, %v)", expression, err, chromedp.Do(b.ctx, chromedp.Reload()))
	})
}

// find is the script for the first visible element that a selector finds and that has the text.
func find(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && e.textContent.includes(%s))`, js(selector), js(text))
}

// has is the script for whether such an element is there.
func has(selector, text string) string { return "!!" + find(selector, text) }

// click presses and releases the mouse on what place finds.
func (b *tab) click(selector, text string, options ...chromedp.MouseOption) {
	b.t.Helper()
	x, y := b.place(selector, text)
	b.do(chromedp.MouseClickXY(x, y, options...))
}

// mouse does one half of a click.
func (b *tab) mouse(what input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	b.do(call(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: what, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1}))
}

// place is the middle of the first visible element that a selector finds and that has the text, once nothing covers it. A
// browser drops what the mouse does before the first picture of a page.
func (b *tab) place(selector, text string) (x, y float64) {
	b.t.Helper()
	element := find(selector, text)
	script := `(() => {
		const e = ` + element + `;
		if (!e) return {why: "it is not there"};
		if (!performance.getEntriesByType("paint").length) return {why: "nothing of the page has been painted"};
		e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getClientRects()[0];
		if (!r) return {why: "it has no place on the page"};
		const x = r.left + r.width / 2, y = r.top + r.height / 2, top = document.elementFromPoint(x, y);
		return {x, y, why: e.contains(top) ? "" : "it is covered by " + top?.outerHTML.slice(0, 300)};
	})()`
	var at struct {
		X, Y float64
		Why  string
	}
	until(b.t, patience, func() (why string) {
		var err error
		if at, err = eval[struct {
			X, Y float64
			Why  string
		}](b, script); err != nil || at.Why != "" {
			return fmt.Sprintf("%s cannot be clicked: %s (%v)", element, at.Why, err)
		}
		return ""
	})
	return at.X, at.Y
}

// fill puts a text into a field in place of what is there.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	field := find(selector, "")
	b.await(has(selector, ""))
	if b.is(field + `.matches("select, [type=datetime-local], [type=range], [type=time]")`) {
		b.await(fmt.Sprintf(`(() => {
			const e = %s;
			e.value = %s;
			for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, {bubbles: true}));
			return e.value === %[2]s;
		})()`, field, js(text)))
		return
	}
	b.await(fmt.Sprintf(`(() => { const e = %s; e.focus(); e.select(); return document.activeElement === e; })()`, field))
	if text == "" {
		b.press("\b")
		return
	}
	b.do(call(input.InsertText, input.InsertTextParams{Text: text}))
}

// press presses keys, one after the other, as a keyboard does: what a page does with a key keeps its letter out of fields.
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text = events[1].Text
		}
		b.do(call(input.DispatchKeyEvent, *down), call(input.DispatchKeyEvent, *up))
	}
}

// awaitPath waits for a page whose address begins so.
func (b *tab) awaitPath(path string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`location.href.startsWith(%s) && document.readyState === "complete"`, js(b.base+path)))
}

// js is a text as a string of a script.
func js(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always is
	}
	return string(quoted)
}

// evalOnly is a step that runs a script.
func evalOnly(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](script)
}

// visitAt loads a page of any server.
func (b *tab) visitAt(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
}
