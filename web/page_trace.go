package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/views"
)

const (
	traceShownLines = 120
	traceTextLines  = 2_000
	traceBudget     = 16_000 // bytes of HTML for the long texts of a trace
)

func tracePath(id string) string { return "/traces/" + id }

func traceField(ctx context.Context, id string) views.Field {
	return views.Field{ID: "trace-id", Name: "id", Kind: "text", Label: views.T(ctx, "trace.id"), Help: views.T(ctx, "trace.id_help"), Value: id, MaxLen: "64", Required: true}
}

// tracesPage asks for a trace id, and goes to its page.
func (s *Server) tracesPage(c echo.Context) error {
	ctx := c.Request().Context()
	typed := strings.TrimSpace(c.QueryParam("id"))
	if id := strings.ToLower(typed); isTraceID(id) {
		return seeOther(c, string(views.URL(ctx, tracePath(id))))
	}
	page := views.Trace{Field: traceField(ctx, typed)}
	if typed == "" {
		return s.render(c, http.StatusOK, views.TracePage(page))
	}
	page.Field.Value = clip(typed)
	page.Field.Error = views.T(ctx, "trace.bad_id")
	return s.render(c, http.StatusUnprocessableEntity, views.TracePage(page))
}

// tracePage is one trace. One that nothing is known of is a page too: its form is what to do next.
func (s *Server) tracePage(c echo.Context) error {
	ctx := c.Request().Context()
	id := strings.ToLower(c.Param("id"))
	page := views.Trace{ID: id, Field: traceField(ctx, "")}
	if !isTraceID(id) {
		return models.ErrNotFound
	}
	t, err := s.readTrace(ctx, id, traceShownLines)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return s.render(c, http.StatusNotFound, views.TracePage(page))
	case err != nil:
		return err
	}
	room := budget(traceBudget)
	page.LeftOut, page.TextURL = t.leftOut, views.URL(ctx, tracePath(id)+"/trace.txt")
	for i := range t.tasks {
		task := &t.tasks[i]
		page.Tasks = append(page.Tasks, views.TraceTask{ID: task.ID, Type: task.Type, State: task.State, URL: views.URL(ctx, taskPath(task.ID))})
	}
	page.Bars = t.bars(ctx)
	day := ""
	for i := range t.events {
		e := t.view(ctx, &t.events[i], &room)
		if d := t.events[i].at.Time().In(views.ViewerOf(ctx).Zone).Format(time.DateOnly); d != day {
			day, e.Day = d, d
		}
		page.Events = append(page.Events, e)
	}
	page.Text, _ = room.take(t.text(ctx), traceBudget)
	return s.render(c, http.StatusOK, views.TracePage(page))
}

// traceText is the trace as plain text.
func (s *Server) traceText(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), writeTimeout)
	defer cancel()
	id := strings.ToLower(c.Param("id"))
	if !isTraceID(id) {
		return models.ErrNotFound
	}
	ctx = views.WithViewer(ctx, s.viewer(c))
	t, err := s.readTrace(ctx, id, traceTextLines)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	return c.String(http.StatusOK, t.text(ctx))
}

// view is one entry for the page.
func (t *trace) view(ctx context.Context, e *tracedEvent, room *budget) views.TraceEvent {
	out := views.TraceEvent{At: e.at, After: secondsAfter(t.after(e.at)), TaskID: e.task.ID, Tone: e.moment.Tone, Title: e.moment.Title, Note: e.moment.Note}
	if len(t.tasks) > 1 {
		out.TaskURL = views.URL(ctx, taskPath(e.task.ID))
	}
	if e.line != nil {
		line := *e.line
		line.Text, _ = room.take(line.Text, 1_000)
		out.Line = &line
		return out
	}
	out.Error, _ = room.take(e.failure(), 600)
	if e.other != nil {
		out.Links = append(out.Links,
			views.Fact{Label: views.T(ctx, otherKey(e)), Value: strconv.FormatInt(e.other.ID, 10), URL: views.URL(ctx, taskPath(e.other.ID))},
			views.Fact{Label: views.T(ctx, "trace.title"), Value: e.other.TraceID, URL: views.URL(ctx, tracePath(e.other.TraceID))})
	}
	if e.task.Schedule != "" && (e.kind == traceDue || e.kind == traceEnqueued) {
		out.Links = append(out.Links, views.Fact{Label: views.T(ctx, "trace.in_schedule"), Value: e.task.Schedule, URL: views.URL(ctx, "/schedules/"+views.Segment(e.task.Schedule))})
	}
	return out
}

// bars are the runs on the axis, which goes from the first thing that waited or ran to the last that ended.
func (t *trace) bars(ctx context.Context) []views.TraceBar {
	var low, high models.Instant
	for _, r := range t.runs {
		begin := r.run.StartedAt.Add(-r.run.waited())
		if low == 0 || begin < low {
			low = begin
		}
		high = max(high, r.finished)
	}
	long := float64(max(high.Sub(low), 1))
	var bars []views.TraceBar
	for _, r := range t.runs {
		label := views.T(ctx, "task.attempt", "k", r.run.Attempt.Attempt)
		if len(t.tasks) > 1 {
			label = strconv.FormatInt(r.task.ID, 10) + " · " + label
		}
		bars = append(bars, views.TraceBar{
			Label: label, Tone: r.run.tone(), Waited: r.run.waited(), Took: max(r.finished.Sub(r.run.StartedAt), 0),
			From: float64(r.run.StartedAt.Sub(low)) / long, To: float64(r.finished.Sub(low)) / long, WaitedFor: float64(r.run.waited()) / long,
		})
	}
	return bars
}
