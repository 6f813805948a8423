package models

import (
	"slices"
	"time"

	"gorm.io/gorm"
)

const (
	// SortLimit is the most tasks that a list puts in an order other than newest first. An index for each order would cost
	// every write; so many of the newest are read in half of the time that a page may look for tasks, whatever the filter.
	SortLimit = 5_000
	// againTimes is how many times as long as the first page a later one may take to read the same tasks: what it leaves out
	// is never seen.
	againTimes = 5
)

// Place is where a page of a sorted list begins: after one of the tasks that were there when the first page was read. So
// what comes later moves no page; a task that changes may move all the same.
type Place struct {
	Rank, ID int64 // of the last task of the page before; a page begins after it
	// Low and High bound the ids that are sorted: Low <= id < High. A Low of 0 means that all that fit are sorted.
	Low, High int64
	At        Instant // until when running tasks have run
}

// sorted gives a page of f's order: the newest that fit are put in order in memory.
func (s *Store) sorted(tx *gorm.DB, f Filter, limit int) (Page, error) {
	place := f.After
	found, err := s.toSort(tx, f, &place)
	if err != nil {
		return Page{}, err
	}
	slices.SortFunc(found, f.Order.compare)
	found = slices.Compact(found) // what the text names may be found twice
	page := Page{place: place, order: f.Order}
	if place.Low > 0 {
		page.Partial, page.Among = true, len(found)
		if page.Searched, err = createdFrom(tx, place.Low); err != nil {
			return Page{}, err
		}
	}
	if f.After.ID != 0 {
		first, at := slices.BinarySearchFunc(found, ranked{f.After.ID, f.After.Rank}, f.Order.compare)
		if at {
			first++
		}
		found = found[first:]
	}
	shown := found[:min(len(found), limit)]
	if page.Tasks, err = previews(tx, rankedIDs(shown)); err != nil {
		return Page{}, err
	}
	slices.SortFunc(page.Tasks, func(a, b Task) int {
		return f.Order.compare(ranked{a.ID, f.Order.Rank(&a, place.At)}, ranked{b.ID, f.Order.Rank(&b, place.At)})
	})
	if len(shown) < len(found) {
		page.Keep(len(shown))
	}
	return page, nil
}

// toSort gives the tasks that a list sorts, and sets the bounds of place when it is not set yet.
func (s *Store) toSort(tx *gorm.DB, f Filter, place *Place) ([]ranked, error) {
	sources, rest, err := f.sources(tx)
	if err != nil {
		return nil, err
	}
	w, err := windowOf(tx, f)
	if err != nil {
		return nil, err
	}
	most, within := s.sort, s.walkTime
	if place.At == 0 {
		place.At = At(time.Now())
	} else {
		w.low, w.high = max(w.low, place.Low), min(w.high, place.High)
		most, within = s.walk, againTimes*s.walkTime
	}
	rank := f.Order.rank(place.At)
	found, reached, err := s.descend(tx, rank, sources, rest, w, most+1, within)
	if err != nil {
		return nil, err
	}
	if len(found) > most {
		found = found[:most]
		reached = found[most-1].id
	}
	if reached > w.low {
		place.Low = reached
	}
	if f.Text != "" {
		named, err := f.named(tx, rank, w)
		if err != nil {
			return nil, err
		}
		found = append(found, named...)
	}
	if place.High == 0 {
		for _, r := range found {
			place.High = max(place.High, r.id+1)
		}
		return found, nil
	}
	return slices.DeleteFunc(found, func(r ranked) bool { return r.id >= place.High }), nil
}
