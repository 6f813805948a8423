package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reax/models"
	"reax/tasks"
)

// AlertOptions are the alert rules of the configuration file, and who may be told.
type AlertOptions struct {
	Rules     []AlertRule
	Receivers []AlertReceiver
}

// AlertRule is a rule with its name. File is set for one of the configuration file, which nobody can change here.
type AlertRule struct {
	Name string
	models.AlertSpec
	File bool
}

// AlertReceiver is somebody who is told of alerts. Where that is, and with what secret, only the task type knows that sends.
type AlertReceiver struct{ Name, Kind string }

const (
	maxAlertTypes = 100
	maxMute       = 366 * 24 * time.Hour
)

// AlertOptions are the rules of the configuration file and the receivers. They are not to be changed.
func (r *Runtime) AlertOptions() AlertOptions { return r.opts.Alerts }

// SaveAlertRule stores a rule of the page, in place of the one named was if that is not empty. It fails with
// *tasks.InvalidError, models.ErrNotFound, models.ErrRuleTaken, models.ErrTooMany or ErrUnavailable.
func (r *Runtime) SaveAlertRule(ctx context.Context, was string, rule AlertRule, c Change) (models.AlertRule, error) {
	if err := c.check(false); err != nil {
		return models.AlertRule{}, err
	}
	if bad := CheckAlertRule(rule, r.opts.Alerts.Receivers); len(bad) > 0 {
		return models.AlertRule{}, &tasks.InvalidError{Fields: bad}
	}
	if r.fileRule(rule.Name) != nil {
		return models.AlertRule{}, models.ErrRuleTaken
	}
	saved, err := record(ctx, r, []string{"alerts"}, func(tx *models.Tx) (models.AlertRule, error) {
		return tx.SaveAlertRule(was, rule.Name, rule.AlertSpec, c.actor())
	})
	r.lookAtAlerts()
	return saved, err
}

// DeleteAlertRule takes a rule of the page away. Its alerts end, and who knows of one is told so. It fails with
// models.ErrNotFound or ErrUnavailable.
func (r *Runtime) DeleteAlertRule(ctx context.Context, name string, c Change) error {
	if err := c.check(false); err != nil {
		return err
	}
	_, err := record(ctx, r, []string{"alerts"}, func(tx *models.Tx) (models.AlertRule, error) { return tx.DeleteAlertRule(name, c.actor()) })
	r.lookAtAlerts()
	return err
}

// MuteAlertRule keeps the beginning of what a rule finds from being told until a moment, which is at most a year away, or
// for good with none. It fails with *tasks.InvalidError, models.ErrNotFound or ErrUnavailable.
func (r *Runtime) MuteAlertRule(ctx context.Context, name string, until time.Time, c Change) error {
	if err := c.check(false); err != nil {
		return err
	}
	if now := time.Now(); !until.IsZero() && !until.After(now) {
		return tasks.Invalid("/until", "not_ahead")
	} else if until.After(now.Add(maxMute)) {
		return tasks.Invalid("/until", "at_most", "366d")
	}
	if err := r.knowsRule(ctx, name); err != nil {
		return err
	}
	_, err := record(ctx, r, []string{"alerts"}, func(tx *models.Tx) (models.AlertMute, error) {
		return tx.MuteAlertRule(name, models.At(until), c.actor())
	})
	r.lookAtAlerts()
	return err
}

// UnmuteAlertRule has what a rule finds told again. It fails as MuteAlertRule does.
func (r *Runtime) UnmuteAlertRule(ctx context.Context, name string, c Change) error {
	if err := c.check(false); err != nil {
		return err
	}
	if err := r.knowsRule(ctx, name); err != nil {
		return err
	}
	_, err := record(ctx, r, []string{"alerts"}, func(tx *models.Tx) (models.AlertMute, error) { return tx.UnmuteAlertRule(name, c.actor()) })
	r.lookAtAlerts()
	return err
}

// TestReceiver enqueues a message that tells nothing. It fails with models.ErrNotFound when there is no such receiver, and
// as Enqueue does.
func (r *Runtime) TestReceiver(ctx context.Context, name string, c Change) (models.Task, error) {
	if !r.hasReceiver(name) {
		return models.Task{}, models.ErrNotFound
	}
	params, err := json.Marshal(tasks.Notice{Receiver: name, Event: tasks.NoticeTest, By: c.By})
	if err != nil {
		return models.Task{}, fmt.Errorf("writing a test message: %w", err)
	}
	after, err := json.Marshal(map[string]string{"receiver": name})
	if err != nil {
		return models.Task{}, fmt.Errorf("noting a test message: %w", err)
	}
	made, err := r.enqueueOne(ctx, &EnqueueRequest{Type: tasks.NoticeType, Params: params, By: c.By, own: true}, func(tx *models.Tx, made *models.Task) error {
		return tx.Audited(c.actor(), models.Audit{Action: "test", Target: "task", TargetID: strconv.FormatInt(made.ID, 10), After: string(after)})
	})
	return made.Task, err
}

func (c *core) hasReceiver(name string) bool {
	return slices.ContainsFunc(c.opts.Alerts.Receivers, func(r AlertReceiver) bool { return r.Name == name })
}

func (c *core) fileRule(name string) *AlertRule {
	for i := range c.opts.Alerts.Rules {
		if c.opts.Alerts.Rules[i].Name == name {
			return &c.opts.Alerts.Rules[i]
		}
	}
	return nil
}

func (r *Runtime) knowsRule(ctx context.Context, name string) error {
	if r.fileRule(name) != nil {
		return nil
	}
	_, err := r.store.AlertRule(ctx, name)
	return err
}

// lookAtAlerts has the rules looked at now.
func (r *Runtime) lookAtAlerts() {
	if pid := r.alerts.Load(); pid != nil {
		r.sys.Root.Send(pid, &lookAtAlerts{})
	}
}

// CheckAlertRule names what is wrong with a rule. The locations are JSON pointers to the fields of models.AlertSpec, and
// /name.
func CheckAlertRule(rule AlertRule, receivers []AlertReceiver) (bad []tasks.FieldError) {
	fault := func(at, code string, args ...any) { bad = append(bad, tasks.NewFault(code, args...).At("/"+at)) }
	if err, ok := errors.AsType[*tasks.Fault](tasks.CheckName(rule.Name)); ok {
		bad = append(bad, err.At("/name"))
	} else if rule.Name == "new" {
		fault("name", "name_reserved")
	}
	kind, ok := alertKinds[rule.Kind]
	if !ok {
		fault("kind", "one_of", strings.Join(models.AlertKinds, ", "))
		return bad
	}
	if len(rule.Types) > maxAlertTypes {
		fault("types", "max_items", maxAlertTypes)
	}
	for i, typ := range rule.Types {
		if err, ok := errors.AsType[*tasks.Fault](tasks.CheckName(strings.TrimSuffix(typ, "*"))); ok && typ != "*" {
			bad = append(bad, err.At(fmt.Sprintf("/types/%d", i)))
		}
	}
	between := func(at string, n, least, most int64) {
		if n < least || n > most {
			fault(at, "between", kind.unit.format(least), kind.unit.format(most))
		}
	}
	if kind.unit != unitNone {
		between("limit", rule.Limit, kind.least, kind.most)
		switch {
		case rule.Clear == 0:
		case rule.Kind == models.AlertSlow: // the run ends, or it does not
			fault("clear", "not_here")
		case kind.below && rule.Clear < rule.Limit:
			fault("clear", "at_least", kind.unit.format(rule.Limit))
		case !kind.below && rule.Clear > rule.Limit:
			fault("clear", "at_most", kind.unit.format(rule.Limit))
		default:
			between("clear", rule.Clear, 1, kind.most)
		}
	}
	if kind.samples > 0 && (rule.Samples < 1 || rule.Samples > 1_000_000) {
		fault("samples", "between", 1, 1_000_000)
	}
	span := func(at string, d, least, most time.Duration) {
		if d < least || d > most {
			fault(at, "between", FormatAlertSpan(least), FormatAlertSpan(most))
		}
	}
	if kind.window > 0 {
		span("window", rule.Window, time.Minute, 24*time.Hour)
	}
	span("for", rule.For, 0, 7*24*time.Hour)
	span("clear_after", rule.ClearAfter, time.Second, 7*24*time.Hour)
	if rule.Repeat != 0 {
		span("repeat", rule.Repeat, time.Minute, 30*24*time.Hour)
	}
	for i, name := range rule.Receivers {
		if !slices.ContainsFunc(receivers, func(r AlertReceiver) bool { return r.Name == name }) {
			bad = append(bad, tasks.NewFault("other", "there is no receiver "+fmt.Sprintf("%q", models.CutText(name, 100))).At(fmt.Sprintf("/receivers/%d", i)))
		}
	}
	return bad
}
