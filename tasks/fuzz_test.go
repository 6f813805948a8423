package tasks

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// No schema and no parameters bring the checks down, and an example never breaks.
func FuzzSchema(f *testing.F) {
	for schema, params := range map[string]string{
		`{"type":"object","properties":{"v":{"$ref":"#"}}}`:                                                   `{"v":{"v":1}}`,
		`{"type":"object","allOf":[{"$ref":"#"}]}`:                                                            `{}`,
		`{"type":"object","properties":{"v":{"enum":[1,"a",null],"default":1}},"required":["v"]}`:             `{"v":2}`,
		`{"type":"object","properties":{"v":{"type":"array","uniqueItems":true,"minItems":1}}}`:               `{"v":[1,1]}`,
		`{"type":"object","properties":{"v":{"multipleOf":0.01,"minimum":1e10}}}`:                             `{"v":1e9}`,
		`{"type":"object","patternProperties":{"^a":{"format":"date-time"}},"propertyNames":{"maxLength":1}}`: `{"ab":"x"}`,
		`{"type":"object","$defs":{"a":{"$anchor":"x","oneOf":[true,{}]}},"properties":{"v":{"$ref":"#x"}}}`:  `{"v":0}`,
	} {
		f.Add([]byte(schema), []byte(params))
	}
	f.Fuzz(func(t *testing.T, schema, params []byte) {
		s, err := CompileSchema(schema)
		if err != nil {
			return
		}
		require.NoError(t, CheckJSON(ExampleOf(s.Raw), MaxDepth))
		if err := s.Check(params); err != nil {
			var bad *InvalidError
			require.ErrorAs(t, err, &bad)
			require.NotEmpty(t, bad.Fields)
			return
		}
		require.True(t, json.Valid(params))
	})
}
