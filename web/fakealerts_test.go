package web

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// fakeAlerts is what the fake knows of alerts.
type fakeAlerts struct {
	alertOptions actors.AlertOptions
	rules        []models.AlertRule
	mutes        map[string]models.AlertMute
	alerts       []models.Alert // oldest first
	tested       []string
}

func (f *fake) AlertOptions() actors.AlertOptions { return f.alertOptions }

func (f *fake) SaveAlertRule(_ context.Context, was string, rule actors.AlertRule, c actors.Change) (models.AlertRule, error) {
	if bad := actors.CheckAlertRule(rule, f.alertOptions.Receivers); len(bad) > 0 {
		return models.AlertRule{}, &tasks.InvalidError{Fields: bad}
	}
	if was != rule.Name && slices.ContainsFunc(f.rules, func(r models.AlertRule) bool { return r.Name == rule.Name }) {
		return models.AlertRule{}, models.ErrRuleTaken
	}
	f.rules = slices.DeleteFunc(f.rules, func(r models.AlertRule) bool { return r.Name == was })
	spec, err := json.Marshal(rule.AlertSpec)
	saved := models.AlertRule{Name: rule.Name, Spec: string(spec), ChangedBy: c.By}
	f.rules = append(f.rules, saved)
	return saved, cmp.Or(f.err, err)
}

func (f *fake) DeleteAlertRule(_ context.Context, name string, _ actors.Change) error {
	f.rules = slices.DeleteFunc(f.rules, func(r models.AlertRule) bool { return r.Name == name })
	return f.err
}

func (f *fake) MuteAlertRule(_ context.Context, name string, until time.Time, c actors.Change) error {
	if len(c.Reason) > actors.MaxReasonBytes {
		return tasks.Invalid("/reason", "bytes", actors.MaxReasonBytes)
	}
	f.mutes = map[string]models.AlertMute{name: {Rule: name, Until: models.At(until), Reason: c.Reason, Actor: c.By}}
	return f.err
}

func (f *fake) UnmuteAlertRule(_ context.Context, name string, _ actors.Change) error {
	delete(f.mutes, name)
	return f.err
}

func (f *fake) TestReceiver(_ context.Context, name string, _ actors.Change) (models.Task, error) {
	if !slices.ContainsFunc(f.alertOptions.Receivers, func(r actors.AlertReceiver) bool { return r.Name == name }) {
		return models.Task{}, models.ErrNotFound
	}
	f.tested = append(f.tested, name)
	return models.Task{ID: 9}, f.err
}

func (f *fake) AlertRules(context.Context) ([]models.AlertRule, error) { return f.rules, f.readErr }

func (f *fake) AlertMutes(context.Context) (map[string]models.AlertMute, error) {
	return f.mutes, f.readErr
}

func (f *fake) OpenAlerts(context.Context) ([]models.Alert, error) {
	open := slices.DeleteFunc(slices.Clone(f.alerts), func(a models.Alert) bool { return a.EndedAt != 0 })
	return open, f.readErr
}

func (f *fake) AlertHistory(_ context.Context, before int64, limit int) ([]models.Alert, error) {
	var found []models.Alert
	for _, a := range slices.Backward(f.alerts) {
		if (before == 0 || a.ID < before) && a.BeganAt != 0 && len(found) < limit {
			found = append(found, a)
		}
	}
	return found, f.readErr
}
