package web

import (
	"context"
	"encoding/json"
	"strings"

	"reax/actors"
	"reax/models"
)

// reasonJSON is why someone does something.
type reasonJSON struct {
	Reason string `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

func (b *reasonJSON) check(*Server) []fieldError {
	return textBytes("/reason", b.Reason, actors.MaxReasonBytes)
}

// text is the reason of a body that may be missing.
func (b *reasonJSON) text() string {
	if b == nil {
		return ""
	}
	return strings.TrimSpace(b.Reason)
}

// discardJSON is the body of a discard, which must say why.
type discardJSON struct {
	Reason string `json:"reason" doc:"For the record; at most 1,000 bytes"`
}

func (b *discardJSON) check(*Server) []fieldError {
	if strings.TrimSpace(b.Reason) == "" {
		return []fieldError{wrong("/reason", "required")}
	}
	return textBytes("/reason", b.Reason, actors.MaxReasonBytes)
}

type actionInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body *reasonJSON
}

type discardInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body discardJSON
}

type taskOutput struct{ Body TaskJSON }

func (s *Server) changed(t models.Task, err error) (*taskOutput, error) {
	if err != nil {
		return nil, err
	}
	return &taskOutput{Body: s.taskView(&t)}, nil
}

func (s *Server) retryTask(ctx context.Context, in *actionInput) (*taskOutput, error) {
	return s.changed(s.runtime.Retry(ctx, in.ID, changeOf(ctx, in.Body.text())))
}

func (s *Server) cancelTask(ctx context.Context, in *actionInput) (*taskOutput, error) {
	return s.changed(s.runtime.Cancel(ctx, in.ID, changeOf(ctx, in.Body.text())))
}

func (s *Server) discardTask(ctx context.Context, in *discardInput) (*taskOutput, error) {
	return s.changed(s.runtime.Discard(ctx, in.ID, changeOf(ctx, strings.TrimSpace(in.Body.Reason))))
}

// repeatJSON is the body of a repeat.
type repeatJSON struct {
	Params jsonObject `json:"params,omitempty" doc:"In place of the old ones"`
	Reason string     `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
}

func (b *repeatJSON) check(*Server) []fieldError {
	return textBytes("/reason", b.Reason, actors.MaxReasonBytes)
}

type repeatInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body *repeatJSON
}

func (s *Server) repeatTask(ctx context.Context, in *repeatInput) (*enqueueOutput, error) {
	var params json.RawMessage
	var reason string
	if in.Body != nil {
		params, reason = json.RawMessage(in.Body.Params), strings.TrimSpace(in.Body.Reason)
	}
	if params != nil {
		old, err := s.ledger.Task(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		filled, faults := s.unmask(old.Type, params, old.Params, "/params")
		if faults != nil {
			return nil, invalid(faults)
		}
		params = filled
	}
	enqueued, err := s.runtime.Repeat(ctx, in.ID, params, changeOf(ctx, reason))
	if err != nil {
		return nil, err
	}
	return s.enqueuedOutput(ctx, &enqueued), nil
}
