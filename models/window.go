package models

import (
	"database/sql"
	"math"
	"slices"

	"gorm.io/gorm"
)

// window is the part of the ids that a page may read: low <= id < high. Ids ascend with the time of creation, so that
// times need no index: they bound the ids, and only the rows near the bounds are looked at in vain.
type window struct {
	low, high int64
	from, to  Instant
}

// windowOf gives the window of a filter's times and cursor.
func windowOf(db *gorm.DB, f Filter) (w window, err error) {
	w = window{high: math.MaxInt64, from: f.CreatedFrom, to: f.CreatedTo}
	if !f.CreatedFrom.IsZero() {
		if w.low, err = firstCreatedAt(db, f.CreatedFrom.Add(-createdSlack)); err != nil {
			return w, err
		}
	}
	if !f.CreatedTo.IsZero() {
		if w.high, err = firstCreatedAt(db, f.CreatedTo.Add(createdSlack)); err != nil {
			return w, err
		}
	}
	if !f.EndedTo.IsZero() { // what is not there yet cannot have ended
		high, err := firstCreatedAt(db, f.EndedTo.Add(createdSlack))
		if err != nil {
			return w, err
		}
		w.high = min(w.high, high)
	}
	if f.Before > 0 {
		w.high = min(w.high, f.Before)
	}
	return w, nil
}

// ids keeps a query within the ids of w.
func (w window) ids() condition { return condition{"id >= ? AND id < ?", []any{w.low, w.high}} }

// conditions keeps a query within w.
func (w window) conditions() []condition {
	all := []condition{w.ids()}
	if !w.from.IsZero() {
		all = append(all, condition{"+created_at >= ?", []any{int64(w.from)}})
	}
	if !w.to.IsZero() {
		all = append(all, condition{"+created_at < ?", []any{int64(w.to)}})
	}
	return all
}

// floor gives the id down to which the sources may be read when their rows have to be looked at: low when together they
// have no more than n rows, else the id of the nth.
func (w window) floor(db *gorm.DB, sources []condition, n int) (int64, error) {
	floor := w.low
	for some := range slices.Chunk(sources, unionLimit) {
		u := union(NewestFirst.rank(0), some, []condition{w.ids()}, n+1)
		var found struct{ N, Low int64 }
		err := db.Raw("SELECT count(*) AS n, coalesce(min(id), 0) AS low FROM ("+u.sql+")", u.args...).Scan(&found).Error
		if err != nil {
			return 0, err
		}
		if found.N > int64(n) {
			floor = max(floor, found.Low+1)
		}
	}
	return floor, nil
}

// newest gives the highest id in w, or 0.
func (w window) newest(db *gorm.DB) (int64, error) {
	ids, err := collect(db, scanOne[int64], "SELECT id FROM tasks WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", w.low, w.high)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// createdFrom gives when the first task from an id on was created; zero when there is none.
func createdFrom(db *gorm.DB, id int64) (Instant, error) {
	times, err := collect(db, scanOne[Instant], "SELECT created_at FROM tasks WHERE id >= ? ORDER BY id LIMIT 1", id)
	if err != nil || len(times) == 0 {
		return 0, err
	}
	return times[0], nil
}

// firstCreatedAt gives the lowest id of a task that was created at a moment or later, or one above all ids. It halves
// the ids by a few point reads.
func firstCreatedAt(db *gorm.DB, at Instant) (int64, error) {
	newest, err := window{high: math.MaxInt64}.newest(db)
	if err != nil {
		return 0, err
	}
	low, high := int64(1), newest+1
	for low < high {
		middle := low + (high-low)/2
		found, err := collect(db, func(rows *sql.Rows) (t Task, err error) {
			err = rows.Scan(&t.ID, &t.CreatedAt)
			return t, err
		}, "SELECT id, created_at FROM tasks WHERE id >= ? ORDER BY id LIMIT 1", middle)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 || found[0].CreatedAt >= at {
			high = middle
		} else {
			low = found[0].ID + 1
		}
	}
	return low, nil
}
