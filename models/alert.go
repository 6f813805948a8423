package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// What a rule can look at.
const (
	AlertDead    = "dead"            // tasks that ended failed or dead, by their error
	AlertSuccess = "success_rate"    // the share of the runs of five minutes that succeeded
	AlertWait    = "oldest_wait"     // how long the task waits that has waited longest
	AlertBacklog = "backlog"         // how many tasks wait for a worker
	AlertMissed  = "schedule_missed" // schedules that did not run
	AlertSlow    = "slow_run"        // runs that take some times as long as nearly all of their type
	AlertCrashes = "restarts"        // actors that crash and are restarted
	AlertDisk    = "disk_low"        // how much room the database has
)

// AlertKinds are what a rule can look at, in the order in which they are offered.
var AlertKinds = []string{AlertDead, AlertSuccess, AlertWait, AlertBacklog, AlertMissed, AlertSlow, AlertCrashes, AlertDisk}

// AlertSpec is what a rule says. The unit of Limit and Clear follows from Kind: percent, nanoseconds, tasks, times the 95th
// percentile, crashes or bytes; dead and schedule_missed have none.
type AlertSpec struct {
	Kind       string        `json:"kind"`
	Types      []string      `json:"types,omitempty"`       // task types that it is about; one that ends with * is all that begin so; none is all
	Limit      int64         `json:"limit,omitempty"`       // past which it begins
	Clear      int64         `json:"clear,omitempty"`       // back past which it ends; 0 is Limit
	Samples    int64         `json:"samples,omitempty"`     // runs that there must be for a share or a percentile to say anything
	Window     time.Duration `json:"window,omitempty"`      // in which restarts are counted
	For        time.Duration `json:"for,omitempty"`         // how long it must hold before it begins
	ClearAfter time.Duration `json:"clear_after,omitempty"` // how long it must not hold before it ends
	Repeat     time.Duration `json:"repeat,omitempty"`      // how often it is told again; 0 is never
	Receivers  []string      `json:"receivers,omitempty"`   // who is told; none is all
}

// AlertRule is one row of alert_rules: a rule that was made on the page.
type AlertRule struct {
	Name      string `gorm:"primaryKey"`
	Spec      string // an AlertSpec as JSON
	CreatedAt Instant
	CreatedBy string
	ChangedAt Instant
	ChangedBy string
}

// Read gives what the rule says.
func (r *AlertRule) Read() (spec AlertSpec, err error) {
	if err := json.Unmarshal([]byte(r.Spec), &spec); err != nil {
		return spec, fmt.Errorf("reading the alert rule %s: %w", r.Name, err)
	}
	return spec, nil
}

// AlertMute is one row of alert_mutes: nobody is told of what a rule finds.
type AlertMute struct {
	Rule   string  `gorm:"primaryKey"`
	Until  Instant // none: until somebody unmutes it
	Reason string
	Actor  string
	At     Instant
}

// Holds reports whether the rule is muted at a moment.
func (m *AlertMute) Holds(at Instant) bool { return m.Rule != "" && (m.Until == 0 || m.Until > at) }

// Alert is one row of alerts: something that a rule found. It is pending until BeganAt is set, and over once EndedAt is.
type Alert struct {
	ID         int64 `gorm:"primaryKey"`
	Rule       string
	Kind       string
	Key        string    // what it is about, unique among the open ones of the rule
	Since      Instant   // since when the rule holds
	BeganAt    Instant   // when it began to be an alert
	ClearSince Instant   // since when the rule no longer holds, before the end
	EndedAt    Instant   //
	ToldAt     Instant   // when a message about it was made last
	ToldTo     TypeNames // the receivers that know of it
	Facts      string    // an AlertFacts as JSON, of when it was last told of
}

// AlertFacts are the figures of an alert. Value and Limit are in the unit of AlertSpec.Limit.
type AlertFacts struct {
	Name        string `json:"name,omitempty"`  // the task type or the schedule
	Error       string `json:"error,omitempty"` // of the tasks that ended with it
	Fingerprint string `json:"fingerprint,omitempty"`
	Task        int64  `json:"task,omitempty"`  // one of the tasks
	Count       int64  `json:"count,omitempty"` // of tasks, runs or missed occurrences
	Value       int64  `json:"value,omitempty"`
	Limit       int64  `json:"limit,omitempty"`
	Window      int64  `json:"window,omitempty"` // seconds
}

// Read gives the figures of the alert.
func (a *Alert) Read() (facts AlertFacts) {
	_ = json.Unmarshal([]byte(a.Facts), &facts) // what cannot be read is shown as nothing
	return facts
}

const (
	// MaxAlertRules is how many rules there can be on the page.
	MaxAlertRules = 200
	// keptAlerts is how many alerts the history has, about.
	keptAlerts = 5_000
	// maxOpenAlerts bounds what is read of the open alerts.
	maxOpenAlerts = 5_000
)

// AlertRules gives the rules that were made on the page, by name.
func (s *Store) AlertRules(ctx context.Context) ([]AlertRule, error) {
	var rules []AlertRule
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM alert_rules ORDER BY name LIMIT ?", MaxAlertRules).Scan(&rules).Error; err != nil {
		return nil, fmt.Errorf("reading the alert rules: %w", err)
	}
	return rules, nil
}

// AlertRule gives one rule that was made on the page, or ErrNotFound.
func (s *Store) AlertRule(ctx context.Context, name string) (AlertRule, error) {
	var rule AlertRule
	err := s.reader.WithContext(ctx).Where("name = ?", name).Take(&rule).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return rule, ErrNotFound
	}
	if err != nil {
		return rule, fmt.Errorf("reading an alert rule: %w", err)
	}
	return rule, nil
}

// AlertMutes gives the mutes of rules, also those that are over.
func (s *Store) AlertMutes(ctx context.Context) (map[string]AlertMute, error) {
	var mutes []AlertMute
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM alert_mutes").Scan(&mutes).Error; err != nil {
		return nil, fmt.Errorf("reading what is muted: %w", err)
	}
	byRule := make(map[string]AlertMute, len(mutes))
	for _, m := range mutes {
		byRule[m.Rule] = m
	}
	return byRule, nil
}

// OpenAlerts gives the alerts that have not ended, and what may become one, by rule.
func (s *Store) OpenAlerts(ctx context.Context) ([]Alert, error) {
	var open []Alert
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM alerts INDEXED BY alerts_open WHERE ended_at IS NULL ORDER BY rule, key LIMIT ?", maxOpenAlerts).Scan(&open).Error
	if err != nil {
		return nil, fmt.Errorf("reading the alerts that are open: %w", err)
	}
	return open, nil
}

// AlertHistory gives up to limit alerts that began, newest first, whose ids are below before if that is not 0.
func (s *Store) AlertHistory(ctx context.Context, before int64, limit int) ([]Alert, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	var alerts []Alert
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM alerts WHERE id < ? AND began_at IS NOT NULL ORDER BY id DESC LIMIT ?", before, max(limit, 0)).Scan(&alerts).Error
	if err != nil {
		return nil, fmt.Errorf("reading the history of alerts: %w", err)
	}
	return alerts, nil
}

// FreshGroups gives up to limit groups of errors that a task joined since a moment and that nobody has muted, the latest
// first.
func (s *Store) FreshGroups(ctx context.Context, since, now Instant, limit int) ([]ErrorGroup, error) {
	var groups []ErrorGroup
	err := s.reader.WithContext(ctx).Raw(`SELECT * FROM error_groups g WHERE n > 0 AND last_at >= ? AND NOT EXISTS
 (SELECT 1 FROM group_marks m WHERE m.type = g.type AND m.fingerprint = g.fingerprint AND `+muted+`) ORDER BY last_at DESC LIMIT ?`,
		int64(since), int64(now), max(limit, 0)).Scan(&groups).Error
	if err != nil {
		return nil, fmt.Errorf("reading the latest errors: %w", err)
	}
	return groups, nil
}

// LatestOfGroup is the id of the latest task of a group of errors, or 0.
func (s *Store) LatestOfGroup(ctx context.Context, typ, fingerprint string) (int64, error) {
	ids, err := collect(s.reader.WithContext(ctx), scanOne[int64], "SELECT id"+errorGroupTasks, typ, fingerprint, 1)
	if err != nil {
		return 0, fmt.Errorf("looking for a task of a group of errors: %w", err)
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return ids[0], nil
}

// OldestReady gives when the task of a type became ready that has waited for a worker longest; none when none waits.
func (s *Store) OldestReady(ctx context.Context, typ string) (Instant, error) {
	var oldest Instant
	for priority := range 10 {
		first, err := collect(s.reader.WithContext(ctx), scanOne[Instant],
			"SELECT ready_at FROM tasks WHERE "+readyRows+" AND type = ? AND priority = ? ORDER BY ready_at LIMIT 1", typ, priority+1)
		if err != nil {
			return 0, fmt.Errorf("looking for the oldest task that waits: %w", err)
		}
		if len(first) > 0 && (oldest == 0 || first[0] < oldest) {
			oldest = first[0]
		}
	}
	return oldest, nil
}
