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
	post("/demonstration", s.demonstration)
	get("/tasks", s.tasksPage)
	post("/tasks/bulk", s.bulkPage)
	get("/tasks/:id", s.taskPage)
	get("/tasks/:id/discard", s.discardPage)
	post("/tasks/:id/retry", s.retryPage)
	post("/tasks/:id/cancel", s.cancelPage)
	post("/tasks/:id/discard", s.discardTaskPage)
	post("/tasks/:id/repeat", s.repeatPage)
	get("/bulk/:id", s.bulkRunPage)
	post("/bulk/:id", s.startBulk)
	get("/dead", s.deadPage)
	get("/dead/:type/:fingerprint", s.deadGroupPage)
	post("/dead/:type/:fingerprint", s.changeDeadGroup)
	get("/schedules", s.schedulesPage)
	get("/schedules/new", s.newSchedulePage)
	post("/schedules/new", s.createSchedulePage)
	get("/schedules/:name", s.schedulePage)
	get("/schedules/:name/edit", s.editSchedulePage)
	post("/schedules/:name/edit", s.changeSchedulePage)
	get("/schedules/:name/pause", s.pauseSchedulePage)
	post("/schedules/:name/pause", s.pauseScheduleForm)
	post("/schedules/:name/resume", s.resumeScheduleForm)
	post("/schedules/:name/run", s.runScheduleForm)
	get("/schedules/:name/delete", s.deleteSchedulePage)
	post("/schedules/:name/delete", s.deleteScheduleForm)
	get("/types", s.typesPage)
	get("/types/:name", s.typePage)
	get("/types/:name/:action", s.typeActionPage)
	post("/types/:name/:action", s.typeActionForm)
	get("/actors", s.actorsPage)
	get("/enqueue", s.enqueueTypesPage)
	get("/enqueue/:type", s.enqueueFormPage)
	post("/enqueue/:type", s.enqueuePage)
	get("/search", s.searchPage)
	post("/settings", s.saveSettings)

	group.GET("/tasks/:id/params.json", s.taskParams)
	group.GET("/tasks/:id/result.json", s.taskResult)
	group.GET("/tasks/:id/error.txt", s.taskError)
	group.GET("/tasks/export.csv", s.exportCSV)
	group.GET("/tasks/export.json", s.exportJSON)
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
