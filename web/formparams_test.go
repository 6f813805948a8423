package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/tasks"
)

// A form that says that it holds some parameters gives them back, with every digit.
func TestParametersSurviveTheirForm(t *testing.T) {
	schema := formOf(compiledSchema(t, mailSchema))
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "a", "two\nlines", "\nx", "x\r\n", "2026-07-01T09:30:00Z", "2026-07-01T09:30", "1", hidden}))
	scalar := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"0", "-0", "1", "1.10", "1e3", "12345678901234567890", "-5"}), func(s string) any { return json.Number(s) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil),
	)
	value := rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 0, 3), func(l []any) any { return l }))
	names := []string{"extra name"}
	for _, f := range schema.fields {
		names = append(names, f.name)
	}
	for _, open := range []bool{false, true} {
		schema.open = open
		rapid.Check(t, func(t *rapid.T) {
			params := rapid.MapOfN(rapid.SampledFrom(names), value, 0, 6).Draw(t, "params")
			if _, ok := params["loud"]; !ok { // a required yes or no is always sent
				params["loud"] = true
			}
			raw, err := json.Marshal(params)
			require.NoError(t, err)
			form, ok := schema.fill(raw)
			if !ok {
				return
			}
			sent := url.Values{}
			for name, all := range form { // as a browser sends it
				sent.Set(name, strings.ReplaceAll(all[0], "\n", "\r\n"))
			}
			again, faults := schema.params(sent, time.UTC)
			require.Empty(t, faults)
			for name, v := range params {
				if v == hidden && name != "extra name" {
					delete(params, name)
				}
			}
			if _, ok := params["loud"]; !ok {
				params["loud"] = false
			}
			want, err := json.Marshal(params)
			require.NoError(t, err)
			require.Equal(t, exact(t, want), exact(t, again))
		})
	}
}

// exact is JSON as Go has it, with its numbers as text.
func exact(t require.TestingT, raw []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&value))
	return value
}

func FuzzFormOfASchema(f *testing.F) {
	for _, seed := range []string{mailSchema, `{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/b"}]},"b":{"oneOf":[{"$ref":"#/properties/a"}]}}}`, `{"type":"object","properties":{"a":{"enum":[null]}}}`, `[]`, `{"type":"object","properties":{"":true,"a":false}}`} {
		f.Add(seed, `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, schema, params string) {
		compiled, err := tasks.CompileSchema(json.RawMessage(schema))
		if err != nil {
			return
		}
		form := formOf(compiled)
		if values, ok := form.fill(json.RawMessage(params)); ok {
			raw, faults := form.params(values, time.UTC)
			require.Empty(t, faults)
			require.NoError(t, tasks.CheckJSON(raw, tasks.MaxDepth), "%s", raw)
		}
	})
}

func TestPatternsThatBrowsersReadAlikeAreMirrored(t *testing.T) {
	for pattern, want := range map[string]string{
		"^[a-z0-9_]+$": "[a-z0-9_]+", `^\d{3}-\d{4}$`: `\d{3}-\d{4}`, "^a$": "a",
		"[a-z]": "", "(?i)^x$": "", `^\p{L}$`: "", "^(a|b)$": "", "^[a-z-]+$": "", "^[[:alpha:]]$": "", "": "", "^a": "",
	} {
		require.Equal(t, want, htmlPattern(pattern), pattern)
	}
}

func TestAFormIsDoneOnceUnlessItFails(t *testing.T) {
	var s sentForms
	runs := 0
	do := func(err error) func(context.Context) (int64, error) {
		return func(context.Context) (int64, error) { runs++; return int64(runs), err }
	}
	_, err := s.once(t.Context(), "a", do(errors.New("no")))
	require.Error(t, err)
	for range 3 {
		id, err := s.once(t.Context(), "a", do(nil))
		require.NoError(t, err)
		require.EqualValues(t, 2, id)
	}
	require.Panics(t, func() { _, _ = s.once(t.Context(), "p", func(context.Context) (int64, error) { panic("x") }) })
	id, err := s.once(t.Context(), "p", do(nil))
	require.NoError(t, err)
	require.EqualValues(t, 3, id)

	gone, cancel := context.WithCancel(t.Context())
	cancel() // the browser has gone on to its second click
	id, err = s.once(gone, "b", func(ctx context.Context) (int64, error) { return 7, ctx.Err() })
	require.NoError(t, err)
	require.EqualValues(t, 7, id)

	for range maxSentForms + 5 {
		_, _ = s.once(t.Context(), time.Now().String()+strings.Repeat("x", runs%9), do(nil))
	}
	require.LessOrEqual(t, len(s.forms), maxSentForms)
	require.LessOrEqual(t, len(s.order), maxSentForms)
}
