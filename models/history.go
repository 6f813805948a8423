package models

import (
	"context"
	"fmt"
	"slices"
)

// LatestAttempts gives up to limit recorded runs of a task, the latest ones, oldest first. With before, only runs whose
// number is below it.
func (s *Store) LatestAttempts(ctx context.Context, taskID int64, before, limit int) ([]Attempt, error) {
	query := s.reader.WithContext(ctx).Where("task_id = ?", taskID)
	if before > 0 {
		query = query.Where("attempt < ?", before)
	}
	var attempts []Attempt
	if err := query.Order("attempt DESC").Limit(max(limit, 0)).Find(&attempts).Error; err != nil {
		return nil, fmt.Errorf("reading the latest attempts of task %d: %w", taskID, err)
	}
	slices.Reverse(attempts)
	return attempts, nil
}

// LogTail gives up to limit log lines of a run, the latest ones, in the order in which they were written. With before,
// only lines whose Seq is below it.
func (s *Store) LogTail(ctx context.Context, taskID int64, attempt, before, limit int) ([]LogLine, error) {
	query := s.reader.WithContext(ctx).Where("task_id = ? AND attempt = ?", taskID, attempt)
	if before > 0 {
		query = query.Where("seq < ?", before)
	}
	var lines []LogLine
	if err := query.Order("seq DESC").Limit(max(limit, 0)).Find(&lines).Error; err != nil {
		return nil, fmt.Errorf("reading the end of the log of task %d: %w", taskID, err)
	}
	slices.Reverse(lines)
	return lines, nil
}
