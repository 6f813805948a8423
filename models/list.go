package models

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
)

const (
	// pageLimit is the most tasks of one page.
	pageLimit = 1000
	// unionLimit is how many sources one statement merges; SQLite takes at most 500.
	unionLimit = 50
	// namedLimit is the most tasks that a text may name by the start of their trace ids. A start that more have in common
	// says too little to jump to them: the walk finds them.
	namedLimit = 1000
	// previewLimit is how many bytes of the wide columns a list shows.
	previewLimit = 2048
	// createdSlack is by how much created_at may go against the order of the ids: clocks are set, and callers wait for
	// the commit for unequal times.
	createdSlack = time.Minute
)

// previewColumns are the columns of a list: the wide ones are cut by the database, so that a page of large tasks stays
// small.
var previewColumns = fmt.Sprintf(`id, type, state, priority, attempt, failures, crashes, claimed_retry, max_retries, timeout_us, run_at,
	ready_at, promoted_at, created_at, started_at, finished_at, updated_at, cancel_requested_at, stuck_at, suspected,
	progress, progress_note, trace_id, unique_key, worker, boot_id, enqueued_by, schedule, scheduled_for, repeated_from, error_kind,
	fingerprint, tags, substr(error, 1, %[1]d) AS error, substr(result, 1, %[1]d) AS result, substr(params, 1, %[1]d) AS params`,
	previewLimit+1)

// Page is a part of a list.
type Page struct {
	Tasks []Task // with Cut set where Params, Result or Error hold only their first 2 KB
	// Next is the Filter.Before of the next page, 0 when there is none. A page may be short of the limit, even empty, and
	// still have a next one: a filter that no index serves looks at 100,000 tasks for a page, or at fewer where that would
	// take long.
	Next int64
	// Searched is set on such a short page, and on every page that is Partial: tasks that were created since then have all
	// been looked at.
	Searched Instant

	// The rest is about lists with an Order. Their pages end with the tasks that were sorted.

	After   *Place // the Filter.After of the next page, nil when there is none
	Partial bool   // only the newest Among of the tasks that fit are sorted, and there may be more
	Among   int    // at most SortLimit

	order Order
	place Place // that was sorted
}

// Keep cuts a page to its first n tasks, at least one; the next page begins after them.
func (p *Page) Keep(n int) {
	p.Tasks = p.Tasks[:n]
	last := &p.Tasks[n-1]
	if p.order == NewestFirst {
		p.Next = max(p.Next, last.ID)
		return
	}
	after := p.place
	after.ID, after.Rank = last.ID, p.order.Rank(last, after.At)
	p.After = &after
}

// List gives a page of up to limit tasks (at most 1,000) in the filter's order. CreatedFrom and CreatedTo find their rows
// through the ids and so rely on a clock that was never set back by more than a minute. A task that Text names by its id
// or the start of its trace id is on the first page however old it is, and once more on the page where it belongs; a
// list with an Order has it once.
func (s *Store) List(ctx context.Context, f Filter, limit int) (Page, error) {
	var page Page
	limit = min(max(limit, 1), pageLimit)
	// One transaction, so that the rows still fit the filter by which their ids were found.
	err := s.reader.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		if f.Order != NewestFirst {
			page, err = s.sorted(tx, f, limit)
			return err
		}
		ids, next, err := s.listIDs(tx, f, limit)
		if err != nil {
			return err
		}
		page.Next = next
		if next != 0 && len(ids) < limit {
			if page.Searched, err = createdFrom(tx, next); err != nil {
				return err
			}
		}
		page.Tasks, err = previews(tx, ids)
		return err
	})
	if err != nil {
		return Page{}, fmt.Errorf("listing tasks: %w", err)
	}
	return page, nil
}

// Tasks is List without the cursor.
func (s *Store) Tasks(ctx context.Context, f Filter, limit int) ([]Task, error) {
	page, err := s.List(ctx, f, limit)
	return page.Tasks, err
}

// TaskIDs gives the ids of up to limit tasks, newest first whatever the filter's order. Unlike List it goes on until it
// has them or there are no more, in many short reads, so that what is enqueued or changed meanwhile may or may not be
// among them.
func (s *Store) TaskIDs(ctx context.Context, f Filter, limit int) ([]int64, error) {
	var all []int64
	seen := make(map[int64]bool)
	for len(all) < limit {
		var ids []int64
		var next int64
		err := s.reader.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			ids, next, err = s.listIDs(tx, f, min(limit-len(all), 10*pageLimit))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing task ids: %w", err)
		}
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
		if next == 0 {
			break
		}
		f.Before = next
	}
	slices.SortFunc(all, descending)
	return all, nil
}

func descending(a, b int64) int { return cmp.Compare(b, a) }

// listIDs gives the ids of one page, newest first, and the cursor of the next.
func (s *Store) listIDs(tx *gorm.DB, f Filter, limit int) (ids []int64, next int64, err error) {
	sources, rest, err := f.sources(tx)
	if err != nil {
		return nil, 0, err
	}
	w, err := windowOf(tx, f)
	if err != nil {
		return nil, 0, err
	}
	rank := NewestFirst.rank(0)
	var found []ranked
	if len(rest) == 0 {
		found, err = merge(tx, rank, sources, w.conditions(), limit+1)
	} else {
		var reached int64
		if found, reached, err = s.descend(tx, rank, sources, rest, w, limit+1, s.walkTime); reached > w.low {
			next = reached
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if f.Text != "" && f.Before == 0 {
		named, err := f.named(tx, rank, w)
		if err != nil {
			return nil, 0, err
		}
		found = append(found, named...)
		slices.SortFunc(found, NewestFirst.compare)
		found = slices.Compact(found)
	}
	ids = rankedIDs(found)
	if len(ids) > limit {
		ids = ids[:limit]
		// The walk goes on where it ended, also when the page ends with a task that was named and is far below.
		next = max(ids[limit-1], next)
	}
	return ids, next, nil
}

func rankedIDs(found []ranked) []int64 {
	ids := make([]int64, len(found))
	for i, r := range found {
		ids[i] = r.id
	}
	return ids
}

// merge gives the tasks with the highest ids of all sources that meet the conditions, newest first.
func merge(tx *gorm.DB, rank condition, sources, conditions []condition, limit int) ([]ranked, error) {
	var all []ranked
	for some := range slices.Chunk(sources, unionLimit) {
		u := union(rank, some, conditions, limit)
		found, err := collect(tx, func(rows *sql.Rows) (r ranked, err error) {
			err = rows.Scan(&r.id, &r.rank)
			return r, err
		}, u.sql, u.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b ranked) int { return descending(a.id, b.id) })
	return all[:min(len(all), limit)], nil
}

// union is a query for the highest ids of all sources and the ranks of their rows. Each source is read only as far as it
// is needed: SQLite merges what is in order already.
func union(rank condition, sources, conditions []condition, limit int) condition {
	var parts []string
	var args []any
	for _, source := range sources {
		part := "SELECT id, " + rank.sql + " FROM tasks WHERE " + source.sql
		args = append(append(args, rank.args...), source.args...)
		for _, c := range conditions {
			part += " AND " + c.sql
			args = append(args, c.args...)
		}
		parts = append(parts, part)
	}
	return condition{strings.Join(parts, " UNION ALL ") + " ORDER BY id DESC LIMIT ?", append(args, limit)}
}

// named gives the tasks that Text names by their id or by the start of their trace id and that meet the rest of the
// filter.
func (f Filter) named(tx *gorm.DB, rank condition, w window) ([]ranked, error) {
	var ids []int64
	if start, end, ok := f.textTrace(); ok {
		var err error
		ids, err = collect(tx, scanOne[int64],
			"SELECT id FROM tasks WHERE trace_id >= ? AND trace_id < ? LIMIT ?", start, end, namedLimit+1)
		if err != nil {
			return nil, err
		}
		if len(ids) > namedLimit {
			ids = nil
		}
	}
	if id, ok := f.textID(); ok {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	f.Text = ""
	w.low, w.high = 0, math.MaxInt64
	is, err := inList(ids)
	if err != nil {
		return nil, err
	}
	return merge(tx, rank, []condition{is}, append(f.conditions(), w.conditions()...), namedLimit+1)
}

// previews reads the rows of a list.
func previews(tx *gorm.DB, ids []int64) ([]Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	is, err := inList(ids)
	if err != nil {
		return nil, err
	}
	var tasks []Task
	if err := tx.Raw("SELECT "+previewColumns+" FROM tasks WHERE "+is.sql, is.args...).Scan(&tasks).Error; err != nil {
		return nil, err
	}
	for i := range tasks {
		for _, text := range []*string{&tasks[i].Params, &tasks[i].Result, &tasks[i].Error} {
			if len(*text) > previewLimit {
				*text, _ = cleanHead(*text, previewLimit)
				tasks[i].Cut = true
			}
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int { return descending(a.ID, b.ID) })
	return tasks, nil
}

// inList is the condition that the id is one of these.
func inList(ids []int64) (condition, error) {
	text, err := json.Marshal(ids)
	if err != nil {
		return condition{}, fmt.Errorf("writing a list of ids: %w", err)
	}
	return condition{idIn, []any{string(text)}}, nil
}
