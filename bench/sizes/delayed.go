package sizes

import (
	"errors"
	"slices"
	"sync"
	"time"

	"reax/actors"
	"reax/bench/meter"
)

// delayed measures many tasks that become due at one moment: when the first and the last start, and what a task of
// another type waits for meanwhile.
func delayed(j job) (row, error) {
	var out row
	r, err := open(j.ctx, j.dir, options{workers: 50})
	if err != nil {
		return out, err
	}
	due := time.Now().Add(3*time.Second + time.Duration(j.size)*100*time.Microsecond).Truncate(time.Second)
	if err := r.enqueueAt(j, due); err != nil {
		return out, err
	}
	enqueued := time.Now()
	if !enqueued.Before(due) {
		return out, errors.New("the tasks were due before all of them were accepted; the machine is too busy")
	}
	waiting := meter.ResidentMB()
	var probes []time.Duration
	var failed error
	var wg sync.WaitGroup
	time.Sleep(time.Until(due.Add(-200 * time.Millisecond)))
	wg.Go(func() { probes, failed = r.probe(j.ctx, probeType, 0, 100, 3*time.Second) })
	err = until(j.ctx, 5*time.Minute, "the last task", func() (bool, error) { return r.mass.Load() >= int64(j.size), nil })
	if err != nil {
		return out, err
	}
	last := time.Since(due)
	wg.Wait()
	if failed != nil {
		return out, failed
	}
	err = until(j.ctx, time.Minute, "the end in the books", func() (bool, error) {
		n, err := r.succeeded(j.ctx)
		return n == int64(j.size), err
	})
	if err != nil {
		return out, err
	}
	var starts []int64
	if err := r.store.Reader().WithContext(j.ctx).Raw("SELECT started_at - run_at FROM tasks WHERE type = ?", massType).Scan(&starts).Error; err != nil {
		return out, err
	}
	slices.Sort(starts)
	out.add("first start after they are due, ms", "%.0f", float64(starts[0])/1000)
	out.add("half of them", "%.0f", float64(starts[len(starts)/2])/1000)
	out.add("last", "%.0f", meter.MS(last))
	out.add("started a second", "%s", meter.Count(float64(j.size)/max(last, time.Millisecond).Seconds()))
	out.waits("task of another type meanwhile", probes)
	out.add("memory while they wait, MB", "%d", waiting)
	out.add("at the peak", "%d", meter.PeakMB())
	return out, r.close()
}

// enqueueAt enqueues the tasks for a moment.
func (r *rig) enqueueAt(j job, due time.Time) error {
	const callers, most = 8, 500
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			n := j.size / callers
			if i == 0 {
				n += j.size % callers
			}
			for n > 0 && errs[i] == nil {
				batch := make([]actors.EnqueueRequest, min(n, most))
				for k := range batch {
					batch[k] = actors.EnqueueRequest{Type: massType, Params: []byte(`{"user_id":1001,"date":"2026-11-29","note":"bench run"}`), RunAt: due, By: "bench"}
				}
				_, errs[i] = r.EnqueueBatch(j.ctx, batch)
				n -= len(batch)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
