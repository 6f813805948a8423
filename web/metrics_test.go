package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

const openMetrics = "application/openmetrics-text; version=1.0.0"

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, h http.Handler) (text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	w := send(h, scenario{url: "/metrics"}.request())
	require.Equal(t, 200, w.Code, w.Body.String())
	text = w.Body.String()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	return text, families
}

// counted maps each series of counters and histograms to its number.
func counted(families map[string]*dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			series := fmt.Sprint(name, m.GetLabel())
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				all[series] = m.GetCounter().GetValue()
			case dto.MetricType_HISTOGRAM:
				all[series] = float64(m.GetHistogram().GetSampleCount())
				for _, b := range m.GetHistogram().GetBucket() {
					all[fmt.Sprint(series, b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			}
		}
	}
	return all
}

// value is one number of a metric with these labels, given as name and value in turn.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	require.Contains(t, families, name)
	for _, m := range families[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		want := map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			want[labels[i]] = labels[i+1]
		}
		if maps.Equal(have, want) {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	require.Fail(t, "no such series", "%s %v", name, labels)
	return 0
}

func TestMetricsUnderLoadAndAtRest(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			last := map[string]float64{}
			for range 10 {
				_, families := scrape(t, w.handler)
				now := counted(families)
				for series, n := range last {
					if now[series] < n && strings.HasPrefix(series, "reax_") {
						t.Errorf("%s went from %v to %v", series, n, now[series])
					}
				}
				last = now
			}
		})
	}
	for range 5 {
		w.enqueue(`{"type":"echo","params":{"n":1}}`)
		w.send(scenario{url: tasksURL + "/batch", body: `{"tasks":[{"type":"echo"},{"type":"fail"},{"type":"echo"}]}`, status: 201})
	}
	w.wait("/api/v1/stats", `"type":"echo","counts":{"success":15}`)
	w.wait("/api/v1/stats", `"type":"fail","counts":{"failed":5}`)
	wg.Wait()

	text, families := scrape(t, w.handler)
	require.EqualValues(t, 15, value(t, families, "reax_tasks_enqueued_total", "type", "echo"))
	require.EqualValues(t, 15, value(t, families, "reax_tasks_finished_total", "type", "echo", "outcome", "success"))
	require.EqualValues(t, 5, value(t, families, "reax_tasks_finished_total", "type", "fail", "outcome", "failed"))
	require.EqualValues(t, 15, value(t, families, "reax_task_run_seconds", "type", "echo"))
	require.EqualValues(t, 15, value(t, families, "reax_task_wait_seconds", "type", "echo"))
	require.EqualValues(t, 2, value(t, families, "reax_workers", "type", "gate"))
	require.EqualValues(t, 1, value(t, families, "reax_health", "status", "ok"))
	require.EqualValues(t, 1, value(t, families, "reax_database_writable"))
	require.Positive(t, value(t, families, "reax_journal_commit_seconds"))
	require.Positive(t, value(t, families, "reax_database_bytes"))
	require.Contains(t, text, `reax_build_info{goversion="go`)
	require.Contains(t, families, "go_goroutines")
	require.Contains(t, families, "process_resident_memory_bytes")

	counts, err := w.runtimeCounts()
	require.NoError(t, err)
	for key, n := range counts {
		require.EqualValues(t, n, value(t, families, "reax_tasks", "type", key[0], "state", key[1]), "%v", key)
	}

	types := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "type" {
					types[l.GetValue()] = true
				}
			}
		}
	}
	require.Equal(t, []string{"blob", "echo", "fail", "gate", "other"}, slices.Sorted(maps.Keys(types)))

	faults, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	for _, fault := range faults {
		require.False(t, strings.HasPrefix(fault.Metric, "reax_"), "%s: %s", fault.Metric, fault.Text)
	}

	answer := w.send(scenario{url: "/metrics", header: map[string]string{"Accept": openMetrics}, status: 200, must: []string{"# EOF"}})
	require.Regexp(t, `reax_task_run_seconds_bucket\{type="(echo|fail)",le="[^"]+"\} \d+ # \{trace_id="[0-9a-f]{32}"\} `, answer.Body.String())
	require.Contains(t, answer.Header().Get("Content-Type"), "application/openmetrics-text")
	require.NotContains(t, text, "trace_id", "the old format has no room for exemplars")
	requireDocuments(t, text, families)
}

// runtimeCounts is the ledger's own count of tasks by type and state.
func (w *world) runtimeCounts() (map[[2]string]int64, error) {
	var stats struct {
		Types []struct {
			Type   string
			Counts map[string]int64
		}
	}
	err := json.Unmarshal(w.send(scenario{url: "/api/v1/stats", status: 200}).Body.Bytes(), &stats)
	counts := map[[2]string]int64{}
	for _, typ := range stats.Types {
		for state, n := range typ.Counts {
			if state != "ready" {
				counts[[2]string{typ.Type, state}] = n
			}
		}
	}
	return counts, err
}

func TestMetricsAreUnderTheBasePath(t *testing.T) {
	h := New(Config{Runtime: newFake(t), Ledger: newFake(t), BasePath: "/reax"}).Handler()
	require.Equal(t, 200, send(h, scenario{url: "/reax/metrics"}.request()).Code)
}
