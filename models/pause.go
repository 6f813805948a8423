package models

import (
	"context"
	"database/sql"
	"fmt"
)

// Pause is a schedule that is paused until a moment.
type Pause struct {
	Task  string // the type that it runs
	Until Instant
}

// PausesAhead gives up to limit of the schedules whose pause ends after a moment, the first to end first.
func (s *Store) PausesAhead(ctx context.Context, at Instant, limit int) ([]Pause, error) {
	pauses, err := collect(s.reader.WithContext(ctx), func(rows *sql.Rows) (p Pause, err error) {
		err = rows.Scan(&p.Task, &p.Until)
		return p, err
	}, "SELECT task, paused_until FROM schedules WHERE "+pauseEndsRows+" AND paused_until > ? ORDER BY paused_until LIMIT ?", int64(at), max(limit, 0))
	if err != nil {
		return nil, fmt.Errorf("reading the schedules that are paused for a while: %w", err)
	}
	return pauses, nil
}
