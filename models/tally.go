package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// CountReady is a row of counts beside the states: the tasks of a type that only wait for a worker. It is what a
// backlog means, and no index could tell it without counting.
const CountReady State = "ready"

type countKey struct {
	typ   string
	state State
}

type minuteKey struct {
	typ    string
	minute Instant
}

// tally collects what a transaction changes in counts and minute_stats.
type tally struct {
	counts  map[countKey]int64
	minutes map[minuteKey]*MinuteStat // what this transaction adds
	sums    map[minuteKey]*MinuteStat // with what was there before
	groups  map[groupKey]*ErrorGroup
	wrong   error // a step that the state machine does not have

	// What neighbours have in common is looked up once for all of them.
	step   step
	steps  int64 // how often step was taken in a row
	typ    string
	ready  int64 // of typ
	latest *MinuteStat
}

// step is one kind of change of state.
type step struct {
	typ      string
	from, to State
}

func newTally() tally {
	return tally{counts: map[countKey]int64{}, minutes: map[minuteKey]*MinuteStat{}, sums: map[minuteKey]*MinuteStat{}, groups: map[groupKey]*ErrorGroup{}}
}

// moved notes that a task of a type left one state for another; an empty state is "did not exist". A step that the state
// machine does not have fails the whole transaction, whatever statement took it.
func (tx *Tx) moved(typ string, from, to State) {
	if s := (step{typ, from, to}); s != tx.tally.step {
		tx.tally.countSteps()
		tx.tally.step = s
	}
	tx.tally.steps++
}

func (t *tally) countSteps() {
	s, n := t.step, t.steps
	t.steps = 0
	if n == 0 {
		return
	}
	if s.from != "" && s.to != "" && !s.from.CanBecome(s.to) && t.wrong == nil {
		t.wrong = fmt.Errorf("a task of type %s cannot become %s while it is %s", s.typ, s.to, s.from)
	}
	if s.from != "" {
		t.counts[countKey{s.typ, s.from}] -= n
	}
	if s.to != "" {
		t.counts[countKey{s.typ, s.to}] += n
	}
}

// ready notes that n more tasks of a type may run now.
func (tx *Tx) ready(typ string, n int64) {
	if typ != tx.tally.typ {
		tx.tally.countReady()
		tx.tally.typ = typ
	}
	tx.tally.ready += n
}

func (t *tally) countReady() {
	if t.ready != 0 {
		t.counts[countKey{t.typ, CountReady}] += t.ready
		t.ready = 0
	}
}

// minute is the delta of this transaction to a type's current minute.
func (tx *Tx) minute(typ string) *MinuteStat {
	if m := tx.tally.latest; m != nil && m.Type == typ {
		return m
	}
	k := minuteKey{typ, minuteOf(tx.now)}
	m := tx.tally.minutes[k]
	if m == nil {
		m = &MinuteStat{Minute: k.minute, Type: typ}
		tx.tally.minutes[k] = m
	}
	tx.tally.latest = m
	return m
}

func minuteOf(i Instant) Instant { return i - i%Instant(time.Minute.Microseconds()) }

const upsertCounts = `INSERT INTO counts (type, state, n)
SELECT value->>0, value->>1, value->>2 FROM json_each(?) WHERE true
ON CONFLICT (type, state) DO UPDATE SET n = n + excluded.n`

const upsertMinutes = `INSERT INTO minute_stats
 (minute, type, enqueued, started, succeeded, retried, failed, dead, cancelled, promoted, wait_hist, run_hist)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
 value->>10, value->>11 FROM json_each(?) WHERE true
ON CONFLICT (minute, type) DO UPDATE SET enqueued = excluded.enqueued, started = excluded.started,
 succeeded = excluded.succeeded, retried = excluded.retried, failed = excluded.failed, dead = excluded.dead,
 cancelled = excluded.cancelled, promoted = excluded.promoted, wait_hist = excluded.wait_hist,
 run_hist = excluded.run_hist`

func (tx *Tx) writeTally() error {
	tx.tally.countSteps()
	tx.tally.countReady()
	if tx.tally.wrong != nil {
		return tx.tally.wrong
	}
	rows := make([][]any, 0, len(tx.tally.counts))
	for k, n := range tx.tally.counts {
		if n != 0 {
			rows = append(rows, []any{k.typ, k.state, n})
		}
	}
	if len(rows) > 0 {
		if _, err := tx.exec("counting tasks by state", upsertCounts, list(rows)); err != nil {
			return err
		}
	}
	if err := tx.writeGroups(); err != nil {
		return err
	}
	if len(tx.tally.minutes) == 0 {
		return nil
	}
	rows = rows[:0]
	for k, delta := range tx.tally.minutes {
		before, err := tx.w.minuteSoFar(tx, k)
		if err != nil {
			return err
		}
		m := *before
		m.add(delta)
		tx.tally.sums[k] = &m
		wait, run := encodeHistogram(&m.WaitHist), encodeHistogram(&m.RunHist)
		rows = append(rows, []any{m.Minute, m.Type, m.Enqueued, m.Started, m.Succeeded, m.Retried, m.Failed, m.Dead, m.Cancelled,
			m.Promoted, wait, run})
	}
	_, err := tx.exec("adding to the minute's statistics", upsertMinutes, list(rows))
	return err
}

func encodeHistogram(h *Histogram) string {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // an array of integers
	}
	return string(b)
}

// minuteSoFar is what earlier transactions wrote for k: from memory, or after a restart inside the minute from the row.
func (w *Writer) minuteSoFar(tx *Tx, k minuteKey) (*MinuteStat, error) {
	if m := w.minutes[k]; m != nil {
		return m, nil
	}
	var found []MinuteStat
	if err := tx.db.Raw("SELECT * FROM minute_stats WHERE minute = ? AND type = ?", k.minute, k.typ).Scan(&found).Error; err != nil {
		return nil, fmt.Errorf("reading the minute's statistics: %w", err)
	}
	if len(found) == 0 {
		return &MinuteStat{Minute: k.minute, Type: k.typ}, nil
	}
	return &found[0], nil
}

// remember keeps the sums of a committed transaction and drops those of past minutes.
func (w *Writer) remember(tx *Tx) {
	current := minuteOf(tx.now)
	for k := range w.minutes {
		if k.minute != current {
			delete(w.minutes, k)
		}
	}
	maps.Copy(w.minutes, tx.tally.sums)
	if w.OnMinute != nil {
		for _, delta := range tx.tally.minutes {
			w.OnMinute(delta)
		}
	}
	if w.OnCount == nil {
		return
	}
	for k, delta := range tx.tally.counts {
		w.OnCount(k.typ, k.state, delta)
	}
}

func (m *MinuteStat) add(d *MinuteStat) {
	m.Enqueued += d.Enqueued
	m.Started += d.Started
	m.Succeeded += d.Succeeded
	m.Retried += d.Retried
	m.Failed += d.Failed
	m.Dead += d.Dead
	m.Cancelled += d.Cancelled
	m.Promoted += d.Promoted
	m.WaitHist.Merge(d.WaitHist)
	m.RunHist.Merge(d.RunHist)
}
