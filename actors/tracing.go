package actors

import (
	"context"
	"strconv"
	"time"

	"reax/models"
	"reax/tasks"
)

// Tracer records what happens to tasks as spans, under the trace id of each. Its methods are called for every task, from
// many goroutines, and must not block.
type Tracer interface {
	// Enqueued records that a task was accepted since began, or that it was not and why. t.Parent is the caller's span.
	Enqueued(t *models.NewTask, began time.Time, err error)
	// Attempt begins the span of a run: ctx carries it to the handler, and traceparent names it to others in the form of
	// W3C Trace Context. The caller calls end once.
	Attempt(ctx context.Context, c *models.Claimed) (_ context.Context, traceparent string, end func(*models.Completion))
}

// traceEnqueued records what came of new tasks.
func (c *core) traceEnqueued(batch []*models.NewTask, began time.Time, err error) {
	if c.opts.Tracer == nil {
		return
	}
	for _, t := range batch {
		c.opts.Tracer.Enqueued(t, began, err)
	}
}

// traced begins the span of a run, if spans are recorded. It ends with finish.
func (r *run) traced() (ctx context.Context, traceparent string) {
	tracer := r.core.opts.Tracer
	if tracer == nil {
		return r.ctx, ""
	}
	ctx, traceparent, r.span = tracer.Attempt(r.ctx, r.Claimed)
	return ctx, traceparent
}

// idempotencyKey is what a run tells an endpoint by which it knows a second request of one task, for types that call one.
// It is the trace id. Tasks of one trace must not be taken for each other, so all but the first add their own id.
func (r *run) idempotencyKey() string {
	if r.def.Kind != tasks.KindHTTP {
		return ""
	}
	if first, err := r.core.store.FirstOfTrace(r.ctx, r.TraceID); err != nil || first == r.ID || first == 0 {
		return r.TraceID
	}
	return r.TraceID + "-" + strconv.FormatInt(r.ID, 10)
}
