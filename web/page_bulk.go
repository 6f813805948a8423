package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const (
	bulkStraight = 50 // as many picked tasks are changed without another question
	bulkListed   = 50 // of the tasks that were left alone
	bulkTried    = 10 // tasks on which a patch is tried before the question
)

// bulkPage retries, cancels or discards the tasks that were picked in a list and goes back to it, or asks about all
// that match the list's filter.
func (s *Server) bulkPage(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if form.Has("one") {
		id, err := readID(form.Get("one"))
		if err != nil {
			return err
		}
		done, err := s.retryOne(c, id)
		if err != nil {
			return err
		}
		if done {
			s.say(c, message{Tone: flashOK, Key: "dead.retried", Args: []any{"id", fmt.Sprint(id)}, URL: fmt.Sprintf("/tasks/%d", id)})
		}
		return seeOther(c, s.backTo(form.Get("back")))
	}
	back := func(m message) error {
		s.say(c, m)
		return seeOther(c, s.backTo(form.Get("back")))
	}
	refuse := func(key string, args ...any) error { return back(message{Tone: flashBad, Key: key, Args: args}) }

	action, reason := actors.Action(form.Get("do")), strings.TrimSpace(form.Get("reason"))
	if err := requireFor(c.Request().Context(), action); err != nil {
		return err
	}
	ids, all := form["id"], form.Get("scope") == "all"
	switch {
	case !slices.Contains([]actors.Action{actors.ActionRetry, actors.ActionCancel, actors.ActionDiscard}, action):
		return newProblem(http.StatusUnprocessableEntity, "invalid", "do: must be retry, cancel or discard")
	case len(reason) > actors.MaxReasonBytes:
		return refuse("bulk.long_reason", "n", actors.MaxReasonBytes)
	case len(ids) == 0 && !all:
		return refuse("bulk.none")
	case len(ids) > actors.MaxBulkTasks:
		return refuse("bulk.too_many", "n", actors.MaxBulkTasks)
	}
	req := actors.BulkRequest{Action: action, Change: changeOf(c.Request().Context(), reason)}
	if all {
		f, fault := s.bulkFilter(c, form.Get("query"))
		if fault != "" {
			return refuse(fault)
		}
		req.Filter = &f
		return s.planBulk(c, req, form.Get("back"))
	}
	for _, text := range ids {
		id, err := readID(text)
		if err != nil {
			return err
		}
		req.IDs = append(req.IDs, id)
	}
	if len(ids) > bulkStraight || action == actors.ActionDiscard && reason == "" {
		return s.planBulk(c, req, form.Get("back"))
	}
	report, err := s.runtime.Bulk(c.Request().Context(), req)
	if err != nil {
		return err
	}
	page := bulkPath(report.ID)
	if report.SkippedTotal == 0 {
		return back(message{Tone: flashOK, Key: "bulk.done." + string(action), Args: []any{"n", report.Done}, URL: page})
	}
	why := ""
	if len(report.Skipped) > 0 {
		why = views.T(c.Request().Context(), "bulk.skip."+report.Skipped[0].Code)
	}
	return back(message{Tone: flashWarn, Key: "bulk.part." + string(action), Args: []any{"n", report.Done, "skipped", report.SkippedTotal, "why", why}, URL: page})
}

// bulkFilter reads the filter of a list. fault is the key of what is wrong with it.
func (s *Server) bulkFilter(c echo.Context, query string) (f models.Filter, fault string) {
	viewer := views.ViewerOf(c.Request().Context())
	values, err := url.ParseQuery(query)
	if err != nil {
		return f, "bulk.bad_filter"
	}
	values.Del("cursor")
	t := s.tasksQuery(values, viewer.Zone, viewer.Now)
	switch {
	case len(t.faults) > 0:
		return f, "bulk.bad_filter"
	case t.state == "" && t.typ == "" && !t.narrows():
		return f, "bulk.no_filter" // every task that there is: nobody means that
	}
	t.filter.Order = models.NewestFirst // all that match, and not those that were sorted
	return t.filter, ""
}

// planBulk freezes the set of a bulk action and goes on to the question about it.
func (s *Server) planBulk(c echo.Context, req actors.BulkRequest, back string) error {
	ctx := c.Request().Context()
	plan, err := s.runtime.PlanBulk(ctx, req)
	if large := (*actors.TooLargeError)(nil); errors.As(err, &large) {
		s.say(c, message{Tone: flashBad, Key: "bulk.too_many", Args: []any{"n", large.Limit}})
		return seeOther(c, s.backTo(back))
	}
	if err != nil {
		return err
	}
	return seeOther(c, bulkURL(c, plan.ID, s.backTo(back)))
}

func bulkPath(id int64) string { return "/bulk/" + strconv.FormatInt(id, 10) }

func bulkURL(c echo.Context, id int64, back string) string {
	return string(views.URL(c.Request().Context(), bulkPath(id), "back", back))
}
