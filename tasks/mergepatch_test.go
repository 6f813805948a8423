package tasks

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of RFC 7396 that are about objects, and what matters to parameters beside them.
func TestAPatchSetsRemovesAndMerges(t *testing.T) {
	for _, c := range []struct{ params, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":12345678901234567890,"f":1.10}`, `{"a":1e2}`, `{"a":1e2,"f":1.10,"n":12345678901234567890}`},
		{`{"t":"<&> 文"}`, `{}`, `{"t":"<&> 文"}`},
	} {
		got, err := MergePatch(json.RawMessage(c.params), json.RawMessage(c.patch))
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
	}
	for _, bad := range []string{`[1]`, `null`, `"a"`, `{"a"`, ``} {
		_, err := MergePatch(json.RawMessage(`{}`), json.RawMessage(bad))
		require.Error(t, err, bad)
		_, err = MergePatch(json.RawMessage(bad), json.RawMessage(`{}`))
		require.Error(t, err, bad)
	}
}
