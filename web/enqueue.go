package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"reax/actors"
	"reax/tasks"
)

// maxDelay is as far as the runtime plans ahead.
const maxDelay = 10 * 365 * 24 * time.Hour

// taskInputJSON is what a caller says of a task.
type taskInputJSON struct {
	Type       string         `json:"type" minLength:"1" maxLength:"200"`
	Params     jsonObject     `json:"params,omitempty" doc:"Must fit the schema of the type; kept byte for byte; at most 1 MiB"`
	Priority   *wholeNumber   `json:"priority,omitempty" nullable:"true" minimum:"1" maximum:"10" doc:"1 (most urgent) to 10; default as the type says"`
	RunAt      *momentInput   `json:"run_at,omitempty" nullable:"true" doc:"Do not start before; now when it is past"`
	Delay      *durationInput `json:"delay,omitempty" doc:"In place of run_at"`
	MaxRetries *wholeNumber   `json:"max_retries,omitempty" nullable:"true" minimum:"0" maximum:"1000" doc:"Runs after the first; default as the type says"`
	Timeout    *durationInput `json:"timeout,omitempty" doc:"Limit of one run, 0 for none; default as the type says"`
	UniqueKey  string         `json:"unique_key,omitempty" nullable:"true" maxLength:"256" doc:"One task holds it while it waits or runs"`
	Tags       []string       `json:"tags,omitempty" maxItems:"20" doc:"At most 64 bytes each"`
	TraceID    string         `json:"trace_id,omitempty" nullable:"true" doc:"32 lower-case hexadecimal digits; default from the traceparent header, or a new one"`
}

// check finds what the schema cannot say. When there is such a fault it looks at the parameters too, so that every bad
// field is named at once; otherwise the runtime checks them.
func (b *taskInputJSON) check(s *Server) []fieldError { return b.checkAt(s, "") }

func (b *taskInputJSON) checkAt(s *Server, at string) []fieldError {
	var faults []fieldError
	if b.RunAt != nil && b.RunAt.err != nil {
		faults = append(faults, wrongBy(at+"/run_at", b.RunAt.err))
	}
	if b.RunAt != nil && b.Delay != nil {
		faults = append(faults, wrong(at+"/delay", "not_together", "run_at"))
	} else {
		faults = append(faults, b.Delay.within(at+"/delay", maxDelay)...)
	}
	faults = append(faults, b.Timeout.within(at+"/timeout", tasks.MaxTimeout)...)
	faults = append(faults, textBytes(at+"/unique_key", b.UniqueKey, actors.MaxUniqueKeyBytes)...)
	faults = append(faults, tagFaults(at, b.Tags)...)
	if b.TraceID != "" && !isTraceID(b.TraceID) {
		faults = append(faults, wrong(at+"/trace_id", "trace"))
	}
	_, still := s.unmask(b.Type, b.params(), "", at+"/params")
	faults = append(faults, still...)
	if len(faults) > 0 {
		faults = append(faults, b.checkParams(s, at)...)
	}
	return faults
}

func (b *taskInputJSON) checkParams(s *Server, at string) []fieldError {
	definition, ok := s.runtime.Registry().Lookup(b.Type)
	if !ok {
		return nil
	}
	if bad, ok := errors.AsType[*tasks.InvalidError](definition.Schema.Check(b.params())); ok {
		return fieldErrors(at+"/params", bad)
	}
	return nil
}

// params are {} when none were given: a type without parameters need not be told so.
func (b *taskInputJSON) params() json.RawMessage {
	if b.Params == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(b.Params)
}

func (b *taskInputJSON) request(ctx context.Context, traceparent string) actors.EnqueueRequest {
	req := actors.EnqueueRequest{
		Type: b.Type, Params: b.params(), UniqueKey: b.UniqueKey, Tags: b.Tags, TraceID: b.TraceID, By: callerOf(ctx).by,
	}
	if b.Priority != nil {
		req.Priority = int(*b.Priority)
	}
	if b.MaxRetries != nil {
		n := int(*b.MaxRetries)
		req.MaxRetries = &n
	}
	if b.Timeout != nil {
		req.Timeout = &b.Timeout.duration
	}
	if b.RunAt != nil {
		req.RunAt = b.RunAt.time
	}
	if b.Delay != nil && b.Delay.duration > 0 {
		req.RunAt = time.Now().Add(b.Delay.duration)
	}
	req.Traceparent = traceparent
	return req
}

func tagFaults(at string, tags []string) []fieldError {
	var faults []fieldError
	for i, tag := range tags {
		location := fmt.Sprintf("%s/tags/%d", at, i)
		if tag == "" {
			faults = append(faults, wrong(location, "empty"))
		}
		faults = append(faults, textBytes(location, tag, actors.MaxTagBytes)...)
	}
	return faults
}

func isTraceID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == "" && strings.Trim(id, "0") != ""
}

type enqueueInput struct {
	Traceparent string `header:"traceparent" doc:"W3C trace context; its trace id is taken when the body has none"`
	Body        taskInputJSON
}

// enqueuedTaskJSON is a task as the answer to its enqueue.
type enqueuedTaskJSON struct {
	TaskJSON
	Duplicate bool `json:"duplicate,omitempty" doc:"This task held the unique key already; nothing was made"`
}

type enqueueOutput struct {
	Status   int
	Location string `header:"Location" doc:"The address of the task"`
	Body     enqueuedTaskJSON
}

func (s *Server) enqueueTask(ctx context.Context, in *enqueueInput) (*enqueueOutput, error) {
	who := callerOf(ctx)
	if err := who.allows(in.Body.Type); err != nil {
		return nil, err
	}
	enqueued, err := s.runtime.Enqueue(ctx, in.Body.request(ctx, in.Traceparent))
	if err == nil {
		err = who.allowsHolder(&enqueued)
	}
	if errors.Is(err, actors.ErrUnknownType) {
		return nil, unknownType(in.Body.Type)
	}
	if err != nil {
		return nil, err
	}
	return s.enqueuedOutput(ctx, &enqueued), nil
}

func unknownType(name string) *problemJSON {
	return newProblem(http.StatusNotFound, "unknown_type", "there is no task type %q", clip(name))
}

func (s *Server) enqueuedOutput(ctx context.Context, e *actors.Enqueued) *enqueueOutput {
	out := &enqueueOutput{Status: http.StatusCreated, Body: enqueuedTaskJSON{s.taskView(&e.Task), e.Duplicate}}
	if e.Duplicate {
		out.Status = http.StatusOK
	}
	out.Location = fmt.Sprintf("%s%s/tasks/%d", callerOf(ctx).prefix+s.base, apiPath, e.Task.ID)
	return out
}

// batchJSON is the body of a batch.
type batchJSON struct {
	Tasks []taskInputJSON `json:"tasks" nullable:"false" minItems:"1"`
}

func (b *batchJSON) check(s *Server) []fieldError {
	if len(b.Tasks) > actors.MaxBatch {
		return []fieldError{wrong("/tasks", "max_items", actors.MaxBatch)}
	}
	var faults []fieldError
	for i := range b.Tasks {
		faults = append(faults, b.Tasks[i].checkAt(s, fmt.Sprintf("/tasks/%d", i))...)
	}
	return faults
}

type batchInput struct {
	Traceparent string `header:"traceparent" doc:"W3C trace context; its trace id is taken for tasks that have none"`
	Body        batchJSON
}

type batchOutput struct {
	Body enqueuedBatchJSON
}

// enqueuedBatchJSON is the answer to a batch.
type enqueuedBatchJSON struct {
	Tasks []enqueuedTaskJSON `json:"tasks" nullable:"false" doc:"In the order of the request"`
}

func (s *Server) enqueueBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	reqs := make([]actors.EnqueueRequest, 0, len(in.Body.Tasks))
	who := callerOf(ctx)
	for i := range in.Body.Tasks {
		if err := who.allows(in.Body.Tasks[i].Type); err != nil {
			return nil, err
		}
		reqs = append(reqs, in.Body.Tasks[i].request(ctx, in.Traceparent))
	}
	enqueued, err := s.runtime.EnqueueBatch(ctx, reqs)
	if err != nil {
		return nil, err
	}
	for i := range enqueued {
		if err := who.allowsHolder(&enqueued[i]); err != nil {
			return nil, err
		}
	}
	out := &batchOutput{}
	out.Body.Tasks = make([]enqueuedTaskJSON, 0, len(enqueued))
	for i := range enqueued {
		out.Body.Tasks = append(out.Body.Tasks, enqueuedTaskJSON{s.taskView(&enqueued[i].Task), enqueued[i].Duplicate})
	}
	return out, nil
}
