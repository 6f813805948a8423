package views

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// catalogueOf reads the files of a language.
func catalogueOf(t *testing.T, l Locale) map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("locales", string(l), "*.json"))
	require.NoError(t, err)
	all := map[string]any{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var messages map[string]any
		require.NoError(t, json.Unmarshal(text, &messages), name)
		for key, message := range messages {
			require.NotContains(t, all, key, "%s has a key of another file", name)
			all[key] = message
		}
	}
	return all
}

var placeholder = regexp.MustCompile(`{{\.\w+}}`)

// placeholders of a message; the one form may leave n out, so those of other are what counts.
func placeholders(t *testing.T, key string, message any) []string {
	t.Helper()
	forms, plural := message.(map[string]any)
	if !plural {
		forms = map[string]any{"other": message}
	}
	for form, text := range forms {
		require.NotEmpty(t, strings.TrimSpace(text.(string)), "%s, %s", key, form)
	}
	names := placeholder.FindAllString(forms["other"].(string), -1)
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEveryMessageExistsInBothLanguagesWithTheSamePlaceholders(t *testing.T) {
	english, chinese := catalogueOf(t, English), catalogueOf(t, Chinese)
	for key := range chinese {
		require.Contains(t, english, key)
	}
	for key, message := range english {
		require.Contains(t, chinese, key)
		require.Equal(t, placeholders(t, key, message), placeholders(t, key, chinese[key]), key)
	}
}

// sources are the texts of the program that may name messages.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.go", "*.templ", "../web/*.go"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all[name] = string(text)
		}
	}
	return all
}

// A key is written out, or begins with a literal that ends with a dot: "state." + state.
var (
	wholeKey = regexp.MustCompile(`"([a-z_]+(?:\.[a-z0-9_-]+)+)"`)
	keyStart = regexp.MustCompile(`"((?:[a-z_]+\.)+)"`)
	keyOfT   = regexp.MustCompile(`\b(?:T\(ctx, |T\(r\.Context\(\), |\.Text\()"([^"]*)"\s*[,)]`)
)

func TestEveryMessageIsUsedAndEveryKeyHasAMessage(t *testing.T) {
	english := catalogueOf(t, English)
	used, starts := map[string]bool{}, map[string]bool{}
	for name, text := range sources(t) {
		for _, m := range wholeKey.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
		}
		for _, m := range keyStart.FindAllStringSubmatch(text, -1) {
			starts[m[1]] = true
		}
		for _, m := range keyOfT.FindAllStringSubmatch(text, -1) {
			require.Contains(t, english, m[1], "%s says a message that is not in the catalogue", name)
		}
	}
	for key := range english {
		begins := slices.ContainsFunc(slices.Collect(maps.Keys(starts)), func(start string) bool { return strings.HasPrefix(key, start) })
		require.True(t, used[key] || begins, "%s is not used", key)
	}
	for _, state := range models.States {
		require.Contains(t, english, "state."+string(state))
	}
	for _, item := range rail {
		require.Contains(t, english, "nav."+item.section)
	}
}

// literals joins what a generated file writes as it is. What is worked out falls between two of them.
func literals(t *testing.T, name string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	var b strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "WriteString" {
			if lit, ok := call.Args[2].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				b.WriteString(text)
			}
		}
		return true
	})
	return b.String()
}

var (
	textBetween  = regexp.MustCompile(`>([^<>]+)<`)
	textInside   = regexp.MustCompile(`(?:title|placeholder|aria-label|alt|label)="([^"]*\pL[^"]*)"`)
	letter       = regexp.MustCompile(`\pL`)
	unspokenText = []string{"reax", "· reax", "UTC"}
)

func TestNoTemplateHasTextOfItsOwn(t *testing.T) {
	files, err := filepath.Glob("*_templ.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text := literals(t, name)
		require.Contains(t, text, "<", name)
		for _, m := range append(textBetween.FindAllStringSubmatch(text, -1), textInside.FindAllStringSubmatch(text, -1)...) {
			said := strings.TrimSpace(html.UnescapeString(m[1]))
			if letter.MatchString(said) && !slices.Contains(unspokenText, said) {
				t.Errorf("%s says %q: put it into the catalogues", name, said)
			}
		}
	}
}

func TestAMessageFollowsItsNumber(t *testing.T) {
	for _, c := range []struct {
		l    Locale
		n    any
		want string
	}{
		{English, 1, "1 task will run again."},
		{English, 0, "0 tasks will run again."},
		{English, int64(12345), "12,345 tasks will run again."},
		{English, float64(2), "2 tasks will run again."}, // as it comes out of a flash
		{Chinese, 1, "1 个任务将再次运行。"},
	} {
		require.Equal(t, c.want, c.l.Text("bulk.done.retry", "n", c.n))
	}
	require.Equal(t, "no.such.key", English.Text("no.such.key"))
	_, ok := Chinese.Lookup("no.such.key")
	require.False(t, ok)
}

func TestAValueIsNeverATemplate(t *testing.T) {
	require.Contains(t, English.Text("settings.bad_zone", "zone", "{{.n}}<b>"), "{{.n}}<b>")
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

func TestFiguresAreShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 1240: "1.2k", 48210: "48.2k", 123456: "123k", 5_000_000: "5M"} {
		require.Equal(t, want, Short(n))
	}
}
