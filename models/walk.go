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
	// walkStepMost is how many rows it looks at in one step. A step ends when it has, and its rows may have to be read from the
	// disk where those before were in memory.
	walkStepMost = 2_000
)

// descend gives the newest tasks of the sources that meet the conditions, when each row has to be looked at for that. It
// stops when it has limit of them, has looked at Store.walk rows, or has taken as long as it may; everything from reached
// on has been looked at. The rows of a filter lie anywhere in the file, so that looking at one takes a microsecond or a
// read of the disk: only the time tells how many are few enough.
func (s *Store) descend(tx *gorm.DB, rank condition, sources, conditions []condition, w window, limit int, within time.Duration) (found []ranked, reached int64, err error) {
	began, looked, low := time.Now(), 0, w.low
	for step := min(walkStep, s.walk); ; {
		if w.low, err = (window{low: low, high: w.high}).floor(tx, sources, step); err != nil {
			return nil, 0, err
		}
		some, err := merge(tx, rank, sources, append(slices.Clip(conditions), w.conditions()...), limit-len(found))
		if err != nil {
			return nil, 0, err
		}
		found = append(found, some...)
		looked += step
		spent := time.Since(began)
		if w.low == low || len(found) >= limit || looked >= s.walk || spent >= within {
			return found, w.low, nil
		}
		step = min(max(2*step, limit-len(found)), walkStepMost, s.walk-looked)
		if spent > 0 {
			affordable := int(float64(looked) * float64(within-spent) / float64(spent))
			if affordable < walkStep {
				return found, w.low, nil
			}
			step = min(step, affordable)
		}
		w.high = w.low
	}
}
