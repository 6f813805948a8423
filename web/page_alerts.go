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
	"reax/views"
)

// Alerts is what the pages use of the runtime for alerts. Its methods may be called from many goroutines.
type Alerts interface {
	AlertOptions() actors.AlertOptions
	SaveAlertRule(ctx context.Context, was string, rule actors.AlertRule, c actors.Change) (models.AlertRule, error)
	DeleteAlertRule(ctx context.Context, name string, c actors.Change) error
	MuteAlertRule(ctx context.Context, name string, until time.Time, c actors.Change) error
	UnmuteAlertRule(ctx context.Context, name string, c actors.Change) error
	TestReceiver(ctx context.Context, name string, c actors.Change) (models.Task, error)
}

// AlertLedger is what the pages read of the ledger for alerts. Its methods may be called from many goroutines.
type AlertLedger interface {
	AlertRules(ctx context.Context) ([]models.AlertRule, error)
	AlertMutes(ctx context.Context) (map[string]models.AlertMute, error)
	OpenAlerts(ctx context.Context) ([]models.Alert, error)
	AlertHistory(ctx context.Context, before int64, limit int) ([]models.Alert, error)
}

// shownAlerts is how many of the history a page shows to who has not chosen.
const shownAlerts = 25

// alertsPage shows what the rules find, the rules and who is told.
func (s *Server) alertsPage(c echo.Context) error {
	ctx := c.Request().Context()
	rules, open, err := s.alertRules(ctx)
	if err != nil {
		return err
	}
	page := views.Alerts{}
	for i := range rules {
		page.Rules = append(page.Rules, alertRuleView(&rules[i]))
	}
	slices.SortStableFunc(open, func(a, b models.Alert) int { return int(min(max(b.Since-a.Since, -1), 1)) })
	for i := range open {
		page.Open = append(page.Open, alertRowView(&open[i]))
	}
	for _, r := range s.runtime.AlertOptions().Receivers {
		page.Receivers = append(page.Receivers, [2]string{r.Name, r.Kind})
	}
	before, size := int64(0), shownAlerts
	if rows := views.ViewerOf(ctx).Rows; rows > 0 {
		size = rows
	}
	if text := c.QueryParam("before"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return newProblem(http.StatusUnprocessableEntity, "invalid", "the place in the history is not valid")
		}
		page.First = views.URL(ctx, "/alerts")
	}
	history, err := s.ledger.AlertHistory(ctx, before, size+1)
	if err != nil {
		return err
	}
	if len(history) > size {
		history = history[:size]
		page.Older = views.URL(ctx, "/alerts", "before", strconv.FormatInt(history[size-1].ID, 10))
	}
	for i := range history {
		if history[i].EndedAt != 0 {
			page.History = append(page.History, alertRowView(&history[i]))
		}
	}
	return s.render(c, http.StatusOK, views.AlertsPage(page))
}

// alertRule is a rule with its mute and its open alerts.
type alertRule struct {
	actors.AlertRule
	mute models.AlertMute
	now  models.Instant
	open []models.Alert
}

// alertRules are the rules of the file and those of the page by name, and all open alerts.
func (s *Server) alertRules(ctx context.Context) (rules []alertRule, open []models.Alert, err error) {
	stored, err := s.ledger.AlertRules(ctx)
	if err != nil {
		return nil, nil, err
	}
	mutes, err := s.ledger.AlertMutes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if open, err = s.ledger.OpenAlerts(ctx); err != nil {
		return nil, nil, err
	}
	byRule := map[string][]models.Alert{}
	for i := range open {
		byRule[open[i].Rule] = append(byRule[open[i].Rule], open[i])
	}
	now := models.At(time.Now())
	add := func(r actors.AlertRule) {
		rules = append(rules, alertRule{AlertRule: r, mute: mutes[r.Name], now: now, open: byRule[r.Name]})
	}
	seen := map[string]bool{}
	for _, r := range s.runtime.AlertOptions().Rules {
		seen[r.Name] = true
		add(r)
	}
	for i := range stored {
		if spec, err := stored[i].Read(); err == nil && !seen[stored[i].Name] {
			add(actors.AlertRule{Name: stored[i].Name, AlertSpec: spec})
		}
	}
	slices.SortFunc(rules, func(a, b alertRule) int { return strings.Compare(a.Name, b.Name) })
	return rules, open, nil
}

// alertRuleOf is the rule that the address names.
func (s *Server) alertRuleOf(c echo.Context) (*alertRule, error) {
	return s.alertRuleNamed(c.Request().Context(), c.Param("name"))
}

func (s *Server) alertRuleNamed(ctx context.Context, name string) (*alertRule, error) {
	rules, _, err := s.alertRules(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		if rules[i].Name == name {
			return &rules[i], nil
		}
	}
	return nil, noAlertRule()
}

func noAlertRule() error {
	return newProblem(http.StatusNotFound, "not_found", "there is no such alert rule")
}

func noReceiver() error {
	return newProblem(http.StatusNotFound, "not_found", "there is no such receiver")
}

func alertRuleView(r *alertRule) views.AlertRule {
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return actors.FormatAlertSpan(d)
	}
	view := views.AlertRule{
		Name: r.Name, Kind: r.Kind, File: r.File, Samples: r.Samples, Window: span(r.Window), For: span(r.For), After: span(r.ClearAfter), Repeat: span(r.Repeat),
		Types: r.Types, Receivers: r.Receivers, Mute: r.mute, Muted: r.mute.Holds(r.now), Limit: actors.FormatAlertLimit(r.Kind, r.Limit),
	}
	if r.Clear != 0 {
		view.Clear = actors.FormatAlertLimit(r.Kind, r.Clear)
	}
	view.Firing, view.Pending = r.found()
	return view
}

func alertRowView(a *models.Alert) views.AlertRow {
	facts := a.Read()
	row := views.AlertRow{Alert: *a, Facts: facts, Window: actors.FormatAlertSpan(time.Duration(facts.Window) * time.Second)}
	value, limit := facts.Value, facts.Limit
	switch a.Kind {
	case models.AlertSlow: // its figure is a time, and its limit is not
		row.Value, row.Limit = actors.FormatAlertSpan(time.Duration(value).Round(time.Second)), strconv.FormatInt(limit, 10)
		return row
	case models.AlertWait:
		value = int64(time.Duration(value).Round(time.Second))
	case models.AlertDisk:
		value = value >> 20 << 20
	}
	row.Value, row.Limit = actors.FormatAlertLimit(a.Kind, value), actors.FormatAlertLimit(a.Kind, limit)
	return row
}

// testReceiver sends a message that tells nothing.
func (s *Server) testReceiver(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx, name := c.Request().Context(), form.Get("receiver")
	task, err := s.runtime.TestReceiver(ctx, name, changeOf(ctx, ""))
	if errors.Is(err, models.ErrNotFound) {
		return noReceiver()
	}
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "alerts.did.test", Args: []any{"name", name}, URL: "/tasks/" + strconv.FormatInt(task.ID, 10)})
	return seeOther(c, string(views.URL(ctx, "/alerts")))
}
