package sizes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"reax/actors"
	"reax/bench/meter"
)

// schedules measures many schedules that come due at the same moments.
func schedules(j job) (row, error) {
	const every = 10 * time.Second
	var out row
	specs := make([]actors.ScheduleSpec, j.size)
	// The first moment leaves room for making them all.
	anchor := time.Now().Add(2*time.Second + time.Duration(j.size)*500*time.Microsecond).Truncate(time.Second)
	for i := range specs {
		specs[i] = actors.ScheduleSpec{
			Name: fmt.Sprintf("plan-%05d", i), Task: massType, Every: every, Anchor: anchor, Overlap: "allow",
			Params: []byte(`{"user_id":1001,"date":"2026-11-29","note":"bench run"}`),
		}
	}
	began := time.Now()
	r, err := open(j.ctx, j.dir, options{workers: 50, runtime: actors.Options{FileSchedules: specs}})
	if err != nil {
		return out, err
	}
	out.add("made at the first start, ms", "%.0f", meter.MS(time.Since(began)))
	// Two of their moments.
	err = until(j.ctx, 2*time.Minute, "the second round", func() (bool, error) { return r.mass.Load() >= 2*int64(j.size), nil })
	if err != nil {
		return out, err
	}
	time.Sleep(time.Second) // what is written behind
	before := meter.CPUTime()
	time.Sleep(2 * time.Second)
	idle := (meter.CPUTime() - before).Seconds() / 2
	var fired, started []int64
	db := r.store.Reader().WithContext(j.ctx)
	err = errors.Join(
		db.Raw("SELECT created_at - scheduled_for FROM tasks WHERE schedule IS NOT NULL").Scan(&fired).Error,
		db.Raw("SELECT started_at - scheduled_for FROM tasks WHERE schedule IS NOT NULL AND started_at IS NOT NULL").Scan(&started).Error,
	)
	if err != nil {
		return out, err
	}
	slices.Sort(fired)
	slices.Sort(started)
	out.add("task made after the moment, p50, ms", "%.0f", at(fired, 50))
	out.add("last", "%.0f", at(fired, 100))
	out.add("its start, p50, ms", "%.0f", at(started, 50))
	out.add("last", "%.0f", at(started, 100))
	out.add("cores used between the moments", "%.3f", idle)
	if err := r.pages(j.ctx, &out); err != nil {
		return out, err
	}
	out.add("memory, MB", "%d", meter.PeakMB())
	return out, r.close()
}

// at is a percentile of sorted microseconds, in milliseconds.
func at(sorted []int64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)*p/100, len(sorted)-1)]) / 1000
}
