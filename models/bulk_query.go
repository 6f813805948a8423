package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gorm.io/gorm"
)

// BulkRun reads one bulk action. It fails with ErrNotFound.
func (s *Store) BulkRun(ctx context.Context, id int64) (BulkRun, error) {
	var run BulkRun
	err := s.reader.WithContext(ctx).Where("id = ?", id).Take(&run).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return run, ErrNotFound
	}
	if err != nil {
		return run, fmt.Errorf("reading a bulk action: %w", err)
	}
	return run, nil
}

// BulkRuns gives up to limit bulk actions that were started, newest first. With before, only those whose id is below it.
func (s *Store) BulkRuns(ctx context.Context, before int64, limit int) ([]BulkRun, error) {
	query := s.reader.WithContext(ctx).Where("started_at IS NOT NULL")
	if before > 0 {
		query = query.Where("id < ?", before)
	}
	var runs []BulkRun
	if err := query.Order("id DESC").Limit(max(limit, 0)).Find(&runs).Error; err != nil {
		return nil, fmt.Errorf("reading the bulk actions: %w", err)
	}
	return runs, nil
}

// RunningBulk gives the bulk actions that run, oldest first.
func (s *Store) RunningBulk(ctx context.Context) ([]BulkRun, error) {
	var runs []BulkRun
	err := s.reader.WithContext(ctx).Where("state IN ('planned', 'running') AND state = 'running'").Order("id").Find(&runs).Error
	if err != nil {
		return nil, fmt.Errorf("reading the bulk actions that run: %w", err)
	}
	return runs, nil
}

// BulkSet gives the ids of the tasks that a bulk action is about, highest first. It fails with ErrNotFound.
func (s *Store) BulkSet(ctx context.Context, id int64) ([]int64, error) {
	texts, err := collect(s.reader.WithContext(ctx), scanOne[string], "SELECT ids FROM bulk_sets WHERE run_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("reading the set of a bulk action: %w", err)
	}
	if len(texts) == 0 {
		return nil, ErrNotFound
	}
	return decodeSet(texts[0])
}

// BulkSkips gives up to limit of the tasks that a bulk action left alone, by their ids; a thousand are known.
func (s *Store) BulkSkips(ctx context.Context, id int64, limit int) ([]BulkSkip, error) {
	var skips []BulkSkip
	if err := s.reader.WithContext(ctx).Where("run_id = ?", id).Order("task_id").Limit(max(limit, 0)).Find(&skips).Error; err != nil {
		return nil, fmt.Errorf("reading what a bulk action left alone: %w", err)
	}
	return skips, nil
}

// WholeTasks reads tasks with all that they hold, in ascending order of their ids. It is for a few at a time.
func (s *Store) WholeTasks(ctx context.Context, ids []int64) ([]Task, error) {
	is, err := inList(ids)
	if err != nil {
		return nil, err
	}
	var tasks []Task
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM tasks WHERE "+is.sql+" ORDER BY id", is.args...).Scan(&tasks).Error; err != nil {
		return nil, fmt.Errorf("reading whole tasks: %w", err)
	}
	return tasks, nil
}

// withBulk adds to the record of one task what bulk actions did to it: they have one row in the audit each, and say in
// bulk_tasks whom it is about. Entries are newest first.
func (s *Store) withBulk(ctx context.Context, taskID string, entries []Audit, limit int) ([]Audit, error) {
	id, err := strconv.ParseInt(taskID, 10, 64)
	if err != nil {
		return entries, nil //nolint:nilerr // no task has such an id, and so no bulk action has changed it
	}
	var rows []struct {
		Audit
		RunID int64
		Made  int64
	}
	err = s.reader.WithContext(ctx).Raw(`SELECT a.id, b.at, a.actor, a.action, a.reason, b.before, a.address, a.request_id, b.run_id, b.made
 FROM bulk_tasks b JOIN audit a ON a.target = ? AND a.target_id = CAST(b.run_id AS TEXT) AND +a.action <> 'stop'
 WHERE b.task_id = ? ORDER BY b.run_id DESC LIMIT ?`, TargetBulk, id, max(limit, 0)).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading what bulk actions did to task %d: %w", id, err)
	}
	if len(rows) == 0 {
		return entries, nil
	}
	for _, r := range rows {
		a := r.Audit
		a.Target, a.TargetID, a.Bulk = "task", taskID, r.RunID
		if r.Made != 0 {
			a.After = strconv.FormatInt(r.Made, 10)
		}
		entries = append(entries, a)
	}
	slices.SortStableFunc(entries, func(a, b Audit) int { return cmp.Compare(b.At, a.At) })
	return entries[:min(len(entries), max(limit, 0))], nil
}
