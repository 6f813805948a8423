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
	get(viewer, "/bulk", s.bulkListPage)
	get(viewer, "/bulk/:id", s.bulkRunPage)
	post(operator, "/bulk/:id", s.startBulk)
	post(operator, "/bulk/:id/stop", s.stopBulk)
	get(viewer, "/dead", s.deadPage)
	get(viewer, "/dead/:type/:fingerprint", s.deadGroupPage)
	post(operator, "/dead/:type/:fingerprint", s.changeDeadGroup)
	get(operator, "/dead/:type/:fingerprint/edit", s.deadEditPage)
	post(operator, "/dead/:type/:fingerprint/edit", s.editDeadGroup)
	post(operator, "/dead/:type/:fingerprint/mark", s.markDeadGroup)
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
	get(viewer, "/alerts", s.alertsPage)
	get(operator, "/alerts/new", s.newAlertPage)
	post(operator, "/alerts/new", s.createAlert)
	post(operator, "/alerts/receivers/test", s.testReceiver)
	get(viewer, "/alerts/:name", s.alertRulePage)
	post(operator, "/alerts/:name", s.changeAlert)
	post(operator, "/alerts/:name/:action", s.alertAction)
	get(operator, "/audit", s.auditPage)
	get(operator, "/incidents", s.incidentsPage)
	post(operator, "/incidents", s.openIncident)
	get(operator, "/incidents/:id", s.incidentPage)
	post(operator, "/incidents/:id", s.updateIncident)
	post(operator, "/incidents/:id/edit", s.editIncident)
	get(operator, "/enqueue", s.enqueueTypesPage)
	get(operator, "/enqueue/:type", s.enqueueFormPage)
	post(operator, "/enqueue/:type", s.enqueuePage)
	get(viewer, "/search", s.searchPage)
	get(viewer, "/traces", s.tracesPage)
	get(viewer, "/traces/:id", s.tracePage)
	post(anyone, "/settings", s.saveSettings)

	get(anyone, "/login", s.loginPage)
	post(anyone, "/login", s.signIn)
	post(anyone, "/logout", s.signOut)
	get(viewer, "/account", s.accountPage)
	post(viewer, "/account/password", s.setOwnPassword)
	post(viewer, "/account/sessions", s.endOwnSessions)
	post(viewer, "/account/tokens", s.createOwnToken)
	post(viewer, "/account/tokens/revoke", s.revokeOwnToken)
	get(admin, "/admin/users", s.usersPage)
	post(admin, "/admin/users", s.createUser)
	get(admin, "/admin/users/:name", s.userPage)
	post(admin, "/admin/users/:name/:action", s.changeUser)
	get(admin, "/admin/tokens", s.tokensPage)
	post(admin, "/admin/tokens", s.createToken)
	post(admin, "/admin/tokens/revoke", s.revokeToken)

	file(viewer, "/tasks/:id/params.json", s.taskParams)
	file(viewer, "/tasks/:id/result.json", s.taskResult)
	file(viewer, "/tasks/:id/error.txt", s.taskError)
	file(viewer, "/tasks/export.csv", s.exportCSV)
	file(viewer, "/tasks/export.json", s.exportJSON)
	file(operator, "/audit/export.csv", s.exportAudit)
	file(viewer, "/traces/:id/trace.txt", s.traceText)
	file(viewer, "/events", s.events)
	s.statusRoutes(group)
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
