package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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

// muteAlertsFor are the spans of a mute that the form offers; the last one is for good.
var muteAlertsFor = []string{"1h", "4h", "24h", "168h", "always"}

// alertRulePage is one rule with what can be done to it.
func (s *Server) alertRulePage(c echo.Context) error {
	rule, err := s.alertRuleOf(c)
	if err != nil {
		return err
	}
	return s.renderAlertRule(c, http.StatusOK, rule, nil, nil)
}

// renderAlertRule shows a rule with a form that was refused, and what is wrong with it.
func (s *Server) renderAlertRule(c echo.Context, status int, rule *alertRule, form url.Values, faults map[string]string) error {
	ctx := c.Request().Context()
	page := views.AlertDetail{Rule: alertRuleView(rule)}
	for i := range rule.open {
		page.Open = append(page.Open, alertRowView(&rule.open[i]))
	}
	if !rule.File && views.May(ctx, operator) {
		values := form
		if values == nil || values.Has("until") {
			values = alertValues(&rule.AlertRule)
		}
		page.Form = s.alertFields(ctx, rule.Kind, values, faults)
	}
	until := views.Field{ID: "mute-until", Name: "until", Kind: "select", Label: views.T(ctx, "alerts.field.until"), Value: form.Get("until"), Error: faults["until"]}
	for _, span := range muteAlertsFor {
		until.Options = append(until.Options, views.Option{Value: span, Text: views.T(ctx, "alerts.mute_for."+span)})
	}
	reason := views.Field{ID: "mute-reason", Name: "reason", Kind: "text", Label: views.T(ctx, "alerts.field.reason"), Value: form.Get("reason"),
		MaxLen: strconv.Itoa(actors.MaxReasonBytes), Error: faults["reason"]}
	page.Mute = []views.Field{until, reason}
	return s.render(c, status, views.AlertRulePage(page))
}

// newAlertPage asks what a new rule is to watch, and then for the rest.
func (s *Server) newAlertPage(c echo.Context) error {
	ctx, kind := c.Request().Context(), c.QueryParam("kind")
	form := views.AlertForm{Kinds: models.AlertKinds}
	if slices.Contains(models.AlertKinds, kind) {
		form.Kind = kind
		values := alertValues(&actors.AlertRule{AlertSpec: actors.AlertRule{AlertSpec: models.AlertSpec{Kind: kind}}.WithDefaults().AlertSpec})
		form.Fields = s.alertFields(ctx, kind, values, nil)
	}
	return s.render(c, http.StatusOK, views.AlertFormPage(form))
}

// createAlert makes a rule.
func (s *Server) createAlert(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	rule, faults := readAlertForm(ctx, form.Get("kind"), form)
	saved, err := s.saveAlert(ctx, "", rule, faults)
	if err != nil {
		return err
	}
	if saved == nil {
		return s.render(c, http.StatusUnprocessableEntity, views.AlertFormPage(views.AlertForm{Kind: rule.Kind, Fields: s.alertFields(ctx, rule.Kind, form, faults)}))
	}
	return s.alertDone(c, "alerts.did.create", saved.Name)
}

// changeAlert stores a rule of the page in place of what it was.
func (s *Server) changeAlert(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	was, err := s.alertRuleOf(c)
	if err != nil {
		return err
	}
	if err := was.mayChange(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	rule, faults := readAlertForm(ctx, was.Kind, form)
	saved, err := s.saveAlert(ctx, was.Name, rule, faults)
	if err != nil {
		return err
	}
	if saved == nil {
		return s.renderAlertRule(c, http.StatusUnprocessableEntity, was, form, faults)
	}
	return s.alertDone(c, "alerts.did.save", saved.Name)
}

// saveAlert stores a rule. It gives nil when something is wrong, which it adds to faults.
func (s *Server) saveAlert(ctx context.Context, was string, rule actors.AlertRule, faults map[string]string) (*models.AlertRule, error) {
	if !slices.Contains(models.AlertKinds, rule.Kind) {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid", "kind: must be one of the choices of the form")
	}
	if len(faults) > 0 {
		return nil, nil
	}
	saved, err := s.runtime.SaveAlertRule(ctx, was, rule, changeOf(ctx, ""))
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, noAlertRule()
	case errors.Is(err, models.ErrRuleTaken):
		faults["name"] = views.T(ctx, "alerts.taken")
	case errors.Is(err, models.ErrTooMany):
		faults["name"] = views.T(ctx, "alerts.too_many")
	case err == nil:
		return &saved, nil
	default:
		if !addFaults(ctx, err, faults) {
			return nil, err
		}
	}
	return nil, nil
}

// addFaults says what is wrong by the name of the input. It reports whether err is about inputs at all.
func addFaults(ctx context.Context, err error, faults map[string]string) bool {
	invalid, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return false
	}
	for _, f := range fieldErrors("", invalid) {
		name, inside, _ := strings.Cut(strings.TrimPrefix(f.Location, "/"), "/")
		faults[name] = faultText(ctx, f.within(inside))
	}
	return true
}

func (s *Server) alertDone(c echo.Context, key, name string) error {
	s.say(c, message{Tone: flashOK, Key: key, Args: []any{"name", name}})
	path := "/alerts"
	if key != "alerts.did.delete" {
		path += "/" + views.Segment(name)
	}
	return seeOther(c, string(views.URL(c.Request().Context(), path)))
}

// alertAction mutes, unmutes or deletes a rule.
func (s *Server) alertAction(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	rule, err := s.alertRuleOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	change := changeOf(ctx, strings.TrimSpace(form.Get("reason")))
	switch c.Param("action") {
	case "mute":
		span := form.Get("until")
		if !slices.Contains(muteAlertsFor, span) {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "until: must be one of the choices of the form")
		}
		var until time.Time
		if d, err := time.ParseDuration(span); err == nil {
			until = time.Now().Add(d)
		}
		err = s.runtime.MuteAlertRule(ctx, rule.Name, until, change)
		if faults := map[string]string{}; addFaults(ctx, err, faults) {
			return s.renderAlertRule(c, http.StatusUnprocessableEntity, rule, form, faults)
		}
	case "unmute":
		err = s.runtime.UnmuteAlertRule(ctx, rule.Name, change)
	case "delete":
		if err := rule.mayChange(); err != nil {
			return err
		}
		err = s.runtime.DeleteAlertRule(ctx, rule.Name, change)
	default:
		return echo.ErrNotFound
	}
	if errors.Is(err, models.ErrNotFound) {
		return noAlertRule()
	}
	if err != nil {
		return err
	}
	return s.alertDone(c, "alerts.did."+c.Param("action"), rule.Name)
}
