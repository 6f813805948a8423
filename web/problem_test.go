package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// requireProblem checks the one shape that every error has.
func requireProblem(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, problemType, w.Header().Get("Content-Type"), w.Body.String())
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &fields), w.Body.String())
	for _, name := range []string{"title", "status", "detail", "code", "errors"} {
		require.Contains(t, fields, name)
	}
	var p struct {
		Title, Detail, Code string
		Status              int
		Errors              []fieldError
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.NotEmpty(t, p.Detail)
	require.NotEmpty(t, p.Code)
	require.NotNil(t, p.Errors)
	if w.Code == http.StatusServiceUnavailable {
		require.NotEmpty(t, w.Header().Get("Retry-After"))
	}
}

func TestErrorsOfTheRuntimeHaveStableCodes(t *testing.T) {
	for code, c := range map[string]struct {
		err    error
		status int
		must   string
	}{
		"not_found":    {fmt.Errorf("retrying: %w", models.ErrNotFound), 404, "no such task"},
		"unknown_type": {actors.ErrUnknownType, 404, `\"any\"`},
		"wrong_state":  {&models.StateError{ID: 7, State: models.StateRunning, Action: "retry"}, 409, "task 7 is running"},
		"too_large":    {&actors.TooLargeError{What: "params", Limit: 1 << 20}, 413, "1048576"},
		"invalid":      {&tasks.InvalidError{Fields: []tasks.FieldError{{Location: "/params/user_id", Message: "is required"}}}, 422, "/params/user_id"},
		"unavailable":  {fmt.Errorf("committing: %w", actors.ErrUnavailable), 503, "may work later"},
		"internal":     {errSecret, 500, "request_id"},
	} {
		t.Run(code, func(t *testing.T) {
			scenario{url: "/api/v1/tasks", body: `{"type":"any"}`, status: c.status, must: []string{c.must, `"code":"` + code + `"`}}.
				run(t, &fake{registry: newFake(t).registry, err: c.err})
		})
	}
	scenario{url: "/api/v1/tasks", body: `{"type":"any"}`, status: 503, must: []string{"stopping"}}.
		run(t, &fake{registry: newFake(t).registry, err: actors.ErrStopped})
}

func TestErrorsOfTheLedgerAreHidden(t *testing.T) {
	for _, url := range []string{"/api/v1/tasks", "/api/v1/tasks/1", "/api/v1/tasks/1/logs", "/api/v1/types", "/api/v1/stats"} {
		f := newFake(t)
		f.readErr = errSecret
		scenario{url: url, status: 500, must: []string{`"code":"internal"`}, mustNot: []string{"secret", "table"}}.run(t, f)
	}
}

func TestAddressesThatDoNotExistAnswerInTheSameShape(t *testing.T) {
	runScenarios(t, nil, []scenario{
		{name: "unknown page", url: "/nothing", status: 404, must: []string{`"not_found"`}},
		{name: "unknown call", url: "/api/v1/nothing", status: 404, must: []string{`"not_found"`}},
		{name: "unknown task", url: "/api/v1/tasks/7", status: 404, must: []string{"no such task"}},
		{name: "unknown asset", url: "/static/000/app.css", status: 404},
		{name: "asset above its folder", url: "/static/x/..%2f..%2fgo.mod", status: 404},
		{name: "method", method: http.MethodDelete, url: "/api/v1/tasks", status: 405, must: []string{`"method_not_allowed"`}},
		{name: "method of an action", url: "/api/v1/tasks/1/retry", status: 405},
		{name: "no docs page", url: "/docs", status: 404},
		{name: "id is a word", url: "/api/v1/tasks/seven", status: 422, must: []string{`"path.id"`}},
		{name: "id is zero", url: "/api/v1/tasks/0", status: 422, must: []string{`"path.id"`}},
		{name: "id is negative", url: "/api/v1/tasks/-1", status: 422},
		{name: "id is enormous", url: "/api/v1/tasks/99999999999999999999", status: 422},
		{name: "id has an exponent", url: "/api/v1/tasks/1e400", status: 422},
		{name: "id is hostile", url: "/api/v1/tasks/%3Cscript%3E", status: 422, mustNot: []string{"<script>"}},
	})
}

func TestAMethodThatDoesNotFitNamesThoseThatDo(t *testing.T) {
	w := scenario{method: http.MethodPut, url: "/api/v1/tasks", status: 405}.run(t, newFake(t))
	require.Contains(t, w.Header().Get("Allow"), "POST")
}
