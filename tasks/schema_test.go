package tasks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func compiled(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := CompileSchema(json.RawMessage(raw))
	require.NoError(t, err)
	return s
}

// faultsIn gives each fault as "location message".
func faultsIn(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var bad *InvalidError
	require.ErrorAs(t, err, &bad)
	var lines []string
	for _, f := range bad.Fields {
		lines = append(lines, f.Location+" "+f.Message)
	}
	return lines
}

func TestCheckNamesEveryBadField(t *testing.T) {
	const report = `{"type":"object","additionalProperties":false,"required":["user_id","date"],"properties":{
		"user_id":{"type":"integer","minimum":1,"maximum":9007199254740993},
		"date":{"type":"string","format":"date"},
		"share":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.01},
		"to":{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string","format":"email"}},
		"kind":{"enum":["a","b",3,null]},
		"name":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[a-z]*$"},
		"a/b~c":{"type":"object","required":["x"],"properties":{"x":{"const":true}}}}}`
	s := compiled(t, report)
	for _, c := range []struct {
		params string
		want   []string
	}{
		{`{"user_id":1,"date":"2026-01-31"}`, nil},
		{`{"user_id":1.0,"date":"2026-01-31","share":0.29}`, nil},
		{`{"user_id":9007199254740993,"date":"2026-01-31"}`, nil},
		{`{}`, []string{"/date is required", "/user_id is required"}},
		{`[]`, []string{" must be an object"}},
		{`null`, []string{" must be an object"}},
		{`"x"`, []string{" must be an object"}},
		{`{"user_id":9007199254740994,"date":"2026-01-31"}`, []string{"/user_id must be at most 9007199254740993"}},
		{`{"user_id":0,"date":"2026-02-31","extra":1,"more":{}}`, []string{
			"/date must be a date such as 2026-01-31", "/extra is not a known parameter", "/more is not a known parameter",
			"/user_id must be at least 1"}},
		{`{"user_id":"1","date":5,"share":1,"to":[],"kind":"c","name":""}`, []string{
			"/date must be text", `/kind must be one of "a", "b", 3, null`, "/name must not be empty", "/share must be less than 1",
			"/to must have at least 1 entry", "/user_id must be an integer"}},
		{`{"user_id":1.5,"date":"2026-01-31","share":0.005,"to":["a@b.example","x","a@b.example"],"name":"Abcdef"}`, []string{
			"/name must have at most 5 characters", "/name must match the pattern ^[a-z]*$", "/share must be a multiple of 0.01",
			"/to must not have an entry twice: entries 1 and 3 are equal", "/to/1 must be an e-mail address",
			"/user_id must be an integer"}},
		{`{"user_id":1,"date":"2026-01-31","share":0,"to":["a@b.example","b@b.example","c@b.example","d@b.example"],"a/b~c":{"x":false}}`, []string{
			"/a~1b~0c/x must be true", "/share must be more than 0", "/to must have at most 3 entries"}},
		{`{"user_id":1,"date":"2026-01-31","a/b~c":{}}`, []string{"/a~1b~0c/x is required"}},
	} {
		require.Equal(t, c.want, faultsIn(t, s.Check(json.RawMessage(c.params))), c.params)
	}
}

func TestCheckIsExactForNumbersOfAnySize(t *testing.T) {
	s := compiled(t, `{"type":"object","properties":{
		"max":{"type":"integer","maximum":9223372036854775807},
		"step":{"multipleOf":3},
		"cent":{"multipleOf":0.01},
		"one":{"enum":[9007199254740993]}}}`)
	require.NoError(t, s.Check(json.RawMessage(`{"max":9223372036854775807,"step":900719925474099300000000000003,"cent":123456789012345678.99,"one":9007199254740993}`)))
	require.Equal(t, []string{
		"/cent must be a multiple of 0.01", "/max must be at most 9223372036854775807", "/one must be one of 9007199254740993",
		"/step must be a multiple of 3",
	}, faultsIn(t, s.Check(json.RawMessage(`{"max":9223372036854775808,"step":900719925474099300000000000004,"cent":123456789012345678.999,"one":9007199254740992}`))))
	require.NoError(t, s.Check(json.RawMessage(`{"max":-1e1000}`)))
	require.Equal(t, []string{"/max must be an integer"}, faultsIn(t, s.Check(json.RawMessage(`{"max":1e-1000}`))))
}

func TestCheckExplainsTheRarerKeywords(t *testing.T) {
	for _, c := range []struct{ name, schema, params, want string }{
		{"types", `"properties":{"v":{"type":["string","null"]}}`, `{"v":1}`, "/v must be null or text"},
		{"boolean", `"properties":{"v":{"type":"boolean"}}`, `{"v":"true"}`, "/v must be true or false"},
		{"list", `"properties":{"v":{"type":"array"}}`, `{"v":{}}`, "/v must be a list"},
		{"number", `"properties":{"v":{"type":"number"}}`, `{"v":"1"}`, "/v must be a number"},
		{"false schema", `"properties":{"v":false}`, `{"v":1}`, "/v is not allowed here"},
		{"unevaluated", `"unevaluatedProperties":false`, `{"v":1}`, "/v is not allowed here"},
		{"not", `"properties":{"v":{"not":{"const":1}}}`, `{"v":1}`, "/v has a value that is not allowed"},
		{"nullable form", `"properties":{"v":{"oneOf":[{"type":"integer","minimum":5},{"type":"null"}]}}`, `{"v":1}`, "/v must be at least 5"},
		{"forms of other types", `"properties":{"v":{"anyOf":[{"type":"integer"},{"type":"null"},{"type":"integer"}]}}`, `{"v":"1"}`, "/v must be an integer or null"},
		{"several forms", `"properties":{"v":{"anyOf":[{"minimum":5},{"maximum":0}]}}`, `{"v":1}`, "/v fits none of the allowed forms"},
		{"two forms at once", `"properties":{"v":{"oneOf":[{"minimum":0},{"maximum":5}]}}`, `{"v":1}`, "/v fits more than one of the allowed forms"},
		{"all of", `"allOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}}}]`, `{"b":1}`, "/a is required|/b must be text"},
		{"reference", `"$defs":{"d":{"type":"object","required":["x"]}},"properties":{"v":{"$ref":"#/$defs/d"}}`, `{"v":{}}`, "/v/x is required"},
		{"reference to the top", `"properties":{"v":{"$ref":"#"}}`, `{"v":{"v":{"v":1}}}`, "/v/v/v must be an object"},
		{"dependent", `"dependentRequired":{"a":["b"]}`, `{"a":1}`, `/b is required when "a" is given`},
		{"then", `"if":{"required":["a"]},"then":{"required":["b"]}`, `{"a":1}`, "/b is required"},
		{"names", `"propertyNames":{"pattern":"^[a-z]$"}`, `{"AB":1}`, "/AB has a name that is not allowed"},
		{"property counts", `"minProperties":2`, `{"a":1}`, " must have at least 2 fields"},
		{"at most", `"maxProperties":1`, `{"a":1,"b":1}`, " must have at most 1 field"},
		{"contains", `"properties":{"v":{"contains":{"type":"string"}}}`, `{"v":[1]}`, "/v has no entry of the needed kind"},
		{"min contains", `"properties":{"v":{"contains":{"type":"string"},"minContains":2}}`, `{"v":["a"]}`, "/v must have at least 2 entries of the needed kind"},
		{"max contains", `"properties":{"v":{"contains":{"type":"string"},"maxContains":1}}`, `{"v":["a","b"]}`, "/v must have at most 1 entry of that kind"},
		{"too many items", `"properties":{"v":{"prefixItems":[true],"items":false}}`, `{"v":[1,2]}`, "/v/1 is not allowed here"},
		{"min length", `"properties":{"v":{"minLength":3}}`, `{"v":"日本"}`, "/v must have at least 3 characters"},
		{"date-time", `"properties":{"v":{"format":"date-time"}}`, `{"v":"2026-01-31 09:30"}`, "/v must be a date and time with its offset such as 2026-01-31T09:30:00Z"},
		{"uuid", `"properties":{"v":{"format":"uuid"}}`, `{"v":"x"}`, "/v must be a UUID such as 123e4567-e89b-12d3-a456-426614174000"},
		{"pattern properties", `"patternProperties":{"^n":{"type":"integer"}},"additionalProperties":false`, `{"n1":"x","m":1}`, "/m is not a known parameter|/n1 must be an integer"},
		{"syntax", ``, `{"a":`, " line 1, column 6 (byte 5): unexpected end of JSON input"},
		{"name twice", ``, `{"a":1,"a":1}`, ` line 1, column 8 (byte 7): the name "a" twice in one object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest := c.schema
			if rest != "" {
				rest = "," + rest
			}
			s := compiled(t, `{"type":"object"`+rest+`}`)
			require.Equal(t, c.want, strings.Join(faultsIn(t, s.Check(json.RawMessage(c.params))), "|"))
		})
	}
}

func TestCompileSchemaRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"string"}`), 0o600))
	ref := func(to string) string { return fmt.Sprintf(`{"type":"object","properties":{"v":{"$ref":%q}}}`, to) }
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", ``, "not valid JSON"},
		{"bad JSON", `{"type":`, "not valid JSON: line 1"},
		{"not an object", `true`, `must say "type": "object"`},
		{"no type", `{"properties":{}}`, `must say "type": "object"`},
		{"another type", `{"type":"string"}`, `must say "type": "object"`},
		{"a name twice", `{"type":"object","type":"object"}`, `"type" twice`},
		{"unknown type word", `{"type":"object","properties":{"v":{"type":"int"}}}`, "not valid: /properties/v/type"},
		{"negative length", `{"type":"object","properties":{"v":{"minLength":-1}}}`, "/properties/v/minLength must be at least 0"},
		{"broken pattern", `{"type":"object","properties":{"v":{"pattern":"("}}}`, "not valid"},
		{"reference to the web", ref("http://127.0.0.1:1/x.json"), "may refer only to itself"},
		{"reference to the web, encrypted", ref("https://example.com/x.json#/a"), "may refer only to itself"},
		{"reference to a file", ref("file://" + file), "may refer only to itself"},
		{"reference to a path", ref(file), "may refer only to itself"},
		{"reference to a neighbour", ref("other.json"), "may refer only to itself"},
		{"reference to nowhere", ref("#/$defs/none"), "not valid"},
		{"its own dialect", `{"$schema":"http://127.0.0.1:1/dialect","type":"object"}`, "may refer only to itself"},
		{"too large", `{"type":"object","title":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`, "the limit is 262144"},
		{"too deep", strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200), "more than 100 levels"},
		{"enormous number", `{"type":"object","minProperties":1e100000}`, "an exponent beyond"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := CompileSchema(json.RawMessage(c.raw))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "reax:", "an address that only the program knows")
		})
	}
}

func TestCheckBoundsWhatItAnswers(t *testing.T) {
	s := compiled(t, `{"type":"object","additionalProperties":false}`)
	var b strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&b, `,"%d%s":1`, i, strings.Repeat("é", 400))
	}
	err := s.Check(json.RawMessage("{" + b.String()[1:] + "}"))
	lines := faultsIn(t, err)
	require.Len(t, lines, MaxFieldErrors+1)
	require.Equal(t, " and 4900 more faults", lines[MaxFieldErrors])
	require.Less(t, len(strings.Join(lines, "")), 100_000)
	require.Less(t, len(err.Error()), 1_000)
}

func TestCheckFromManyGoroutines(t *testing.T) {
	s := compiled(t, `{"type":"object","required":["a"],"properties":{"a":{"type":"array","uniqueItems":true,"items":{"pattern":"^x"}}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if s.Check(json.RawMessage(`{"a":["x1","x2"]}`)) != nil || s.Check(json.RawMessage(`{"a":["y","y"]}`)) == nil {
					t.Error("a check went wrong beside others")
				}
			}
		})
	}
	wg.Wait()
}

func TestAnyObjectTakesAnyObject(t *testing.T) {
	require.NoError(t, AnyObject().Check(json.RawMessage(`{"a":{"b":[1]}}`)))
	require.Equal(t, []string{" must be an object"}, faultsIn(t, AnyObject().Check(json.RawMessage(`[1]`))))
	require.JSONEq(t, `{"type":"object"}`, string(AnyObject().Raw))
}

func TestInvalidErrorSaysTheFirstFaults(t *testing.T) {
	e := &InvalidError{Fields: []FieldError{NewFault("required").At("/a"), NewFault("object").At(""), {Location: "/c", Message: "is odd"}, {Location: "/d", Message: "is even"}}}
	require.Equal(t, "the parameters are not valid: /a is required; must be an object; /c is odd; and 1 more", e.Error())
	require.Equal(t, "the parameters are not valid", (&InvalidError{}).Error())
}
