package models

import (
	"fmt"
	"strconv"
)

// TypeChange is what a person changes about a task type. Nil fields stay as they are.
type TypeChange struct {
	Type        string
	Paused      *bool
	Concurrency *int
}

// SetType stores what a person changed about a task type, and returns the setting as it is now.
func (tx *Tx) SetType(c TypeChange, by Actor) (TypeSetting, error) {
	var found []TypeSetting
	if err := tx.db.Raw("SELECT * FROM type_settings WHERE type = ?", c.Type).Scan(&found).Error; err != nil {
		return TypeSetting{}, fmt.Errorf("reading the settings of type %s: %w", c.Type, err)
	}
	s := TypeSetting{Type: c.Type}
	if len(found) > 0 {
		s = found[0]
	}
	var rows []Audit
	if c.Paused != nil {
		action := "resume"
		if *c.Paused {
			action = "pause"
		}
		s.Paused = *c.Paused
		rows = append(rows, Audit{Action: action, Target: "type", TargetID: c.Type})
	}
	if c.Concurrency != nil {
		entry := Audit{Action: "resize", Target: "type", TargetID: c.Type, After: strconv.Itoa(*c.Concurrency)}
		if s.Concurrency != 0 { // else it was as registered
			entry.Before = strconv.Itoa(s.Concurrency)
		}
		rows = append(rows, entry)
		s.Concurrency = *c.Concurrency
	}
	s.Reason, s.ChangedBy, s.ChangedAt = by.Reason, by.Name, tx.now
	_, err := tx.exec("storing the settings of type "+c.Type, `INSERT INTO type_settings
 (type, paused, concurrency, reason, changed_by, changed_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (type) DO UPDATE SET paused = excluded.paused, concurrency = excluded.concurrency, reason = excluded.reason,
 changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
		s.Type, s.Paused, s.Concurrency, textOrNull(s.Reason), textOrNull(s.ChangedBy), int64(s.ChangedAt))
	if err != nil {
		return TypeSetting{}, err
	}
	return s, tx.audit(by, rows)
}
