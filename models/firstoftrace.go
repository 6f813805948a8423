package models

import (
	"context"
	"fmt"
)

// FirstOfTrace gives the id of the first task of a trace, or 0 when there is none. Several tasks share a trace when one
// caller enqueues them.
func (s *Store) FirstOfTrace(ctx context.Context, traceID string) (int64, error) {
	found, err := collect(s.reader.WithContext(ctx), scanOne[int64], "SELECT id FROM tasks WHERE trace_id = ? ORDER BY id LIMIT 1", traceID)
	if err != nil {
		return 0, fmt.Errorf("looking for the first task of a trace: %w", err)
	}
	if len(found) == 0 {
		return 0, nil
	}
	return found[0], nil
}
