package models

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
)

// Task gives one task whole, or ErrNotFound.
func (s *Store) Task(ctx context.Context, id int64) (Task, error) {
	var task Task
	err := s.reader.WithContext(ctx).Where("id = ?", id).Take(&task).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Task{}, ErrNotFound
	}
	if err != nil {
		return Task{}, fmt.Errorf("reading task %d: %w", id, err)
	}
	return task, nil
}

// Attempts gives the recorded runs of a task, oldest first. A task that succeeded at once has none.
func (s *Store) Attempts(ctx context.Context, taskID int64) ([]Attempt, error) {
	var attempts []Attempt
	err := s.reader.WithContext(ctx).Where("task_id = ?", taskID).Order("attempt").Find(&attempts).Error
	if err != nil {
		return nil, fmt.Errorf("reading the attempts of task %d: %w", taskID, err)
	}
	return attempts, nil
}

// Logs gives up to limit log lines of a task in the order in which they were written. With an attempt, only the lines of
// that run whose Seq is above afterSeq; with attempt 0 those of all runs, and afterSeq is not looked at.
func (s *Store) Logs(ctx context.Context, taskID int64, attempt, afterSeq, limit int) ([]LogLine, error) {
	query := s.reader.WithContext(ctx).Where("task_id = ?", taskID)
	if attempt != 0 {
		query = query.Where("attempt = ? AND seq > ?", attempt, afterSeq)
	}
	var lines []LogLine
	if err := query.Order("attempt, seq").Limit(max(limit, 0)).Find(&lines).Error; err != nil {
		return nil, fmt.Errorf("reading the log of task %d: %w", taskID, err)
	}
	return lines, nil
}

// Counts gives how many tasks of each type are in each state. It reads kept numbers and counts no rows.
func (s *Store) Counts(ctx context.Context) ([]Count, error) {
	var counts []Count
	if err := s.reader.WithContext(ctx).Order("type, state").Find(&counts).Error; err != nil {
		return nil, fmt.Errorf("reading the counts: %w", err)
	}
	return counts, nil
}

// AuditOf gives up to limit entries about one task or type, newest first.
func (s *Store) AuditOf(ctx context.Context, target, targetID string, limit int) ([]Audit, error) {
	var entries []Audit
	err := s.reader.WithContext(ctx).Where("target = ? AND target_id = ?", target, targetID).
		Order("id DESC").Limit(max(limit, 0)).Find(&entries).Error
	if err != nil {
		return nil, fmt.Errorf("reading the audit of %s %s: %w", target, targetID, err)
	}
	if target == "task" {
		return s.withBulk(ctx, targetID, entries, limit)
	}
	return entries, nil
}

// maxBoots bounds what Boots gives: a process that crashes at its start is started again and again.
const maxBoots = 100

// Boots gives the starts of the process since a moment, oldest first, and the latest maxBoots of them at most.
func (s *Store) Boots(ctx context.Context, from Instant) ([]Boot, error) {
	var boots []Boot
	// Their ids ascend with the time, so that the newest are read from the end of the table.
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM (SELECT * FROM boots ORDER BY id DESC LIMIT ?) WHERE started_at >= ?", maxBoots, int64(from)).Scan(&boots).Error
	if err != nil {
		return nil, fmt.Errorf("reading the starts of the process: %w", err)
	}
	slices.Reverse(boots)
	return boots, nil
}

// nextRetryLooks is how many of the tasks that are due first NextRetry looks at.
const nextRetryLooks = 1_000

// NextRetry gives the earliest time at which a task runs again after a failure, or none: no task waits for that, or a
// thousand others are due before it.
func (s *Store) NextRetry(ctx context.Context) (Instant, error) {
	times, err := collect(s.reader.WithContext(ctx), scanOne[Instant],
		"SELECT run_at FROM (SELECT run_at, state FROM tasks WHERE "+dueRows+" ORDER BY run_at LIMIT ?) WHERE state = 'retry_wait' LIMIT 1", nextRetryLooks)
	if err != nil {
		return 0, fmt.Errorf("reading the next retry: %w", err)
	}
	if len(times) == 0 {
		return 0, nil
	}
	return times[0], nil
}
