package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCheckJSONRefusesWithThePlaceOfTheFault(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", "", "empty: a JSON value is needed"},
		{"white space", " \n\t", "empty: a JSON value is needed"},
		{"cut off", `{"a":`, "line 1, column 6 (byte 5): unexpected end"},
		{"trailing comma", `{"a":1,}`, "column 8 (byte 7)"},
		{"two values", `{} {}`, "column 4 (byte 3)"},
		{"NaN", `{"a":NaN}`, "column 6 (byte 5)"},
		{"Infinity", `-Infinity`, "byte 1"},
		{"leading zero", `[01]`, "byte 2"},
		{"comment", `{/*x*/}`, "byte 1"},
		{"zero byte", "{\"a\":\"\x00\"}", "byte 6"},
		{"line break in text", "{\"a\":\"\n\"}", "byte 6"},
		{"on a later line", "{\n  \"é\": 1,\n  \"é\": 2\n}", `line 3, column 3 (byte 15): the name "é" twice`},
		{"not UTF-8", "{\"a\":\"\xff\xfe\"}", "column 7 (byte 6): a byte that is not UTF-8"},
		{"half a rune at the end", "\"\xe8\xaa", "not UTF-8"},
		{"surrogate as UTF-8", "\"\xed\xa0\x80\"", "not UTF-8"},
		{"escaped zero", `{"a":"x\u0000"}`, `column 8 (byte 7): \u0000`},
		{"escaped zero in a name", `{"\u0000":1}`, `\u0000`},
		{"first half alone", `["\ud800"]`, "one half of a surrogate pair"},
		{"first half before text", `["\uD83Dxxxxxx"]`, "one half of a surrogate pair"},
		{"first half before an escape", `["\ud800\n12345"]`, "one half of a surrogate pair"},
		{"first half twice", `["\ud800\ud800"]`, "one half of a surrogate pair"},
		{"second half alone", `["\udc00"]`, "one half of a surrogate pair"},
		{"halves in the wrong order", `["\udc00\ud800"]`, "one half of a surrogate pair"},
		{"name twice", `{"a":1,"b":2,"a":3}`, `the name "a" twice`},
		{"name twice, once escaped", `{"a":1,"\u0061":3}`, `the name "a" twice`},
		{"empty name twice", `{"":1,"":3}`, `the name "" twice`},
		{"name twice, below", `[{"x":[{"a":{},"a":[]}]}]`, `the name "a" twice`},
		{"name twice after an inner object", `{"a":{"b":1},"a":2}`, `the name "a" twice`},
		{"name twice among many", manyNames(40, `"n7":0`), `the name "n7" twice`},
		{"too deep", strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), "column 101 (byte 100): more than 100 levels"},
		{"far too deep", strings.Repeat(`{"a":`, 20_000), "more than 100 levels"},
		{"five million levels", strings.Repeat("[", 5_000_000), "more than 100 levels"},
		{"endless number", strings.Repeat("9", MaxNumberBytes+1), "a number of more than 1000 digits"},
		{"enormous exponent", `{"a":1e1000000}`, "column 6 (byte 5): an exponent beyond 1000"},
		{"enormous negative exponent", `[-1E-99999999999999999999]`, "an exponent beyond 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckJSON([]byte(c.raw), MaxDepth)
			var bad *InvalidError
			require.ErrorAs(t, err, &bad)
			require.Len(t, bad.Fields, 1)
			require.Empty(t, bad.Fields[0].Location)
			require.Contains(t, bad.Fields[0].Message, c.want)
			require.Less(t, len(bad.Fields[0].Message), 500)
		})
	}
}

func manyNames(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":%d,`, i, i)
	}
	return "{" + b.String() + last + "}"
}

func TestCheckJSONAccepts(t *testing.T) {
	for _, raw := range []string{
		`{}`, `[]`, `null`, `true`, `""`, ` -0.5e-10 `, `{"a":{"a":{"a":1}},"b":{"a":1}}`, `[{"a":1},{"a":1}]`,
		`{"n":9223372036854775807123456789}`, `"\ud83d\ude00"`, `"\\ud800"`, `"\\\\u0000"`, `{"a":"a","b":"a"}`, `{"A":1,"a":2}`,
		"\"\u202e\u0301😀\"", `"\u00e9\/\b\""`, `1e1000`, manyNames(40, `"last":0`),
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), `{"":1}`, `["{", "}", ",", ":"]`,
	} {
		require.NoError(t, CheckJSON([]byte(raw), MaxDepth), "%.80s", raw)
	}
	require.Error(t, CheckJSON([]byte(`{}`), 0))
	require.NoError(t, CheckJSON([]byte(`1`), 0))
}

// What encoding/json writes is well formed, and has each name once.
func TestCheckJSONAcceptsWhatEncodingJSONWrites(t *testing.T) {
	text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(text, rapid.MapOf(text, rapid.OneOf(
			rapid.Float64Range(-1e300, 1e300).AsAny(), text.AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny()))).Draw(t, "value")
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, CheckJSON(raw, 2))
	})
}

func TestCheckJSONFindsAnyNameTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-d]{1,3}`), 1, 60).Draw(t, "names")
		seen, twice := map[string]bool{}, false
		var parts []string
		for _, name := range names {
			twice = twice || seen[name]
			seen[name] = true
			parts = append(parts, fmt.Sprintf(`"%s":{"x":1}`, name))
		}
		err := CheckJSON([]byte("{"+strings.Join(parts, ",")+"}"), MaxDepth)
		require.Equal(t, twice, err != nil)
	})
}

func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"\u0041\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, `"\ud800"`, "\xff", `[[[[`, `{"a":1e9999}`, "{\"\\u0000\":0}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := CheckJSON(raw, 50)
		if err == nil {
			require.True(t, json.Valid(raw))
			return
		}
		var bad *InvalidError
		require.True(t, errors.As(err, &bad))
		require.NotEmpty(t, bad.Fields[0].Message)
	})
}
