package actors

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// enqueueFar is the furthest future that a run-at may name.
const enqueueFar = 10 * 365 * 24 * time.Hour

// Enqueue checks a task, makes it durable and returns it. When it returns without an error the task is on the disk. It
// fails with ErrUnknownType, *tasks.InvalidError, *TooLargeError, ErrUnavailable or ErrStopped.
func (r *Runtime) Enqueue(ctx context.Context, req EnqueueRequest) (Enqueued, error) {
	return r.enqueueOne(ctx, &req, nil)
}

// enqueueOne is Enqueue with an entry for the audit, which is written with the task or not at all.
func (r *Runtime) enqueueOne(ctx context.Context, req *EnqueueRequest, audit func(tx *models.Tx, made *models.Task) error) (Enqueued, error) {
	t, err := r.prepare(req)
	if err != nil {
		return Enqueued{}, err
	}
	var then func(*models.Tx) error
	if audit != nil {
		then = func(tx *models.Tx) error {
			if t.Held != nil {
				return nil // nothing was made
			}
			return audit(tx, &t.Task)
		}
	}
	if err := r.persist(ctx, []*models.NewTask{t}, then); err != nil {
		return Enqueued{}, err
	}
	return enqueued(t), nil
}

// EnqueueBatch makes all of the tasks durable in one transaction, or none; then the error is a *BatchError, or one of
// Enqueue's that is about the batch as a whole.
func (r *Runtime) EnqueueBatch(ctx context.Context, reqs []EnqueueRequest) ([]Enqueued, error) {
	if len(reqs) > MaxBatch {
		return nil, &TooLargeError{What: "tasks in one batch", Limit: MaxBatch}
	}
	batch := make([]*models.NewTask, len(reqs))
	bad := map[int]error{}
	for i := range reqs {
		t, err := r.prepare(&reqs[i])
		if err != nil {
			bad[i] = err
		}
		batch[i] = t
	}
	if len(bad) > 0 {
		return nil, &BatchError{Errors: bad}
	}
	if len(batch) == 0 {
		return nil, nil
	}
	if err := r.persist(ctx, batch, nil); err != nil {
		return nil, err
	}
	out := make([]Enqueued, len(batch))
	for i, t := range batch {
		out[i] = enqueued(t)
	}
	return out, nil
}

func enqueued(t *models.NewTask) Enqueued {
	if t.Held != nil {
		return Enqueued{Task: *t.Held, Duplicate: true}
	}
	return Enqueued{Task: t.Task}
}

// persist hands tasks to the journal and waits until they are durable.
func (r *Runtime) persist(ctx context.Context, batch []*models.NewTask, then func(*models.Tx) error) error {
	began := time.Now()
	_, err := ask[*TasksEnqueued](ctx, r, &EnqueueTasks{Ctx: ctx, Tasks: batch, Then: then})
	r.traceEnqueued(batch, began, err)
	return err
}

// ask puts a question to the journal. A caller's time that runs out means that the ledger could not take the change.
func ask[T any](ctx context.Context, r *Runtime, msg any) (T, error) {
	if r.life.stop.Load() {
		var none T
		return none, ErrStopped
	}
	answer, err := kit.Ask[T](ctx, r.sys, r.journal, msg)
	switch {
	case errors.Is(err, kit.ErrActorGone):
		return answer, ErrStopped
	case errors.Is(err, context.DeadlineExceeded):
		return answer, fmt.Errorf("%w: no answer in time", ErrUnavailable)
	}
	return answer, err
}

// prepare checks a request and fills in what it leaves to the type.
func (c *core) prepare(req *EnqueueRequest) (*models.NewTask, error) {
	def, ok := c.registry.Lookup(req.Type)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownType, models.CutText(req.Type, 200))
	}
	if len(req.Params) > MaxParamsBytes {
		return nil, &TooLargeError{What: "bytes of parameters", Limit: MaxParamsBytes}
	}
	if len(req.Params) == 0 {
		req.Params = json.RawMessage("{}")
	}
	if def.Internal && !req.own {
		return nil, tasks.Invalid("/type", "own_type", def.Name)
	}
	var bad []tasks.FieldError
	bad = append(bad, checkParams(def, req.Params)...)
	policy := def.Policy
	retries, timeout := policy.MaxRetries, policy.Timeout
	if req.MaxRetries != nil {
		retries = *req.MaxRetries
	}
	if req.Timeout != nil {
		timeout = *req.Timeout
	}
	priority := policy.Priority
	if req.Priority != 0 {
		priority = req.Priority
	}
	tags, tagFaults := tagsText(req.Tags)
	bad = append(bad, tagFaults...)
	bad = append(bad, checkNumbers(priority, retries, timeout)...)
	bad = append(bad, checkTexts(req)...)
	if len(bad) > 0 {
		return nil, &tasks.InvalidError{Fields: bad}
	}
	trace := req.TraceID
	if trace == "" && req.Traceparent != "" {
		trace, _, _ = tasks.ParseTraceparent(req.Traceparent)
	}
	if trace == "" {
		trace = newTraceID()
	}
	return &models.NewTask{Parent: req.Traceparent, Task: models.Task{
		Type: def.Name, Params: string(req.Params), Priority: priority, MaxRetries: retries, TimeoutUS: timeout.Microseconds(),
		RunAt: models.At(req.RunAt), UniqueKey: req.UniqueKey, Tags: tags, TraceID: trace, EnqueuedBy: req.By,
		RepeatedFrom: req.repeatedFrom,
	}}, nil
}

func checkParams(def *tasks.Definition, params json.RawMessage) []tasks.FieldError {
	err := def.Schema.Check(params)
	if err == nil {
		return nil
	}
	var invalid *tasks.InvalidError
	if !errors.As(err, &invalid) {
		return []tasks.FieldError{tasks.NewFault("other", err).At("/params")}
	}
	fields := make([]tasks.FieldError, len(invalid.Fields))
	for i, f := range invalid.Fields {
		f.Location = "/params" + f.Location
		fields[i] = f
	}
	return fields
}

func checkNumbers(priority, retries int, timeout time.Duration) []tasks.FieldError {
	var bad []tasks.FieldError
	fault := func(field, code string, args ...any) { bad = append(bad, tasks.NewFault(code, args...).At(field)) }
	if priority < 1 || priority > 10 {
		fault("/priority", "between", 1, 10)
	}
	if retries < 0 || retries > tasks.MaxRetriesCap {
		fault("/max_retries", "between", 0, tasks.MaxRetriesCap)
	}
	if timeout < 0 || timeout > tasks.MaxTimeout {
		fault("/timeout", "between", 0, tasks.MaxTimeout)
	}
	return bad
}

func checkTexts(req *EnqueueRequest) []tasks.FieldError {
	var bad []tasks.FieldError
	fault := func(field, code string, args ...any) { bad = append(bad, tasks.NewFault(code, args...).At(field)) }
	switch {
	case len(req.UniqueKey) > MaxUniqueKeyBytes:
		fault("/unique_key", "bytes", MaxUniqueKeyBytes)
	case !isPlainText(req.UniqueKey):
		fault("/unique_key", "control")
	}
	if req.TraceID != "" && !isTraceID(req.TraceID) {
		fault("/trace_id", "trace")
	}
	if far := time.Now().Add(enqueueFar); req.RunAt.After(far) {
		fault("/run_at", "far")
	}
	return bad
}

// tagsText is tags as a row keeps them. Empty and repeated ones are refused.
func tagsText(tags []string) (string, []tasks.FieldError) {
	if len(tags) == 0 {
		return "", nil
	}
	if len(tags) > MaxTags {
		return "", []tasks.FieldError{tasks.NewFault("max_items", MaxTags).At("/tags")}
	}
	var bad []tasks.FieldError
	for i, t := range tags {
		field := fmt.Sprintf("/tags/%d", i)
		switch {
		case t == "":
			bad = append(bad, tasks.NewFault("empty").At(field))
		case len(t) > MaxTagBytes:
			bad = append(bad, tasks.NewFault("bytes", MaxTagBytes).At(field))
		case !isPlainText(t):
			bad = append(bad, tasks.NewFault("control").At(field))
		}
	}
	if len(bad) > 0 {
		return "", bad
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return "", []tasks.FieldError{tasks.NewFault("not_stored").At("/tags")}
	}
	return string(text), nil
}

func isPlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func isTraceID(s string) bool {
	if len(s) != 32 || strings.Trim(s, "0") == "" {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// newTraceID makes a W3C trace id that ascends with time, so that the index of trace ids grows at its end only.
func newTraceID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no randomness left
	}
	return hex.EncodeToString(id[:])
}
