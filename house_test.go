// Package reax_test holds the house rules as tests: which package may import which, and the habits that no compiler
// checks. Each rule is a function over parsed files, so that it can be shown to fail on a small bad sample.
package reax_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "reax"

// rooms is the direction of every import of our own: what a package may import. A package that is missing here is a
// room nobody planned: add it with its arrows, and to docs/architecture.md.
var rooms = map[string][]string{
	".":            {},
	"cmd/reax":     {"cmd/cli"},
	"cmd/cli":      {"web", "actors", "tasks", "tasks/demo", "tasks/notify", "models", "timetable"},
	"web":          {"views", "static", "actors", "tasks", "models", "timetable"},
	"timetable":    {},
	"views":        {"static", "tasks", "models"},
	"actors":       {"actors/kit", "tasks", "models", "timetable"},
	"actors/kit":   {},
	"tasks":        {},
	"tasks/demo":   {"tasks"},
	"tasks/notify": {"tasks"},
	"models":       {},
	"static":       {},
	"examples/**":  {"cmd/cli", "tasks"},
	"e2e/**":       {"cmd/cli", "tasks", "models"},
}

// owners are the libraries that shape a room: only these packages may import them, so that one of them can be replaced
// without a walk through the house.
var owners = map[string][]string{
	"github.com/asynkron/protoactor-go": {"actors", "actors/kit"},
	"github.com/labstack/echo":          {"web"},
	"github.com/danielgtaylor/huma":     {"web"},
	"github.com/a-h/templ":              {"views", "web"},
	"github.com/alecthomas/kong":        {"cmd/cli"},
	"github.com/mattn/go-sqlite3":       {"models"},
	"github.com/pressly/goose":          {"models"},
	"github.com/netresearch/go-cron":    {"timetable"},
	"gorm.io":                           {"models"},
	"golang.org/x/crypto":               {"actors"},
	"golang.org/x/term":                 {"cmd/cli"},
	"github.com/prometheus":             {"web"},
	"github.com/yuin/goldmark":          {"views"},
	"github.com/wneessen/go-mail":       {"tasks/notify"},
	"go.opentelemetry.io":               {"cmd/cli"},
}

// sleepers are the files outside a synctest bubble that may call time.Sleep, and why.
var sleepers = map[string]string{}

// source is one Go file, or any other text file, as the rules see it.
type source struct {
	path      string // slash-separated, from the root of the module
	text      []byte
	file      *ast.File // nil when it is not Go
	fset      *token.FileSet
	isTest    bool
	generated bool
}

// room is the package that the file is in, as rooms names it.
func (s source) room() string { return path.Dir(s.path) }

// at is where a finding is, for an editor to jump to.
func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line)
}

// imports maps the path of each import to where it is.
func (s source) imports() map[string]token.Pos {
	found := map[string]token.Pos{}
	for _, spec := range s.file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			found[name] = spec.Pos()
		}
	}
	return found
}

func read(name string, text []byte) (source, error) {
	s := source{path: name, text: text}
	if path.Ext(name) != ".go" {
		return s, nil
	}
	s.fset = token.NewFileSet()
	file, err := parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return s, fmt.Errorf("parsing %s: %w", name, err)
	}
	s.file, s.isTest, s.generated = file, strings.HasSuffix(name, "_test.go"), ast.IsGenerated(file)
	return s, nil
}

// texts are the names of what a person wrote here; everything else in the folder is built, or a database.
var texts = []string{".go", ".md", ".yml", ".yaml", ".sql", ".templ", ".css", ".js", ".py", ".sh", ".mod", ".toml", ".service"}

// readModule reads every text file of the module. A folder with a go.mod of its own is another module, whose Go files
// keep its own rules.
func readModule(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (skipFolder(d.Name()) || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !slices.Contains(texts, filepath.Ext(name)) && filepath.ToSlash(name) != ".ci/run" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := read(filepath.ToSlash(name), text)
		all = append(all, s)
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 20, "the walk found next to nothing: it looks in the wrong place")
	return all
}

func skipFolder(name string) bool {
	return slices.Contains([]string{".git", ".task", ".idea", ".vscode", "bin", "dist", "testdata", "node_modules", "__pycache__"}, name)
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func TestHouse(t *testing.T) {
	t.Parallel()
	all := readModule(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, strings.Join(r.check(all), "\n"))
		})
	}
}

// A rule that cannot fail guards nothing: each has to find its bad samples, and nothing else.
func TestHouseRulesCanFail(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, r.bad)
			for _, text := range r.bad {
				require.NotEmpty(t, r.check(sample(t, text)), "not found:\n%s", text)
			}
			for _, text := range r.good {
				require.Empty(t, r.check(sample(t, text)), "should pass:\n%s", text)
			}
		})
	}
}

// sample is a file of one rule's examples: its name is the first line, the rest is its text.
func sample(t *testing.T, text string) []source {
	t.Helper()
	name, body, _ := strings.Cut(text, "\n")
	s, err := read(name, []byte(body))
	require.NoError(t, err)
	return []source{s}
}

func TestEveryArrowNamesAPackageOfOurs(t *testing.T) {
	t.Parallel()
	for room, may := range rooms {
		for _, to := range may {
			require.Contains(t, rooms, to, "%s may import %s, which is no room", room, to)
		}
	}
}

func TestSourcesAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	s := sample(t, "views/pill_templ.go\n// Code generated by templ - DO NOT EDIT.\n\npackage views\n")[0]
	require.True(t, s.generated)
	require.Equal(t, "views", s.room())
	require.Equal(t, 1, bytes.Count(s.text, []byte("package")))
}
