package web

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
)

type openapiOperation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Tags        []string
	RequestBody *struct {
		Content map[string]struct{ Schema json.RawMessage }
	} `json:"requestBody"`
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema json.RawMessage }
	}
}

func openapiOf(t *testing.T, s *Server) (paths map[string]map[string]openapiOperation, schemas map[string]json.RawMessage) {
	t.Helper()
	w := send(s.Handler(), scenario{url: "/api/v1/openapi.json"}.request())
	require.Equal(t, 200, w.Code)
	var document struct {
		OpenAPI    string
		Info       struct{ Title, Version string }
		Paths      map[string]map[string]openapiOperation
		Components struct{ Schemas map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	require.Equal(t, "reax", document.Info.Title)
	require.Equal(t, "1.2.3", document.Info.Version)
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		require.Contains(t, document.Components.Schemas, ref[1], "a reference into nothing")
	}
	return document.Paths, document.Components.Schemas
}

func TestEveryRouteIsInTheOpenAPIDocumentAndIsServed(t *testing.T) {
	f := newFake(t)
	f.add(models.Task{})
	s := newServer(t, f)
	paths, _ := openapiOf(t, s)
	forPrograms := regexp.MustCompile(`^/(api/|healthz$|readyz$)`) // the others are pages
	documented := 0
	for _, r := range s.echo.Routes() {
		if !forPrograms.MatchString(r.Path) || r.Path == "/api/v1/openapi.json" || r.Method == "echo_route_not_found" {
			continue
		}
		path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}")
		require.Contains(t, paths, path)
		require.Contains(t, paths[path], strings.ToLower(r.Method), path)
		documented++
	}
	ids := map[string]bool{}
	for path, methods := range paths {
		for method, op := range methods {
			documented--
			require.NotEmpty(t, op.Summary, path)
			require.NotEmpty(t, op.OperationID, path)
			require.NotEmpty(t, op.Tags, path)
			require.False(t, ids[op.OperationID], "the id %s is used twice", op.OperationID)
			ids[op.OperationID] = true
			for status, response := range op.Responses {
				require.NotEmpty(t, response.Description, path)
				if status >= "400" && !strings.HasSuffix(path, "z") {
					require.Contains(t, string(response.Content[problemType].Schema), "schemas/Problem", path)
				}
			}
			for _, status := range []string{"422", "500", "503"} {
				require.Contains(t, op.Responses, status, path)
			}
			f.schedules = nil // one may have deleted what the next one needs
			f.plan(models.Schedule{Name: "any", Cron: "@daily"})
			f.rules = []models.AlertRule{{Name: "any", Spec: `{"kind":"dead"}`}}
			f.alertOptions.Receivers = []actors.AlertReceiver{{Name: "any", Kind: "json"}}
			url := strings.NewReplacer("{id}", "1", "{name}", "any").Replace(path)
			w := send(s.Handler(), scenario{method: strings.ToUpper(method), url: url}.request())
			require.NotEqual(t, http.StatusNotFound, w.Code, "%s %s", method, path)
			require.NotEqual(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			require.NotEqual(t, http.StatusInternalServerError, w.Code, "%s %s", method, path)
			require.Contains(t, op.Responses, strconv.Itoa(w.Code), "%s %s answered what its document does not say", method, path)
		}
	}
	require.Zero(t, documented, "operations of the document that no route serves")
}

func TestTheDocumentNamesItsSchemasWell(t *testing.T) {
	_, schemas := openapiOf(t, newServer(t, newFake(t)))
	for _, name := range []string{"Task", "TaskDetail", "TaskInput", "Attempt", "Problem", "FieldError", "Health", "Type", "Policy", "Schedule",
		"ScheduleDetail", "ScheduleInput", "ScheduleChange", "Occurrence", "Upcoming", "Preview"} {
		require.Contains(t, schemas, name)
	}
	require.NotContains(t, schemas, "ErrorModel")
	for name := range schemas {
		require.NotContains(t, name, "JSON")
	}
	// Lists are never null.
	require.Contains(t, string(schemas["Task"]), `"tags":{"items":{"type":"string"},"type":"array"}`)
	require.Contains(t, string(schemas["TaskInput"]), `"additionalProperties":false`)
}

func TestTheDocumentIsTheOneThatWasReviewed(t *testing.T) {
	w := send(newServer(t, newFake(t)).Handler(), scenario{url: "/api/v1/openapi.json"}.request())
	var document any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	text, err := json.MarshalIndent(document, "", "  ")
	require.NoError(t, err)
	golden(t, "testdata/openapi.json", append(text, '\n'))
}

// golden compares got with a file. With REAX_UPDATE_GOLDEN set it writes the file instead.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("REAX_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "set REAX_UPDATE_GOLDEN=1 to accept")
}
