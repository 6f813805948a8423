package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// previewRuns is how many runs the form shows.
const previewRuns = 5

// newSchedulePage is the empty form, or one with what the address fills in. The script asks it for the preview.
func (s *Server) newSchedulePage(c echo.Context) error {
	form := readPlanForm(c.QueryParams())
	if !c.QueryParams().Has("timezone") {
		form.timezone = views.ViewerOf(c.Request().Context()).Zone.String()
	}
	return s.planPage(c, http.StatusOK, form, nil)
}

func (s *Server) createSchedulePage(c echo.Context) error {
	values, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, form := c.Request().Context(), readPlanForm(values)
	if values.Get("do") == "preview" {
		return s.planPage(c, http.StatusOK, form, nil)
	}
	spec := form.spec()
	s.checkPlanForm(form)
	if len(form.faults) == 0 {
		row, err := s.runtime.CreateSchedule(ctx, spec, changeOf(ctx, form.reason))
		if err == nil {
			return s.savedPlan(c, "schedules.done.create", &row)
		}
		if !form.refused(ctx, err) {
			return err
		}
	}
	return s.planPage(c, http.StatusUnprocessableEntity, form, nil)
}

func (s *Server) savedPlan(c echo.Context, key string, row *models.Schedule) error {
	s.say(c, message{Tone: flashOK, Key: key, Args: []any{"name", row.Name}})
	return seeOther(c, string(views.URL(c.Request().Context(), "/schedules/"+views.Segment(row.Name))))
}

// checkPlanForm finds what the runtime would not say as well.
func (s *Server) checkPlanForm(f *planForm) {
	for name, value := range map[string]string{"name": f.name, "task": f.task, f.kind: map[string]string{planCron: f.cron, planEvery: f.every, planAt: f.at}[f.kind]} {
		if value == "" {
			f.fault(name, wrong("", "required"))
		}
	}
	for _, bad := range nameFaults(f.name) {
		f.fault("name", bad)
	}
	if _, ok := s.runtime.Registry().Lookup(f.task); !ok && f.task != "" {
		f.fault("task", wrong("", "no_type", clip(f.task)))
	}
	if len(f.reason) > actors.MaxReasonBytes {
		f.fault("reason", wrong("", "bytes", actors.MaxReasonBytes))
	}
}

// editable gives a schedule that a page may edit.
func (s *Server) editable(ctx context.Context, name string) (models.Schedule, error) {
	row, err := s.ledger.Schedule(ctx, name)
	if err != nil {
		return row, scheduleProblem(name, err)
	}
	if row.Owner == models.OwnerFile {
		return row, &models.OwnedError{Name: name, Owner: row.Owner}
	}
	return row, nil
}

func (s *Server) editSchedulePage(c echo.Context) error {
	row, err := s.editable(c.Request().Context(), c.Param("name"))
	if err != nil {
		return err
	}
	form := planFormOf(&row, s.shownPlanParams(&row))
	if query := c.QueryParams(); query.Has("kind") { // the script asks for the preview of what was typed
		typed := readPlanForm(query)
		form.kind, form.cron, form.every, form.at, form.timezone, form.task = typed.kind, typed.cron, typed.every, typed.at, typed.timezone, typed.task
	}
	return s.planPage(c, http.StatusOK, form, &row)
}

func (s *Server) changeSchedulePage(c echo.Context) error {
	values, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	row, err := s.editable(ctx, c.Param("name"))
	if err != nil {
		return err
	}
	form := readPlanForm(values)
	if values.Get("do") == "preview" {
		return s.planPage(c, http.StatusOK, form, &row)
	}
	patch := form.patch(&row, planFormOf(&row, s.shownPlanParams(&row)))
	s.checkPlanForm(form)
	if bad, ok := errors.AsType[*problemJSON](s.unmaskPatch(ctx, row.Name, &patch, "")); ok && len(bad.Errors) > 0 {
		form.fault("params", bad.Errors[0].within(clip(bad.Errors[0].Location)))
	}
	if len(form.faults) == 0 {
		saved, err := s.runtime.UpdateSchedule(ctx, row.Name, patch, changeOf(ctx, form.reason))
		if err == nil {
			return s.savedPlan(c, "schedules.done.change", &saved)
		}
		if conflict, ok := errors.AsType[*models.ConflictError](err); ok {
			return s.planConflict(c, form, &conflict.Current)
		}
		if !form.refused(ctx, err) {
			return scheduleProblem(row.Name, err)
		}
	}
	return s.planPage(c, http.StatusUnprocessableEntity, form, &row)
}

// planConflict shows what is there now at each field that differs. Saving again is meant for that version.
func (s *Server) planConflict(c echo.Context, form *planForm, current *models.Schedule) error {
	ctx := c.Request().Context()
	for field, now := range form.differing(planFormOf(current, s.shownPlanParams(current))) {
		form.fault(field, wrong("", "is_now", cmp.Or(clip(now), "–")))
	}
	form.version = current.Version
	view := s.planView(ctx, form, current)
	view.Conflict = &views.ScheduleConflict{By: cmp.Or(current.UpdatedBy, "–"), Version: current.Version}
	return s.render(c, http.StatusConflict, views.ScheduleFormPage(view, s.typeNames()))
}

func (s *Server) planPage(c echo.Context, status int, form *planForm, row *models.Schedule) error {
	return s.render(c, status, views.ScheduleFormPage(s.planView(c.Request().Context(), form, row), s.typeNames()))
}

// planView is the page of a form; row is the schedule that is edited, nil for a new one.
func (s *Server) planView(ctx context.Context, f *planForm, row *models.Schedule) views.ScheduleForm {
	view := views.ScheduleForm{Preview: s.planPreview(ctx, f, row), Version: f.version}
	if row != nil {
		view.Name, view.Version = row.Name, cmp.Or(f.version, row.Version)
	}
	field := func(name, kind, value string) views.Field {
		return views.Field{ID: "s-" + name, Name: name, Kind: kind, Value: value, Label: views.T(ctx, "schedule_form.field."+name), Error: f.faultOf(ctx, name)}
	}
	choice := func(name, value string, values ...string) views.Field {
		c := field(name, "select", value)
		for _, v := range values {
			c.Options = append(c.Options, views.Option{Value: v, Text: views.T(ctx, "schedule_form.choice."+name+"."+cmp.Or(v, "none"))})
		}
		return c
	}
	name, task := field("name", "text", f.name), field("task", "text", f.task)
	name.Required, name.MaxLen, name.Help, name.Example = true, "100", views.T(ctx, "schedule_form.help.name"), "report.nightly"
	task.Required, task.List, task.Help = true, "types", views.T(ctx, "schedule_form.help.task")
	view.What = []views.Field{name, task}

	view.Kind = choice("kind", f.kind, planKinds...)
	view.Kind.Kind = "radio"
	cron, every, at := field(planCron, "text", f.cron), field(planEvery, "text", f.every), field(planAt, "datetime-local", f.at)
	cron.Example, cron.Help, cron.MaxLen = "30 2 * * 1-5", views.T(ctx, "schedule_form.help.cron"), "200"
	every.Example, every.Help = "15m", views.T(ctx, "schedule_form.help.every")
	at.Step, at.Help = "1", views.T(ctx, "schedule_form.help.at")
	view.Kinds = []views.Field{cron, every, at}
	view.Zone = field("timezone", "text", f.timezone)
	view.Zone.List, view.Zone.MaxLen = "zones", "64"

	view.Params = field("params", "json", f.params)
	view.Params.Rows, view.Params.Example = "6", "{}"
	view.Params.Help = views.T(ctx, "schedule_form.help.params", "example", `{{ .ScheduledFor.Format "2006-01-02" }}`)
	priority := choice("priority", f.priority, "")
	for p := 1; p <= 10; p++ {
		priority.Options = append(priority.Options, views.Option{Value: strconv.Itoa(p), Text: strconv.Itoa(p)})
	}
	tags := field("tags", "text", f.tags)
	tags.Help = views.T(ctx, "schedule_form.help.tags")
	view.Policies = []views.Field{
		choice("missed", cmp.Or(f.missed, models.MissedRunOnce), models.MissedRunOnce, models.MissedSkip, models.MissedRunAll),
		choice("overlap", cmp.Or(f.overlap, models.OverlapSkip), models.OverlapSkip, models.OverlapQueueOne, models.OverlapAllow),
		priority, tags,
	}
	view.Reason = field("reason", "text", f.reason)
	shown := map[string]bool{"name": true, "task": true, "kind": true, "cron": true, "every": true, "at": true, "timezone": true,
		"params": true, "priority": true, "tags": true, "missed": true, "overlap": true, "reason": true}
	for field, fault := range f.faults {
		if !shown[field] {
			view.Fault = strings.TrimSpace(field + ": " + faultText(ctx, fault))
		}
	}
	return view
}

// planPreview is what the plan of a form would do from now on.
func (s *Server) planPreview(ctx context.Context, f *planForm, row *models.Schedule) views.PlanPreview {
	viewer := views.ViewerOf(ctx)
	now := viewer.Now
	anchor := now.Truncate(time.Second)
	if row != nil && row.EveryUS != 0 {
		anchor = row.Anchor.Time()
	}
	typed := readPlanForm(url.Values{"kind": {f.kind}, "cron": {f.cron}, "every": {f.every}, "at": {f.at}, "timezone": {f.timezone}})
	var p views.PlanPreview
	_, table := typed.plan(anchor)
	for _, field := range append(planKinds, "timezone") {
		if message := typed.faultOf(ctx, field); message != "" {
			p.Faults = append(p.Faults, views.T(ctx, "schedule_form.field."+field)+": "+message)
		}
	}
	if table != nil && len(p.Faults) == 0 {
		p.Description, p.Zone = table.Describe(string(viewer.Locale)), cmp.Or(f.timezone, "UTC")
		p.Runs = upcomingRuns(table, now, previewRuns, viewer.Locale)
	}
	if d, ok := s.runtime.Registry().Lookup(f.task); ok {
		p.Task, p.Example = d.Name, indented(shownExample(d))
	}
	return p
}
