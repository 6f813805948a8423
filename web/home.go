package web

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/static"
	"reax/views"
)

// home is the page at the root: that reax runs, and where its API is.
func (s *Server) home(c echo.Context) error {
	r := c.Request()
	h := s.runtime.Health()
	page := views.Home{
		Locale: views.LocaleOf(r.Header.Get("Accept-Language")), Base: s.base, Stylesheet: s.base + static.Path("app.css"),
		Version: s.version, Status: h.Status, Reasons: h.Reasons,
	}
	if byType, err := s.countsByType(r.Context()); err == nil {
		total := map[models.State]int64{}
		for _, counts := range byType {
			for state, n := range counts {
				total[state] += n
			}
		}
		for _, state := range models.States {
			page.Counts = append(page.Counts, views.StateCount{State: state, N: total[state]})
		}
	}
	// Rendered whole before the first byte is sent, so that an error can still be an error.
	var html bytes.Buffer
	if err := page.Render(r.Context(), &html); err != nil {
		return err
	}
	c.Response().Header().Set("Content-Security-Policy", pagePolicy)
	c.Response().Header().Set("Vary", "Accept-Language")
	return c.HTMLBlob(http.StatusOK, html.Bytes())
}

// asset serves a file under the hash of its content, so that browsers may keep it for ever.
func (s *Server) asset(c echo.Context) error {
	text, mediaType, ok := static.Lookup(c.Param("hash"), c.Param("file"))
	if !ok {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return c.Blob(http.StatusOK, mediaType, text)
}
