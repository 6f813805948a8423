package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"reax/tasks"
)

const (
	maxBodyBytes    = 4 << 20
	bodyReadTimeout = 30 * time.Second
)

// checkedBody is a body with rules that its schema cannot say. check gives all of the faults that it finds; it is also
// called when the schema has found some, and then sees zero values where a field could not be read.
type checkedBody interface {
	check(s *Server) []fieldError
}

// bodyCheck checks the body of one operation against the schema that the OpenAPI document shows for it. huma's own check
// is not used: it reads numbers as float64, ignores the case of names and stops looking at what it cannot read.
type bodyCheck struct {
	server   *Server
	schema   *tasks.Schema
	body     reflect.Type
	optional bool
}

func newBodyCheck(s *Server, t reflect.Type) *bodyCheck {
	c := &bodyCheck{server: s, body: t, optional: t.Kind() == reflect.Pointer}
	if c.optional {
		c.body = t.Elem()
	}
	// A registry of its own holds nothing but what this body refers to.
	schemas := newSchemas()
	document, err := json.Marshal(map[string]any{
		"type": "object", "allOf": []any{schemas.Schema(c.body, true, "")}, "components": map[string]any{"schemas": schemas.Map()},
	})
	if err != nil {
		panic("web: the schema of " + t.String() + ": " + err.Error())
	}
	if c.schema, err = tasks.CompileSchema(document); err != nil {
		panic("web: the schema of " + t.String() + ": " + err.Error())
	}
	return c
}

// run names everything that is wrong with raw, or returns nil.
func (c *bodyCheck) run(raw []byte) *problemJSON {
	if len(bytes.TrimSpace(raw)) == 0 {
		if c.optional {
			return nil
		}
		return newProblem(http.StatusBadRequest, "bad_json", "the body is empty: a JSON object is needed")
	}
	faults := map[string]fieldError{}
	if err := c.schema.Check(raw); err != nil {
		bad, ok := errors.AsType[*tasks.InvalidError](err)
		if !ok || len(bad.Fields) == 0 {
			return newProblem(http.StatusBadRequest, "bad_json", "the body cannot be read")
		}
		if !utf8.Valid(raw) || !json.Valid(raw) {
			return newProblem(http.StatusBadRequest, "bad_json", "the body is not valid JSON: %s", bad.Fields[0].Message)
		}
		for _, f := range bad.Fields {
			faults[f.Location] = fieldOf("", f)
			if f.Code == "unknown" { // a body has fields, and its parameters are checked by the runtime
				faults[f.Location] = wrong(f.Location, "unknown_field")
			}
		}
		if _, whole := faults[""]; whole {
			return invalid(slices.Collect(maps.Values(faults)))
		}
	}
	value := reflect.New(c.body).Interface()
	if err := json.Unmarshal(raw, value); err != nil && len(faults) == 0 {
		return newProblem(http.StatusBadRequest, "bad_json", "the body cannot be read")
	}
	if b, ok := value.(checkedBody); ok {
		for _, f := range b.check(c.server) {
			faults[f.Location] = f
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return invalid(slices.Collect(maps.Values(faults)))
}

// checkBody reads the body of an operation that has one, within limits, and lets the operation go on only if it is
// right.
func (s *Server) checkBody(ctx huma.Context, next func(huma.Context)) {
	check := s.bodies[ctx.Operation().OperationID]
	if check == nil {
		next(ctx)
		return
	}
	c := humaecho.Unwrap(ctx)
	raw, p := readBody(c)
	if p == nil && len(raw) > 0 {
		p = checkMediaType(c.Request().Header.Get(echo.HeaderContentType))
	}
	if p == nil {
		p = check.run(raw)
	}
	if p != nil {
		writeProblem(c, p)
		return
	}
	c.Request().Body = io.NopCloser(bytes.NewReader(bytes.TrimSpace(raw)))
	next(ctx)
}

// readBody reads the whole body, or refuses it before it has read more than the limit.
func readBody(c echo.Context) ([]byte, *problemJSON) {
	r := c.Request()
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge()
	}
	// Nobody may hold a connection by sending a letter a minute. huma lifts the deadline again before the handler. A
	// writer that knows no deadlines is a test's.
	_ = http.NewResponseController(c.Response().Writer).SetReadDeadline(time.Now().Add(bodyReadTimeout))
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, maxBodyBytes))
	if err == nil {
		return raw, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return nil, newProblem(http.StatusRequestTimeout, "timeout", "the body did not arrive within %s", bodyReadTimeout)
	}
	return nil, newProblem(http.StatusBadRequest, "bad_json", "the body ended before it was complete")
}

func tooLarge() *problemJSON {
	return newProblem(http.StatusRequestEntityTooLarge, "too_large", "the body is too large: the limit is %d bytes (4 MiB)", maxBodyBytes)
}

// checkMediaType refuses what a form on a foreign page could send.
func checkMediaType(header string) *problemJSON {
	media, _, err := mime.ParseMediaType(header)
	if header == "" || err == nil && (media == echo.MIMEApplicationJSON || strings.HasSuffix(media, "+json")) {
		return nil
	}
	return newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be JSON: send Content-Type: application/json")
}

// textBytes refuses text of more bytes than limit: a schema can only count letters.
func textBytes(location, text string, limit int) []fieldError {
	if len(text) <= limit {
		return nil
	}
	return []fieldError{wrong(location, "bytes", limit)}
}
