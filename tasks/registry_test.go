package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func noop(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }

func plainDefinition(name string) Definition {
	return Definition{
		Name: name, Kind: KindCommand, Schema: AnyObject(), Policy: DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}
}

func TestRegistryFindsTypesByName(t *testing.T) {
	r := NewRegistry()
	for _, name := range []string{"sms.push", "a", "report/generate:v2", "B-1_x"} {
		require.NoError(t, r.Add(plainDefinition(name)))
	}
	require.NoError(t, r.Err())
	var names []string
	for _, d := range r.All() {
		names = append(names, d.Name)
		found, ok := r.Lookup(d.Name)
		require.True(t, ok)
		require.Same(t, d, found)
	}
	require.Equal(t, []string{"B-1_x", "a", "report/generate:v2", "sms.push"}, names)
	_, ok := r.Lookup("b")
	require.False(t, ok)
}

func TestRegistryRefusesNames(t *testing.T) {
	for _, name := range []string{
		"", " ", "a b", "é", "a\n", "a\x00", "-a", ".a", "/a", ":a", "_a", "a..b", "a/../b", "<img>", `a"b`, "a%2f", strings.Repeat("a", MaxNameBytes+1),
	} {
		r := NewRegistry()
		require.ErrorContains(t, r.Add(plainDefinition(name)), "name", "%q", name)
		require.Empty(t, r.All())
		Register(r, name, noop)
		require.ErrorContains(t, r.Err(), "name")
		require.Empty(t, r.All())
	}
	require.NoError(t, NewRegistry().Add(plainDefinition(strings.Repeat("a", MaxNameBytes))))
}

func TestRegistryRefusesNonsenseNamingTheType(t *testing.T) {
	change := func(f func(*Definition)) Definition {
		d := plainDefinition("report.generate")
		f(&d)
		return d
	}
	for _, c := range []struct {
		want string
		d    Definition
	}{
		{"it has no handler", change(func(d *Definition) { d.Handler = nil })},
		{"it has no schema", change(func(d *Definition) { d.Schema = nil })},
		{"it has no schema", change(func(d *Definition) { d.Schema = &Schema{Raw: json.RawMessage(`{}`)} })},
		{`the kind "" is not known`, change(func(d *Definition) { d.Kind = "" })},
		{"the example is not valid JSON", change(func(d *Definition) { d.Example = json.RawMessage(`{`) })},
		{"the description has 4001 bytes", change(func(d *Definition) { d.Description = strings.Repeat("x", 4001) })},
		{"the description is not valid UTF-8", change(func(d *Definition) { d.Description = "\xff" })},
		{"timeout -1s is not between 0", change(func(d *Definition) { d.Policy.Timeout = -time.Second })},
		{"timeout 2562047h47m16.854775807s is not", change(func(d *Definition) { d.Policy.Timeout = math.MaxInt64 })},
		{"max_retries -1 is not between 0 and 1000", change(func(d *Definition) { d.Policy.MaxRetries = -1 })},
		{"max_retries 1001 is not", change(func(d *Definition) { d.Policy.MaxRetries = 1001 })},
		{"backoff base -1ns", change(func(d *Definition) { d.Policy.BackoffBase = -1 })},
		{"backoff max -1ns", change(func(d *Definition) { d.Policy.BackoffBase, d.Policy.BackoffMax = -1, -1 })},
		{"backoff base 3m0s is longer than backoff max 2m0s", change(func(d *Definition) { d.Policy.BackoffBase = 3 * time.Minute })},
		{"priority 0 is not between 1 and 10", change(func(d *Definition) { d.Policy.Priority = 0 })},
		{"priority 11 is not", change(func(d *Definition) { d.Policy.Priority = 11 })},
		{"concurrency 0 is not between 1 and 10000", change(func(d *Definition) { d.Policy.Concurrency = 0 })},
		{"concurrency 10001 is not", change(func(d *Definition) { d.Policy.Concurrency = 10_001 })},
		{`on_crash "maybe" is neither`, change(func(d *Definition) { d.Policy.OnCrash = "maybe" })},
		{"priority 0 is not between 1 and 10; concurrency 0", change(func(d *Definition) { d.Policy = Policy{OnCrash: Hold} })},
	} {
		r := NewRegistry()
		err := r.Add(c.d)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `task type "report.generate": `)
		require.ErrorIs(t, r.Err(), err)
		require.Empty(t, r.All())
	}
}

func TestRegistryReportsEveryFailure(t *testing.T) {
	r := NewRegistry()
	Register(r, "ok", noop)
	Register(r, "ok", noop)
	Register(r, "slow", noop, Timeout(-1))
	Register(r, "bare", func(context.Context, int) (any, error) { return nil, nil })
	Register[struct{}, any](r, "empty", nil)
	require.Len(t, r.All(), 1)
	for _, want := range []string{`"ok": it is registered twice`, `"slow": timeout`, `"bare": its parameters are int: they must be a struct`, `"empty": it has no handler`} {
		require.ErrorContains(t, r.Err(), want)
	}
}

func TestRegistryMakesAMissingExample(t *testing.T) {
	r := NewRegistry()
	d := plainDefinition("report")
	d.Schema = compiled(t, `{"type":"object","required":["id"],"properties":{"id":{"type":"integer","minimum":7}}}`)
	require.NoError(t, r.Add(d))
	found, _ := r.Lookup("report")
	require.JSONEq(t, `{"id":7}`, string(found.Example))
	d.Name, d.Example = "given", json.RawMessage(`{"id":9}`)
	require.NoError(t, r.Add(d))
	found, _ = r.Lookup("given")
	require.JSONEq(t, `{"id":9}`, string(found.Example))
}

func TestOptionsSetThePolicy(t *testing.T) {
	r := NewRegistry()
	Register(r, "all", noop, Timeout(time.Minute), MaxRetries(0), Backoff(time.Second, 5*time.Second), Priority(9),
		Concurrency(64), RetryOnlyMarked(), OnCrash(Hold), Describe("Does nothing."))
	Register(r, "none", noop)
	require.NoError(t, r.Err())
	all, _ := r.Lookup("all")
	require.Equal(t, Policy{
		Timeout: time.Minute, BackoffBase: time.Second, BackoffMax: 5 * time.Second, Priority: 9, Concurrency: 64,
		RetryOnlyMarked: true, OnCrash: Hold,
	}, all.Policy)
	require.Equal(t, "Does nothing.", all.Description)
	none, _ := r.Lookup("none")
	require.Equal(t, DefaultPolicy(), none.Policy)
	require.Equal(t, KindGo, none.Kind)
}

func TestManyTypesStaySorted(t *testing.T) {
	r := NewRegistry()
	for i := range 200 {
		Register(r, fmt.Sprintf("type-%d", i*37%200), noop)
	}
	require.NoError(t, r.Err())
	require.IsIncreasing(t, func() (names []string) {
		for _, d := range r.All() {
			names = append(names, d.Name)
		}
		return names
	}())
}
