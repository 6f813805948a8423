package models

import (
	"slices"
	"time"

	"gorm.io/gorm"
)

const (
	// walkLimit is the usual Store.walk, and walkTime the usual Store.walkTime.
	walkLimit = 100_000
	walkTime  = 40 * time.Millisecond
	// walkStep is how many rows a walk looks at first: where many fit it ends there.
	walkStep = 100
)

// descend gives the highest ids of the sources whose rows meet the conditions, when each row has to be looked at for
// that. It stops when it has limit of them, has looked at Store.walk rows, or has taken Store.walkTime; everything from
// reached on has been looked at. The rows of a filter lie anywhere in the file, so that looking at one takes a
// microsecond or a read of the disk: only the time tells how many are few enough.
func (s *Store) descend(tx *gorm.DB, sources, conditions []condition, w window, limit int) (ids []int64, reached int64, err error) {
	began, looked, low := time.Now(), 0, w.low
	for step := min(walkStep, s.walk); ; {
		if w.low, err = (window{low: low, high: w.high}).floor(tx, sources, step); err != nil {
			return nil, 0, err
		}
		found, err := merge(tx, sources, append(slices.Clip(conditions), w.conditions()...), limit-len(ids))
		if err != nil {
			return nil, 0, err
		}
		ids = append(ids, found...)
		looked += step
		spent := time.Since(began)
		if w.low == low || len(ids) >= limit || looked >= s.walk || spent >= s.walkTime {
			return ids, w.low, nil
		}
		step = min(2*step, s.walk-looked)
		if spent > 0 {
			affordable := int(float64(looked) * float64(s.walkTime-spent) / float64(spent))
			if affordable < walkStep {
				return ids, w.low, nil
			}
			step = min(step, affordable)
		}
		w.high = w.low
	}
}
