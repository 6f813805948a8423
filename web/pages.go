package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reax/static"
)

// pageRoutes is every page of the dashboard, and what the pages load.
func (s *Server) pageRoutes() {
	group := s.echo.Group(s.base)
	get := func(path string, h echo.HandlerFunc) { group.GET(path, h, s.asPage) }
	post := func(path string, h echo.HandlerFunc) { group.POST(path, h, s.asPage) }

	get("/", s.overviewPage)
	get("/tasks", s.tasksPage)
	post("/tasks/bulk", s.bulkPage)
	get("/search", s.searchPage)
	post("/settings", s.saveSettings)

	group.GET("/events", s.events)
	group.GET("/static/:hash/:file", s.asset)
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
