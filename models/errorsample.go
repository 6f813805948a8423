package models

import (
	"context"
	"database/sql"
	"fmt"
)

// sampleParamsBytes is the size up to which the parameters of a task count for a sample.
const sampleParamsBytes = previewLimit

// errorGroupTasks are the tasks of a group, as the index on errors has them.
const errorGroupTasks = ` FROM tasks WHERE type = ? AND fingerprint = ? AND fingerprint IS NOT NULL AND state IN ('failed', 'dead')
 ORDER BY id DESC LIMIT ?`

// ErrorSample gives up to limit of the latest tasks of a group of errors, newest first. Of each only Type, State,
// Failures, MaxRetries and Params are set, and no Params of more than 2 KB.
func (s *Store) ErrorSample(ctx context.Context, typ, fingerprint string, limit int) ([]Task, error) {
	var tasks []Task
	err := s.reader.WithContext(ctx).Raw(fmt.Sprintf("SELECT type, state, failures, max_retries, iif(octet_length(params) <= %d, params, '') AS params",
		sampleParamsBytes)+errorGroupTasks, typ, fingerprint, max(limit, 0)).Scan(&tasks).Error
	if err != nil {
		return nil, fmt.Errorf("reading a sample of a group of errors: %w", err)
	}
	return tasks, nil
}

// ErrorTimes gives when each of up to limit of the latest tasks of a group of errors ended, in no order.
func (s *Store) ErrorTimes(ctx context.Context, typ, fingerprint string, limit int) ([]Instant, error) {
	times, err := collect(s.reader.WithContext(ctx), scanOne[Instant], "SELECT coalesce(finished_at, updated_at)"+errorGroupTasks, typ, fingerprint, max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the times of a group of errors: %w", err)
	}
	return times, nil
}

// Failures sums, for each type, the tasks that ended failed or dead in the minutes from each of the given moments on. The
// first must be the earliest. A type without any is not in it.
func (s *Store) Failures(ctx context.Context, since []Instant) (map[string][]int64, error) {
	sums := map[string][]int64{}
	if len(since) == 0 {
		return sums, nil
	}
	add := func(rows *sql.Rows) (struct{}, error) {
		var typ string
		var minute Instant
		var n int64
		if err := rows.Scan(&minute, &typ, &n); err != nil {
			return struct{}{}, err
		}
		if sums[typ] == nil {
			sums[typ] = make([]int64, len(since))
		}
		for i, from := range since {
			if minute >= from {
				sums[typ][i] += n
			}
		}
		return struct{}{}, nil
	}
	_, err := collect(s.reader.WithContext(ctx), add,
		"SELECT minute, type, failed + dead FROM minute_stats WHERE minute >= ? AND failed + dead > 0", int64(since[0]))
	if err != nil {
		return nil, fmt.Errorf("summing the failures: %w", err)
	}
	return sums, nil
}

// Previews gives those of the named tasks that there are (at most 1,000), newest first, as List shows them.
func (s *Store) Previews(ctx context.Context, ids []int64) ([]Task, error) {
	tasks, err := previews(s.reader.WithContext(ctx), ids[:min(len(ids), pageLimit)])
	if err != nil {
		return nil, fmt.Errorf("reading tasks: %w", err)
	}
	return tasks, nil
}
