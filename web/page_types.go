package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/tasks"
	"reax/views"
)

const (
	typeMinutes = 60 // that the charts of a type show
	typeStep    = 5  // minutes of one point of the times
)

// typesPage is the list of task types: those with a handler, and those that only have tasks.
func (s *Server) typesPage(c echo.Context) error {
	ctx := c.Request().Context()
	counts, err := s.countsByType(ctx)
	if err != nil {
		return err
	}
	from, rows, err := s.hourOf(ctx)
	if err != nil {
		return err
	}
	registered := map[string]*tasks.Definition{}
	for _, d := range s.runtime.Registry().All() {
		registered[d.Name] = d
	}
	names := slices.Concat(slices.Collect(maps.Keys(registered)), slices.Collect(maps.Keys(counts)))
	slices.Sort(names)
	byType := map[string][]models.MinuteStat{}
	for i := range rows {
		byType[rows[i].Type] = append(byType[rows[i].Type], rows[i])
	}
	var page views.Types
	for _, name := range slices.Compact(names) {
		page.Rows = append(page.Rows, s.typeRow(name, registered[name], counts[name], from, byType[name]))
	}
	return s.render(c, http.StatusOK, views.TypesPage(page))
}

// hourOf reads the statistics of the last hour, this minute included.
func (s *Server) hourOf(ctx context.Context) (from models.Instant, rows []models.MinuteStat, err error) {
	now := views.ViewerOf(ctx).Now.Truncate(time.Minute)
	from = models.At(now.Add(-(typeMinutes - 1) * time.Minute))
	rows, err = s.ledger.MinuteStats(ctx, from, models.At(now.Add(time.Minute)))
	return from, rows, err
}

// minuteOf is which of the minutes of the hour a row is of; false when it is of none.
func minuteOf(from models.Instant, m *models.MinuteStat) (int, bool) {
	i := int(m.Minute.Sub(from) / time.Minute)
	return i, m.Minute >= from && i < typeMinutes
}

// typeRow puts a type together. rows are its minutes.
func (s *Server) typeRow(name string, d *tasks.Definition, counts map[models.State]int64, from models.Instant, rows []models.MinuteStat) views.TypeRow {
	r := views.TypeRow{Name: name, Counts: counts, Finished: make([]float64, typeMinutes)}
	var run models.Histogram
	for i := range rows {
		m := &rows[i]
		failed := m.Retried + m.Failed + m.Dead
		r.Succeeded += m.Succeeded
		r.Ended += m.Succeeded + failed
		run.Merge(m.RunHist)
		if at, ok := minuteOf(from, m); ok {
			r.Finished[at] += float64(m.Succeeded + failed)
		}
	}
	r.RunP95 = run.Quantile(.95)
	if d == nil {
		return r
	}
	r.Registered, r.Internal, r.Description = true, d.Internal, d.Description
	if p, ok := s.runtime.Pool(name); ok {
		r.Pool = views.PoolFigures{Concurrency: p.Concurrency, Busy: p.Busy, Stuck: p.Stuck, Ready: p.Ready, Paused: p.Paused, Reason: p.PauseReason, By: p.PausedBy}
	}
	return r
}
