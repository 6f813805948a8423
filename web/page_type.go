package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

const (
	readErrorGroups = 500 // the latest of all types, among which those of one are looked for
	shownErrors     = 8
)

// typePage is one task type. One that is neither registered nor has tasks is not there.
func (s *Server) typePage(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	counts, err := s.countsByType(ctx)
	if err != nil {
		return err
	}
	d, ok := s.runtime.Registry().Lookup(name)
	if !ok && counts[name] == nil {
		return unknownType(name)
	}
	from, rows, err := s.hourOf(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(m models.MinuteStat) bool { return m.Type != name })
	page := views.TypePage{TypeRow: s.typeRow(name, d, counts[name], from, rows)}
	if ok {
		page.Kind, page.Policy, page.Schema, page.Example = d.Kind, d.Policy, indented(string(d.Schema.Shown())), indented(shownExample(d))
	}
	page.Bars = typeBars(ctx, name, from, rows)
	page.Times, page.TimesTop = typeTimes(ctx, from, rows)
	groups, err := s.ledger.ErrorGroups(ctx, readErrorGroups)
	if err != nil {
		return err
	}
	groups = slices.DeleteFunc(groups, func(g models.ErrorGroup) bool { return g.Type != name })
	page.Errors = groups[:min(len(groups), shownErrors)]
	if page.Audit, err = s.ledger.AuditOf(ctx, "type", name, shownAudit); err != nil {
		return err
	}
	var forms []views.TypeAction
	if ok {
		for _, action := range typeActions {
			forms = append(forms, s.typeAction(ctx, name, action))
		}
	}
	return s.render(c, http.StatusOK, views.TypeDetailPage(page, forms))
}

// typeBars are the runs that ended in each minute; a bar leads to the tasks that ended then.
func typeBars(ctx context.Context, name string, from models.Instant, rows []models.MinuteStat) views.Chart {
	bars := make([]views.Bar, typeMinutes)
	for i := range bars {
		bars[i].At = from.Add(time.Duration(i) * time.Minute)
	}
	var good, bad int64
	for i := range rows {
		m := &rows[i]
		if at, ok := minuteOf(from, m); ok {
			bars[at].Good += m.Succeeded
			bars[at].Bad += m.Retried + m.Failed + m.Dead
			bars[at].URL = endedURL(ctx, bars[at].At, time.Minute, "type", name)
			good, bad = good+m.Succeeded, bad+m.Retried+m.Failed+m.Dead
		}
	}
	return views.Chart{
		Label: views.T(ctx, "types.chart", "good", good, "bad", bad), Good: views.T(ctx, "types.good"), Bad: views.T(ctx, "types.bad"),
		Bars: bars, Numbers: true,
	}
}

// typeTimes are the 95th percentiles of waiting and running, by five minutes, and the highest of them in words; empty
// when nothing ran.
func typeTimes(ctx context.Context, from models.Instant, rows []models.MinuteStat) ([]views.Line, string) {
	const points = typeMinutes / typeStep
	var wait, run [points]models.Histogram
	for i := range rows {
		if at, ok := minuteOf(from, &rows[i]); ok {
			wait[at/typeStep].Merge(rows[i].WaitHist)
			run[at/typeStep].Merge(rows[i].RunHist)
		}
	}
	highest := time.Duration(0)
	line := func(name, class string, steps [points]models.Histogram) views.Line {
		l := views.Line{Name: name, Class: class}
		for i := range steps {
			value := -1.0
			if steps[i].Total() > 0 {
				p95 := steps[i].Quantile(.95)
				value, highest = p95.Seconds(), max(highest, p95)
			}
			l.Values = append(l.Values, value)
		}
		return l
	}
	lines := []views.Line{line(views.T(ctx, "types.wait95"), "a", wait), line(views.T(ctx, "types.run95"), "b", run)}
	if highest == 0 {
		return lines, ""
	}
	return lines, views.Duration(ctx, highest)
}

// typeActions are what a person can do to a type, as the last part of the address.
var typeActions = []string{"pause", "resume", "resize"}

func (s *Server) typeAction(ctx context.Context, name, action string) views.TypeAction {
	a := views.TypeAction{Name: name, Action: action, Reason: views.Field{
		ID: action + "-reason", Name: "reason", Kind: "text", Label: views.T(ctx, "schedules.reason"), Example: views.T(ctx, "types.reason_example"),
	}}
	if action == "resize" {
		pool, _ := s.runtime.Pool(name)
		a.Size = views.Field{
			ID: "resize-size", Name: "concurrency", Kind: "number", Label: views.T(ctx, "types.size"), Required: true, Min: "1",
			Max: strconv.Itoa(tasks.MaxConcurrency), Step: "1", Value: strconv.Itoa(pool.Concurrency),
		}
	}
	return a
}

// typeActionOf reads the type and the action of an address.
func (s *Server) typeActionOf(c echo.Context) (views.TypeAction, error) {
	name, action := c.Param("name"), c.Param("action")
	if !slices.Contains(typeActions, action) {
		return views.TypeAction{}, echo.ErrNotFound
	}
	if _, ok := s.runtime.Registry().Lookup(name); !ok {
		return views.TypeAction{}, unknownType(name)
	}
	return s.typeAction(c.Request().Context(), name, action), nil
}

// typeActionPage is the form of an action, for who has no script.
func (s *Server) typeActionPage(c echo.Context) error {
	a, err := s.typeActionOf(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.TypeActionPage(a))
}

func (s *Server) typeActionForm(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	a, err := s.typeActionOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	a.Reason.Value = strings.TrimSpace(form.Get("reason"))
	if len(a.Reason.Value) > actors.MaxReasonBytes {
		a.Reason.Error = views.T(ctx, "schedules.long_reason", "n", actors.MaxReasonBytes)
	}
	size := 0
	if a.Action == "resize" {
		a.Size.Value = strings.TrimSpace(form.Get("concurrency"))
		if size, err = strconv.Atoi(a.Size.Value); err != nil || size < 1 || size > tasks.MaxConcurrency {
			a.Size.Error = views.T(ctx, "types.bad_size", "most", tasks.MaxConcurrency)
		}
	}
	if a.Reason.Error == "" && a.Size.Error == "" {
		change := changeOf(ctx, a.Reason.Value)
		switch a.Action {
		case "pause":
			err = s.runtime.Pause(ctx, a.Name, change)
		case "resume":
			err = s.runtime.Resume(ctx, a.Name, change)
		default:
			err = s.runtime.Resize(ctx, a.Name, size, change)
		}
		if errors.Is(err, actors.ErrUnknownType) {
			return unknownType(a.Name)
		}
		for location, text := range faultsOf(err) {
			if location == "/concurrency" {
				a.Size.Error = text
			} else {
				a.Reason.Error = text
			}
		}
		if faultsOf(err) == nil {
			if err != nil {
				return err
			}
			s.say(c, message{Tone: flashOK, Key: "types.done." + a.Action, Args: []any{"name", a.Name, "size", size}})
			return seeOther(c, string(views.URL(ctx, "/types/"+views.Segment(a.Name))))
		}
	}
	return s.render(c, http.StatusUnprocessableEntity, views.TypeActionPage(a))
}
