package models

import (
	"context"
	"encoding/json"
	"fmt"
)

// GroupMark is one row of group_marks: what people know of a group of errors.
type GroupMark struct {
	Type        string `gorm:"primaryKey"`
	Fingerprint string `gorm:"primaryKey"`
	Name        string
	Note        string
	Link        string // where more about it stands
	Muted       bool
	MutedUntil  Instant // none: until somebody unmutes it
	ChangedBy   string
	ChangedAt   Instant
}

// IsMuted reports whether the group is to be quiet at a moment.
func (m *GroupMark) IsMuted(at Instant) bool {
	return m.Muted && (m.MutedUntil == 0 || m.MutedUntil > at)
}

// muted is IsMuted of the row m for a statement, whose one argument is the moment.
const muted = "m.muted = 1 AND (m.muted_until IS NULL OR m.muted_until > ?)"

// content is what the audit keeps of a mark.
func (m *GroupMark) content(now Instant) string {
	text, err := json.Marshal(struct {
		Name  string `json:"name,omitempty"`
		Note  string `json:"note,omitempty"`
		Link  string `json:"link,omitempty"`
		Muted bool   `json:"muted"`
		Until string `json:"until,omitempty"`
	}{m.Name, m.Note, m.Link, m.IsMuted(now), m.until()})
	if err != nil {
		return ""
	}
	return string(text)
}

func (m *GroupMark) until() string {
	if m.MutedUntil == 0 {
		return ""
	}
	return m.MutedUntil.Time().Format("2006-01-02T15:04:05Z07:00")
}

// MarkGroup stores what people know of a group of errors, in place of what they did before. It is refused with ErrNotFound
// when there never was such an error.
func (tx *Tx) MarkGroup(m GroupMark, by Actor) (GroupMark, error) {
	var known []int
	if err := tx.db.Raw("SELECT 1 FROM error_groups WHERE type = ? AND fingerprint = ?", m.Type, m.Fingerprint).Scan(&known).Error; err != nil {
		return m, fmt.Errorf("looking for a group of errors: %w", err)
	}
	if len(known) == 0 {
		return m, ErrNotFound
	}
	var before []GroupMark
	if err := tx.db.Raw("SELECT * FROM group_marks WHERE type = ? AND fingerprint = ?", m.Type, m.Fingerprint).Scan(&before).Error; err != nil {
		return m, fmt.Errorf("reading the mark of a group of errors: %w", err)
	}
	old := GroupMark{}
	if len(before) > 0 {
		old = before[0]
	}
	if !m.Muted {
		m.MutedUntil = 0
	}
	m.ChangedBy, m.ChangedAt = by.Name, tx.now
	if _, err := tx.exec("marking a group of errors", `INSERT INTO group_marks (type, fingerprint, name, note, link, muted, muted_until, changed_by, changed_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (type, fingerprint) DO UPDATE SET name = excluded.name, note = excluded.note, link = excluded.link,
 muted = excluded.muted, muted_until = excluded.muted_until, changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
		m.Type, m.Fingerprint, textOrNull(m.Name), textOrNull(m.Note), textOrNull(m.Link), m.Muted, m.MutedUntil.orNull(), m.ChangedBy, int64(m.ChangedAt)); err != nil {
		return m, err
	}
	action := "mark"
	if was, is := old.IsMuted(tx.now), m.IsMuted(tx.now); was != is {
		action = map[bool]string{true: "mute", false: "unmute"}[is]
	}
	entry := Audit{Action: action, Target: "group", TargetID: m.Type + "/" + m.Fingerprint, After: m.content(tx.now)}
	if len(before) > 0 {
		entry.Before = old.content(tx.now)
	}
	return m, tx.audit(by, []Audit{entry})
}

// addMarks sets the Mark of each group that has one.
func (s *Store) addMarks(ctx context.Context, groups []ErrorGroup) error {
	if len(groups) == 0 {
		return nil
	}
	keys := make([][]string, len(groups))
	for i := range groups {
		keys[i] = []string{groups[i].Type, groups[i].Fingerprint}
	}
	var marks []GroupMark
	err := s.reader.WithContext(ctx).Raw(`SELECT m.* FROM json_each(?) k CROSS JOIN group_marks m
 ON m.type = k.value->>0 AND m.fingerprint = k.value->>1`, list(keys)).Scan(&marks).Error
	if err != nil {
		return fmt.Errorf("reading the marks of errors: %w", err)
	}
	byKey := make(map[groupKey]*GroupMark, len(marks))
	for i := range marks {
		byKey[groupKey{marks[i].Type, marks[i].Fingerprint}] = &marks[i]
	}
	for i := range groups {
		if m := byKey[groupKey{groups[i].Type, groups[i].Fingerprint}]; m != nil {
			groups[i].Mark = *m
		}
	}
	return nil
}

// LatestFailure is when a task last ended failed or dead in a group of errors that has tasks now and is not muted at a
// moment; none when there is no such group.
func (s *Store) LatestFailure(ctx context.Context, at Instant) (Instant, error) {
	latest, err := collect(s.reader.WithContext(ctx), scanOne[Instant], `SELECT last_at FROM error_groups g WHERE n > 0 AND NOT EXISTS
 (SELECT 1 FROM group_marks m WHERE m.type = g.type AND m.fingerprint = g.fingerprint AND `+muted+`) ORDER BY last_at DESC LIMIT 1`, int64(at))
	if err != nil {
		return 0, fmt.Errorf("reading the latest failure: %w", err)
	}
	if len(latest) == 0 {
		return 0, nil
	}
	return latest[0], nil
}
