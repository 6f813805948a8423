package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const (
	demoType  = "demo.report"
	demoKey   = "demonstration" // a second press gives the task of the first while that is not finished
	spanDay   = "24h"
	maxNotice = 12
	maxTypes  = 10
	maxNext   = 5
)

// overviewPage is the page at the root.
func (s *Server) overviewPage(c echo.Context) error {
	day := c.QueryParam("span") == spanDay
	v := s.snapshot(c.Request().Context(), day)
	return s.render(c, http.StatusOK, views.OverviewPage(s.overviewView(c, v, day)))
}

// demonstration gives the runtime a task that shows what reax does.
func (s *Server) demonstration(c echo.Context) error {
	ctx := c.Request().Context()
	made, err := s.runtime.Enqueue(ctx, actors.EnqueueRequest{Type: demoType, Params: []byte("{}"), UniqueKey: demoKey, By: callerOf(ctx).by})
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "overview.demo.accepted"})
	return seeOther(c, string(views.URL(ctx, fmt.Sprintf("/tasks/%d", made.Task.ID))))
}

func (s *Server) overviewView(c echo.Context, v *snapshot, day bool) views.Overview {
	ctx := c.Request().Context()
	o := views.Overview{Verdict: verdictView(ctx, v), Known: v.known}
	if !v.known {
		return o
	}
	if len(v.total) == 0 {
		o.Start = s.startView(c)
		return o
	}
	o.Spans = []views.Tab{
		{Text: views.T(ctx, "overview.hour"), URL: views.URL(ctx, "/"), Current: !day},
		{Text: views.T(ctx, "overview.day"), URL: views.URL(ctx, "/", "span", spanDay), Current: day},
	}
	o.Tiles = tilesView(ctx, v)
	spans, lines, step := v.minutes, v.lines, time.Minute
	o.Title, o.Span = views.T(ctx, "overview.finished.minute"), views.T(ctx, "overview.last60")
	if day {
		spans, lines, step = v.days, v.days, dayStep
		o.Title, o.Span = views.T(ctx, "overview.finished.half_hour"), views.T(ctx, "overview.last24")
	}
	o.Finished = finishedView(ctx, spans, step, o.Span)
	o.Finished.Marks, o.Events = marksView(ctx, v, spans[0].at, step, len(spans))
	o.Wait = timesView(ctx, lines, views.T(ctx, "overview.wait"), o.Span, func(p *period) *models.Histogram { return &p.wait })
	o.Run = timesView(ctx, lines, views.T(ctx, "overview.run"), o.Span, func(p *period) *models.Histogram { return &p.run })
	o.Notices = noticesView(ctx, v)
	o.More = max(len(o.Notices)-maxNotice, 0)
	o.Notices = o.Notices[:len(o.Notices)-o.More]
	o.Types, o.AllTypes = typeRows(ctx, v)
	o.Runs = nextRuns(ctx, v.plans)
	return o
}

// verdictView is how the runtime says it is, and which types it runs without luck.
func verdictView(ctx context.Context, v *snapshot) views.Verdict {
	h := v.health
	w := views.Verdict{Status: h.Status, Tone: "retry_wait", Title: views.T(ctx, "health."+h.Status)}
	switch h.Status {
	case actors.StatusOK:
		w.Tone = "success"
	case actors.StatusDown:
		w.Tone = "failed"
	}
	for _, c := range h.Causes {
		w.Causes = append(w.Causes, causeView(ctx, c))
	}
	failing := 0
	for i := range v.types {
		f := &v.types[i]
		if f.trouble.percent == 0 {
			continue
		}
		failing++
		if h.Status == actors.StatusOK {
			w.Tone, w.Title = "retry_wait", views.T(ctx, "overview.some_fail")
		}
		said := views.Sentence{
			Text: views.T(ctx, "overview.type_fails", "type", f.name, "percent", f.trouble.percent),
			URL:  views.URL(ctx, "/tasks", "type", f.name, "window", "1h"), Since: sinceText(ctx, f.trouble.since.Time()),
		}
		if f.trouble.longer {
			said.Since = views.T(ctx, "overview.since_long")
		}
		for _, g := range v.groups {
			if g.Type == f.name && g.LastAt >= f.trouble.since {
				said.Text = views.T(ctx, "overview.type_fails_with", "type", f.name, "percent", f.trouble.percent, "error", views.OneLine(g.Message))
				break
			}
		}
		w.Causes = append(w.Causes, said)
	}
	if failing > 0 && failing == len(w.Causes) && len(v.types) > failing {
		w.Causes = append(w.Causes, views.Sentence{Text: views.T(ctx, "overview.others_fine")})
	}
	return w
}

// causeView says a cause in the viewer's language, with where to look.
func causeView(ctx context.Context, c actors.Cause) views.Sentence {
	var pairs []any
	for name, value := range c.Args {
		switch v := value.(type) {
		case string:
			value = views.OneLine(v)
		case time.Duration:
			value = views.Duration(ctx, v)
		}
		pairs = append(pairs, name, value)
	}
	said := views.Sentence{Text: views.T(ctx, "cause."+c.Code, pairs...), Since: sinceText(ctx, c.Since)}
	name := func(arg string) string { text, _ := c.Args[arg].(string); return views.Segment(text) }
	switch c.Code {
	case actors.CauseBlocked, actors.CauseStuck:
		said.URL = views.URL(ctx, "/types/"+name("type"))
	case actors.CauseNoHandler:
		said.URL = views.URL(ctx, "/tasks", "type", fmt.Sprint(c.Args["type"]))
	case actors.CauseWaiting:
		said.URL = views.URL(ctx, "/tasks", "state", "pending")
	case actors.CauseNoHandlers:
		said.URL = views.URL(ctx, "/types")
	case actors.CauseSchedule, actors.CauseOverdue, actors.CauseMissed:
		said.URL = views.URL(ctx, "/schedules/"+name("name"))
	case actors.CauseSchedules, actors.CauseMissedMore:
		said.URL = views.URL(ctx, "/schedules")
	case actors.CauseCrashes, actors.CauseBusy, actors.CauseHung:
		said.URL = views.URL(ctx, "/actors")
	}
	return said
}

func sinceText(ctx context.Context, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return views.T(ctx, "overview.since", "time", views.ShortClock(ctx, models.At(since)))
}

// startView is what to do first.
func (s *Server) startView(c echo.Context) *views.Start {
	typ := "report.generate"
	_, demo := s.runtime.Registry().Lookup(demoType)
	all := s.runtime.Registry().All()
	if demo {
		typ = demoType
	} else if len(all) > 0 {
		typ = all[0].Name
	}
	host := schemeOf(c.Request()) + "://" + c.Request().Host + s.baseOf(c.Request())
	if c.IsTLS() || c.Request().Header.Get("X-Forwarded-Proto") == "https" {
		host = "https" + host[len("http"):]
	}
	start := &views.Start{
		Demo: demo, Run: "reax enqueue " + typ + " --wait",
		Request: fmt.Sprintf("curl %s/api/v1/tasks \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"type\":%q}'", host, typ),
	}
	if demo || len(all) == 0 {
		start.Own = "tasks:\n  report.generate:\n    command: [python3, reports/generate.py]\n    timeout: 2m\n    max_retries: 3"
	} else {
		start.Plan = fmt.Sprintf("reax schedules add daily --task %s --cron '0 7 * * *'", typ)
	}
	return start
}
