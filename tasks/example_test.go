package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExamplesPassTheirSchema(t *testing.T) {
	one := func(property string) string {
		return `{"type":"object","required":["v"],"properties":{"v":` + property + `}}`
	}
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object"}`, `{}`},
		{`{"type":"object","examples":[{"a":1}],"default":{"a":2}}`, `{"a":1}`},
		{`{"type":"object","required":["b","a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"string"},"d":{"default":9007199254740993}}}`,
			`{"b":"text","a":1,"d":9007199254740993}`},
		{one(`{"type":"integer"}`), `{"v":1}`},
		{one(`{"type":"integer","minimum":7}`), `{"v":7}`},
		{one(`{"type":"integer","minimum":6.5}`), `{"v":7}`},
		{one(`{"type":"integer","maximum":-3}`), `{"v":-3}`},
		{one(`{"type":"integer","exclusiveMinimum":41}`), `{"v":42}`},
		{one(`{"type":"integer","exclusiveMaximum":-9007199254740992}`), `{"v":-9007199254740993}`},
		{one(`{"type":"integer","minimum":10,"multipleOf":7}`), `{"v":14}`},
		{one(`{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`), `{"v":1}`},
		{one(`{"type":"number","multipleOf":0.25,"exclusiveMaximum":1}`), `{"v":0}`},
		{one(`{"type":"number","minimum":0.5,"maximum":0.75}`), `{"v":0.5}`},
		{one(`{"type":"boolean"}`), `{"v":false}`},
		{one(`{"type":["string","null"]}`), `{"v":"text"}`},
		{one(`{"type":"string","minLength":6}`), `{"v":"textxx"}`},
		{one(`{"type":"string","maxLength":2}`), `{"v":"te"}`},
		{one(`{"type":"string","format":"date-time"}`), `{"v":"2026-01-31T09:30:00Z"}`},
		{one(`{"enum":["b","a"]}`), `{"v":"b"}`},
		{one(`{"const":null}`), `{"v":null}`},
		{one(`{"type":"string","default":"d","examples":["e"]}`), `{"v":"e"}`},
		{one(`{"type":"array","items":{"type":"integer"}}`), `{"v":[]}`},
		{one(`{"type":"array","minItems":2,"items":{"type":"integer"}}`), `{"v":[1,1]}`},
		{one(`{"type":"object","required":["x"],"properties":{"x":{"type":"boolean"}}}`), `{"v":{"x":false}}`},
		{one(`{"oneOf":[{"type":"integer"},{"type":"null"}]}`), `{"v":1}`},
		{one(`true`), `{"v":null}`},
		{`{"type":"object","required":["v"],"properties":{"v":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"integer","minimum":3}}}`, `{"v":3}`},
	} {
		got := ExampleOf(json.RawMessage(c.schema))
		require.Equal(t, c.want, string(got), c.schema)
		require.NoError(t, compiled(t, c.schema).Check(got), c.schema)
	}
}

func TestEveryFormatHasAnExampleThatFits(t *testing.T) {
	for format := range formatExamples {
		schema := fmt.Sprintf(`{"type":"object","required":["v"],"properties":{"v":{"type":"string","format":%q}}}`, format)
		require.NoError(t, compiled(t, schema).Check(ExampleOf(json.RawMessage(schema))), format)
	}
}

func TestExamplesOfHostileSchemasStaySmall(t *testing.T) {
	nested := strings.Repeat(`{"type":"array","minItems":9,"items":`, 30) + `true` + strings.Repeat("}", 30)
	for _, schema := range []string{
		``, `{`, `[]`, `true`, `null`, `{"type":"object","default":5}`, `{"type":"object","required":"v"}`, `{"$ref":"#/$defs/none"}`,
		`{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/$defs/d"}},
			"$defs":{"d":{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/$defs/d"}}}}}`,
		`{"type":"object","required":["v"],"properties":{"v":` + nested + `}}`,
		`{"type":"object","required":["v"],"properties":{"v":{"type":"array","minItems":1000000000}}}`,
		`{"type":"object","required":["v"],"properties":{"v":{"type":"string","minLength":1000000000}}}`,
		`{"type":"object","required":["v"],"properties":{"v":{"type":"integer","minimum":1e999999999}}}`,
		`{"type":"object","required":["v","v"],"properties":{"v":{"type":"integer"}}}`,
	} {
		got := ExampleOf(json.RawMessage(schema))
		require.NoError(t, CheckJSON(got, MaxDepth), schema)
		require.True(t, strings.HasPrefix(string(got), "{"), schema)
		require.LessOrEqual(t, len(got), 2*maxExampleBytes, schema)
	}
}

func TestExamplesOfIntegersFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Int64Range(-1e15, 1e15).Draw(t, "low")
		high := rapid.Int64Range(low, 2e15).Draw(t, "high")
		schema := fmt.Sprintf(`{"type":"object","required":["v"],"properties":{"v":{"type":"integer","minimum":%d,"maximum":%d}}}`, low, high)
		s, err := CompileSchema(json.RawMessage(schema))
		require.NoError(t, err)
		require.NoError(t, s.Check(ExampleOf(s.Raw)))
	})
}
