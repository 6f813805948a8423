package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/static"
)

// pageRoutes is every page of the dashboard, and what the pages load.
func (s *Server) pageRoutes() {
	group := s.echo.Group(s.base)
	get := func(least models.Role, path string, h echo.HandlerFunc) {
		s.allow(least, http.MethodGet, path)
		group.GET(path, h, s.asPage)
	}
	post := func(least models.Role, path string, h echo.HandlerFunc) {
		s.allow(least, http.MethodPost, path)
		group.POST(path, h, s.asPage)
	}
	file := func(least models.Role, path string, h echo.HandlerFunc) {
		s.allow(least, http.MethodGet, path)
		group.GET(path, h)
	}

	get(viewer, "/", s.overviewPage)
	post(operator, "/demonstration", s.demonstration)
	get(viewer, "/tasks", s.tasksPage)
	post(operator, "/tasks/bulk", s.bulkPage)
	get(viewer, "/tasks/:id", s.taskPage)
	get(admin, "/tasks/:id/discard", s.discardPage)
	post(operator, "/tasks/:id/retry", s.retryPage)
	post(operator, "/tasks/:id/cancel", s.cancelPage)
	post(admin, "/tasks/:id/discard", s.discardTaskPage)
	post(operator, "/tasks/:id/repeat", s.repeatPage)
	get(viewer, "/bulk/:id", s.bulkRunPage)
	post(operator, "/bulk/:id", s.startBulk)
	get(viewer, "/dead", s.deadPage)
	get(viewer, "/dead/:type/:fingerprint", s.deadGroupPage)
	post(operator, "/dead/:type/:fingerprint", s.changeDeadGroup)
	get(viewer, "/schedules", s.schedulesPage)
	get(operator, "/schedules/new", s.newSchedulePage)
	post(operator, "/schedules/new", s.createSchedulePage)
	get(viewer, "/schedules/:name", s.schedulePage)
	get(operator, "/schedules/:name/edit", s.editSchedulePage)
	post(operator, "/schedules/:name/edit", s.changeSchedulePage)
	get(operator, "/schedules/:name/pause", s.pauseSchedulePage)
	post(operator, "/schedules/:name/pause", s.pauseScheduleForm)
	post(operator, "/schedules/:name/resume", s.resumeScheduleForm)
	post(operator, "/schedules/:name/run", s.runScheduleForm)
	get(operator, "/schedules/:name/delete", s.deleteSchedulePage)
	post(operator, "/schedules/:name/delete", s.deleteScheduleForm)
	get(viewer, "/types", s.typesPage)
	get(viewer, "/types/:name", s.typePage)
	get(operator, "/types/:name/:action", s.typeActionPage)
	post(operator, "/types/:name/:action", s.typeActionForm)
	get(viewer, "/actors", s.actorsPage)
	get(operator, "/enqueue", s.enqueueTypesPage)
	get(operator, "/enqueue/:type", s.enqueueFormPage)
	post(operator, "/enqueue/:type", s.enqueuePage)
	get(viewer, "/search", s.searchPage)
	post(viewer, "/settings", s.saveSettings)

	file(viewer, "/tasks/:id/params.json", s.taskParams)
	file(viewer, "/tasks/:id/result.json", s.taskResult)
	file(viewer, "/tasks/:id/error.txt", s.taskError)
	file(viewer, "/tasks/export.csv", s.exportCSV)
	file(viewer, "/tasks/export.json", s.exportJSON)
	file(viewer, "/events", s.events)
	file(anyone, "/static/:hash/:file", s.asset)
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
