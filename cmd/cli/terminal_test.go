package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestControlCharactersAreShownAndNotObeyed(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"\x1b[31mred\x1b[0m":       `\x1b[31mred\x1b[0m`,
		"\x1b]0;title\a":           `\x1b]0;title\x07`,
		"over\rwritten":            `over\x0dwritten`,
		"back\bspace":              `back\x08space`,
		"\u009b2J":                 `\x9b2J`,
		"two\nlines\tand a tab":    `two\nlines\tand a tab`,
		"\u202egnp.exe":            `\u202egnp.exe`,
		"a\u2028b":                 `a\u2028b`,
		"\xff\xfe":                 `\xff\xfe`,
		"报告 \U0001F600 e\u0301 ok": "报告 \U0001F600 e\u0301 ok",
		"\uFFFD":                   "\uFFFD",
	} {
		require.Equal(t, want, cleanLine(in))
	}
	require.Equal(t, "a\nb\tc\\x1b", cleanLines("a\r\nb\tc\x1b"))
}

func TestNoTextReachesTheTerminalWithControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		if i := strings.IndexFunc(cleanLine(text), unicode.IsControl); i >= 0 {
			t.Fatalf("a control character is left in %q", cleanLine(text))
		}
	})
}

func TestTablesAlignWideAndCombiningText(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, table(&out, []string{"NAME", "N", "NOTE"}, [][]string{{"日报", "1", ""}, {"e\u0301tude", "22", "x\x1b[1m"}}))
	require.Equal(t, "NAME   N   NOTE\n日报   1\ne\u0301tude  22  x\\x1b[1m\n", out.String())
}

func TestLongTextIsCutAtCells(t *testing.T) {
	require.Equal(t, "abc", cut("abc", 3))
	require.Equal(t, "ab…", cut("abcd", 3))
	require.Equal(t, "日…", cut("日报日报", 4))
}
