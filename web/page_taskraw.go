package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

const (
	shownJSON  = 3_000    // bytes of HTML for the parameters, and for the result
	indentJSON = 64 << 10 // longer JSON is shown as it is
)

// payload is the start of some JSON, with the address of all of it. Only white space is changed, so numbers keep their
// digits.
func payload(ctx context.Context, t *models.Task, name, text string) views.Payload {
	if text == "" {
		return views.Payload{}
	}
	p := views.Payload{Raw: views.URL(ctx, fmt.Sprintf("%s/%s.json", taskPath(t.ID), name)), Size: views.Bytes(int64(len(text)))}
	shown := text
	if len(text) <= indentJSON {
		shown = indented(text)
	}
	room := budget(shownJSON)
	var whole bool
	p.Text, whole = room.take(shown, shownJSON)
	p.Cut = !whole
	return p
}

// attach answers with a text to keep. It is never shown in place, whatever it holds.
func attach(c echo.Context, name, text string) error {
	h := c.Response().Header()
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}

// taskParams gives the parameters of a task whole, without what must not be shown.
func (s *Server) taskParams(c echo.Context) error {
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	return attach(c, fmt.Sprintf("task-%d-params.json", t.ID), s.shownParams(&t))
}

// taskResult gives the result of a task whole, without what must not be shown.
func (s *Server) taskResult(c echo.Context) error {
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	return attach(c, fmt.Sprintf("task-%d-result.json", t.ID), s.shownResult(&t))
}

// taskError gives the whole error and stack of one run.
func (s *Server) taskError(c echo.Context) error {
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	n := number(c, "attempt")
	attempts, err := s.ledger.LatestAttempts(c.Request().Context(), t.ID, n+1, 1)
	if err != nil {
		return err
	}
	if len(attempts) != 1 || attempts[0].Attempt != n {
		return models.ErrNotFound
	}
	text := strings.TrimSpace(attempts[0].Error+"\n\n"+attempts[0].Stack) + "\n"
	return attach(c, fmt.Sprintf("task-%d-attempt-%d-error.txt", t.ID, n), text)
}
