package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/tasks"
)

func registry(t testing.TB) *tasks.Registry {
	t.Helper()
	r := tasks.NewRegistry()
	Register(r)
	require.NoError(t, r.Err())
	return r
}

func lookup(t testing.TB, name string) *tasks.Definition {
	t.Helper()
	d, ok := registry(t).Lookup(name)
	require.True(t, ok, name)
	return d
}

type sink struct {
	mu       sync.Mutex
	lines    []string
	progress []int
}

func (s *sink) Log(line tasks.LogLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line.Level+" "+line.Text)
}

func (s *sink) Progress(percent int, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, percent)
}

func call(ctx context.Context, t testing.TB, name string, attempt int, params string) (string, *sink, error) {
	t.Helper()
	d, s := lookup(t, name), &sink{}
	require.NoError(t, d.Schema.Check(json.RawMessage(params)))
	result, err := d.Handler(tasks.WithRun(ctx, &tasks.Run{Attempt: attempt}, s), json.RawMessage(params))
	return string(result), s, err
}

func TestEachTypeIsDescribedAndHasAnExampleThatPasses(t *testing.T) {
	types := registry(t).All()
	var names []string
	for _, d := range types {
		names = append(names, d.Name)
		require.NotEmpty(t, d.Description, d.Name)
		require.NoError(t, d.Schema.Check(d.Example), d.Name)
		require.NoError(t, d.Schema.Check(json.RawMessage(`{}`)), d.Name)
		require.Positive(t, d.Policy.Concurrency)
	}
	require.Equal(t, []string{"demo.fail", "demo.flaky", "demo.panic", "demo.report", "demo.slow"}, names)
}

func TestEachParameterHasATitleAndABound(t *testing.T) {
	for _, d := range registry(t).All() {
		var schema struct {
			Properties map[string]map[string]any
		}
		require.NoError(t, json.Unmarshal(d.Schema.Raw, &schema))
		require.NotEmpty(t, schema.Properties, d.Name)
		for name, p := range schema.Properties {
			require.NotEmpty(t, p["title"], "%s %s", d.Name, name)
			require.Contains(t, p, "default", "%s %s", d.Name, name)
			switch p["type"] {
			case "integer":
				require.Contains(t, p, "minimum", "%s %s", d.Name, name)
				require.Less(t, p["maximum"], 10_000.0, "%s %s", d.Name, name)
			case "string":
				require.True(t, p["maxLength"] != nil || p["enum"] != nil, "%s %s", d.Name, name)
			default:
				require.Fail(t, "no bound is known for "+name)
			}
		}
	}
}

func TestWhatIsOutOfBoundsIsRefused(t *testing.T) {
	for params, name := range map[string]string{
		`{"rows":0}`:        "demo.report",
		`{"rows":1001}`:     "demo.report",
		`{"delay_ms":-1}`:   "demo.report",
		`{"delay_ms":601}`:  "demo.report",
		`{"rows":"many"}`:   "demo.report",
		`{"fail_first":21}`: "demo.flaky",
		`{"fail_first":-1}`: "demo.flaky",
		`{"seconds":3001}`:  "demo.slow",
		`{"seconds":0}`:     "demo.slow",
		`{"kind":"other"}`:  "demo.fail",
		`{"unknown":1}`:     "demo.fail",
		`{"message":"` + strings.Repeat("x", 1001) + `"}`: "demo.panic",
	} {
		require.Error(t, lookup(t, name).Schema.Check(json.RawMessage(params)), "%s %.40s", name, params)
	}
}

func TestReportShowsProgressAndLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		result, s, err := call(t.Context(), t, "demo.report", 1, `{"title":"Stock","rows":4,"delay_ms":500}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"title":"Stock","rows":4,"total":70}`, result)
		require.Equal(t, []int{25, 50, 75, 100}, s.progress)
		require.Contains(t, s.lines, "info writing the report title=Stock rows=4")
		require.Len(t, s.lines, 5)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestReportWorksWithoutParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result, s, err := call(t.Context(), t, "demo.report", 1, `{}`)
		require.NoError(t, err)
		require.Contains(t, result, `"rows":20`)
		require.Len(t, s.progress, 20)
	})
}

func TestLongestRunsFitTheirTimeout(t *testing.T) {
	for name, params := range map[string]string{
		"demo.report": `{"rows":1000,"delay_ms":600}`,
		"demo.slow":   `{"seconds":3000}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, _, err := call(t.Context(), t, name, 1, params)
			require.NoError(t, err)
			require.Less(t, time.Since(start), lookup(t, name).Policy.Timeout)
		})
	}
}

func TestRunsEndWithTheirContext(t *testing.T) {
	for name, params := range map[string]string{
		"demo.report": `{"rows":1000,"delay_ms":600}`,
		"demo.slow":   `{"seconds":3000}`,
	} {
		for _, cause := range []error{tasks.ErrCancelled, tasks.ErrTimeout, tasks.ErrShutdown} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(4500*time.Millisecond, func() { cancel(cause) })
				result, s, err := call(ctx, t, name, 1, params)
				require.ErrorIs(t, err, cause)
				require.Empty(t, result)
				require.NotEmpty(t, s.progress)
				require.Equal(t, 4500*time.Millisecond, time.Since(start), "it must not go on")
			})
		}
	}
}

func TestFlakySucceedsAfterTheFailuresItWasAskedFor(t *testing.T) {
	for _, failures := range []int{0, 1, 3} {
		params := fmt.Sprintf(`{"fail_first":%d}`, failures)
		for attempt := 1; attempt <= failures; attempt++ {
			_, _, err := call(t.Context(), t, "demo.flaky", attempt, params)
			require.ErrorContains(t, err, fmt.Sprintf("failure %d of %d", attempt, failures))
			require.True(t, tasks.Judge(err, lookup(t, "demo.flaky").Policy).Retryable)
		}
		result, _, err := call(t.Context(), t, "demo.flaky", failures+1, params)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"attempt":%d}`, failures+1), result)
	}
	_, _, err := call(t.Context(), t, "demo.flaky", 2, `{}`)
	require.Error(t, err)
	_, _, err = call(t.Context(), t, "demo.flaky", 3, `{}`)
	require.NoError(t, err)
}

func TestFailFailsAsAsked(t *testing.T) {
	policy := tasks.DefaultPolicy()
	_, _, err := call(t.Context(), t, "demo.fail", 1, `{}`)
	require.EqualError(t, err, "there is no such customer")
	require.Equal(t, tasks.KindPermanent, tasks.Judge(err, policy).Kind)
	_, _, err = call(t.Context(), t, "demo.fail", 1, `{"kind":"retryable","message":"try again"}`)
	require.EqualError(t, err, "try again")
	require.True(t, tasks.Judge(err, policy).Retryable)
}

func TestPanicPanics(t *testing.T) {
	require.PanicsWithValue(t, "index out of range", func() { _, _, _ = call(t.Context(), t, "demo.panic", 1, `{}`) })
	require.PanicsWithValue(t, "boom", func() { _, _, _ = call(t.Context(), t, "demo.panic", 1, `{"message":"boom"}`) })
}
