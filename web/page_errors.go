package web

import (
	"context"
	"log/slog"
	"maps"

	"github.com/labstack/echo/v4"

	"reax/views"
)

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
	page := views.ErrorPage(views.Failure{Status: p.Status, Code: p.Code, Detail: p.Detail, RequestID: id})
	if err := s.render(c, p.Status, page); err != nil {
		s.logger.LogAttrs(ctx, slog.LevelError, "an error page failed", slog.String("request_id", id), slog.Any("error", err))
	}
}
