package web

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestAListIsAFile(t *testing.T) {
	f := newFake(t)
	for i := range exportPage + 3 {
		f.add(models.Task{State: models.StateDead, Error: fmt.Sprintf("=cmd|%d", i), Params: `{"n":12345678901234567890,"text":"a,\"b\"` + "\\n" + `"}`})
	}
	f.add(models.Task{Type: "-odd", Tags: `["x"]`})

	w := scenario{url: "/tasks/export.csv?state=dead&cursor=MQ", status: 200}.run(t, f)
	require.Equal(t, "text/csv; charset=utf-8", w.Header().Get("Content-Type"))
	require.Regexp(t, `^attachment; filename="reax-tasks-\d{8}T\d{6}Z\.csv"$`, w.Header().Get("Content-Disposition"))
	text, ok := strings.CutPrefix(w.Body.String(), "\ufeff")
	require.True(t, ok, "spreadsheets are told the encoding")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+exportPage+3)
	require.Equal(t, exportColumns, rows[0])
	cell := func(row []string, name string) string {
		for i, column := range exportColumns {
			if column == name {
				return row[i]
			}
		}
		t.Fatal(name)
		return ""
	}
	require.Equal(t, fmt.Sprint(exportPage+3), cell(rows[1], "id"), "newest first")
	require.Equal(t, "'=cmd|0", cell(rows[len(rows)-1], "error"), "no formula")
	require.Equal(t, "2026-01-01T00:00:00.123456Z", cell(rows[1], "created_at"))
	require.Empty(t, cell(rows[1], "finished_at"))
	require.Equal(t, `{"n":12345678901234567890,"text":"a,\"b\"\n"}`, cell(rows[1], "params"))

	w = scenario{url: "/tasks/export.json?type=-odd", status: 200}.run(t, f)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	var all []struct {
		ID   int64
		Tags []string
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	require.Len(t, all, 1)
	require.Equal(t, []string{"x"}, all[0].Tags)
	w = scenario{url: "/tasks/export.json", status: 200}.run(t, f)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	require.Len(t, all, exportPage+4)
	require.Contains(t, w.Body.String(), "12345678901234567890")
	w = scenario{url: "/tasks/export.json?type=none", status: 200}.run(t, f)
	require.JSONEq(t, "[]", w.Body.String())

	scenario{url: "/tasks/export.csv?state=bogus", status: 422}.run(t, f)
	scenario{url: "/tasks/export.csv?state=bogus", status: 422, header: browser()}.run(t, f)
	f.readErr = errSecret
	scenario{url: "/tasks/export.csv", status: 500}.run(t, f)
}

func TestAFormulaIsText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\t=1": "'\t=1", "\r=1": "'\r=1", " =1": " =1", "1=": "1=", "'=": "'=",
	} {
		require.Equal(t, want, plainCell(text), "%q", text)
	}
}

// endless is a ledger whose list has no end.
type endless struct {
	*fake
	pages int
	broke bool
}

func (e *endless) List(_ context.Context, f models.Filter, limit int) (models.Page, error) {
	if e.pages++; e.broke && e.pages > 1 {
		return models.Page{}, errSecret
	}
	page := models.Page{Next: 1 << 40}
	if f.Before != 0 {
		page.Next = f.Before
	}
	for range limit {
		page.Next--
		page.Tasks = append(page.Tasks, models.Task{ID: page.Next, Type: "any", Params: "{}"})
	}
	return page, nil
}

func TestAFileIsBoundedAndNeverLooksWholeWhenItIsNot(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	e := &endless{fake: f}
	s.ledger = e
	w := send(s.Handler(), scenario{url: "/tasks/export.csv"}.request())
	require.Equal(t, 1+exportRows, strings.Count(w.Body.String(), "\n"))
	require.Equal(t, exportRows/exportPage, e.pages)

	e.broke, e.pages = true, 0
	require.Panics(t, func() { send(s.Handler(), scenario{url: "/tasks/export.json"}.request()) }, "the connection breaks off")
}

func TestAFileHasNoSecrets(t *testing.T) {
	f := newFake(t)
	compiled, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","properties":{"token":{"type":"string","writeOnly":true}}}`))
	require.NoError(t, err)
	require.NoError(t, f.registry.Add(tasks.Definition{Name: "secret", Kind: tasks.KindCommand, Schema: compiled, Policy: tasks.DefaultPolicy(),
		Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}))
	f.add(models.Task{Type: "secret", Params: `{"token":"hunter2","user":"ana"}`})
	for _, format := range []string{"csv", "json"} {
		scenario{url: "/tasks/export." + format, status: 200, must: []string{"ana", hidden}}.run(t, f)
	}
}

func TestTheListFiltersByParameterErrorAndSchedule(t *testing.T) {
	read := func(query string) *tasksQuery {
		return readTasksQuery(scenario{url: "/tasks?" + query}.request().URL.Query(), time.UTC, time.Now())
	}
	for query, want := range map[string]models.Filter{
		"param=customer.id%3D4417":                        {Param: &models.Param{Path: "customer.id", Value: "4417"}},
		"param=+a+%3D+x%3Dy+":                             {Param: &models.Param{Path: "a", Value: "x=y"}},
		"params.customer.id=4417":                         {Param: &models.Param{Path: "customer.id", Value: "4417"}},
		"param=params.a%3D":                               {Param: &models.Param{Path: "a"}},
		"type=any&fingerprint=00112233445566AA":           {Types: []string{"any"}, Fingerprint: someError},
		"schedule=nightly":                                {Schedule: "nightly"},
		"state=failed,dead":                               {States: []models.State{models.StateFailed, models.StateDead}},
		"state=dead&params.b=2&params.a=1&param=&tag=&q=": {States: []models.State{models.StateDead}, Param: &models.Param{Path: "a", Value: "1"}},
	} {
		q := read(query)
		require.Empty(t, q.faults, query)
		require.Equal(t, want, q.filter, query)
		require.Equal(t, want, readTasksQuery(q.values(), time.UTC, time.Now()).filter, query)
		require.True(t, q.narrows() || q.state != "")
	}
	for query, field := range map[string]string{
		"param=a": "param", "param=%3Da": "param", "param=" + strings.Repeat("x", 200) + "%3D1": "param", "param=a%3D%00": "param", "param=%ff%3D1": "param",
		"fingerprint=x": "fingerprint", "schedule=" + strings.Repeat("x", 201): "schedule", "state=dead,bogus": "state",
	} {
		require.Contains(t, read(query).faults, field, query)
	}
	runScenarios(t, nil, []scenario{
		{name: "chips", url: "/tasks?params.a=%3Cb%3E&fingerprint=" + someError + "&schedule=nightly&state=failed,dead", status: 200, header: browser(), must: []string{
			"a=&lt;b&gt;", someError, "nightly", "failed, dead", `name="fingerprint" value="` + someError + `"`, `name="state" value="failed,dead"`, "/tasks/export.csv?fingerprint=",
		}, mustNot: []string{"a=<b>"}},
		{name: "a parameter that is none", url: "/tasks?param=a", status: 422, header: browser(), must: []string{"customer.id=4417", `aria-invalid="true"`}, mustNot: []string{"export.csv"}},
		{name: "a fingerprint that is none", url: "/tasks?fingerprint=x", status: 422, header: browser(), must: []string{"16 hexadecimal"}},
		{name: "all that match", url: "/tasks?state=dead&tag=x", status: 200, header: browser(), must: []string{`name="query" value="state=dead&amp;tag=x"`, "all that match the filter"}},
	})
}
