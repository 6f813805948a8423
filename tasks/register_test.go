package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// registered is the definition that Register makes of h.
func registered[P, R any](t testing.TB, h func(context.Context, P) (R, error)) *Definition {
	t.Helper()
	r := NewRegistry()
	Register(r, "probe", h)
	require.NoError(t, r.Err())
	d, ok := r.Lookup("probe")
	require.True(t, ok)
	return d
}

// echo registers a handler that keeps the parameters it was given.
func echo[P any](t testing.TB) (*Definition, *P) {
	t.Helper()
	var got P
	return registered(t, func(_ context.Context, p P) (struct{}, error) { got = p; return struct{}{}, nil }), &got
}

type address struct {
	City string `json:"city" jsonschema:"required,minLength=1"`
	Zip  string `json:"zip,omitempty"`
}

type paging struct {
	Page int16 `json:"page"`
}

type reportParams struct {
	UserID  int64             `json:"user_id" jsonschema:"required,title=User,minimum=1"`
	Date    string            `json:"date" jsonschema:"format=date,default=2026-01-31"`
	Kind    string            `json:"kind" jsonschema:"enum=short,enum=long"`
	Since   time.Time         `json:"since"`
	Home    *address          `json:"home"`
	Others  []address         `json:"others"`
	Labels  map[string]string `json:"labels"`
	Amount  json.Number       `json:"amount"`
	Host    netip.Addr        `json:"host"`
	Blob    []byte            `json:"blob"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Ratio   float32           `json:"ratio"`
	Port    uint16            `json:"port"`
	private int               //nolint:unused // the schema must leave it out
	Skipped func()            `json:"-"`
	paging
}

func TestSchemaOfAStruct(t *testing.T) {
	d, _ := echo[reportParams](t)
	raw := string(d.Schema.Raw)
	require.NotContains(t, raw, "$ref")
	require.NotContains(t, raw, "$defs")
	require.NotContains(t, raw, "$id")
	require.NotContains(t, raw, "private")
	var doc struct {
		Type                 string
		Required             []string
		AdditionalProperties any
		Properties           map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(d.Schema.Raw, &doc))
	require.Equal(t, "object", doc.Type)
	require.Equal(t, []string{"user_id"}, doc.Required)
	require.Equal(t, false, doc.AdditionalProperties)
	for name, want := range map[string]string{
		"user_id": `{"type":"integer","title":"User","minimum":1,"maximum":9223372036854775807}`,
		"date":    `{"type":"string","format":"date","default":"2026-01-31"}`,
		"kind":    `{"type":"string","enum":["short","long"]}`,
		"since":   `{"type":"string","format":"date-time"}`,
		"home":    `{"type":"object","additionalProperties":false,"required":["city"],"properties":{"city":{"type":"string","minLength":1},"zip":{"type":"string"}}}`,
		"labels":  `{"type":"object","additionalProperties":{"type":"string"}}`,
		"amount":  `{"type":"number"}`,
		"host":    `{"type":"string"}`,
		"raw":     `true`,
		"any":     `true`,
		"port":    `{"type":"integer","minimum":0,"maximum":65535}`,
		"page":    `{"type":"integer","minimum":-32768,"maximum":32767}`,
	} {
		require.JSONEq(t, want, string(doc.Properties[name]), name)
	}
	require.NoError(t, d.Schema.Check(d.Example))
	require.JSONEq(t, `{"user_id":1,"date":"2026-01-31"}`, string(d.Example))
}

func TestHandlerGetsTheParameters(t *testing.T) {
	d, got := echo[reportParams](t)
	params := json.RawMessage(`{"user_id":9223372036854775807,"date":"2026-02-28","since":"2026-01-31T09:30:00+08:00","home":{"city":"x"},
		"others":[{"city":"y","zip":"1"}],"labels":{"a":"b"},"amount":12345678901234567890.125,"host":"2001:db8::1","blob":"AAE=",
		"raw":{"n":9007199254740993},"any":[1],"ratio":0.5,"port":65535,"page":-32768}`)
	require.NoError(t, d.Schema.Check(params))
	_, err := d.Handler(t.Context(), params)
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), got.UserID)
	require.Equal(t, "12345678901234567890.125", got.Amount.String())
	require.JSONEq(t, `{"n":9007199254740993}`, string(got.Raw))
	require.Equal(t, int64(1769823000), got.Since.Unix())
	require.Equal(t, &address{City: "x"}, got.Home)
	require.Equal(t, []byte{0, 1}, got.Blob)
	require.Equal(t, netip.MustParseAddr("2001:db8::1"), got.Host)
	require.Equal(t, int16(-32768), got.Page)
}

// What Check accepts, the handler gets; so whatever the struct cannot take is refused at the enqueue.
func TestCheckRefusesWhatTheStructCannotTake(t *testing.T) {
	d, _ := echo[reportParams](t)
	for params, want := range map[string]string{
		`{}`:                                                "/user_id is required",
		`{"user_id":1,"USER_ID":2}`:                         "/USER_ID is not a known parameter",
		`{"user_id":1,"extra":2}`:                           "/extra is not a known parameter",
		`{"user_id":1,"home":{"x":2}}`:                      "/home/city is required|/home/x is not a known parameter",
		`{"user_id":0}`:                                     "/user_id must be at least 1",
		`{"user_id":9223372036854775808}`:                   "/user_id must be at most 9223372036854775807",
		`{"user_id":1e30}`:                                  "/user_id must be at most 9223372036854775807",
		`{"user_id":1e3}`:                                   "/user_id must be an integer from -9223372036854775808 to 9223372036854775807, written without a point or an exponent",
		`{"user_id":1.0}`:                                   "/user_id must be an integer from -9223372036854775808 to 9223372036854775807, written without a point or an exponent",
		`{"user_id":1.5}`:                                   "/user_id must be an integer",
		`{"user_id":null}`:                                  "/user_id must be an integer",
		`{"user_id":true}`:                                  "/user_id must be an integer",
		`{"user_id":1,"page":32768}`:                        "/page must be at most 32767",
		`{"user_id":1,"page":1.0}`:                          "/page must be an integer from -32768 to 32767, written without a point or an exponent",
		`{"user_id":1,"home":{"city":"x","zip":[]}}`:        "/home/zip must be text",
		`{"user_id":1,"port":-1}`:                           "/port must be at least 0",
		`{"user_id":1,"ratio":1e300}`:                       "/ratio must be a number that fits in a float32",
		`{"user_id":1,"kind":"x"}`:                          `/kind must be one of "short", "long"`,
		`{"user_id":1,"since":"yesterday"}`:                 "/since must be a date and time with its offset such as 2026-01-31T09:30:00Z",
		`{"user_id":1,"blob":"%"}`:                          " do not fit the handler: illegal base64 data at input byte 0",
		`{"user_id":1,"others":[{"city":"a"},{"city":""}]}`: "/others/1/city must not be empty",
	} {
		require.Equal(t, want, strings.Join(faultsIn(t, d.Schema.Check(json.RawMessage(params))), "|"), params)
	}
	require.ErrorContains(t, d.Schema.Check(json.RawMessage(`{"user_id":1,"host":"example"}`)), "do not fit the handler")
}

func TestStoredParametersThatNoLongerFitFailForGood(t *testing.T) {
	ran := false
	d := registered(t, func(context.Context, reportParams) (struct{}, error) { ran = true; return struct{}{}, nil })
	for _, stored := range []string{`{}`, `{"user_id":1,"gone":1}`, `{"user_id":"1"}`, `{"user_id":1.0}`, `[]`, `null`, ``, `{`, `{"user_id":1}x`} {
		_, err := d.Handler(t.Context(), json.RawMessage(stored))
		require.Error(t, err, stored)
		require.Equal(t, Verdict{Kind: KindParams}, Judge(err, DefaultPolicy()), stored)
	}
	require.False(t, ran)
}

func TestATypeWithoutParameters(t *testing.T) {
	d, _ := echo[struct{}](t)
	require.NoError(t, d.Schema.Check(json.RawMessage(`{}`)))
	require.Equal(t, []string{"/a is not a known parameter"}, faultsIn(t, d.Schema.Check(json.RawMessage(`{"a":1}`))))
	require.JSONEq(t, `{}`, string(d.Example))
}

type node struct {
	Children []*node `json:"children"`
}

type twoPlaces struct {
	From, To address
}

func TestStructsThatCannotBeParameters(t *testing.T) {
	refused := func(want string, register func(*Registry)) {
		t.Helper()
		r := NewRegistry()
		register(r)
		require.ErrorContains(t, r.Err(), want)
		require.ErrorContains(t, r.Err(), `task type "x"`)
	}
	refused("they must be a struct", func(r *Registry) { Register(r, "x", func(context.Context, *address) (any, error) { return nil, nil }) })
	refused("they must be a struct", func(r *Registry) {
		Register(r, "x", func(context.Context, map[string]any) (any, error) { return nil, nil })
	})
	refused("they must be a struct", func(r *Registry) { Register(r, "x", func(context.Context, any) (any, error) { return nil, nil }) })
	refused("holds itself", func(r *Registry) { Register(r, "x", func(context.Context, node) (any, error) { return nil, nil }) })
	refused("cannot be described", func(r *Registry) {
		Register(r, "x", func(context.Context, struct{ C chan int }) (any, error) { return nil, nil })
	})
	refused(`"type": "object"`, func(r *Registry) { Register(r, "x", func(context.Context, time.Time) (any, error) { return nil, nil }) })
	echo[twoPlaces](t) // the same struct in two places is no loop
}

func TestResults(t *testing.T) {
	type result struct {
		Text string `json:"text"`
	}
	run := func(h Handler) (string, error) {
		raw, err := h(t.Context(), json.RawMessage(`{}`))
		if raw == nil {
			return "none", err
		}
		return string(raw), err
	}
	value := func(v any) Handler {
		return registered(t, func(context.Context, struct{}) (any, error) { return v, nil }).Handler
	}
	raw := func(v string) Handler {
		return registered(t, func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(v), nil }).Handler
	}
	for _, c := range []struct {
		name string
		h    Handler
		want string
	}{
		{"struct", registered(t, func(context.Context, struct{}) (result, error) { return result{"<a> & ü"}, nil }).Handler, `{"text":"<a> & ü"}`},
		{"pointer", value(&result{"x"}), `{"text":"x"}`},
		{"nil pointer", value((*result)(nil)), "none"},
		{"nothing", registered(t, noop).Handler, "none"},
		{"nil", value(nil), "none"},
		{"text", value("x\xff\x00"), `"x\ufffd\u0000"`},
		{"number", value(int64(math.MaxInt64)), "9223372036854775807"},
		{"raw, byte for byte", raw(`{ "n" : 9007199254740993.0 }`), `{ "n" : 9007199254740993.0 }`},
		{"no raw", raw(""), "none"},
	} {
		got, err := run(c.h)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	for name, h := range map[string]Handler{
		"infinite": value(math.Inf(1)), "channel": value(make(chan int)), "bad raw": raw("{"), "two values": raw("{} {}"), "bad raw inside": value([]json.RawMessage{[]byte("x")}),
	} {
		got, err := run(h)
		require.Equal(t, "none", got, name)
		require.ErrorIs(t, err, ErrResult, name)
		require.Equal(t, Verdict{Kind: KindResult}, Judge(err, DefaultPolicy()), name)
	}
}

func TestAFailedRunHasNoResult(t *testing.T) {
	cause := errors.New("broken")
	d := registered(t, func(context.Context, struct{}) (string, error) { return "half", cause })
	got, err := d.Handler(t.Context(), json.RawMessage(`{}`))
	require.Nil(t, got)
	require.Same(t, cause, err)
}

func TestTheHandlerGetsItsContext(t *testing.T) {
	d := registered(t, func(ctx context.Context, _ struct{}) (int64, error) { return RunOf(ctx).TaskID, nil })
	got, err := d.Handler(WithRun(t.Context(), &Run{TaskID: 77}, nil), json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "77", string(got))
}
