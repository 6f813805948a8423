package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"reax/actors"
	"reax/models"
)

// alertJSON is something that a rule has found.
type alertJSON struct {
	ID          int64    `json:"id"`
	Rule        string   `json:"rule"`
	When        string   `json:"when" doc:"What the rule looks at"`
	State       string   `json:"state" enum:"pending,firing,ended" doc:"pending may become an alert"`
	Since       moment   `json:"since" doc:"Since when the rule finds it"`
	BeganAt     moment   `json:"began_at" doc:"null while it is pending"`
	EndedAt     moment   `json:"ended_at"`
	ToldAt      moment   `json:"told_at" doc:"When messages about it were made last; null when nobody was told"`
	ToldTo      []string `json:"told_to" nullable:"false" doc:"The receivers that know of it"`
	Name        string   `json:"name" doc:"The task type or the schedule that it is about; empty when it is about neither"`
	Error       string   `json:"error" doc:"Of the tasks that ended with it"`
	Fingerprint string   `json:"fingerprint" doc:"Of the error"`
	TaskID      *int64   `json:"task_id" doc:"One of the tasks that it is about, or null"`
	Count       int64    `json:"count" doc:"How many tasks, runs or missed occurrences it is about"`
	Value       string   `json:"value" doc:"The figure, in the unit of the limit; empty when the kind of rule has none"`
	Limit       string   `json:"limit"`
}

func alertView(a *models.Alert) alertJSON {
	row := alertRowView(a)
	v := alertJSON{
		ID: a.ID, Rule: a.Rule, When: a.Kind, State: "pending", Since: moment(a.Since), BeganAt: moment(a.BeganAt), EndedAt: moment(a.EndedAt),
		ToldAt: moment(a.ToldAt), ToldTo: append([]string{}, a.ToldTo.Names()...), Name: row.Facts.Name, Error: row.Facts.Error,
		Fingerprint: row.Facts.Fingerprint, Count: row.Facts.Count,
	}
	switch {
	case a.EndedAt != 0:
		v.State = "ended"
	case a.BeganAt != 0:
		v.State = "firing"
	}
	if row.Facts.Task != 0 {
		v.TaskID = &row.Facts.Task
	}
	if has, _, _, _ := actors.AlertLimit(a.Kind); has {
		v.Value, v.Limit = row.Value, row.Limit
	}
	return v
}

// alertListJSON is what rules have found.
type alertListJSON struct {
	Open       []alertJSON `json:"open" nullable:"false" doc:"All that have not ended, and what may become an alert, by rule; only on the first page"`
	History    []alertJSON `json:"history" nullable:"false" doc:"All that began, newest first; those that have not ended are among them"`
	NextCursor *string     `json:"next_cursor" doc:"null on the last page"`
}

type alertsInput struct {
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Of the history"`
}

type alertsOutput struct{ Body alertListJSON }

func (s *Server) listAlerts(ctx context.Context, in *alertsInput) (*alertsOutput, error) {
	out := &alertsOutput{Body: alertListJSON{Open: []alertJSON{}, History: []alertJSON{}}}
	var before int64
	if in.Cursor != "" {
		var err error
		if before, err = decodeCursor(in.Cursor); err != nil {
			return nil, invalid([]fieldError{wrongBy("query.cursor", err)})
		}
	} else {
		open, err := s.ledger.OpenAlerts(ctx)
		if err != nil {
			return nil, err
		}
		for i := range open {
			out.Body.Open = append(out.Body.Open, alertView(&open[i]))
		}
	}
	history, err := s.ledger.AlertHistory(ctx, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	if len(history) > in.Limit {
		history = history[:in.Limit]
		cursor := encodeCursor(history[in.Limit-1].ID)
		out.Body.NextCursor = &cursor
	}
	for i := range history {
		out.Body.History = append(out.Body.History, alertView(&history[i]))
	}
	return out, nil
}

// alertRulesJSON is all rules, and who can be told.
type alertRulesJSON struct {
	Rules     []alertRuleJSON     `json:"rules" nullable:"false" doc:"By name: those of the configuration file, and up to 200 others"`
	Receivers []alertReceiverJSON `json:"receivers" nullable:"false" doc:"They stand in the configuration file"`
}

type alertReceiverJSON struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type alertRulesOutput struct{ Body alertRulesJSON }

func (s *Server) listAlertRules(ctx context.Context, _ *struct{}) (*alertRulesOutput, error) {
	rules, _, err := s.alertRules(ctx)
	if err != nil {
		return nil, err
	}
	out := &alertRulesOutput{Body: alertRulesJSON{Rules: []alertRuleJSON{}, Receivers: []alertReceiverJSON{}}}
	for i := range rules {
		out.Body.Rules = append(out.Body.Rules, ruleView(&rules[i]))
	}
	for _, r := range s.runtime.AlertOptions().Receivers {
		out.Body.Receivers = append(out.Body.Receivers, alertReceiverJSON(r))
	}
	return out, nil
}

type alertRuleInput struct {
	Name string `path:"name" maxLength:"200"`
}

type alertRuleOutput struct {
	Location string `header:"Location" doc:"The address of the rule"`
	Body     alertRuleJSON
}

func (s *Server) getAlertRule(ctx context.Context, in *alertRuleInput) (*alertRuleOutput, error) {
	rule, err := s.alertRuleNamed(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &alertRuleOutput{Location: callerOf(ctx).prefix + s.base + apiPath + "/alerts/rules/" + url.PathEscape(rule.Name), Body: ruleView(rule)}, nil
}

type newAlertRuleInput struct{ Body ruleInputJSON }

func (s *Server) addAlertRule(ctx context.Context, in *newAlertRuleInput) (*alertRuleOutput, error) {
	return s.putAlertRule(ctx, "", &in.Body)
}

type changeAlertRuleInput struct {
	Name string `path:"name" maxLength:"200"`
	Body ruleInputJSON
}

func (s *Server) replaceAlertRule(ctx context.Context, in *changeAlertRuleInput) (*alertRuleOutput, error) {
	if err := s.mayChangeRule(ctx, in.Name); err != nil {
		return nil, err
	}
	return s.putAlertRule(ctx, in.Name, &in.Body)
}

func (s *Server) putAlertRule(ctx context.Context, was string, body *ruleInputJSON) (*alertRuleOutput, error) {
	rule, _ := body.rule()
	saved, err := s.runtime.SaveAlertRule(ctx, was, rule, changeOf(ctx, strings.TrimSpace(body.Reason)))
	if err != nil {
		return nil, alertProblem(err)
	}
	return s.getAlertRule(ctx, &alertRuleInput{saved.Name})
}

// alertProblem is the answer to a change of a rule that was refused.
func alertProblem(err error) error {
	switch {
	case errors.Is(err, models.ErrNotFound):
		return noAlertRule()
	case errors.Is(err, models.ErrRuleTaken):
		return newProblem(http.StatusConflict, "conflict", "%s", models.ErrRuleTaken.Error())
	case errors.Is(err, models.ErrTooMany):
		return newProblem(http.StatusConflict, "conflict", "there are %d alert rules already: no more can be made", models.MaxAlertRules)
	}
	return err
}

// mayChangeRule refuses a rule that is not there, or that stands in the configuration file.
func (s *Server) mayChangeRule(ctx context.Context, name string) error {
	rule, err := s.alertRuleNamed(ctx, name)
	if err != nil {
		return err
	}
	return rule.mayChange()
}

// mayChange refuses a rule that stands in the configuration file.
func (r *alertRule) mayChange() error {
	if r.File {
		return newProblem(http.StatusConflict, "owned_by_file", "the rule is one of the configuration file: change it there")
	}
	return nil
}

type deleteAlertRuleInput struct {
	Name   string `path:"name" maxLength:"200"`
	Reason string `query:"reason" doc:"For the record; at most 1,000 bytes"`
}

func (s *Server) deleteAlertRule(ctx context.Context, in *deleteAlertRuleInput) (*struct{}, error) {
	if faults := textBytes("query.reason", in.Reason, actors.MaxReasonBytes); faults != nil {
		return nil, invalid(faults)
	}
	if err := s.mayChangeRule(ctx, in.Name); err != nil {
		return nil, err
	}
	return nil, alertProblem(s.runtime.DeleteAlertRule(ctx, in.Name, changeOf(ctx, strings.TrimSpace(in.Reason))))
}

// muteJSON is the body of a mute.
type muteJSON struct {
	Reason string       `json:"reason,omitempty" nullable:"true" doc:"For the record; at most 1,000 bytes"`
	Until  *momentInput `json:"until,omitempty" nullable:"true" doc:"When the mute ends by itself, at most 366 days ahead; without it, never"`
}

func (b *muteJSON) check(s *Server) []fieldError { return (*pauseJSON)(b).check(s) }

type muteAlertRuleInput struct {
	Name string `path:"name" maxLength:"200"`
	Body *muteJSON
}

func (s *Server) muteAlertRule(ctx context.Context, in *muteAlertRuleInput) (*alertRuleOutput, error) {
	until, reason := (*pauseJSON)(in.Body).told()
	if err := s.runtime.MuteAlertRule(ctx, in.Name, until, changeOf(ctx, reason)); err != nil {
		return nil, alertProblem(err)
	}
	return s.getAlertRule(ctx, &alertRuleInput{in.Name})
}

type unmuteAlertRuleInput struct {
	Name string `path:"name" maxLength:"200"`
	Body *reasonJSON
}

func (s *Server) unmuteAlertRule(ctx context.Context, in *unmuteAlertRuleInput) (*alertRuleOutput, error) {
	if err := s.runtime.UnmuteAlertRule(ctx, in.Name, changeOf(ctx, in.Body.text())); err != nil {
		return nil, alertProblem(err)
	}
	return s.getAlertRule(ctx, &alertRuleInput{in.Name})
}

func (s *Server) testAlertReceiver(ctx context.Context, in *alertRuleInput) (*enqueueOutput, error) {
	task, err := s.runtime.TestReceiver(ctx, in.Name, changeOf(ctx, ""))
	if errors.Is(err, models.ErrNotFound) {
		return nil, noReceiver()
	}
	if err != nil {
		return nil, err
	}
	return s.enqueuedOutput(ctx, &actors.Enqueued{Task: task}), nil
}
