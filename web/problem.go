package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// maxFieldErrors bounds the list of bad fields in one answer.
const maxFieldErrors = 100

// maxEcho bounds, in bytes, how much of a caller's own text an error repeats.
const maxEcho = 200

// problemJSON is the body of every answer that is an error.
type problemJSON struct {
	Title     string       `json:"title" doc:"The status in words"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail" doc:"What went wrong, in a sentence"`
	Code      string       `json:"code" enum:"bad_json,signed_out,missing_role,too_many_tries,forbidden,not_found,unknown_type,method_not_allowed,timeout,wrong_state,conflict,owned_by_file,too_large,unsupported_media_type,invalid,internal,unavailable" doc:"Stable; programs may rely on it"`
	Errors    []fieldError `json:"errors" nullable:"false" doc:"Every field that is wrong; with the code conflict, every field of the change that is something else now"`
	RequestID string       `json:"request_id,omitempty" doc:"Names the request in the log of the server"`

	Current *ScheduleJSON `json:"current,omitempty" doc:"With the code conflict: the schedule as it is now"`

	cause error // what it was made of, for the pages of other languages; may be nil
}

// fieldError is one thing wrong with one field of a request.
type fieldError struct {
	Location string `json:"location" doc:"A JSON pointer into the body, or path.NAME, query.NAME, header.NAME"`
	Message  string `json:"message"`
	Code     string `json:"code" doc:"Stable; programs may rely on it"`

	args   []string // what the code is about
	part   string   // of what it is, where it can be of several
	inside string   // a place in the field; empty for all of it
}

// wrong is a fault of a field, by a code of tasks.FaultCodes.
func wrong(location, code string, args ...any) fieldError {
	return fieldOf("", tasks.NewFault(code, args...).At(location))
}

// wrongBy is a fault that a check has found; one that is no tasks.Fault keeps its words.
func wrongBy(location string, err error) fieldError {
	if f, ok := errors.AsType[*tasks.Fault](err); ok {
		return fieldOf("", f.At(location))
	}
	return wrong(location, "other", err)
}

// fieldOf is a fault of something that is at a place in the body.
func fieldOf(at string, f tasks.FieldError) fieldError {
	return fieldError{Location: at + f.Location, Message: f.Message, Code: cmp.Or(f.Code, "other"), args: f.Args, part: f.Part}
}

func newProblem(status int, code, format string, args ...any) *problemJSON {
	return &problemJSON{
		Title: http.StatusText(status), Status: status, Code: code, Errors: []fieldError{}, Detail: fmt.Sprintf(format, args...),
	}
}

// invalid is the answer to a request with bad fields.
func invalid(fields []fieldError) *problemJSON {
	p := newProblem(http.StatusUnprocessableEntity, "invalid", "the request is not valid")
	if len(fields) == 1 {
		p.Detail = strings.TrimPrefix(clip(fields[0].Location)+": ", ": ") + clip(fields[0].Message)
	} else if len(fields) > 1 {
		p.Detail = fmt.Sprintf("the request is not valid: %d fields are wrong", len(fields))
	}
	slices.SortStableFunc(fields, func(a, b fieldError) int { return strings.Compare(a.Location, b.Location) })
	for _, f := range fields[:min(len(fields), maxFieldErrors)] {
		f.Location, f.Message, f.Code = clip(f.Location), clip(f.Message), cmp.Or(f.Code, "other")
		p.Errors = append(p.Errors, f)
	}
	return p
}

// Error makes a problem an error that handlers can return.
func (p *problemJSON) Error() string { return p.Detail }

// GetStatus tells huma the status.
func (p *problemJSON) GetStatus() int { return p.Status }

// ContentType tells huma the media type.
func (p *problemJSON) ContentType(string) string { return problemType }

// GetHeaders tells huma the headers that belong to the problem.
func (p *problemJSON) GetHeaders() http.Header {
	if p.Status == http.StatusServiceUnavailable {
		return http.Header{"Retry-After": {"5"}}
	}
	return nil
}

// problem turns the error of a handler into the answer. What has no answer of its own is logged and hidden: its text
// may name files, statements and values that are not the caller's business.
func (s *Server) problem(ctx context.Context, err error) *problemJSON {
	if p := knownProblem(err); p != nil {
		p.cause = err
		return p
	}
	id := callerOf(ctx).requestID
	s.logger.LogAttrs(ctx, slog.LevelError, "request failed", slog.String("request_id", id), slog.Any("error", err))
	p := newProblem(http.StatusInternalServerError, "internal", "something went wrong inside reax; its log has the details")
	p.RequestID = id
	return p
}

func knownProblem(err error) *problemJSON {
	if p, ok := errors.AsType[*problemJSON](err); ok {
		return p
	}
	if e, ok := errors.AsType[*models.StateError](err); ok {
		return newProblem(http.StatusConflict, "wrong_state", "%s", e.Error())
	}
	if e, ok := errors.AsType[*models.KeyHeldError](err); ok {
		return newProblem(http.StatusConflict, "wrong_state", "%s", e.Error())
	}
	if e, ok := errors.AsType[*models.OwnedError](err); ok {
		return newProblem(http.StatusConflict, "owned_by_file", "%s", e.Error())
	}
	if e, ok := errors.AsType[*actors.TooLargeError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, "too_large", "%s", e.Error())
	}
	if e, ok := errors.AsType[*tasks.InvalidError](err); ok {
		return invalid(fieldErrors("", e))
	}
	if e, ok := errors.AsType[*actors.BatchError](err); ok {
		return batchProblem(e)
	}
	switch {
	case errors.Is(err, models.ErrNotFound):
		return newProblem(http.StatusNotFound, "not_found", "there is no such task")
	case errors.Is(err, actors.ErrUnknownType):
		return newProblem(http.StatusNotFound, "unknown_type", "there is no such task type")
	case errors.Is(err, actors.ErrStopped):
		return newProblem(http.StatusServiceUnavailable, "unavailable", "reax is stopping")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, actors.ErrUnavailable), models.IsUnavailable(err):
		return newProblem(http.StatusServiceUnavailable, "unavailable", "the database did not answer in time; the same request may work later")
	}
	return nil
}

// fieldErrors are the faults of something that is at a place in the body.
func fieldErrors(at string, e *tasks.InvalidError) []fieldError {
	var fields []fieldError
	for _, f := range e.Fields {
		fields = append(fields, fieldOf(at, f))
	}
	return fields
}

// batchProblem names each refused task of a batch by its index.
func batchProblem(e *actors.BatchError) *problemJSON {
	var fields []fieldError
	for _, i := range slices.Sorted(maps.Keys(e.Errors)) {
		at := fmt.Sprintf("/tasks/%d", i)
		err := e.Errors[i]
		if bad, ok := errors.AsType[*tasks.InvalidError](err); ok {
			fields = append(fields, fieldErrors(at, bad)...)
		} else if errors.Is(err, actors.ErrUnknownType) {
			fields = append(fields, fieldError{Location: at + "/type", Message: "there is no such task type", Code: "no_type"})
		} else if p := knownProblem(err); p != nil {
			fields = append(fields, wrong(at, "other", p.Detail))
		} else {
			fields = append(fields, wrong(at, "not_stored"))
		}
	}
	return invalid(fields)
}

// asProblem gives huma's own errors, which are about paths, queries and headers, the shape of all others.
func asProblem(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var fields []fieldError
	for _, e := range m.Errors {
		if e != nil {
			fields = append(fields, wrong(e.Location, "other", e.Message))
		}
	}
	if m.Status == http.StatusUnprocessableEntity {
		return invalid(fields), nil
	}
	return statusProblem(m.Status), nil
}

// statusProblem is the answer where nothing but a status is known.
func statusProblem(status int) *problemJSON {
	switch status {
	case http.StatusNotFound:
		return newProblem(status, "not_found", "there is nothing at this address")
	case http.StatusMethodNotAllowed:
		return newProblem(status, "method_not_allowed", "this address does not take this method; the Allow header lists those it takes")
	case http.StatusRequestEntityTooLarge:
		return tooLarge()
	case http.StatusServiceUnavailable:
		return newProblem(status, "unavailable", "not available now; the same request may work later")
	}
	if status >= 400 && status < 500 {
		return newProblem(status, "invalid", "the request is not valid")
	}
	return newProblem(http.StatusInternalServerError, "internal", "something went wrong inside reax; its log has the details")
}

// writeEchoError answers what no handler answered: unknown addresses, methods that do not fit, refusals of middleware.
func (s *Server) writeEchoError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		s.fail(c, statusProblem(he.Code))
		return
	}
	s.fail(c, s.problem(c.Request().Context(), err))
}

// writeProblem writes p. A client that is gone is the only way in which it can fail, and then nobody is there to tell.
func writeProblem(c echo.Context, p *problemJSON) {
	h := c.Response().Header()
	maps.Copy(h, p.GetHeaders())
	h.Set(echo.HeaderContentType, problemType)
	text, err := json.Marshal(p)
	if err != nil {
		text = []byte("{}")
	}
	c.Response().WriteHeader(p.Status)
	_, _ = c.Response().Write(append(text, '\n'))
}

// problemResponse documents an error of an operation.
func problemResponse(schemas huma.Registry, status int) *huma.Response {
	r := &huma.Response{Description: http.StatusText(status), Content: map[string]*huma.MediaType{
		problemType: {Schema: schemas.Schema(reflect.TypeFor[problemJSON](), true, "Problem")},
	}}
	if status == http.StatusServiceUnavailable {
		r.Headers = map[string]*huma.Header{"Retry-After": {Description: "Seconds to wait", Schema: &huma.Schema{Type: "integer"}}}
	}
	return r
}

// clip bounds a text that may be the caller's own.
func clip(text string) string {
	if len(text) <= maxEcho {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxEcho], "") + "…"
}
