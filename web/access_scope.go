package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
)

// scope is how a token that is limited to some task types is kept to them on one route.
type scope int

const (
	outOfScope   scope = iota // such tokens may not ask: the answer is about more than some types
	scopedByTask              // :id in the path is a task, whose type must fit
	scopedByType              // :name in the path is a type
	scopedInside              // the handler asks allows or within
)

// scopes are the routes that tokens limited to some types may use, below the base path. A route that is missing here is
// out of scope.
var scopes = map[string]scope{
	"POST " + apiPath + "/tasks":              scopedInside,
	"POST " + apiPath + "/tasks/batch":        scopedInside,
	"POST " + apiPath + "/tasks/bulk":         scopedInside,
	"GET " + apiPath + "/tasks":               scopedInside,
	"GET " + apiPath + "/tasks/:id":           scopedByTask,
	"GET " + apiPath + "/tasks/:id/logs":      scopedByTask,
	"POST " + apiPath + "/tasks/:id/retry":    scopedByTask,
	"POST " + apiPath + "/tasks/:id/cancel":   scopedByTask,
	"POST " + apiPath + "/tasks/:id/discard":  scopedByTask,
	"POST " + apiPath + "/tasks/:id/repeat":   scopedByTask,
	"GET " + apiPath + "/types":               scopedInside,
	"PATCH " + apiPath + "/types/:name":       scopedByType,
	"POST " + apiPath + "/types/:name/pause":  scopedByType,
	"POST " + apiPath + "/types/:name/resume": scopedByType,
}

// withinScope refuses a token that is limited to some types what is about others.
func (s *Server) withinScope(c echo.Context, who *caller) error {
	if len(who.types) == 0 {
		return nil
	}
	switch scopes[c.Request().Method+" "+c.Path()[len(s.base):]] {
	case scopedInside:
		return nil
	case scopedByType:
		return who.allows(c.Param("name"))
	case scopedByTask:
		id, err := strconv.ParseInt(c.Param("id"), 10, 64)
		if err != nil {
			return nil // the handler says what is wrong with it
		}
		task, err := s.ledger.Task(c.Request().Context(), id)
		if errors.Is(err, models.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return who.allows(task.Type)
	}
	return newProblem(http.StatusForbidden, missingRole, "this token is for tasks of some types only")
}

// allows refuses a task type that a token is not for.
func (w *caller) allows(typ string) error {
	if len(w.types) == 0 || slices.Contains(w.types, typ) {
		return nil
	}
	return newProblem(http.StatusForbidden, missingRole, "this token is not for tasks of the type %q", clip(typ))
}

// allowsHolder refuses to show the task that holds a unique key when it is of a type that a token is not for.
func (w *caller) allowsHolder(e *actors.Enqueued) error {
	if e.Duplicate && w.allows(e.Task.Type) != nil {
		return newProblem(http.StatusConflict, "conflict", "a task of another type holds the unique key")
	}
	return nil
}

// scoped limits a filter to the types that a token is for. It refuses a filter that names another type.
func (w *caller) scoped(f *models.Filter) error {
	if len(w.types) == 0 {
		return nil
	}
	if len(f.Types) == 0 {
		f.Types = w.types
	}
	for _, typ := range f.Types {
		if err := w.allows(typ); err != nil {
			return err
		}
	}
	return nil
}

// scopedIDs refuses tasks of types that a token is not for.
func (s *Server) scopedIDs(ctx context.Context, ids []int64) error {
	who := callerOf(ctx)
	if len(who.types) == 0 {
		return nil
	}
	const most = 1000
	if len(ids) > most {
		return newProblem(http.StatusForbidden, missingRole, "this token is for tasks of some types only, and may name at most %d tasks; use a filter", most)
	}
	for _, id := range ids {
		task, err := s.ledger.Task(ctx, id)
		if errors.Is(err, models.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking at the type of task %d: %w", id, err)
		}
		if err := who.allows(task.Type); err != nil {
			return err
		}
	}
	return nil
}
