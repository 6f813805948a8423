package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/actors"
)

// bulkPage retries, cancels or discards the tasks that were picked in a list, and goes back to it.
func (s *Server) bulkPage(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	back := func(m message) error {
		s.say(c, m)
		return seeOther(c, s.backTo(form.Get("back")))
	}
	refuse := func(key string, args ...any) error { return back(message{Tone: flashBad, Key: key, Args: args}) }

	action, reason := actors.Action(form.Get("do")), strings.TrimSpace(form.Get("reason"))
	known := []actors.Action{actors.ActionRetry, actors.ActionCancel, actors.ActionDiscard}
	switch {
	case !slices.Contains(known, action):
		return newProblem(http.StatusUnprocessableEntity, "invalid", "do: must be retry, cancel or discard")
	case len(reason) > actors.MaxReasonBytes:
		return refuse("bulk.long_reason", "n", actors.MaxReasonBytes)
	case action == actors.ActionDiscard && reason == "":
		return refuse("bulk.no_reason")
	case len(form["id"]) == 0:
		return refuse("bulk.none")
	case len(form["id"]) > actors.MaxBulkTasks:
		return refuse("bulk.too_many", "n", actors.MaxBulkTasks)
	}
	req := actors.BulkRequest{Action: action, Change: changeOf(c.Request().Context(), reason)}
	for _, text := range form["id"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "id: must be the id of a task")
		}
		req.IDs = append(req.IDs, id)
	}
	report, err := s.runtime.Bulk(c.Request().Context(), req)
	if err != nil {
		return err
	}
	if report.SkippedTotal == 0 {
		return back(message{Tone: flashOK, Key: "bulk.done." + string(action), Args: []any{"n", report.Done}})
	}
	why := ""
	if len(report.Skipped) > 0 {
		why = report.Skipped[0].Reason
	}
	return back(message{Tone: flashWarn, Key: "bulk.part." + string(action), Args: []any{"n", report.Done, "skipped", report.SkippedTotal, "why", why}})
}
