package views

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatCannotBeSeenIsShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                        "plain",
		"two\nlines\tand a tab":        "two\nlines\tand a tab",
		"ends\r\nas others do\r":       "ends\nas others do" + `\u000d`,
		"\x1b[31mred\x1b[0m":           `\u001b[31mred\u001b[0m`,
		"\x00\x07\x08\x7f\u0085\u009b": `\u0000\u0007\u0008\u007f\u0085\u009b`,
		"\u202e\u2066\u200f\u2028":     `\u202e\u2066\u200f\u2028`,
		"\ufeff\u200b\U000e0041":       `\ufeff\u200b\U000e0041`,
		"👩\u200d🚀 میخواهم\u200cم 客户 \u00a0": "👩\u200d🚀 میخواهم\u200cم 客户 \u00a0",
	} {
		require.Equal(t, want, Visible(text))
	}
}

func TestAPageShowsEverythingButSendsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	const esc = "\x1b\u202e"
	require.Equal(t, `<p title="a>\u001b\u202e" class="x">\u001b\u202e<b>\u202e</b></p>`, string(Tame([]byte(`<p title="a>`+esc+`" class="x">`+esc+"<b>\u202e</b></p>"))))
	for _, form := range []string{
		`<input type="hidden" name="p.` + esc + `" value="` + esc + `">`, `<textarea id="a" name="b">x` + esc + `<</textarea>`, `<option value="` + esc + `" selected>`,
		`<a href="/x?` + esc + `">`, `<input value="` + esc,
	} {
		require.Equal(t, form, string(Tame([]byte(form))))
	}
	require.Equal(t, `<textarea readonly>\u001b\u202e</textarea><button data-copy="\u001b\u202e">`, string(Tame([]byte(`<textarea readonly>`+esc+`</textarea><button data-copy="`+esc+`">`))))
}

func FuzzTame(f *testing.F) {
	f.Add(`<p title="a>` + "\x1b" + `">x</p><textarea>` + "\u202e")
	f.Add("<<<\x1b>\"")
	f.Fuzz(func(t *testing.T, page string) {
		if strings.ContainsFunc(page, isHidden) {
			Tame([]byte(page)) // any bytes at all end it
			return
		}
		require.Equal(t, page, string(Tame([]byte(page))))
	})
}
