package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMaskHidesWhatTheSchemaCallsSecret(t *testing.T) {
	for name, c := range map[string]struct{ schema, params, want string }{
		"nothing":         {`{"type":"object"}`, `{ "a": 1.10 }`, `{ "a": 1.10 }`},
		"writeOnly":       {`{"type":"object","properties":{"a":{"writeOnly":true}}}`, `{"a":"canary","b":12345678901234567890}`, `{"a":"••••","b":12345678901234567890}`},
		"password":        {`{"type":"object","properties":{"a":{"format":"password"}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"an object":       {`{"type":"object","properties":{"a":{"type":"object","writeOnly":true}}}`, `{"a":{"x":["canary"]}}`, `{"a":"••••"}`},
		"nested":          {`{"type":"object","properties":{"o":{"properties":{"a":{"writeOnly":true}}}}}`, `{"o":{"a":"canary","b":1}}`, `{"o":{"a":"••••","b":1}}`},
		"in a list":       {`{"type":"object","properties":{"l":{"items":{"properties":{"a":{"writeOnly":true}}}}}}`, `{"l":[{"a":"canary"},{"b":1}]}`, `{"l":[{"a":"••••"},{"b":1}]}`},
		"entries":         {`{"type":"object","properties":{"l":{"items":{"format":"password"}}}}`, `{"l":["canary"]}`, `{"l":"••••"}`},
		"some entries":    {`{"type":"object","properties":{"l":{"prefixItems":[true,{"format":"password"}]}}}`, `{"l":[1,"canary"]}`, `{"l":"••••"}`},
		"$ref":            {`{"type":"object","$defs":{"s":{"writeOnly":true}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"$ref of a $ref":  {`{"type":"object","$defs":{"s":{"$ref":"#/$defs/t"},"t":{"properties":{"x":{"writeOnly":true}}}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":{"x":"canary","y":1}}`, `{"a":{"x":"••••","y":1}}`},
		"an anchor":       {`{"type":"object","$defs":{"s":{"$anchor":"here","writeOnly":true}},"properties":{"a":{"$ref":"#here"}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"odd names":       {`{"type":"object","$defs":{"a/b~c %":{"writeOnly":true}},"properties":{"x/y~z é":{"$ref":"#/$defs/a~1b~0c%20%25"}}}`, `{"x/y~z é":"canary"}`, `{"x/y~z é":"••••"}`},
		"a loop":          {`{"type":"object","properties":{"in":{"$ref":"#"},"a":{"writeOnly":true}}}`, `{"in":{"in":{"a":"canary"}}}`, `{"in":{"in":{"a":"••••"}}}`},
		"allOf":           {`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"writeOnly":true}]}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"allOf at top":    {`{"type":"object","allOf":[{"properties":{"a":{"writeOnly":true}}}]}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"a branch":        {`{"type":"object","if":{"required":["k"]},"then":{"properties":{"a":{"writeOnly":true}}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"dependent":       {`{"type":"object","dependentSchemas":{"k":{"properties":{"a":{"writeOnly":true}}}}}`, `{"k":1,"a":"canary"}`, `{"a":"••••","k":1}`},
		"patterns":        {`{"type":"object","patternProperties":{"^x_":{"writeOnly":true}}}`, `{"x_a":"canary","a":1}`, `{"a":1,"x_a":"••••"}`},
		"others":          {`{"type":"object","properties":{"a":{}},"additionalProperties":{"writeOnly":true}}`, `{"a":1,"b":"canary"}`, `{"a":1,"b":"••••"}`},
		"others within":   {`{"type":"object","properties":{"env":{"additionalProperties":{"writeOnly":true}}}}`, `{"env":{"b":"canary"}}`, `{"env":"••••"}`},
		"all":             {`{"type":"object","writeOnly":true}`, `{"b":"canary"}`, `"••••"`},
		"cut short":       {`{"type":"object","properties":{"a":{"writeOnly":true}}}`, `{"a":"cana`, `"••••"`},
		"written oddly":   {`{"type":"object","properties":{"\u0061":{"write\u004fnly":true}}}`, `{"\u0061":"canary"}`, `{"a":"••••"}`},
		"an old draft":    {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"writeOnly":true}}}`, `{"a":"canary"}`, `{"a":"••••"}`},
		"named like that": {`{"type":"object","properties":{"writeOnly":{"type":"boolean"},"format":{}}}`, `{"format":"password"}`, `{"format":"password"}`},
	} {
		s := compiled(t, c.schema)
		require.Equal(t, c.want, s.Mask(c.params), name)
		require.Equal(t, c.want != c.params, s.Masks(), name)
		require.NotContains(t, s.MaskResult(c.params), map[bool]string{true: "canary", false: "no secret"}[name != "others"], name)
	}
	require.Equal(t, `{"a":{"b":["••••",null]}}`, MaskAll(`{"a":{"b":["x",null]}}`))
	require.Equal(t, `"••••"`, MaskAll(`{"a":`))
}

func TestMaskedPaths(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"user":{},"head":{"properties":{"key":{"writeOnly":true}}}},"additionalProperties":{"format":"password"}}`)
	for path, want := range map[string]bool{"user": false, "user.name": false, "head": false, "head.key": true, "head.key.x": true, "head.0.key": true, "other": true, "user.key": true} {
		require.Equal(t, want, s.MasksPath(strings.Split(path, ".")...), path)
	}
	require.False(t, compiled(t, `{"type":"object"}`).MasksPath("key"))
	require.False(t, (*Schema)(nil).MasksPath("key"))
}

func TestASchemaIsShownWithoutTheValuesItSuggestsForSecrets(t *testing.T) {
	s := compiled(t, `{"type":"object","default":{"a":"canary"},"examples":[{"a":"canary","b":"plain"}],"$defs":{"s":{"writeOnly":true,"default":"canary"}},
		"properties":{"a":{"format":"password","examples":["canary"]},"b":{"default":"plain"},"c":{"$ref":"#/$defs/s","default":"canary"},"default":{"type":"string"}}}`)
	require.NotContains(t, string(s.Shown()), "canary")
	require.Contains(t, string(s.Shown()), `"b":{"default":"plain"}`)
	require.Contains(t, string(s.Shown()), `"default":{"type":"string"}`)
	plain := compiled(t, `{"type":"object", "properties":{"b":{"default":"x"}}}`)
	require.Equal(t, string(plain.Raw), string(plain.Shown()))
}

func TestUnmaskFillsWhatWasSentBackAsItWasShown(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{"a":{"writeOnly":true},"o":{"properties":{"key":{"writeOnly":true}}},"l":{"items":{"properties":{"key":{"writeOnly":true}}}}}}`)
	const original = `{"a":"one","o":{"key":{"n":12345678901234567890}},"l":[{"key":"two","n":1},{"key":"three","n":2}]}`
	for name, c := range map[string]struct {
		params, want string
		still        []string
	}{
		"unchanged":       {s.Mask(original), `{"a":"one","l":[{"key":"two","n":1},{"key":"three","n":2}],"o":{"key":{"n":12345678901234567890}}}`, nil},
		"one anew":        {`{"a":"new","o":{"key":"••••"}}`, `{"a":"new","o":{"key":{"n":12345678901234567890}}}`, nil},
		"escaped":         {`{"a":"\u2022\u2022\u2022\u2022"}`, `{"a":"one"}`, nil},
		"none there":      {`{"a":"••••","o":{"x":{"key":"••••"}}}`, `{"a":"one","o":{"x":{"key":"••••"}}}`, []string{"/o/x/key"}},
		"in another way":  {`{"a":["••••"]}`, `{"a":["••••"]}`, []string{"/a"}},
		"no secret place": {`{"b":"••••", "a":"x"}`, `{"b":"••••", "a":"x"}`, nil},
		"changed places":  {`{"l":[{"key":"••••","n":2},{"key":"••••","n":1}]}`, `{"l":[{"key":"••••","n":2},{"key":"••••","n":1}]}`, []string{"/l/0/key", "/l/1/key"}},
		"untouched bytes": {`{ "a" : "x" }`, `{ "a" : "x" }`, nil},
	} {
		filled, still := s.Unmask(json.RawMessage(c.params), json.RawMessage(original))
		require.Equal(t, c.want, string(filled), name)
		require.Equal(t, c.still, still, name)
	}
	_, still := s.Unmask(json.RawMessage(`{"a":"••••"}`), nil)
	require.Equal(t, []string{"/a"}, still)
}

// secretMaker makes schemas that hide values in every way there is, with parameters that fit them.
type secretMaker struct {
	t    *rapid.T
	n    int
	defs map[string]any
}

func (m *secretMaker) name(start string) string {
	m.n++
	return fmt.Sprintf("%s%d", start, m.n)
}

func (m *secretMaker) node(depth int, secret bool) (schema, value any) {
	kinds := []string{"text", "text", "ref", "all", "any", "then"}
	if depth > 0 {
		kinds = append(kinds, "object", "list", "first", "pattern", "others")
	}
	word := "plain-" + m.name("")
	if secret {
		word = "canary-" + m.name("")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(m.t, "kind"); kind {
	case "ref":
		schema, value = m.node(depth-1, secret)
		def := m.name("d/~ ")
		m.defs[def] = schema
		return map[string]any{"$ref": "#/$defs/" + strings.NewReplacer("~", "~0", "/", "~1", " ", "%20").Replace(def)}, value
	case "all", "any":
		schema, value = m.node(depth-1, secret)
		return map[string]any{kind + "Of": []any{schema}}, value
	case "then":
		schema, value = m.node(depth-1, secret)
		return map[string]any{"if": true, "then": schema}, value
	case "object":
		name := m.name("p")
		schema, value = m.node(depth-1, secret)
		return map[string]any{"type": "object", "properties": map[string]any{name: schema}}, map[string]any{name: value}
	case "list":
		schema, value = m.node(depth-1, secret)
		return map[string]any{"type": "array", "items": schema}, []any{value}
	case "first":
		schema, value = m.node(depth-1, secret)
		return map[string]any{"prefixItems": []any{true, schema}}, []any{1, value}
	case "pattern":
		name := m.name("q")
		schema, value = m.node(depth-1, secret)
		return map[string]any{"patternProperties": map[string]any{"^" + name + "$": schema}}, map[string]any{name: value}
	case "others":
		schema, value = m.node(depth-1, secret)
		return map[string]any{"additionalProperties": schema}, map[string]any{m.name("r"): value}
	}
	node := map[string]any{"type": "string"}
	if secret {
		switch rapid.IntRange(0, 2).Draw(m.t, "how") {
		case 0:
			node["writeOnly"] = true
		case 1:
			node["format"] = "password"
		case 2:
			return map[string]any{"writeOnly": true}, map[string]any{m.name("s"): []any{word}}
		}
	}
	return node, word
}

func TestNoSecretOfAnySchemaIsShown(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &secretMaker{t: r, defs: map[string]any{}}
		properties, params := map[string]any{}, map[string]any{}
		for range rapid.IntRange(1, 4).Draw(r, "fields") {
			name := m.name("f")
			properties[name], params[name] = m.node(4, true)
		}
		properties["open"], params["open"] = map[string]any{"type": "string"}, "plain"
		raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "$defs": m.defs})
		require.NoError(t, err)
		s, err := CompileSchema(raw)
		require.NoError(t, err)
		text, err := json.Marshal(params)
		require.NoError(t, err)
		require.NoError(t, s.Check(text))
		shown := s.Mask(string(text))
		require.NotContains(t, shown, "canary", string(raw))
		require.Contains(t, shown, `"open":"plain"`)
		require.NotContains(t, s.MaskResult(string(text)), "canary", string(raw))
		filled, still := s.Unmask(json.RawMessage(shown), text)
		require.Empty(t, still)
		require.JSONEq(t, string(text), string(filled))
		require.NotContains(t, s.secrets.redactor(text).Replace(string(text)), "canary")
	})
}

func TestARunSaysNoSecretOfItsParameters(t *testing.T) {
	const secret = `pass"wörd & more`
	params, err := json.Marshal(map[string]any{"token": secret, "pin": 123456789, "user": "ana"})
	require.NoError(t, err)
	r := NewRegistry()
	var fails func() error
	require.NoError(t, r.Add(Definition{Name: "x", Kind: KindGo, Policy: DefaultPolicy(), Schema: compiled(t, `{"type":"object","properties":{"token":{"writeOnly":true},"pin":{"format":"password"}}}`),
		Handler: func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			run := RunOf(ctx)
			run.Output("stdout", "got "+string(params))
			run.Logger.With("with", secret).Info("token "+secret, "pin", 123456789, slog.Group("g", "t", secret), "err", errors.New(secret))
			run.Progress(1, 2, "at "+secret)
			if fails != nil {
				return nil, fails()
			}
			return params, nil
		}}))
	d, _ := r.Lookup("x")
	var program strings.Builder
	said := &transcript{news: make(chan struct{}, 1)}
	ctx, run := NewRun(t.Context(), &Run{Type: "x"}, said, slog.New(slog.NewJSONHandler(&program, nil)))
	defer run.End()
	result, err := d.Handler(ctx, params)
	require.NoError(t, err)
	require.JSONEq(t, `{"token":"••••","pin":"••••","user":"ana"}`, string(result))
	said.mu.Lock()
	text := fmt.Sprint(said.lines, said.progress)
	said.mu.Unlock()
	for _, text := range []string{text, program.String()} {
		for _, form := range append(spellings(secret), "123456789") {
			require.NotContains(t, text, form)
		}
		require.Contains(t, text, Hidden)
	}
	for name, fail := range map[string]func() error{
		"an error":        func() error { return fmt.Errorf("no %s", secret) },
		"a permanent one": func() error { return Permanent(errors.New(secret)) },
		"the parameters": func() error {
			return &InvalidError{Fields: []FieldError{{Location: "/token", Message: "is " + secret}}}
		},
	} {
		fails = fail
		_, err := d.Handler(ctx, params)
		require.NotContains(t, err.Error(), secret, name)
		require.Contains(t, err.Error(), Hidden, name)
		require.Equal(t, Judge(fail(), DefaultPolicy()), Judge(err, DefaultPolicy()), name)
	}
	fails = func() error { panic("no " + secret) }
	require.PanicsWithValue(t, "no "+Hidden, func() { _, _ = d.Handler(ctx, params) })
}
