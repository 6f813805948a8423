package models

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCutTextKeepsWhatFits(t *testing.T) {
	for _, text := range []string{"", "plain", "日本 👍 \u202e", strings.Repeat("e\u0301", 50), strings.Repeat("x", 100)} {
		require.Equal(t, text, CutText(text, max(len(text), 1)))
	}
}

func TestCutTextMarksWhatIsNoText(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b":          "a\uFFFDb",
		"a\xff\xfeb":      "a\uFFFD\uFFFDb",
		"\xed\xa0\x80":    "\uFFFD\uFFFD\uFFFD", // half a surrogate pair
		"kept \uFFFD":     "kept \uFFFD",
		"cut letter \xe6": "cut letter \uFFFD",
	} {
		require.Equal(t, want, CutText(text, 100))
	}
}

func TestCutTextKeepsHeadAndTailOfALongText(t *testing.T) {
	text := "begin " + strings.Repeat("日", 30_000_000/3) + " end"
	cut := CutText(text, 16<<10)
	require.LessOrEqual(t, len(cut), 16<<10)
	require.Greater(t, len(cut), 16<<10-20, "no room is wasted")
	require.True(t, strings.HasPrefix(cut, "begin 日"))
	require.True(t, strings.HasSuffix(cut, "日 end"))
	require.True(t, utf8.ValidString(cut))
	require.Equal(t, len(text), keptAndLeft(t, cut))
}

func TestCutTextWithoutRoomForTheMarkKeepsTheHead(t *testing.T) {
	for limit := range 50 {
		cut := CutText(strings.Repeat("日", 100), limit)
		require.LessOrEqual(t, len(cut), limit)
		require.Equal(t, limit/3, strings.Count(cut, "日"))
	}
	require.Empty(t, CutText("x", -1))
}

var leftOutMark = regexp.MustCompile(`… (\d+) bytes left out …`)

// keptAndLeft adds what a cut text kept and what it says it left out.
func keptAndLeft(t testing.TB, cut string) int {
	t.Helper()
	found := leftOutMark.FindStringSubmatch(cut)
	require.NotNil(t, found, cut)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n + len(cut) - len(found[0])
}

func FuzzCutText(f *testing.F) {
	for _, text := range []string{"", "a", "\x00\xff", "日本語", strings.Repeat("\x00", 300), strings.Repeat("é", 100) + "\xe6"} {
		for _, limit := range []int{0, 1, 60, 100, 1000} {
			f.Add(text, limit)
		}
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		cut := CutText(text, limit)
		require.LessOrEqual(t, len(cut), max(limit, 0))
		require.True(t, utf8.ValidString(cut))
		require.NotContains(t, cut, "\x00")
		require.Equal(t, cut, CutText(cut, limit), "twice is as once")
		whole := utf8.ValidString(text) && !strings.Contains(text, "\x00")
		if whole && len(text) <= limit {
			require.Equal(t, text, cut)
		}
		if whole && limit > 100 && len(text) > limit && !strings.Contains(text, "…") {
			require.Equal(t, len(text), keptAndLeft(t, cut), "%q", cut)
		}
	})
}
