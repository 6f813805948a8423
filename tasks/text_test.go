package tasks

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCleanText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "…"}, {"abcdefg", 6, "abc…"}, {"日本語", 9, "日本語"}, {"日本語x", 9, "日本…"}, {"日本語x", 8, "日…"},
		{"a\x00b", 9, "a\uFFFDb"}, {"a\xff\xfeb", 9, "a\uFFFDb"}, {strings.Repeat("\xaa", 50), 9, "\uFFFD…"}, {"\xe8\xaa", 9, "\uFFFD"},
		{strings.Repeat("\x00", 9), 9, "\uFFFD\uFFFD…"},
	} {
		require.Equal(t, c.want, cleanText(c.in, c.limit), "%q", c.in)
	}
}

func TestCleanTextOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in")) + strings.Repeat(rapid.String().Draw(t, "letters"), rapid.IntRange(0, 5).Draw(t, "times"))
		limit := rapid.IntRange(len(ellipsis), 100).Draw(t, "limit")
		got := cleanText(in, limit)
		require.LessOrEqual(t, len(got), limit)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
		if utf8.ValidString(in) && !strings.Contains(in, "\x00") {
			kept, cut := strings.CutSuffix(got, ellipsis)
			require.True(t, got == in || cut && strings.HasPrefix(in, kept))
		}
	})
}
