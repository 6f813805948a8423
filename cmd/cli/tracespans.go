package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"reax/models"
	"reax/tasks"
)

// taskTracer records a span for each enqueue and each run. The trace of a task is the one that its trace id names, and
// the span of its enqueue has an id that follows from the task: so a run that comes days later, in another process, knows
// its parent, and nothing has to be stored for that.
type taskTracer struct{ tracer trace.Tracer }

func newTaskTracer(provider *sdk.TracerProvider) *taskTracer {
	return &taskTracer{provider.Tracer("reax", trace.WithInstrumentationVersion(Version))}
}

// Enqueued is the span of an enqueue. Of a task that was not accepted it reads only what the journal does not write.
func (t *taskTracer) Enqueued(task *models.NewTask, began time.Time, err error) {
	traceID, parseErr := trace.TraceIDFromHex(task.TraceID)
	if parseErr != nil {
		return
	}
	attrs := []attribute.KeyValue{attribute.String("reax.task.type", task.Type), attribute.Int("reax.task.priority", task.Priority)}
	ids := spanIDs{trace: traceID}
	if err == nil {
		id := task.ID
		if task.Held != nil {
			id = task.Held.ID
			attrs = append(attrs, attribute.Bool("reax.duplicate", true))
		} else {
			ids.span = enqueueSpan(traceID, id)
		}
		attrs = append(attrs, attribute.Int64("reax.task.id", id))
		if task.Schedule != "" {
			attrs = append(attrs, attribute.String("reax.schedule", task.Schedule))
		}
	}
	ctx := context.Background()
	options := []trace.SpanStartOption{trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attrs...)}
	if parent := callersSpan(task.Parent); parent.IsValid() {
		if parent.TraceID() == traceID {
			ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
		} else {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: parent}))
		}
	}
	_, span := t.tracer.Start(context.WithValue(ctx, spanIDs{}, ids), "enqueue "+task.Type, options...)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Attempt is the span of a run.
func (t *taskTracer) Attempt(ctx context.Context, c *models.Claimed) (context.Context, string, func(*models.Completion)) {
	traceID, err := trace.TraceIDFromHex(c.TraceID)
	if err != nil {
		return ctx, "", func(*models.Completion) {}
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: enqueueSpan(traceID, c.ID), TraceFlags: trace.FlagsSampled, Remote: true,
	}))
	ctx, span := t.tracer.Start(ctx, "run "+c.Type, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes( //nolint:spancheck // the end of the run ends it
		attribute.String("reax.task.type", c.Type), attribute.Int64("reax.task.id", c.ID), attribute.Int("reax.attempt", c.Attempt),
		attribute.Int("reax.task.priority", c.Priority), attribute.Float64("reax.wait_seconds", max(c.StartedAt.Sub(c.ReadyAt), 0).Seconds()),
	))
	sc := span.SpanContext()
	parent := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
	return ctx, parent, func(done *models.Completion) { endAttempt(span, done) } //nolint:spancheck // the end of the run ends it
}

func endAttempt(span trace.Span, done *models.Completion) {
	span.SetAttributes(attribute.String("reax.outcome", done.Outcome), attribute.String("reax.task.state", string(done.State)))
	if done.Error != "" {
		attrs := []attribute.KeyValue{attribute.String("exception.type", done.ErrorKind), attribute.String("exception.message", done.Error)}
		if done.Stack != "" {
			attrs = append(attrs, attribute.String("exception.stacktrace", done.Stack))
		}
		span.AddEvent("exception", trace.WithAttributes(attrs...))
		span.SetStatus(codes.Error, models.CutText(done.Error, maxSpanText))
	}
	span.End(trace.WithTimestamp(done.FinishedAt.Time()))
}

// callersSpan reads a traceparent; it is not valid when there is none.
func callersSpan(header string) trace.SpanContext {
	traceID, spanID, ok := tasks.ParseTraceparent(header)
	if !ok {
		return trace.SpanContext{}
	}
	t, _ := trace.TraceIDFromHex(traceID)
	s, _ := trace.SpanIDFromHex(spanID)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, TraceFlags: trace.FlagsSampled, Remote: true})
}

func isTraceparent(header string) bool {
	_, _, ok := tasks.ParseTraceparent(header)
	return ok
}

// enqueueSpan is the id of the span of a task's enqueue.
func enqueueSpan(id trace.TraceID, task int64) trace.SpanID {
	sum := sha256.Sum256(strconv.AppendInt(id[:], task, 10))
	return trace.SpanID(sum[:8])
}

// spanIDs are the ids that a new span has to have; a zero one is made up. The zero value is its key in a context.
type spanIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

// taskIDs gives new spans their ids.
type taskIDs struct{}

func (taskIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(spanIDs{}).(spanIDs)
	if !ids.trace.IsValid() {
		_, _ = rand.Read(ids.trace[:])
	}
	return ids.trace, newSpanID(ids.span)
}

func (taskIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	ids, _ := ctx.Value(spanIDs{}).(spanIDs)
	return newSpanID(ids.span)
}

func newSpanID(wanted trace.SpanID) trace.SpanID {
	for !wanted.IsValid() {
		_, _ = rand.Read(wanted[:])
	}
	return wanted
}
