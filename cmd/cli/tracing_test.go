package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersID    = "b7ad6b7169203331"
	callersCall  = "00-" + callersTrace + "-" + callersID + "-01"
)

// otlpStub is an OpenTelemetry collector that keeps what it is sent.
type otlpStub struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*otlp.Span
	service string
	header  http.Header
}

func newOTLPStub(t *testing.T) *otlpStub {
	t.Helper()
	s := &otlpStub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != tracesPath || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("%s is no export of spans: %v", r.URL, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.header = r.Header
		for _, of := range sent.GetResourceSpans() {
			for _, a := range of.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					s.service = a.GetValue().GetStringValue()
				}
			}
			for _, in := range of.GetScopeSpans() {
				s.spans = append(s.spans, in.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s
}

// named gives the spans of a name, in the order of their beginning.
func (s *otlpStub) named(name string) []*otlp.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*otlp.Span
	for _, span := range s.spans {
		if span.GetName() == name {
			all = append(all, span)
		}
	}
	return all
}

func attributeOf(span *otlp.Span, key string) any {
	for _, a := range span.GetAttributes() {
		if a.GetKey() == key {
			if text := a.GetValue().GetStringValue(); text != "" {
				return text
			}
			return a.GetValue().GetIntValue()
		}
	}
	return nil
}

// tracedRuntime is a runtime whose spans go to an endpoint. end stops it and sends what is left.
func tracedRuntime(t *testing.T, endpoint string, log io.Writer, register func(*tasks.Registry)) (r *actors.Runtime, store *models.Store, end func()) {
	t.Helper()
	registry := tasks.NewRegistry()
	register(registry)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := models.Open(t.Context(), models.Config{Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: logger})
	require.NoError(t, err)
	env := func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}[name] }
	tracer, stop, err := startTracing(t.Context(), otlpConfig{ServiceName: "tests", Headers: map[string]string{"X-Team": "ops"}}, env, logger)
	require.NoError(t, err)
	r, err = actors.Start(t.Context(), store, registry, actors.Options{Logger: logger, Tracer: tracer})
	require.NoError(t, err)
	end = sync.OnceFunc(func() {
		require.NoError(t, r.Stop(context.Background()))
		require.NoError(t, store.Close())
		require.NoError(t, stop())
	})
	t.Cleanup(end)
	return r, store, end
}

// finished waits until a task has ended.
func finished(t *testing.T, r *actors.Runtime, store *models.Store, id int64) models.Task {
	t.Helper()
	changed := make(chan struct{}, 1)
	defer r.Subscribe(func([]string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	late := time.After(time.Minute)
	for {
		task, err := store.Task(t.Context(), id)
		require.NoError(t, err)
		if task.State.IsFinal() {
			return task
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond):
		case <-late:
			require.Fail(t, "the task never ended", "%+v", task)
		}
	}
}

func TestSpansFollowATaskUnderItsTraceID(t *testing.T) {
	stub := newOTLPStub(t)
	headers := make(chan http.Header, 2)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header }))
	t.Cleanup(endpoint.Close)
	t.Cleanup(tasks.CloseIdleConnections)
	inHandler := make(chan trace.SpanContext, 2)
	r, store, end := tracedRuntime(t, stub.URL, io.Discard, func(registry *tasks.Registry) {
		require.NoError(t, tasks.AddHTTP(registry, tasks.External{Name: "sms.push", Policy: tasks.DefaultPolicy()}, tasks.HTTP{URL: endpoint.URL}))
		require.NoError(t, tasks.AddCommand(registry, tasks.External{Name: "print", Policy: tasks.DefaultPolicy()}, tasks.Command{Argv: []string{"printenv", "TRACEPARENT"}}))
		tasks.Register(registry, "weak", func(ctx context.Context, _ struct{}) (any, error) {
			inHandler <- trace.SpanContextFromContext(ctx)
			return nil, errors.New("the bank is closed")
		}, tasks.MaxRetries(1), tasks.Backoff(time.Millisecond, time.Millisecond))
	})
	enqueue := func(req actors.EnqueueRequest) models.Task {
		e, err := r.Enqueue(t.Context(), req)
		require.NoError(t, err)
		return finished(t, r, store, e.Task.ID)
	}
	sent := enqueue(actors.EnqueueRequest{Type: "sms.push", Traceparent: callersCall})
	second := enqueue(actors.EnqueueRequest{Type: "sms.push", Traceparent: callersCall})
	weak := enqueue(actors.EnqueueRequest{Type: "weak"})
	chosen := enqueue(actors.EnqueueRequest{Type: "print", TraceID: "11111111111111111111111111111111", Traceparent: callersCall})
	lines, err := store.Logs(t.Context(), chosen.ID, 1, 0, 10)
	require.NoError(t, err)
	end()

	require.Equal(t, "tests", stub.service)
	require.Equal(t, "ops", stub.header.Get("X-Team"))

	// A caller's trace goes through: its span, the enqueue, the run, and who is called.
	require.Equal(t, callersTrace, sent.TraceID)
	accepted, ran := stub.named("enqueue sms.push")[0], stub.named("run sms.push")[0]
	for _, span := range []*otlp.Span{accepted, ran} {
		require.Equal(t, callersTrace, hex.EncodeToString(span.GetTraceId()))
		require.Equal(t, sent.ID, attributeOf(span, "reax.task.id"))
		require.Equal(t, "sms.push", attributeOf(span, "reax.task.type"))
	}
	require.Equal(t, callersID, hex.EncodeToString(accepted.GetParentSpanId()))
	require.Equal(t, accepted.GetSpanId(), ran.GetParentSpanId())
	require.EqualValues(t, 1, attributeOf(ran, "reax.attempt"))
	require.Equal(t, "success", attributeOf(ran, "reax.outcome"))
	require.Less(t, accepted.GetStartTimeUnixNano(), accepted.GetEndTimeUnixNano())
	got := <-headers
	require.Equal(t, "00-"+callersTrace+"-"+hex.EncodeToString(ran.GetSpanId())+"-01", got.Get("Traceparent"))
	require.Equal(t, callersTrace, got.Get("Idempotency-Key"))
	require.Equal(t, callersTrace, second.TraceID)
	require.Equal(t, callersTrace+"-2", (<-headers).Get("Idempotency-Key"), "tasks of one trace are not taken for each other")

	// Without a caller the task begins its own trace. Each attempt has a span, and its error.
	begin := stub.named("enqueue weak")[0]
	require.Equal(t, weak.TraceID, hex.EncodeToString(begin.GetTraceId()))
	require.Empty(t, begin.GetParentSpanId())
	runs := stub.named("run weak")
	require.Len(t, runs, 2)
	for i, span := range runs {
		require.Equal(t, weak.TraceID, hex.EncodeToString(span.GetTraceId()))
		require.Equal(t, begin.GetSpanId(), span.GetParentSpanId())
		require.EqualValues(t, i+1, attributeOf(span, "reax.attempt"))
		require.Equal(t, []string{"retry", "dead"}[i], attributeOf(span, "reax.outcome"))
		require.Equal(t, otlp.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode())
		require.Equal(t, "the bank is closed", span.GetStatus().GetMessage())
		require.Equal(t, "exception", span.GetEvents()[0].GetName())
		require.Equal(t, hex.EncodeToString(span.GetSpanId()), (<-inHandler).SpanID().String(), "a handler's own spans belong under it")
	}

	// A trace id of the caller's choice wins, and its span is a link.
	asked := stub.named("enqueue print")[0]
	require.Equal(t, chosen.TraceID, hex.EncodeToString(asked.GetTraceId()))
	require.Empty(t, asked.GetParentSpanId())
	require.Equal(t, callersTrace, hex.EncodeToString(asked.GetLinks()[0].GetTraceId()))
	require.Equal(t, "00-"+chosen.TraceID+"-"+hex.EncodeToString(stub.named("run print")[0].GetSpanId())+"-01", lines[0].Text)
}

// TestACollectorThatIsAwayStopsNoTask, and is complained of once and not for each span.
func TestACollectorThatIsAwayStopsNoTask(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var log bytes.Buffer
	r, store, end := tracedRuntime(t, gone.URL, &log, func(registry *tasks.Registry) {
		tasks.Register(registry, "work", func(context.Context, struct{}) (any, error) { return nil, nil })
	})
	var last models.Task
	for range 20 {
		e, err := r.Enqueue(t.Context(), actors.EnqueueRequest{Type: "work"})
		require.NoError(t, err)
		last = e.Task
	}
	require.Equal(t, models.StateSuccess, finished(t, r, store, last.ID).State)
	end()
	require.Equal(t, 1, strings.Count(log.String(), "spans cannot be sent"), log.String())
}

func TestTracingIsOffUnlessThereIsAnEndpoint(t *testing.T) {
	for name, vars := range map[string]map[string]string{
		"nothing said": {}, "disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
		"no exporter": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"},
	} {
		tracer, stop, err := startTracing(t.Context(), otlpConfig{}, func(v string) string { return vars[v] }, slog.Default())
		require.NoError(t, err, name)
		require.Equal(t, actors.Tracer(nil), tracer, name)
		require.NoError(t, stop(), name)
	}
	_, _, err := startTracing(t.Context(), otlpConfig{}, func(string) string { return "localhost:4318" }, slog.Default())
	require.ErrorContains(t, err, "the OTLP endpoint must be a URL")
}

func TestTheCollectorIsFoundByFileAndVariables(t *testing.T) {
	file := otlpConfig{Endpoint: "http://file:4318/", Headers: map[string]string{"a": "b"}, ServiceName: "jobs"}
	for want, vars := range map[string]map[string]string{
		"http://file:4318/v1/traces": {},
		"https://env/x/v1/traces":    {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://env/x"},
		"https://traces/as-it-is":    {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://env", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://traces/as-it-is"},
	} {
		got, err := file.over(func(v string) string { return vars[v] })
		require.NoError(t, err)
		require.Equal(t, want, got.Endpoint)
		require.Equal(t, "jobs", got.ServiceName)
	}
	got, err := file.over(func(v string) string {
		return map[string]string{"OTEL_SERVICE_NAME": "n", "OTEL_EXPORTER_OTLP_HEADERS": "k=secret"}[v]
	})
	require.NoError(t, err)
	require.Equal(t, "n", got.ServiceName)
	require.Empty(t, got.Headers, "the exporter reads the variable itself")
}

func TestOTLPInTheConfigurationFile(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/srv", []byte("otlp: {endpoint: 'http://127.0.0.1:4318', headers: {X-A: 1, X-B: {env: HUSH}}, service_name: jobs, sample_ratio: 0.25}"))
	require.Empty(t, found)
	share := 0.25
	got, err := cfg.OTLP.over(func(name string) string { return map[string]string{"HUSH": "hush"}[name] })
	require.NoError(t, err)
	got.headers = nil
	require.Equal(t, otlpConfig{Endpoint: "http://127.0.0.1:4318/v1/traces", Headers: map[string]string{"X-A": "1", "X-B": "hush"}, ServiceName: "jobs", SampleRatio: &share}, got)
	_, err = cfg.OTLP.over(func(string) string { return "" })
	require.EqualError(t, err, "otlp.headers.X-B: the environment variable HUSH is not set")
	for yaml, want := range map[string]string{
		"otlp: {endpoint: '127.0.0.1:4318'}": "reax.yaml:1: otlp.endpoint: the OTLP endpoint must be a URL of the collector, such as http://127.0.0.1:4318",
		"otlp:\n  sample_ratio: 1.5":         `reax.yaml:2: otlp.sample_ratio: must be a number from 0 to 1, such as 0.1, not "1.5"`,
		"otlp: {sample_ratio: .nan}":         `reax.yaml:1: otlp.sample_ratio: must be a number from 0 to 1, such as 0.1, not ".nan"`,
		"otlp: {url: x}":                     "reax.yaml:1: otlp.url: unknown key (known: endpoint, headers, sample_ratio, service_name)",
	} {
		_, found := parseConfig("reax.yaml", "/srv", []byte(yaml))
		require.Equal(t, want, found.Error())
	}
}

// TestSamplingIsEvenForOurTraceIDs: they begin with the time, so only their end can be drawn from.
func TestSamplingIsEvenForOurTraceIDs(t *testing.T) {
	for _, share := range []float64{0, 0.1, 0.5, 1} {
		sampler := ratio{share}
		taken := 0
		for range 4_000 {
			id, err := uuid.NewV7()
			require.NoError(t, err)
			p := sdk.SamplingParameters{TraceID: trace.TraceID(id)}
			decision := sampler.ShouldSample(p).Decision
			require.Equal(t, decision, sampler.ShouldSample(p).Decision, "every run of a task decides the same")
			if decision == sdk.RecordAndSample {
				taken++
			}
		}
		require.InDelta(t, share*4_000, taken, 200)
	}
}

func TestACommandGivesItsOwnTraceOn(t *testing.T) {
	f := newFakeServer(t, map[string][]answer{"POST /api/v1/tasks": {{201, `{"id":1,"type":"work","trace_id":"x"}`}}})
	var got []string
	handler := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		handler.ServeHTTP(w, r)
	})
	for _, trace := range []string{callersCall, "x\r\nEvil: 1", ""} {
		r := command{env: map[string]string{"REAX_URL": f.URL, "TRACEPARENT": trace}}.run(t, "enqueue", "work")
		require.Zero(t, r.code, r.errOut)
	}
	require.Equal(t, []string{callersCall, "", ""}, got)
}
