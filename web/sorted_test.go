package web

import (
	"context"
	"encoding/csv"
	"fmt"
	"html"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/views"
)

// manyTasks is how many tasks sortedFake has: more than a list sorts.
const manyTasks = models.SortLimit + 100

// sortedFake is a fake with the lists of a real ledger. Its tasks succeeded, each run a little shorter than the one before, but for
// five that run, and for the last three: a dead one, one that nobody started, and one of priority 1 that took long.
func sortedFake(t *testing.T) *fake {
	t.Helper()
	now := int64(models.At(time.Now()))
	store, err := models.Open(t.Context(), models.Config{Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	db := store.Writer()
	require.NoError(t, db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO tasks (id, type, state, priority, max_retries, run_at, created_at, started_at, finished_at, updated_at, trace_id, params)
SELECT i, 'any', 'success', 3 + i % 8, 3, ?2, ?2, ?2, ?2 + 20000000 - i, ?2 + i, printf('%032x', i), '{}' FROM n`, manyTasks, now).Error)
	require.NoError(t, db.Exec("UPDATE tasks SET state = 'running', finished_at = NULL, started_at = ?1 - 3600000000 + id * 60000000 WHERE id <= 5", now).Error)
	require.NoError(t, db.Exec("UPDATE tasks SET state = 'dead' WHERE id = ?", manyTasks-2).Error)
	require.NoError(t, db.Exec("UPDATE tasks SET state = 'pending', started_at = NULL, finished_at = NULL WHERE id = ?", manyTasks-1).Error)
	require.NoError(t, db.Exec("UPDATE tasks SET priority = 1, finished_at = started_at + 7323000000 WHERE id = ?", manyTasks).Error)
	f := newFake(t)
	f.store = store
	return f
}

var (
	rowIDs   = regexp.MustCompile(`name="id" value="(\d+)"`)
	headLink = regexp.MustCompile(`<th scope="col" class="[^"]*"(?: aria-sort="([a-z]+)")?><a class="sort" href="([^"]*)">([^<]*)`)
	nextLink = regexp.MustCompile(`href="([^"]*)" rel="next"`)
)

// idsOf are the tasks of a page in their order.
func idsOf(page string) (ids []string) {
	for _, m := range rowIDs.FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// The clock of the bubble stands still, so that no list ends early because its time is over.
func TestTheListOfTasksIsSorted(t *testing.T) { synctest.Test(t, testTheListOfTasksIsSorted) }

func testTheListOfTasksIsSorted(t *testing.T) {
	f := sortedFake(t)
	s := New(Config{Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)})
	s.runtime, s.ledger = f, f
	run := func(sc scenario) *httptest.ResponseRecorder {
		t.Helper()
		return sc.on(t, s, f)
	}
	read := func(address string, must ...string) string {
		return run(scenario{url: address, status: 200, header: browser(), must: must}).Body.String()
	}
	last := fmt.Sprint(manyTasks)

	{ // what runs longest is first
		page := read("/tasks?state=running&sort=-duration", "Longest run first", "59 min", `class="num by" data-label="Elapsed"`)
		require.Equal(t, []string{"1", "2", "3", "4", "5"}, idsOf(page))
		require.NotContains(t, page, "among the newest")
		require.Equal(t, []string{"5", "4", "3", "2", "1"}, idsOf(read("/tasks?state=running&sort=duration")))
	}
	{ // by priority
		page := read("/tasks?sort=priority", "Most urgent first", `class="num by" data-label="Priority">1</td>`)
		require.Equal(t, last, idsOf(page)[0])
		require.Equal(t, "104", idsOf(page)[1], "of one priority the oldest")
	}
	{ // by duration
		require.Equal(t, last, idsOf(read("/tasks?sort=-duration", "2 h 2 min", "Duration"))[0])
		require.Equal(t, []string{fmt.Sprint(manyTasks - 1)}, idsOf(read("/tasks?state=pending&sort=duration", "Duration")))
	}
	{ // it says among how many
		read("/tasks?sort=-changed", "Latest change first, among the newest 5,000 that match: those created since ", `href="/tasks">Newest first</a>`)
		read("/tasks?sort=-changed&state=success", `href="/tasks?state=success">Newest first</a>`)
		run(scenario{url: "/tasks?sort=-changed", status: 200, header: browser("Accept-Language", "zh"), must: []string{"最近更新在前：只对最新的 5,000 个符合条件的任务排序"}})
		require.NotContains(t, read("/tasks"), "among the newest")
	}
	{ // the heads lead to the orders
		heads := func(address string) map[string][2]string {
			all := map[string][2]string{}
			for _, m := range headLink.FindAllStringSubmatch(read(address), -1) {
				all[strings.TrimSpace(m[3])] = [2]string{m[1], html.UnescapeString(m[2])}
			}
			return all
		}
		require.Equal(t, map[string][2]string{
			"Priority": {"", "/tasks?sort=priority&type=any"}, "Duration": {"", "/tasks?sort=-duration&type=any"}, "Changed": {"", "/tasks?sort=-changed&type=any"},
		}, heads("/tasks?type=any&cursor=MTAw"))
		require.Equal(t, [2]string{"descending", "/tasks?sort=duration&state=running"}, heads("/tasks?state=running&sort=-duration")["Elapsed"])
		require.Equal(t, [2]string{"ascending", "/tasks?sort=-duration"}, heads("/tasks?sort=duration")["Duration"])
		require.Equal(t, [2]string{"ascending", "/tasks?sort=-priority"}, heads("/tasks?sort=priority")["Priority"])
		page := read("/tasks?sort=-changed")
		require.Equal(t, 1, strings.Count(page, "aria-sort"))
		require.Contains(t, page, `<span aria-hidden="true">↓</span>`)
		require.Contains(t, read("/tasks?sort=changed"), `<span aria-hidden="true">↑</span>`)
	}
	{ // the filter, the tabs and the forms keep the order
		read("/tasks?sort=-duration&type=any", `<option value="-duration" selected>`, `href="/tasks?sort=-duration&amp;state=dead&amp;type=any"`, `href="/tasks?sort=-duration"`,
			"/tasks/export.csv?sort=-duration&amp;type=any", `name="query" value="sort=-duration&amp;type=any"`, `name="back" value="/tasks?sort=-duration&amp;type=any"`, "the newest 5,000 tasks")
	}
	{ // a region alone is sorted too
		w := run(scenario{url: "/tasks?sort=-duration", status: 200, header: map[string]string{fragmentsHeader: "tasks"}, must: []string{`data-live="tasks"`, "among the newest"}})
		require.Equal(t, last, idsOf(w.Body.String())[0])
	}
	{ // pages follow each other
		seen := map[string]bool{}
		address := "/tasks?sort=priority&state=success"
		for range 3 {
			page := read(address)
			for _, id := range idsOf(page) {
				require.False(t, seen[id], id)
				seen[id] = true
			}
			address = html.UnescapeString(nextLink.FindStringSubmatch(page)[1])
		}
		require.Len(t, seen, 3*views.DefaultPageSize)
		read(address, "First page", "Next page", `href="/tasks?sort=priority&amp;state=success"`)
	}
	{ // an order or a cursor that is none
		for _, order := range []string{"created", "-", "--duration", "%3Cb%3E", "duration,priority"} {
			run(scenario{url: "/tasks?sort=" + order, status: 422, header: browser(), must: []string{"There is no such order", `aria-invalid="true"`}, mustNot: []string{"<b>&"}})
		}
		for _, query := range []string{"sort=priority&cursor=MQ", "cursor=" + encodePlace("priority", models.Place{ID: 5, High: 9, At: 1}), "sort=changed&cursor=" + encodePlace("priority", models.Place{ID: 5, High: 9, At: 1})} {
			run(scenario{url: "/tasks?" + query, status: 422, header: browser(), must: []string{"Start with the newest"}})
			run(scenario{url: tasksURL + "?" + query, status: 422, must: []string{`"query.cursor"`}})
		}
	}
	{ // the API
		page := readPage(t, run(scenario{url: tasksURL + "?sort=-duration&state=running", status: 200, mustNot: []string{"sorted_among"}}))
		require.Equal(t, int64(1), page.Tasks[0].ID)
		seen := map[int64]bool{}
		address := tasksURL + "?sort=priority&limit=500"
		for address != "" {
			page := readPage(t, run(scenario{url: address, status: 200, must: []string{`"sorted_among":5000`}}))
			for _, task := range page.Tasks {
				require.False(t, seen[task.ID])
				seen[task.ID] = true
			}
			if address = ""; page.NextCursor != nil {
				address = tasksURL + "?sort=priority&limit=500&cursor=" + *page.NextCursor
			}
		}
		require.Len(t, seen, models.SortLimit, "nothing is skipped")
		run(scenario{url: tasksURL + "?sort=created", status: 422, must: []string{`"query.sort"`, "-duration"}})
		run(scenario{url: tasksURL, status: 200, mustNot: []string{"sorted_among"}})
	}
	{ // a file
		w := run(scenario{url: "/tasks/export.csv?sort=-duration&cursor=MQ", status: 200})
		rows, err := csv.NewReader(strings.NewReader(w.Body.String())).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 1+models.SortLimit)
		require.Equal(t, last, rows[1][0])
		require.Equal(t, fmt.Sprint(manyTasks-1), rows[len(rows)-1][0], "without a run")
		run(scenario{url: "/tasks/export.json?sort=duration&state=running", status: 200, must: []string{"[\n{\"id\":5,"}})
		run(scenario{url: "/tasks/export.csv?sort=created", status: 422})
	}
	{ // all that match are changed, and not those that are sorted
		form := url.Values{"do": {"retry"}, "scope": {"all"}, "query": {"sort=-duration&state=dead"}, "back": {"/tasks?sort=-duration&state=dead"}}
		run(scenario{method: "POST", url: "/tasks/bulk", body: form.Encode(), status: 303, header: browser()})
		require.Equal(t, &models.Filter{States: []models.State{models.StateDead}}, f.plans[len(f.plans)-1].Filter)
		form.Set("query", "sort=-duration")
		plans := len(f.plans)
		run(scenario{method: "POST", url: "/tasks/bulk", body: form.Encode(), status: 303, header: browser()})
		require.Len(t, f.plans, plans, "an order is no filter")
	}
}

func TestASortedSearchThatFindsNothingSaysHowFarItLooked(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	s.ledger = farLedger{f}
	w := send(s.Handler(), scenario{url: "/tasks?q=x&sort=priority", header: browser()}.request())
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "Of the tasks created since 2026-01-01 00:00:00 none fits. Newest first,")
	require.Contains(t, w.Body.String(), `<a class="btn" href="/tasks?q=x">Newest first</a>`)
}

// farLedger is one whose search took too long.
type farLedger struct{ *fake }

func (farLedger) List(context.Context, models.Filter, int) (models.Page, error) {
	return models.Page{Partial: true, Searched: start}, nil
}
