package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// DayStat is one row of day_stats: how the runs of a type went on one day.
type DayStat struct {
	Day       Instant `gorm:"primaryKey"` // its start, in the zone that days are counted in
	Type      string  `gorm:"primaryKey"`
	Succeeded int64   // runs
	Failed    int64   // runs, those included that were tried again
	Slow      int64   // minutes in which a task had waited for too long
	CountedTo Instant // up to when its minutes are counted; the end of the day for one that is over
}

// DayMinute is as much of a row of minute_stats as a day is gathered from.
type DayMinute struct {
	Minute    Instant
	Type      string
	Succeeded int64
	Failed    int64         // runs, those included that are tried again
	Waited    time.Duration // at least so long had the task waited that had waited longest of those that started
}

const dayColumns = "day, type, succeeded, failed, slow, counted_to"

// DayStats gives the rows of the days that begin in [from, to), oldest first.
func (s *Store) DayStats(ctx context.Context, from, to Instant) ([]DayStat, error) {
	days, err := collect(s.reader.WithContext(ctx), func(rows *sql.Rows) (d DayStat, err error) {
		err = rows.Scan(&d.Day, &d.Type, &d.Succeeded, &d.Failed, &d.Slow, &d.CountedTo)
		return d, err
	}, "SELECT "+dayColumns+" FROM day_stats WHERE day >= ? AND day < ? ORDER BY day, type", int64(from), int64(to))
	if err != nil {
		return nil, fmt.Errorf("reading the statistics of days: %w", err)
	}
	return days, nil
}

// DayMinutes gives the minutes that start in [from, to), oldest first. The histograms stay where they are: a length says
// which bucket is the last with anything in it.
func (s *Store) DayMinutes(ctx context.Context, from, to Instant) ([]DayMinute, error) {
	minutes, err := collect(s.reader.WithContext(ctx), func(rows *sql.Rows) (m DayMinute, err error) {
		var length int
		err = rows.Scan(&m.Minute, &m.Type, &m.Succeeded, &m.Failed, &length)
		if length > 1 && length <= buckets {
			m.Waited = bounds[length-2]
		}
		return m, err
	}, `SELECT minute, type, succeeded, retried + failed + dead, json_array_length(wait_hist) FROM minute_stats
 WHERE minute >= ? AND minute < ? ORDER BY minute, type`, int64(from), int64(to))
	if err != nil {
		return nil, fmt.Errorf("reading the minutes of a day: %w", err)
	}
	return minutes, nil
}

// SaveDays stores the rows of one or more days in place of what was known of them, and forgets the days before one.
func (tx *Tx) SaveDays(days []DayStat, before Instant) error {
	if _, err := tx.exec("deleting old statistics of days", "DELETE FROM day_stats WHERE day < ?", int64(before)); err != nil {
		return err
	}
	if len(days) == 0 {
		return nil
	}
	values := make([][]any, len(days))
	for i, d := range days {
		values[i] = []any{int64(d.Day), d.Type, d.Succeeded, d.Failed, d.Slow, int64(d.CountedTo)}
	}
	_, err := tx.exec("storing the statistics of days", `INSERT INTO day_stats (`+dayColumns+`)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?) WHERE true
ON CONFLICT (day, type) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed, slow = excluded.slow,
 counted_to = excluded.counted_to`, list(values))
	return err
}
