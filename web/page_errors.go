package web

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// said is the detail of a problem in the language of the viewer. Where only the English of the API knows it, a page of
// another language goes without.
func (p *problemJSON) said(ctx context.Context) string {
	if wrong, ok := errors.AsType[*models.StateError](p.cause); ok {
		return views.T(ctx, "task.refused."+string(wrong.State), "id", strconv.FormatInt(wrong.ID, 10))
	}
	if held, ok := errors.AsType[*models.KeyHeldError](p.cause); ok {
		return views.T(ctx, "task.key_held", "id", strconv.FormatInt(held.Holder, 10))
	}
	if owned, ok := errors.AsType[*models.OwnedError](p.cause); ok && owned.Owner == models.OwnerFile {
		return views.T(ctx, "fault.owned_by_file", "a", owned.Name)
	}
	if large, ok := errors.AsType[*actors.TooLargeError](p.cause); ok {
		return tooLargeText(ctx, large)
	}
	if views.ViewerOf(ctx).Locale == views.English {
		return p.Detail
	}
	var faults []string
	for _, f := range p.Errors {
		if f.Code != "other" {
			faults = append(faults, strings.TrimPrefix(f.Location+": ", ": ")+faultText(ctx, f))
		}
	}
	return strings.Join(faults, "\n")
}

// fail answers with an error: to a browser as a page, else as a problem.
func (s *Server) fail(c echo.Context, p *problemJSON) {
	if !s.wantsPage(c) {
		writeProblem(c, p)
		return
	}
	h := c.Response().Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Vary", "Accept, Accept-Language, Cookie")
	// The request may have failed because its time was up.
	ctx := views.WithViewer(context.WithoutCancel(c.Request().Context()), s.viewer(c))
	c.SetRequest(c.Request().WithContext(ctx))
	c.Request().Header.Del(fragmentsHeader)
	id := callerOf(ctx).requestID
	page := views.ErrorPage(views.Failure{Status: p.Status, Code: p.Code, Detail: p.said(ctx), RequestID: id})
	if err := s.render(c, p.Status, page); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelError, "an error page failed", slog.String("request_id", id), slog.Any("error", err))
	}
}
