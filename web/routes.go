package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"reax/models"
)

const (
	apiPath      = "/api/v1"
	writeTimeout = 15 * time.Second // after which a call is answered 503 rather than left waiting for the database
	bulkTimeout  = 5 * time.Minute  // a bulk action works through up to 100,000 tasks
)

// routes is every path that reax answers, with the least role that may ask for it.
func (s *Server) routes(api huma.API) {
	const tasks, types, schedules, watch = "Tasks", "Types", "Schedules", "Watching"

	post, get, patch, del := http.MethodPost, http.MethodGet, http.MethodPatch, http.MethodDelete
	route(s, api, operator, post, apiPath+"/tasks", "enqueue-task", tasks, "Accept a task", s.enqueueTask, created, orHolder, fails(404, 413))
	route(s, api, operator, post, apiPath+"/tasks/batch", "enqueue-batch", tasks, "Accept up to 1,000 tasks, all or none", s.enqueueBatch, created, fails(413))
	route(s, api, operator, post, apiPath+"/tasks/bulk", "bulk-action", tasks, "Retry, cancel or discard many tasks", s.bulk, fails(413), within(bulkTimeout))
	route(s, api, viewer, get, apiPath+"/tasks", "list-tasks", tasks, "List tasks, newest first unless sorted", s.listTasks)
	route(s, api, viewer, get, apiPath+"/tasks/{id}", "get-task", tasks, "Get one task with its attempts", s.getTask, fails(404))
	route(s, api, viewer, get, apiPath+"/tasks/{id}/logs", "get-task-logs", tasks, "Get the log lines of one attempt", s.getLogs, fails(404), orStream(s.followLog))
	route(s, api, operator, post, apiPath+"/tasks/{id}/retry", "retry-task", tasks, "Run a task again", s.retryTask, fails(404, 409))
	route(s, api, operator, post, apiPath+"/tasks/{id}/cancel", "cancel-task", tasks, "Stop a task, or keep it from starting", s.cancelTask, fails(404, 409))
	route(s, api, admin, post, apiPath+"/tasks/{id}/discard", "discard-task", tasks, "Give up on a failed or dead task", s.discardTask, fails(404, 409))
	route(s, api, operator, post, apiPath+"/tasks/{id}/repeat", "repeat-task", tasks, "Make a new task from a finished one", s.repeatTask, created, orHolder, fails(404, 409, 413))

	route(s, api, viewer, get, apiPath+"/types", "list-types", types, "List the task types", s.listTypes)
	route(s, api, operator, patch, apiPath+"/types/{name}", "resize-type", types, "Set how many tasks of a type run at one time", s.resizeType, fails(404))
	route(s, api, operator, post, apiPath+"/types/{name}/pause", "pause-type", types, "Stop a type from starting tasks", s.pauseType, fails(404))
	route(s, api, operator, post, apiPath+"/types/{name}/resume", "resume-type", types, "Let a paused type start tasks again", s.resumeType, fails(404))

	route(s, api, viewer, get, apiPath+"/schedules", "list-schedules", schedules, "List the schedules, by name", s.listSchedules)
	route(s, api, operator, post, apiPath+"/schedules", "create-schedule", schedules, "Make a schedule", s.createSchedule, created)
	route(s, api, viewer, get, apiPath+"/schedules/preview", "preview-schedule", schedules, "The next run times of a schedule that need not exist", s.previewSchedule)
	route(s, api, viewer, get, apiPath+"/schedules/{name}", "get-schedule", schedules, "Get one schedule with its next and its latest occurrences", s.getSchedule, fails(404))
	route(s, api, operator, patch, apiPath+"/schedules/{name}", "change-schedule", schedules, "Change or rename a schedule", s.changeSchedule, fails(404, 409))
	route(s, api, operator, del, apiPath+"/schedules/{name}", "delete-schedule", schedules, "Delete a schedule; its tasks stay", s.deleteSchedule, noContent, fails(404, 409))
	route(s, api, operator, post, apiPath+"/schedules/{name}/run", "run-schedule", schedules, "Run its task now, outside of the plan", s.runSchedule, created, fails(404, 409))
	route(s, api, operator, post, apiPath+"/schedules/{name}/pause", "pause-schedule", schedules, "Stop a schedule, for a while or until it is resumed", s.pauseSchedule, fails(404))
	route(s, api, operator, post, apiPath+"/schedules/{name}/resume", "resume-schedule", schedules, "Let a paused schedule go on with its next time", s.resumeSchedule, fails(404))

	const alerts = "Alerts"
	route(s, api, viewer, get, apiPath+"/alerts", "list-alerts", alerts, "What the alert rules find, and what they have found", s.listAlerts)
	route(s, api, viewer, get, apiPath+"/alerts/rules", "list-alert-rules", alerts, "List the alert rules, by name, and who can be told", s.listAlertRules)
	route(s, api, operator, post, apiPath+"/alerts/rules", "create-alert-rule", alerts, "Make an alert rule", s.addAlertRule, created, fails(409))
	route(s, api, viewer, get, apiPath+"/alerts/rules/{name}", "get-alert-rule", alerts, "Get one alert rule", s.getAlertRule, fails(404))
	route(s, api, operator, http.MethodPut, apiPath+"/alerts/rules/{name}", "replace-alert-rule", alerts, "Replace or rename an alert rule", s.replaceAlertRule, fails(404, 409))
	route(s, api, operator, del, apiPath+"/alerts/rules/{name}", "delete-alert-rule", alerts, "Delete an alert rule; its alerts end", s.deleteAlertRule, noContent, fails(404, 409))
	route(s, api, operator, post, apiPath+"/alerts/rules/{name}/mute", "mute-alert-rule", alerts, "Tell nobody of what a rule finds, for a while or until it is unmuted", s.muteAlertRule, fails(404))
	route(s, api, operator, post, apiPath+"/alerts/rules/{name}/unmute", "unmute-alert-rule", alerts, "Have people told again of what a rule finds", s.unmuteAlertRule, fails(404))
	route(s, api, operator, post, apiPath+"/alerts/receivers/{name}/test", "test-alert-receiver", alerts, "Send a message that tells nothing", s.testAlertReceiver, created, fails(404))

	route(s, api, viewer, get, apiPath+"/traces/{trace_id}", "get-trace", watch, "All that happened under one trace id, on one time axis", s.getTrace, fails(404))
	route(s, api, viewer, get, apiPath+"/stats", "get-stats", watch, "Counts, rates and times", s.getStats)
	route(s, api, operator, get, apiPath+"/audit", "list-audit", watch, "What people and tokens did, newest first", s.listAudit)
	route(s, api, viewer, get, apiPath+"/actors", "list-actors", watch, "The live actor tree", s.listActors)
	route(s, api, anyone, get, "/healthz", "get-health", watch, "How reax is: 200, or 503 when it is down or draining", s.getHealth, alsoHealth)
	route(s, api, anyone, get, "/readyz", "get-ready", watch, "200 when tasks are accepted, else 503", s.getReady, alsoHealth)

	const access = "Access"
	route(s, api, admin, get, apiPath+"/users", "list-users", access, "List the accounts, by name", s.listUsers)
	route(s, api, admin, post, apiPath+"/users", "create-user", access, "Make an account", s.addUser, created, fails(409))
	route(s, api, admin, patch, apiPath+"/users/{name}", "change-user", access, "Set the role or the password of an account, or disable it", s.patchUser, fails(404, 409))
	route(s, api, admin, del, apiPath+"/users/{name}", "delete-user", access, "Delete an account, its sessions and its tokens", s.deleteUser, noContent, fails(404, 409))
	route(s, api, admin, get, apiPath+"/tokens", "list-tokens", access, "List the tokens, newest first", s.listTokens)
	route(s, api, admin, post, apiPath+"/tokens", "create-token", access, "Make a token; the answer is the only one that has its secret", s.addToken, created, fails(409))
	route(s, api, admin, del, apiPath+"/tokens/{name}", "revoke-token", access, "Revoke a token for good", s.endToken, noContent, fails(404))

	group := s.echo.Group(s.base)
	s.allow(viewer, get, apiPath+"/openapi.json")
	group.GET(apiPath+"/openapi.json", func(c echo.Context) error { return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, s.openapi) })
	s.allow(viewer, get, "/metrics")
	group.GET("/metrics", s.metricsHandler())
	s.pageRoutes()
}

// option changes an operation before it is registered.
type option func(*operation)

type operation struct {
	huma.Operation
	timeout time.Duration
	fails   []int
	holder  bool
	health  bool
	stream  bool
}

// created makes 201 the usual answer.
func created(o *operation) { o.DefaultStatus = http.StatusCreated }

// orHolder says that 200 means that an existing task was returned instead.
func orHolder(o *operation) { o.holder = true }

// noContent makes 204 the answer, which has no body.
func noContent(o *operation) { o.DefaultStatus = http.StatusNoContent }

// alsoHealth says that 503 has the same body as 200.
func alsoHealth(o *operation) { o.health = true }

// fails lists the errors of an operation beside those that all have.
func fails(statuses ...int) option { return func(o *operation) { o.fails = statuses } }

// within sets a time limit other than writeTimeout.
func within(d time.Duration) option { return func(o *operation) { o.timeout = d } }

// route registers one operation for the least role that may use it: its document, its body check, its time limit, and its
// errors as problems.
func route[I, O any](s *Server, api huma.API, least models.Role, method, path, id, tag, summary string,
	handler func(context.Context, *I) (*O, error), options ...option,
) {
	s.allow(least, method, routePath(path))
	op := operation{timeout: writeTimeout, Operation: huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{tag},
		// checkBody has read and checked the body when huma gets it. A read deadline left on the connection would end
		// the request's context while its task waits for the database.
		SkipValidateBody: true, MaxBodyBytes: -1, BodyReadTimeout: -1,
	}}
	for _, o := range options {
		o(&op)
	}
	schemas := api.OpenAPI().Components.Schemas
	if field, ok := reflect.TypeFor[I]().FieldByName("Body"); ok {
		op.fails = append(op.fails, 400, 413, 415)
		s.bodies[id] = newBodyCheck(s, field.Type)
	}
	op.Responses = map[string]*huma.Response{}
	answer := func(description string) *huma.Response {
		body, ok := reflect.TypeFor[O]().FieldByName("Body")
		if !ok {
			return &huma.Response{Description: description}
		}
		return &huma.Response{Description: description, Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemas.Schema(body.Type, true, "")},
		}}
	}
	success := cmp.Or(op.DefaultStatus, http.StatusOK)
	op.Responses[strconv.Itoa(success)] = answer(http.StatusText(success))
	if op.stream {
		op.Responses["200"].Content["text/event-stream"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	if op.holder {
		op.Responses["200"] = answer("A task that holds the unique key already; nothing was made")
	}
	if least != anyone {
		op.fails = append(op.fails, 401)
		op.Description = "Needs the role " + string(least) + "."
		op.Security = []map[string][]string{{tokenScheme: {}}}
	}
	for _, status := range append(op.fails, 403, 422, 500, 503) {
		op.Responses[strconv.Itoa(status)] = problemResponse(schemas, status)
	}
	if op.health {
		op.Responses["503"] = answer("Not able to work now")
	}
	huma.Register(api, op.Operation, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, op.timeout)
		defer cancel()
		out, err := handler(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

func newSchemas() huma.Registry { return huma.NewMapRegistry("#/components/schemas/", schemaName) }

// schemaName names a schema after its Go type: TaskJSON is Task.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.TrimSuffix(name, "JSON")
}

// document is the OpenAPI document as it is served. Marshalling it once also keeps requests from doing so at the same
// time.
func document(oapi *huma.OpenAPI) []byte {
	// huma registers its own error model, which no operation answers with.
	delete(oapi.Components.Schemas.Map(), "ErrorModel")
	delete(oapi.Components.Schemas.Map(), "ErrorDetail")
	text, err := json.Marshal(oapi)
	if err != nil {
		panic("web: the OpenAPI document: " + err.Error())
	}
	return text
}
