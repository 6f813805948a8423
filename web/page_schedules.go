package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/tasks"
	"reax/timetable"
	"reax/views"
)

// planPageSize is how many schedules a page shows to who has not chosen. Each has a strip of its past.
const planPageSize = 30

// schedulesPage is the list of schedules, by name.
func (s *Server) schedulesPage(c echo.Context) error {
	ctx := c.Request().Context()
	q, after := strings.TrimSpace(c.QueryParam("q")), c.QueryParam("after")
	if len(q) > maxSearchBytes || !utf8.ValidString(q) || strings.ContainsRune(q, 0) || after != "" && tasks.CheckName(after) != nil {
		return newProblem(http.StatusUnprocessableEntity, "invalid", "the filter is not valid")
	}
	size := cmp.Or(views.ViewerOf(ctx).Rows, planPageSize)
	rows, err := s.ledger.SchedulePage(ctx, q, after, size+1)
	if err != nil {
		return err
	}
	page := views.Schedules{Query: q}
	if after != "" {
		page.First = views.URL(ctx, "/schedules", "q", q)
	}
	if len(rows) > size {
		rows = rows[:size]
		page.More = views.URL(ctx, "/schedules", "q", q, "after", rows[size-1].Name)
	}
	if page.Rows, err = s.planRows(ctx, rows); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.SchedulesPage(page))
}

// planRows are schedules with their latest occurrences and what became of the tasks of those.
func (s *Server) planRows(ctx context.Context, schedules []models.Schedule) ([]views.PlanRow, error) {
	language := string(views.ViewerOf(ctx).Locale)
	rows := make([]views.PlanRow, len(schedules))
	var ids []int64
	for i := range schedules {
		c := &schedules[i]
		c.Missed, c.Overlap = cmp.Or(c.Missed, models.MissedRunOnce), cmp.Or(c.Overlap, models.OverlapSkip)
		table := timetableOf(c)
		rows[i] = views.PlanRow{Schedule: *c, Zone: scheduleZone(c), Next: nextOf(c, table), Description: describe(table, language)}
		latest, err := s.ledger.Occurrences(ctx, c.ID, shownOccurrences)
		if err != nil {
			return nil, err
		}
		for _, o := range slices.Backward(latest) {
			rows[i].Past = append(rows[i].Past, views.PastRun{Occurrence: o})
			if o.TaskID != 0 {
				ids = append(ids, o.TaskID)
			}
		}
	}
	states, err := s.ledger.TaskStates(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		for j := range rows[i].Past {
			p := &rows[i].Past[j]
			p.State = states[p.TaskID]
		}
	}
	return rows, nil
}

func describe(t *timetable.Timetable, language string) string {
	if t == nil {
		return ""
	}
	return t.Describe(language)
}
