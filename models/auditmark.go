package models

import (
	"context"
	"fmt"
	"slices"
)

// AuditMark is a change that people made to what runs: a pause, a resume, another number of workers, a schedule.
type AuditMark struct {
	At       Instant
	Actor    string
	Action   string
	Target   string // type or schedule
	TargetID string
}

// AuditMarks gives the latest changes of types and schedules from a moment up to but not including another, oldest
// first: at most limit of them, and only those among the latest 20,000 entries of that time.
func (s *Store) AuditMarks(ctx context.Context, from, to Instant, limit int) ([]AuditMark, error) {
	var marks []AuditMark
	err := s.reader.WithContext(ctx).Raw(`SELECT * FROM (
		SELECT at, actor, action, target, target_id FROM audit INDEXED BY audit_at WHERE at >= ? AND at < ? ORDER BY at DESC, id DESC LIMIT ?)
		WHERE target IN ('type', 'schedule') AND action <> 'run' LIMIT ?`,
		from, to, auditLooks, limit).Scan(&marks).Error
	if err != nil {
		return nil, fmt.Errorf("reading what was changed: %w", err)
	}
	slices.Reverse(marks)
	return marks, nil
}
