package cli

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"reax/actors"
)

const (
	traceQueue     = 8192             // spans that may wait to be sent; more are dropped
	traceStop      = 5 * time.Second  // for what is left at the end
	traceTimeout   = 10 * time.Second // of one request to the collector
	traceComplaint = time.Minute      // between two log lines about a collector that does not answer
	maxSpanText    = 4 << 10          // bytes of one attribute
	tracesPath     = "/v1/traces"
)

// otlpConfig says where spans are sent to. Without an endpoint none are recorded.
type otlpConfig struct {
	Endpoint    string
	Headers     map[string]string
	headers     map[string]secretText // where they are, until over has read them
	ServiceName string
	SampleRatio *float64 // of the traces, 0 to 1; nil means all
}

func parseOTLP(v value) otlpConfig {
	var c otlpConfig
	v.mapping(map[string]func(value){
		"endpoint": func(v value) {
			c.Endpoint = v.text()
			if _, err := collectorURL(c.Endpoint, false); c.Endpoint != "" && err != nil {
				v.fail("%v", err)
			}
		},
		"headers":      func(v value) { c.headers = v.secretTexts(filepath.Dir(v.doc.file)) },
		"service_name": func(v value) { c.ServiceName = v.text() },
		"sample_ratio": func(v value) {
			share, err := strconv.ParseFloat(v.node.Value, 64)
			if err != nil || !(share >= 0 && share <= 1) { // which is false for what is no number
				v.fail("must be a number from 0 to 1, such as 0.1, not %s", v.describe())
				return
			}
			c.SampleRatio = &share
		},
	})
	return c
}

// collectorURL is where spans are posted to. An address that names the traces' own path is taken as it is.
func collectorURL(endpoint string, exact bool) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the OTLP endpoint must be a URL of the collector, such as http://127.0.0.1:4318")
	}
	if !exact && !strings.HasSuffix(u.Path, tracesPath) {
		u.Path = strings.TrimSuffix(u.Path, "/") + tracesPath
	}
	return u.String(), nil
}

// over puts the standard variables of OpenTelemetry over what the file says. The exporter itself reads the ones that are
// not named here.
func (c otlpConfig) over(env func(string) string) (otlpConfig, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return otlpConfig{}, nil
	}
	exact := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	c.Endpoint = cmp.Or(exact, env("OTEL_EXPORTER_OTLP_ENDPOINT"), c.Endpoint)
	if c.Endpoint == "" {
		return c, nil
	}
	if env("OTEL_EXPORTER_OTLP_HEADERS") != "" || env("OTEL_EXPORTER_OTLP_TRACES_HEADERS") != "" {
		c.Headers, c.headers = nil, nil
	}
	headers, err := resolveTexts("otlp.headers", c.headers, env)
	if err != nil {
		return c, err
	}
	if headers != nil {
		c.Headers = headers
	}
	c.ServiceName = cmp.Or(env("OTEL_SERVICE_NAME"), c.ServiceName, "reax")
	c.Endpoint, err = collectorURL(c.Endpoint, exact != "")
	return c, err
}

// startTracing makes what records spans, or nil when none are wanted. stop sends what is left.
func startTracing(ctx context.Context, cfg otlpConfig, env func(string) string, logger *slog.Logger) (_ actors.Tracer, stop func() error, err error) {
	if cfg, err = cfg.over(env); err != nil || cfg.Endpoint == "" {
		return nil, func() error { return nil }, err
	}
	options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(cfg.Endpoint), otlptracehttp.WithTimeout(traceTimeout)}
	if len(cfg.Headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(cfg.Headers))
	}
	sender, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing to send spans to %s: %w", cfg.Endpoint, err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.version", Version)), resource.WithFromEnv(),
		resource.WithAttributes(attribute.String("service.name", cfg.ServiceName)))
	if err != nil {
		logger.Warn("not all is known of where spans come from", slog.Any("error", err))
	}
	limits := trace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxSpanText
	provider := trace.NewTracerProvider(
		trace.WithBatcher(&patient{SpanExporter: sender, logger: logger}, trace.WithMaxQueueSize(traceQueue)),
		trace.WithResource(about), trace.WithIDGenerator(taskIDs{}), trace.WithSampler(cfg.sampler()), trace.WithRawSpanLimits(limits),
	)
	return newTaskTracer(provider), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), traceStop)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("the last spans could not be sent", slog.Any("error", err))
		}
		return nil // nobody's tasks suffer from it
	}, nil
}

// patient sends spans, and says only now and then that nobody takes them.
type patient struct {
	trace.SpanExporter
	logger *slog.Logger
	lost   int
	said   time.Time
}

// ExportSpans is called by one goroutine.
func (p *patient) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := p.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	p.lost += len(spans)
	if time.Since(p.said) >= traceComplaint {
		p.logger.Warn("spans cannot be sent; tasks do not wait for it", slog.Int("lost", p.lost), slog.Any("error", err))
		p.lost, p.said = 0, time.Now()
	}
	return nil
}

// ratio samples by the trace id alone, so that every process and every attempt decides the same about a trace. As the
// specification says, it looks at the last 56 bits; those before are not random in ours.
type ratio struct{ of float64 }

func (c otlpConfig) sampler() trace.Sampler {
	if c.SampleRatio == nil {
		return trace.AlwaysSample()
	}
	return ratio{*c.SampleRatio}
}

func (r ratio) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	low := binary.BigEndian.Uint64(p.TraceID[8:]) & (1<<56 - 1)
	if float64(low) >= math.Ldexp(1-r.of, 56) {
		return trace.SamplingResult{Decision: trace.RecordAndSample}
	}
	return trace.SamplingResult{Decision: trace.Drop}
}

func (r ratio) Description() string { return fmt.Sprintf("ratio of traces: %v", r.of) }
