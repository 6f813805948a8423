package web

import (
	"context"

	"reax/models"
)

type traceInput struct {
	ID string `path:"trace_id" pattern:"^[0-9a-f]{32}$" doc:"32 lower-case hexadecimal digits"`
}

type traceOutput struct {
	Body traceJSON
}

// traceJSON is a trace.
type traceJSON struct {
	TraceID string           `json:"trace_id"`
	Tasks   []traceTaskJSON  `json:"tasks" nullable:"false" doc:"Oldest first"`
	Events  []traceEventJSON `json:"events" nullable:"false" doc:"Oldest first"`
	LeftOut []string         `json:"left_out" nullable:"false" doc:"What the limits keep away, in sentences"`
}

// traceTaskJSON is a task of a trace, or one that it is a copy of or that is a copy of it.
type traceTaskJSON struct {
	ID      int64        `json:"id"`
	Type    string       `json:"type"`
	State   models.State `json:"state"`
	TraceID string       `json:"trace_id"`
}

// traceEventJSON is one thing that happened. Fields that a kind does not have are left out.
type traceEventJSON struct {
	At      moment         `json:"at"`
	AfterMS float64        `json:"after_ms" doc:"Since the first event"`
	Kind    string         `json:"kind" enum:"due,enqueued,started,ended,marked,manual,repeated,log,next" doc:"next is to come"`
	TaskID  int64          `json:"task_id"`
	Text    string         `json:"text" doc:"A sentence, or the line of the log"`
	Attempt int            `json:"attempt,omitempty" doc:"Of started, ended and log"`
	Outcome string         `json:"outcome,omitempty" doc:"Of ended"`
	Error   string         `json:"error,omitempty" doc:"Of ended"`
	Action  string         `json:"action,omitempty" doc:"Of manual"`
	By      string         `json:"by,omitempty" doc:"Of manual and enqueued"`
	Reason  string         `json:"reason,omitempty" doc:"Of manual"`
	Level   string         `json:"level,omitempty" doc:"Of log"`
	Other   *traceTaskJSON `json:"other,omitempty" doc:"Of repeated the copy; of enqueued the task that it is a copy of"`
}

// getTrace is a trace for programs: its sentences are English.
func (s *Server) getTrace(ctx context.Context, in *traceInput) (*traceOutput, error) {
	t, err := s.readTrace(ctx, in.ID, traceTextLines)
	if err != nil {
		return nil, err
	}
	out := &traceOutput{Body: traceJSON{TraceID: t.id, Tasks: []traceTaskJSON{}, Events: []traceEventJSON{}, LeftOut: append([]string{}, t.leftOut...)}}
	for i := range t.tasks {
		out.Body.Tasks = append(out.Body.Tasks, *tracedTask(&t.tasks[i]))
	}
	for i := range t.events {
		out.Body.Events = append(out.Body.Events, t.event(&t.events[i]))
	}
	return out, nil
}

func tracedTask(t *models.Task) *traceTaskJSON {
	return &traceTaskJSON{t.ID, t.Type, t.State, t.TraceID}
}

func (t *trace) event(e *tracedEvent) traceEventJSON {
	out := traceEventJSON{
		At: moment(e.at), AfterMS: float64(t.after(e.at).Microseconds()) / 1000, Kind: e.kind, TaskID: e.task.ID, Text: e.words(), Error: e.failure(),
	}
	switch {
	case e.line != nil:
		out.Text, out.Level, out.Attempt = e.line.Text, e.line.Level, e.line.Attempt
	case e.run != nil:
		out.Attempt = e.run.Attempt.Attempt
		if e.kind == traceEnded {
			out.Outcome = e.run.Outcome
		}
	case e.audit != nil:
		out.Action, out.By, out.Reason = e.audit.Action, e.audit.Actor, e.audit.Reason
	case e.kind == traceEnqueued:
		out.By = e.task.EnqueuedBy
	}
	if e.other != nil {
		out.Other = tracedTask(e.other)
	}
	return out
}
