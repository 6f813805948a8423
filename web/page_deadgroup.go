package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// safe is an address that was made by views.URL.
func safe(address string) templ.SafeURL { return templ.SafeURL(address) }

// deadGroupOf reads the group that the address names.
func (s *Server) deadGroupOf(c echo.Context) (models.ErrorGroup, error) {
	typ, fingerprint := c.Param("type"), c.Param("fingerprint")
	if !isFingerprint(fingerprint) {
		return models.ErrorGroup{}, models.ErrNotFound
	}
	return s.ledger.ErrorGroup(c.Request().Context(), typ, fingerprint)
}

func groupURL(ctx context.Context, g *models.ErrorGroup, pairs ...string) string {
	return string(views.URL(ctx, "/dead/"+views.Segment(g.Type)+"/"+views.Segment(g.Fingerprint), pairs...))
}

// deadGroupPage is one group of errors with its tasks.
func (s *Server) deadGroupPage(c echo.Context) error {
	g, err := s.deadGroupOf(c)
	if err != nil {
		return err
	}
	return s.showDeadGroup(c, http.StatusOK, &g, markFields(c.Request().Context(), &g, nil, nil))
}

func (s *Server) showDeadGroup(c echo.Context, status int, g *models.ErrorGroup, marks []views.Field) error {
	ctx := c.Request().Context()
	first := c.QueryParam("first")
	page := views.DeadDetail{
		Marks: marks,
		Back:  groupURL(ctx, g, "first", first),
		Query: url.Values{"type": {g.Type}, "fingerprint": {g.Fingerprint}}.Encode(),
	}
	var err error
	if page.DeadGroup, err = s.deadGroup(ctx, *g, readVisit(c).before); err != nil {
		return err
	}
	if page.Canary, err = s.canary(ctx, g, first); err != nil {
		return err
	}
	f := groupFilter(g)
	if cursor := c.QueryParam("cursor"); cursor != "" {
		if f.Before, err = decodeCursor(cursor); err != nil {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "query.cursor: %s", err)
		}
		page.Newest = safe(groupURL(ctx, g))
	}
	list, err := s.ledger.List(ctx, f, pageRows(ctx))
	if err != nil {
		return err
	}
	page.Rows = s.taskRows(list.Tasks)
	if list.Next != 0 {
		page.Older = safe(groupURL(ctx, g, "first", first, "cursor", encodeCursor(list.Next)))
	}
	return s.render(c, status, views.DeadGroupPage(page))
}

// canary is the task that was retried before the rest, as the address names it; nil when it is none of this type.
func (s *Server) canary(ctx context.Context, g *models.ErrorGroup, id string) (*views.Canary, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return nil, nil
	}
	found, err := s.ledger.Previews(ctx, []int64{n})
	if err != nil || len(found) == 0 || found[0].Type != g.Type {
		return nil, err
	}
	return &views.Canary{TaskRow: views.TaskRow{Task: found[0]}, SameError: found[0].Fingerprint == g.Fingerprint}, nil
}

// changeDeadGroup retries the newest task of a group, or asks about all of them.
func (s *Server) changeDeadGroup(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	g, err := s.deadGroupOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	f := groupFilter(&g)
	switch do := form.Get("do"); do {
	case "first":
		return s.retryFirst(c, &g, f, form.Get("back"))
	case string(actors.ActionRetry), string(actors.ActionDiscard):
		if err := requireFor(ctx, actors.Action(do)); err != nil {
			return err
		}
		req := actors.BulkRequest{Action: actors.Action(do), Filter: &f, Change: changeOf(ctx, "")}
		return s.planBulk(c, req, form.Get("back"))
	}
	return newProblem(http.StatusUnprocessableEntity, "invalid", "do: must be first, retry or discard")
}

// retryFirst retries the newest task of a group and shows what comes of it.
func (s *Server) retryFirst(c echo.Context, g *models.ErrorGroup, f models.Filter, back string) error {
	ctx := c.Request().Context()
	list, err := s.ledger.List(ctx, f, 1)
	if err != nil {
		return err
	}
	if len(list.Tasks) == 0 {
		s.say(c, message{Tone: flashWarn, Key: "dead.gone"})
		return seeOther(c, s.backTo(back))
	}
	id := list.Tasks[0].ID
	done, err := s.retryOne(c, id)
	if err != nil {
		return err
	}
	if !done {
		return seeOther(c, s.backTo(back))
	}
	return seeOther(c, groupURL(ctx, g, "first", strconv.FormatInt(id, 10)))
}

// retryOne retries a task. It reports false when the task was left alone, and says why.
func (s *Server) retryOne(c echo.Context, id int64) (done bool, err error) {
	ctx := c.Request().Context()
	_, err = s.runtime.Retry(ctx, id, changeOf(ctx, ""))
	var wrong *models.StateError
	var held *models.KeyHeldError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &wrong), errors.Is(err, models.ErrNotFound):
		s.say(c, message{Tone: flashWarn, Key: "dead.changed"})
		return false, nil
	case errors.As(err, &held):
		s.say(c, message{Tone: flashWarn, Key: "dead.key_held"})
		return false, nil
	}
	return false, err
}

func (s *Server) taskRows(list []models.Task) []views.TaskRow {
	var rows []views.TaskRow
	for i := range list {
		rows = append(rows, views.TaskRow{Task: list[i], Params: s.shownParams(&list[i])})
	}
	return rows
}

// readID is the id of a task in a form.
func readID(text string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || id < 1 {
		return 0, newProblem(http.StatusUnprocessableEntity, "invalid", "id: must be the id of a task")
	}
	return id, nil
}
