package models

import (
	"context"
	"fmt"
	"slices"
)

// Traced gives up to limit tasks of a trace id, the oldest ones first, with their wide columns cut as List does. Nearly always
// it is one: only a caller who gives the same id to several tasks makes more.
func (s *Store) Traced(ctx context.Context, traceID string, limit int) ([]Task, error) {
	tasks, err := s.previewsBy(ctx, "SELECT id FROM tasks WHERE trace_id = ? ORDER BY id LIMIT ?", traceID, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the tasks of a trace: %w", err)
	}
	return tasks, nil
}

// Repeats gives up to limit copies of a task, the oldest ones first, with their wide columns cut as List does.
func (s *Store) Repeats(ctx context.Context, id int64, limit int) ([]Task, error) {
	tasks, err := s.previewsBy(ctx, "SELECT id FROM tasks WHERE repeated_from = ? AND repeated_from IS NOT NULL ORDER BY id LIMIT ?", id, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the copies of task %d: %w", id, err)
	}
	return tasks, nil
}

// previewsBy reads the rows whose ids a statement gives, in ascending order.
func (s *Store) previewsBy(ctx context.Context, text string, args ...any) ([]Task, error) {
	db := s.reader.WithContext(ctx)
	ids, err := collect(db, scanOne[int64], text, args...)
	if err != nil {
		return nil, err
	}
	tasks, err := previews(db, ids)
	slices.Reverse(tasks)
	return tasks, err
}

// LatestLogs gives up to limit log lines of all runs of a task, the latest ones, in the order in which they were written.
func (s *Store) LatestLogs(ctx context.Context, taskID int64, limit int) ([]LogLine, error) {
	var lines []LogLine
	err := s.reader.WithContext(ctx).Where("task_id = ?", taskID).Order("attempt DESC, seq DESC").Limit(max(limit, 0)).Find(&lines).Error
	if err != nil {
		return nil, fmt.Errorf("reading the end of the log of task %d: %w", taskID, err)
	}
	slices.Reverse(lines)
	return lines, nil
}
