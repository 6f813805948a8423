package web

import (
	"errors"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

// searchPage jumps to what the search names: a task by its id, a trace, the tasks of a type, or else those in whose
// errors it is found.
func (s *Server) searchPage(c echo.Context) error {
	path, err := s.found(c, strings.TrimSpace(c.QueryParam("q")))
	if err != nil {
		return err
	}
	return seeOther(c, path)
}

func (s *Server) found(c echo.Context, q string) (string, error) {
	ctx := c.Request().Context()
	tasks := func(name, value string) string { return string(views.URL(ctx, "/tasks", name, value)) }
	if trace := strings.ToLower(q); isTraceID(trace) {
		return string(views.URL(ctx, tracePath(trace))), nil
	}
	if id, err := strconv.ParseInt(strings.TrimPrefix(q, "#"), 10, 64); err == nil && id > 0 {
		switch _, err := s.ledger.Task(ctx, id); {
		case err == nil:
			return string(views.URL(ctx, "/tasks/"+strconv.FormatInt(id, 10))), nil
		case !errors.Is(err, models.ErrNotFound):
			return "", err
		}
	}
	name := strings.TrimPrefix(q, "type:")
	if _, ok := s.runtime.Registry().Lookup(name); ok || name != q {
		return tasks("type", name), nil
	}
	return tasks("q", q), nil
}
