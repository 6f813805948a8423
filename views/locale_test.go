package views

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestEveryTextExistsInBothLanguages(t *testing.T) {
	for key, pair := range texts {
		for i, text := range pair {
			require.NotEmpty(t, strings.TrimSpace(text), "%s in %s", key, locales[i])
		}
	}
	for _, state := range models.States {
		require.Contains(t, texts, string(state))
	}
	page, err := os.ReadFile("home.templ")
	require.NoError(t, err)
	for _, key := range regexp.MustCompile(`\.t\("([^"]*)"\)`).FindAllStringSubmatch(string(page), -1) {
		require.Contains(t, texts, key[1])
	}
}

func TestTheLanguageIsTheOneTheBrowserLikesBest(t *testing.T) {
	for header, want := range map[string]Locale{
		"": English, "en": English, "zh": Chinese, "zh-CN": Chinese, "zh-Hans": Chinese, "zh-TW": Chinese, "fr": English,
		"fr, zh;q=0.5, en;q=0.1": Chinese, "en-GB,zh;q=0.9": English, "zh;q=0, en": English, "*": English, "\x00": English,
		strings.Repeat("zh,", 10000): English,
	} {
		require.Equal(t, want, LocaleOf(header), "%.100q", header)
	}
}
