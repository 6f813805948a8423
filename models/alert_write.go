package models

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrRuleTaken means that another rule has the name.
var ErrRuleTaken = errors.New("there is an alert rule of that name already")

// AlertChange is one step of an alert: the row as it is from here on, if it still is as Was has it, and the tasks that
// tell of it. A zero Was.ID makes a new row, which has not begun; Forget deletes one.
type AlertChange struct {
	Was, Alert Alert
	Forget     bool
	Tasks      []*NewTask
}

// ChangeAlerts takes those of the steps that still fit, and gives the tasks that it stored for them. A step fits once: when
// it is asked for again, neither the row nor a task is written a second time.
func (tx *Tx) ChangeAlerts(changes []AlertChange) (made []*NewTask, err error) {
	for i := range changes {
		c := &changes[i]
		done, err := tx.changeAlert(c)
		if err != nil {
			return nil, err
		}
		if done {
			made = append(made, c.Tasks...)
		}
	}
	if len(made) == 0 {
		return nil, nil
	}
	return made, tx.Insert(made, func(string) bool { return false })
}

func (tx *Tx) changeAlert(c *AlertChange) (bool, error) {
	a := &c.Alert
	text, args := `UPDATE alerts SET since = ?, began_at = ?, clear_since = ?, ended_at = ?, told_at = ?, told_to = ?, facts = ?
 WHERE id = ? AND ended_at IS NULL AND began_at IS ? AND clear_since IS ? AND told_at IS ?`,
		[]any{int64(a.Since), a.BeganAt.orNull(), a.ClearSince.orNull(), a.EndedAt.orNull(), a.ToldAt.orNull(), textOrNull(string(a.ToldTo)), a.Facts,
			c.Was.ID, c.Was.BeganAt.orNull(), c.Was.ClearSince.orNull(), c.Was.ToldAt.orNull()}
	switch {
	case c.Forget:
		text, args = "DELETE FROM alerts WHERE id = ? AND began_at IS NULL", []any{c.Was.ID}
	case c.Was.ID == 0:
		text, args = `INSERT INTO alerts (rule, kind, key, since, facts) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (rule, key) WHERE ended_at IS NULL DO NOTHING`, []any{a.Rule, a.Kind, a.Key, int64(a.Since), a.Facts}
	}
	res, err := tx.exec("writing an alert", text, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("writing an alert: %w", err)
	}
	if n == 0 || c.Was.ID != 0 || c.Forget {
		return n > 0, nil
	}
	if a.ID, err = res.LastInsertId(); err != nil {
		return false, fmt.Errorf("writing an alert: %w", err)
	}
	_, err = tx.exec("deleting old alerts", "DELETE FROM alerts WHERE id <= ? AND ended_at IS NOT NULL", a.ID-keptAlerts)
	return true, err
}

// SaveAlertRule stores a rule of the page. Was is the name that it had; empty for a new one. It refuses with ErrNotFound,
// ErrRuleTaken or ErrTooMany.
func (tx *Tx) SaveAlertRule(was, name string, spec AlertSpec, by Actor) (AlertRule, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return AlertRule{}, fmt.Errorf("writing an alert rule: %w", err)
	}
	rule := AlertRule{Name: name, Spec: string(text), CreatedAt: tx.now, CreatedBy: by.Name, ChangedAt: tx.now, ChangedBy: by.Name}
	entry := Audit{Action: "create", Target: "alert", TargetID: name, After: rule.Spec}
	before, err := tx.alertRule(was)
	switch {
	case err != nil:
		return rule, err
	case was != "" && before.Name == "":
		return rule, ErrNotFound
	case was != "":
		rule.CreatedAt, rule.CreatedBy = before.CreatedAt, before.CreatedBy
		entry.Action, entry.Before = "edit", before.Spec
	}
	if was != name {
		if taken, err := tx.alertRule(name); err != nil {
			return rule, err
		} else if taken.Name != "" {
			return rule, Refuse(ErrRuleTaken)
		}
	}
	if was == "" {
		if n, err := tx.one("counting the alert rules", "SELECT count(*) FROM alert_rules"); err != nil {
			return rule, err
		} else if n >= MaxAlertRules {
			return rule, Refuse(fmt.Errorf("%w: there can be %d alert rules", ErrTooMany, MaxAlertRules))
		}
	}
	if _, err := tx.exec("writing an alert rule", "DELETE FROM alert_rules WHERE name = ?", was); err != nil {
		return rule, err
	}
	if _, err := tx.exec("writing an alert rule", "INSERT INTO alert_rules (name, spec, created_at, created_by, changed_at, changed_by) VALUES (?, ?, ?, ?, ?, ?)",
		rule.Name, rule.Spec, int64(rule.CreatedAt), rule.CreatedBy, int64(rule.ChangedAt), rule.ChangedBy); err != nil {
		return rule, err
	}
	if was != "" && was != name {
		// An alert of a former rule of the new name may still be open; then that of this one ends.
		for _, text := range []string{"UPDATE OR REPLACE alert_mutes SET rule = ? WHERE rule = ?", "UPDATE OR IGNORE alerts SET rule = ? WHERE rule = ? AND ended_at IS NULL"} {
			if _, err := tx.exec("renaming an alert rule", text, name, was); err != nil {
				return rule, err
			}
		}
	}
	return rule, tx.audit(by, []Audit{entry})
}

// alertRule reads a rule of the page; the zero one when there is none.
func (tx *Tx) alertRule(name string) (rule AlertRule, err error) {
	if err := tx.db.Raw("SELECT * FROM alert_rules WHERE name = ?", name).Scan(&rule).Error; err != nil {
		return rule, fmt.Errorf("reading an alert rule: %w", err)
	}
	return rule, nil
}

// DeleteAlertRule takes a rule of the page away, and its mute. It refuses with ErrNotFound.
func (tx *Tx) DeleteAlertRule(name string, by Actor) (AlertRule, error) {
	before, err := tx.alertRule(name)
	if err != nil {
		return before, err
	}
	if before.Name == "" {
		return before, ErrNotFound
	}
	for _, text := range []string{"DELETE FROM alert_rules WHERE name = ?", "DELETE FROM alert_mutes WHERE rule = ?"} {
		if _, err := tx.exec("deleting an alert rule", text, name); err != nil {
			return before, err
		}
	}
	return before, tx.audit(by, []Audit{{Action: "delete", Target: "alert", TargetID: name, Before: before.Spec}})
}

// MuteAlertRule keeps what a rule finds from being told until a moment, or for good with none.
func (tx *Tx) MuteAlertRule(name string, until Instant, by Actor) (AlertMute, error) {
	m := AlertMute{Rule: name, Until: until, Reason: by.Reason, Actor: by.Name, At: tx.now}
	if _, err := tx.exec("muting an alert rule", `INSERT INTO alert_mutes (rule, until, reason, actor, at) VALUES (?, ?, ?, ?, ?)
 ON CONFLICT (rule) DO UPDATE SET until = excluded.until, reason = excluded.reason, actor = excluded.actor, at = excluded.at`,
		m.Rule, m.Until.orNull(), textOrNull(m.Reason), m.Actor, int64(m.At)); err != nil {
		return m, err
	}
	after := "{}"
	if until != 0 {
		after = fmt.Sprintf(`{"until":%q}`, until.Time().Format("2006-01-02T15:04:05Z07:00"))
	}
	return m, tx.audit(by, []Audit{{Action: "mute", Target: "alert", TargetID: name, After: after}})
}

// UnmuteAlertRule has what a rule finds told again. A rule that is not muted is left as it is.
func (tx *Tx) UnmuteAlertRule(name string, by Actor) (AlertMute, error) {
	res, err := tx.exec("unmuting an alert rule", "DELETE FROM alert_mutes WHERE rule = ?", name)
	if err != nil {
		return AlertMute{}, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return AlertMute{}, err
	}
	return AlertMute{}, tx.audit(by, []Audit{{Action: "unmute", Target: "alert", TargetID: name}})
}
