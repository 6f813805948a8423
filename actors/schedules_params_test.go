package actors

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/tasks"
)

func someOccurrence(t testing.TB) occurrence {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	day := time.Date(2026, 3, 1, 7, 0, 0, 0, zone)
	return occurrence{ScheduledFor: moment{day}, PreviousRun: moment{day.AddDate(0, 0, -1)}, Name: "daily"}
}

func TestRenderParams(t *testing.T) {
	data := someOccurrence(t)
	for _, c := range [][2]string{
		{`{}`, `{}`},
		{`{ "a" : 1e400, "b":[ true ,null,"x"]}`, `{ "a" : 1e400, "b":[ true ,null,"x"]}`},
		{`{"d":"{{ .ScheduledFor.Format \"2006-01-02\" }}"}`, `{"d":"2026-03-01"}`},
		{`{"d": ["a", {"b" : "{{.Name}}"} , "{{ .ScheduledFor.Year }}"], "e":2.50 }`, `{"d": ["a", {"b" : "daily"} , "2026"], "e":2.50 }`},
		{`{"{{ .Name }}":"{{ .Name }}"}`, `{"{{ .Name }}":"daily"}`}, // keys are no templates
		{`{"a":"{{ .ScheduledFor }} {{ .PreviousRun }}"}`, `{"a":"2026-03-01T07:00:00+08:00 2026-02-28T07:00:00+08:00"}`},
		{`{"a":"{{ .ScheduledFor.UTC }}"}`, `{"a":"2026-02-28T23:00:00Z"}`},
		{`{"a":"{{ (.ScheduledFor.AddDate 0 0 -1).Format \"Jan 2\" }}"}`, `{"a":"Feb 28"}`},
		{`{"a":"{{ (.ScheduledFor.Add \"-90m\").Format \"15:04\" }}"}`, `{"a":"05:30"}`},
		{`{"a":"{{ (.ScheduledFor.In \"Europe/Berlin\").Hour }}"}`, `{"a":"0"}`},
		{`{"a":"{{ if eq .ScheduledFor.Day 1 }}first{{ else }}other{{ end }}"}`, `{"a":"first"}`},
		{`{"a":"{{ with $x := .Name }}{{ $x }}{{ end }}{{/* nothing */}}"}`, `{"a":"daily"}`},
		{`{"a":"<&> {{ \"\\\"\\n\" }}"}`, `{"a":"<&> \"\n"}`},
		{`{"a":"\u007b{ .Name }}"}`, `{"a":"daily"}`},
		{`{"a":"{{ \"{{\" }}"}`, `{"a":"{{"}`},
	} {
		got, err := renderParams(c[0], data)
		require.NoError(t, err, c[0])
		if strings.Contains(c[0], "1e400") || strings.Contains(c[0], "2.50") {
			require.Equal(t, c[1], string(got), "all else stays byte for byte")
			continue
		}
		require.JSONEq(t, c[1], string(got), c[0])
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	data := someOccurrence(t)
	for _, c := range [][2]string{
		{`{{`, "line 1: "},
		{"\n{{ .Foo", "line 2: "},
		{`{{ .Foo }}`, "line 1, column 3, at <.Foo>: can't evaluate field Foo in type the occurrence"},
		{`{{ .ScheduledFor.Foo }}`, "in type a time"},
		{`{{ .ScheduledFor.t }}`, ""},
		{`{{ range .Name }}x{{ end }}`, "range is not available here"},
		{`{{ range 100000000000 }}x{{ end }}`, "range is not available here"},
		{`{{ define "x" }}{{ end }}`, "a template may not define others"},
		{`{{ block "x" . }}{{ end }}`, "a template may not define others"},
		{`{{ template "t" . }}`, `{{template "t" .}} is not available here`},
		{`{{ if true }}{{ template "t" . }}{{ end }}`, "is not available here"},
		{`{{ printf "%1000000000d" 1 }}`, "printf is not available here"},
		{`{{ with print "x" }}{{ end }}`, "print is not available here"},
		{`{{ if (len .Name) }}{{ end }}`, "len is not available here"},
		{`{{ .ScheduledFor.Format (html "x") }}`, "html is not available here"},
		{`{{ "x" | js }}`, "js is not available here"},
		{`{{ .ScheduledFor.Format }}`, "wrong number of args"},
		{`{{ .ScheduledFor.In "Local" }}`, `there is no time zone "Local"`},
		{`{{ .ScheduledFor.Add "soon" }}`, `"soon" is not a duration`},
		{`{{ nil }}`, "line 1"},
		{`{{ env "HOME" }}`, `function "env" not defined`},
		{"{{ .Name }}" + strings.Repeat("x", MaxTemplateBytes), "the limit is 4096"},
		{`{{ .ScheduledFor.Format "` + strings.Repeat("January ", 33) + `" }}`, "a layout has at most 256 bytes"},
	} {
		_, err := renderParams(`{"a":{"b":[1,`+quote(c[0])+`]}}`, data)
		var invalid *tasks.InvalidError
		require.ErrorAs(t, err, &invalid, c[0])
		require.Len(t, invalid.Fields, 1)
		require.Equal(t, "/params/a/b/1", invalid.Fields[0].Location)
		require.Contains(t, invalid.Fields[0].Message, c[1], c[0])
		require.NotContains(t, invalid.Fields[0].Message, "actors.")
	}
}

// TestNoTemplateGrowsWithoutEnd: what a layout gives is longer than the layout, and may be one again.
func TestNoTemplateGrowsWithoutEnd(t *testing.T) {
	data := someOccurrence(t)
	long := `{{ $x := "1" }}` + strings.Repeat(`{{ $x = .ScheduledFor.Format $x }}`, 100) + `{{ $x }}`
	out, err := renderText(long, data)
	require.True(t, err != nil || len(out) < 10*maxLayout)
	long = strings.Repeat(`{{ .ScheduledFor.Format "`+strings.Repeat("Monday", 40)+`" }}`, 15)
	out, err = renderText(long, data)
	require.NoError(t, err)
	require.LessOrEqual(t, len(out), MaxRenderedBytes)
}

func TestRewritingStringsKeepsEveryOtherByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyJSON(3).Draw(t, "value"))
		require.NoError(t, err)
		same, err := rewriteStrings(raw, func(_, text string) string { return text })
		require.NoError(t, err)
		require.Equal(t, string(raw), string(same))

		texts := map[string]string{}
		other, err := rewriteStrings(raw, func(location, text string) string {
			texts[location] = text
			return text + "!"
		})
		require.NoError(t, err)
		back, err := rewriteStrings(other, func(location, text string) string {
			was, ok := texts[location]
			require.True(t, ok, "the same places")
			require.Equal(t, was+"!", text)
			return was
		})
		require.NoError(t, err)
		require.JSONEq(t, string(raw), string(back))
	})
}

func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.SliceOfN(anyJSON(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), anyJSON(depth-1), 0, 4).AsAny())
}

// FuzzRenderParams: whatever the text is, it ends soon, within the limits, and gives JSON or names a place.
func FuzzRenderParams(f *testing.F) {
	for _, seed := range []string{`{{ .ScheduledFor }}`, `{{ if .Name }}x{{ end }}`, `{{ .ScheduledFor.Format "2006" | .ScheduledFor.Format }}`, `{{`, `{{ with $x := . }}{{ $x.Name }}{{ end }}`} {
		f.Add(seed)
	}
	data := someOccurrence(f)
	f.Fuzz(func(t *testing.T, text string) {
		raw := `{"a":` + quote(text) + `}`
		got, err := renderParams(raw, data)
		if err != nil {
			var invalid *tasks.InvalidError
			require.ErrorAs(t, err, &invalid)
			return
		}
		require.NoError(t, tasks.CheckJSON(got, tasks.MaxDepth))
		require.LessOrEqual(t, len(got), max(len(raw), 6*MaxRenderedBytes+20))
	})
}
