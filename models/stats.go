package models

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// buckets is how many buckets a Histogram has.
const buckets = 41

// Histogram counts durations in buckets that grow by a fifth of a decade. Bucket i holds what took at most
// 100 µs × 10^(i/5) and more than the bound before it; the last, 10,000 s, also holds all that took longer. The zero
// value is empty and ready to use.
type Histogram [buckets]int64

// bounds are the upper bounds of the buckets.
var bounds = func() (b [buckets]time.Duration) {
	for i := range b {
		b[i] = time.Duration(math.Round(1e5 * math.Pow(10, float64(i)/5)))
	}
	return b
}()

// HistogramBounds gives the upper bound of each bucket of a Histogram, ascending.
func HistogramBounds() []time.Duration { return bounds[:] }

// Add counts one duration. One below zero, which a clock set back can give, counts as zero.
func (h *Histogram) Add(d time.Duration) { h[bucketOf(d)]++ }

// HistogramBucket is the bucket that a duration is counted in.
func HistogramBucket(d time.Duration) int { return bucketOf(d) }

func bucketOf(d time.Duration) int {
	low, high := 0, buckets-1
	for low < high {
		middle := (low + high) / 2
		if d <= bounds[middle] {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other Histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// Total is how many durations h has counted.
func (h *Histogram) Total() int64 {
	var total int64
	for _, n := range h {
		total += n
	}
	return total
}

// Quantile estimates the duration that a share q (0 to 1) of those counted did not pass, taking them as spread evenly
// over their bucket. It is 0 when nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Total()
	if total <= 0 {
		return 0
	}
	rank := min(max(q, 0), 1) * float64(total)
	var below int64
	for i, n := range h {
		if n > 0 && float64(below+n) >= rank {
			var from time.Duration
			if i > 0 {
				from = bounds[i-1]
			}
			share := (rank - float64(below)) / float64(n)
			return from + time.Duration(share*float64(bounds[i]-from))
		}
		below += n
	}
	return bounds[buckets-1]
}

// MarshalJSON writes the counts as an array, without the zeros at its end.
func (h Histogram) MarshalJSON() ([]byte, error) { return h.appendTo(nil), nil }

func (h *Histogram) appendTo(text []byte) []byte {
	length := buckets
	for length > 0 && h[length-1] == 0 {
		length--
	}
	text = append(text, '[')
	for i, n := range h[:length] {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return append(text, ']')
}

// UnmarshalJSON reads what MarshalJSON wrote. Counts below zero and arrays that are too long are errors.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	if h.read(text) {
		return nil
	}
	var counts []int64
	if err := json.Unmarshal(bytes.TrimSpace(text), &counts); err != nil {
		return fmt.Errorf("reading a histogram: %w", err)
	}
	if len(counts) > buckets {
		return fmt.Errorf("reading a histogram: %d buckets, and there are %d", len(counts), buckets)
	}
	for _, n := range counts {
		if n < 0 {
			return errors.New("reading a histogram: a count is below zero")
		}
	}
	*h = Histogram{}
	copy(h[:], counts)
	return nil
}

// read reads what appendTo wrote, and reports whether it was that. A day of minutes is tens of thousands of these, for
// which a parser of any JSON takes ten times as long.
func (h *Histogram) read(text []byte) bool {
	const digits = 18 // an int64 holds as many, whatever they are
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return false
	}
	var counts Histogram
	bucket, length := 0, 0
	for _, c := range text[1 : len(text)-1] {
		switch {
		case c >= '0' && c <= '9' && length < digits:
			counts[bucket] = 10*counts[bucket] + int64(c-'0')
			length++
		case c == ',' && length > 0 && bucket+1 < buckets:
			bucket, length = bucket+1, 0
		default:
			return false
		}
	}
	if length == 0 && len(text) > 2 {
		return false
	}
	*h = counts
	return true
}

// Value is h as the column of a row.
func (h Histogram) Value() (driver.Value, error) { return string(h.appendTo(nil)), nil }

// Scan reads h from the column of a row.
func (h *Histogram) Scan(column any) error {
	switch v := column.(type) {
	case nil:
		*h = Histogram{}
		return nil
	case string:
		return h.UnmarshalJSON([]byte(v))
	case []byte:
		return h.UnmarshalJSON(v)
	}
	return fmt.Errorf("reading a histogram: a column of type %T", column)
}

// GormDataType is the type of the column.
func (Histogram) GormDataType() string { return "text" }

// MinuteStat is one row of minute_stats: what happened to the tasks of a type within one minute.
type MinuteStat struct {
	Minute    Instant `gorm:"primaryKey"` // its start
	Type      string  `gorm:"primaryKey"`
	Enqueued  int64
	Started   int64
	Succeeded int64
	Retried   int64 // runs that failed and will run again
	Failed    int64
	Dead      int64
	Cancelled int64
	Promoted  int64     // tasks that waiting lifted
	WaitHist  Histogram // from ready to start
	RunHist   Histogram // from start to end

	// Of what OnMinute is told the sums of the durations too, which the buckets do not know.
	WaitSum time.Duration `gorm:"-"`
	RunSum  time.Duration `gorm:"-"`
}

// waited counts a wait, from ready to start.
func (m *MinuteStat) waited(d time.Duration) {
	m.WaitHist.Add(d)
	m.WaitSum += max(d, 0)
}

// ran counts a run, from start to end.
func (m *MinuteStat) ran(d time.Duration) {
	m.RunHist.Add(d)
	m.RunSum += max(d, 0)
}

const minuteColumns = "minute, type, enqueued, started, succeeded, retried, failed, dead, cancelled, promoted, wait_hist, run_hist"

// MinuteStats gives the rows of the minutes that start in [from, to), oldest first.
func (s *Store) MinuteStats(ctx context.Context, from, to Instant) ([]MinuteStat, error) {
	stats, err := collect(s.reader.WithContext(ctx), scanMinute,
		"SELECT "+minuteColumns+" FROM minute_stats WHERE minute >= ? AND minute < ? ORDER BY minute, type", int64(from), int64(to))
	if err != nil {
		return nil, fmt.Errorf("reading the statistics: %w", err)
	}
	return stats, nil
}

func scanMinute(rows *sql.Rows) (m MinuteStat, err error) {
	err = rows.Scan(&m.Minute, &m.Type, &m.Enqueued, &m.Started, &m.Succeeded, &m.Retried, &m.Failed, &m.Dead, &m.Cancelled, &m.Promoted,
		&m.WaitHist, &m.RunHist)
	return m, err
}
