package web

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// hidden stands for a value that is not shown.
const hidden = tasks.Hidden

// schemaOf is the schema of a type's parameters; nil for a type that this process has no handler for.
func (s *Server) schemaOf(typ string) *tasks.Schema {
	if d, ok := s.runtime.Registry().Lookup(typ); ok {
		return d.Schema
	}
	return nil
}

// maskParams are parameters of a type as anybody may see them. What is secret of a type that is not known here, nobody can
// tell: all its values are hidden until it is known again.
func (s *Server) maskParams(typ, params string) string {
	if schema := s.schemaOf(typ); schema != nil {
		return schema.Mask(params)
	}
	return tasks.MaskAll(params)
}

// shownParams are the parameters of a task as anybody may see them.
func (s *Server) shownParams(t *models.Task) string { return s.maskParams(t.Type, t.Params) }

// shownResult is the result of a task as anybody may see it: a handler may give back what it was given, so the names of
// secret parameters are secret here too.
func (s *Server) shownResult(t *models.Task) string {
	if schema := s.schemaOf(t.Type); schema != nil {
		return schema.MaskResult(t.Result)
	}
	return tasks.MaskAll(t.Result)
}

// shown is a task as anybody may see it.
func (s *Server) shown(t *models.Task) *models.Task {
	seen := *t
	seen.Params, seen.Result = s.shownParams(t), s.shownResult(t)
	return &seen
}

// shownExample are parameters for people to start from, without a secret that the schema gives as an example.
func shownExample(d *tasks.Definition) string { return d.Schema.Mask(string(d.Example)) }

// unmask puts the hidden values of original, which may be empty, in their places in params that somebody sends back as
// they were shown. What is still hidden then is a fault: stored, it would be what the handler gets.
func (s *Server) unmask(typ string, params json.RawMessage, original, at string) (json.RawMessage, []fieldError) {
	filled, still := s.schemaOf(typ).Unmask(params, json.RawMessage(original))
	var faults []fieldError
	for _, place := range still {
		faults = append(faults, wrong(at+place, "hidden"))
	}
	return filled, faults
}

// unmaskPatch puts the hidden values of a schedule in their places in a change of it.
func (s *Server) unmaskPatch(ctx context.Context, name string, patch *actors.SchedulePatch, at string) error {
	if patch.Params == nil && patch.Task == nil {
		return nil
	}
	row, err := s.ledger.Schedule(ctx, name)
	if err != nil {
		return scheduleProblem(name, err)
	}
	typ, original := row.Task, row.Params
	if patch.Task != nil && *patch.Task != typ { // another type is no place for the secrets of this one
		if patch.Params == nil && s.maskParams(typ, row.Params) != row.Params {
			return invalid([]fieldError{wrong(at, "hidden_part")})
		}
		typ, original = *patch.Task, ""
	}
	filled, faults := s.unmask(typ, patch.Params, original, at)
	if faults != nil {
		return invalid(faults)
	}
	patch.Params = filled
	return nil
}

// tasksQuery reads the query of a list, and refuses one that asks for what is hidden.
func (s *Server) tasksQuery(v url.Values, zone *time.Location, now time.Time) *tasksQuery {
	t := readTasksQuery(v, zone, now)
	if s.secretFilter(&t.filter) {
		t.faults["param"] = "tasks.secret_param"
	}
	return t
}

// secretFilter reports whether a filter asks for the value of a parameter that is hidden: its answer would tell.
func (s *Server) secretFilter(f *models.Filter) bool {
	if f.Param == nil {
		return false
	}
	path := strings.Split(strings.ReplaceAll(f.Param.Path, `"`, ""), ".") // the ledger reads it without quotes
	// A whole object or list may have hidden values in it, which a comparison would guess.
	whole := strings.HasPrefix(f.Param.Value, "{") || strings.HasPrefix(f.Param.Value, "[")
	hides := func(d *tasks.Definition) bool { return d.Schema.MasksPath(path...) || whole && d.Schema.Masks() }
	if len(f.Types) == 0 {
		return slices.ContainsFunc(s.runtime.Registry().All(), hides)
	}
	return slices.ContainsFunc(f.Types, func(name string) bool {
		d, known := s.runtime.Registry().Lookup(name)
		return !known || hides(d) // what is secret of a type that is not known here, nobody can tell
	})
}
