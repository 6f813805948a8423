package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reax/views"
)

// overviewPage is the page at the root.
func (s *Server) overviewPage(c echo.Context) error {
	h := s.runtime.Health()
	return s.render(c, http.StatusOK, views.OverviewPage(views.Overview{Status: h.Status, Reasons: h.Reasons}))
}
