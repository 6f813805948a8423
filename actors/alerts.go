package actors

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	alertsFirst    = 2 * time.Second // by then statistics has looked at the disk and the schedules
	alertsPause    = 10 * time.Second
	alertsRead     = 5 * time.Second
	alertsPatience = time.Minute // for the answer of the journal
)

// alerts looks at the rules. All that counts is in the ledger: what was found, what was told and to whom. A step and the
// tasks that tell of it are written in one transaction, and only if the alert still is as it was read, so that it does not
// matter who dies in between or how often a step is asked for.
type alerts struct {
	*core
	timer *time.Timer
	asked time.Time // when the journal was asked for the step that it has not answered; zero when there is none
	slow  runtimes
}

type lookAtAlerts struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*lookAtAlerts) IgnoreDeadLetterLogging() {}

// alertsChanged is what the journal has made of a step.
type alertsChanged struct {
	tasks []*models.NewTask
	more  bool // there are new ones, which may begin at once
}

// Stored are the tasks that were written with the alerts.
func (a *alertsChanged) Stored() []*models.NewTask { return a.tasks }

func newAlerts(c *core) actor.Producer {
	return func() actor.Actor { return &alerts{core: c} }
}

func (a *alerts) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.timer = after(c, alertsFirst, &lookAtAlerts{})
	case *lookAtAlerts:
		stopTimer(a.timer)
		a.timer = after(c, alertsPause, &lookAtAlerts{})
		a.look(c)
	case *RecordWritten:
		a.asked = time.Time{}
		if changed, ok := m.Value.(*alertsChanged); ok && changed.more {
			a.look(c)
		}
	case error:
		a.asked = time.Time{}
		a.logger.Warn("alerts could not be written", slog.Any("error", m))
	case *actor.Stopping, *actor.Restarting:
		stopTimer(a.timer)
	}
}

// look works out what has changed and has it written.
func (a *alerts) look(c actor.Context) {
	now := time.Now()
	if a.figures.draining.Load() || !a.asked.IsZero() && now.Sub(a.asked) < alertsPatience {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), alertsRead)
	defer cancel()
	changes, err := a.changes(ctx, now)
	if err != nil {
		a.logger.Warn("the alert rules cannot be looked at", slog.Any("error", err))
	}
	if len(changes) == 0 {
		return
	}
	changed := &alertsChanged{}
	for i := range changes {
		changed.more = changed.more || changes[i].Was.ID == 0
	}
	a.asked = now
	c.Request(a.journal, &WriteRecord{Ctx: context.Background(), Topics: []string{"alerts"}, Do: func(tx *models.Tx) (any, error) {
		made, err := tx.ChangeAlerts(changes)
		return &alertsChanged{tasks: made, more: changed.more}, err
	}})
}

// rules are those of the file and those of the page.
func (c *core) alertRules(ctx context.Context) ([]AlertRule, error) {
	rules := slices.Clone(c.opts.Alerts.Rules)
	stored, err := c.store.AlertRules(ctx)
	if err != nil {
		return nil, err
	}
	for i := range stored {
		spec, err := stored[i].Read()
		if err != nil {
			c.logger.Warn("an alert rule cannot be read", slog.Any("error", err))
			continue
		}
		if c.fileRule(stored[i].Name) == nil { // the file wins over the page
			rules = append(rules, AlertRule{Name: stored[i].Name, AlertSpec: spec})
		}
	}
	return rules, nil
}

// changes are the steps that are due. What a rule cannot find out now stays as it is; the error is of the last such one.
func (a *alerts) changes(ctx context.Context, now time.Time) (changes []models.AlertChange, err error) {
	rules, err := a.alertRules(ctx)
	if err != nil {
		return nil, err
	}
	all, err := a.store.OpenAlerts(ctx)
	if err != nil {
		return nil, err
	}
	if len(rules)+len(all) == 0 {
		return nil, nil
	}
	mutes, err := a.store.AlertMutes(ctx)
	if err != nil {
		return nil, err
	}
	open := map[string]map[string]*models.Alert{}
	for i := range all {
		if open[all[i].Rule] == nil {
			open[all[i].Rule] = map[string]*models.Alert{}
		}
		open[all[i].Rule][all[i].Key] = &all[i]
	}
	find := &finder{core: a.core, ctx: ctx, now: now, slow: &a.slow}
	for i := range rules {
		rule := &rules[i]
		found, bad := find.find(&rule.AlertSpec)
		mine := open[rule.Name]
		delete(open, rule.Name)
		if bad != nil {
			err = bad
			continue
		}
		mute := mutes[rule.Name]
		changes = append(changes, a.ruleChanges(ctx, rule, fold(found, mine), mine, models.At(now), mute.Holds(models.At(now)))...)
	}
	for _, gone := range open {
		for _, was := range gone {
			if change, ok := a.change(nil, *was, nil, models.At(now), false); ok {
				changes = append(changes, change)
			}
		}
	}
	return changes, err
}

func (a *alerts) ruleChanges(ctx context.Context, rule *AlertRule, found []finding, open map[string]*models.Alert, now models.Instant, muted bool) (changes []models.AlertChange) {
	seen := map[string]bool{}
	add := func(was models.Alert, f *finding) {
		if f != nil && f.facts.Fingerprint != "" && (was.ID == 0 || was.BeganAt == 0 || was.ToldAt == 0) {
			// An example is wanted by the message; one that cannot be found is left out.
			f.facts.Task, _ = a.store.LatestOfGroup(ctx, f.facts.Name, f.facts.Fingerprint)
		}
		if change, ok := a.change(rule, was, f, now, muted); ok {
			changes = append(changes, change)
		}
	}
	for i := range found {
		f := &found[i]
		seen[f.key] = true
		was := open[f.key]
		switch {
		case was == nil:
			add(models.Alert{}, f)
		case was.Kind != rule.Kind: // the rule is another one by now
			add(*was, nil)
		default:
			add(*was, f)
		}
	}
	for key, was := range open {
		if !seen[key] {
			add(*was, nil)
		}
	}
	return changes
}

// change is the step of one alert, if there is one.
func (a *alerts) change(rule *AlertRule, was models.Alert, f *finding, now models.Instant, muted bool) (models.AlertChange, bool) {
	receivers := was.ToldTo.Names()
	if was.ToldAt == 0 && rule != nil {
		receivers = a.told(rule)
	}
	next, event, forget := nextAlert(rule, was, f, now, muted || len(receivers) == 0)
	change := models.AlertChange{Was: was, Alert: next, Forget: forget}
	if event != "" {
		change.Alert.ToldAt, change.Alert.ToldTo = now, models.NewTypeNames(receivers)
		change.Tasks = a.notices(&change.Alert, event, receivers)
	}
	return change, forget || change.Alert != was
}

// told are the receivers of a rule.
func (a *alerts) told(rule *AlertRule) (names []string) {
	if len(rule.Receivers) > 0 {
		return rule.Receivers
	}
	for _, r := range a.opts.Alerts.Receivers {
		names = append(names, r.Name)
	}
	return names
}
