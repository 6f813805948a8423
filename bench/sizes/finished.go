package sizes

import (
	"sync"
	"time"

	"reax/actors"
	"reax/bench/meter"
)

// finished measures a process that deletes old tasks: how fast, and what that does to tasks and pages beside it.
func finished(j job) (row, error) {
	var out row
	r, err := open(j.ctx, j.dir, options{workers: 50, runtime: actors.Options{Retention: actors.Retention{Success: time.Hour}}})
	if err != nil {
		return out, err
	}
	before, err := r.probe(j.ctx, probeType, 0, 200, 3*time.Second)
	if err != nil {
		return out, err
	}
	out.waits("start of a task without it", before)
	// Retention begins a minute after the start.
	err = until(j.ctx, 2*time.Minute, "the first deletion", func() (bool, error) {
		n, err := r.succeeded(j.ctx)
		return n < int64(j.size), err
	})
	if err != nil {
		return out, err
	}
	began := time.Now()
	had, err := r.succeeded(j.ctx)
	if err != nil {
		return out, err
	}
	var during []time.Duration
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { during, failed = r.probe(j.ctx, probeType, 0, 200, 6*time.Second) })
	var pages row
	if err := r.pages(j.ctx, &pages); err != nil {
		return out, err
	}
	wg.Wait()
	if failed != nil {
		return out, failed
	}
	left, err := r.succeeded(j.ctx)
	if err != nil {
		return out, err
	}
	out.waits("with it", during)
	if left > 0 {
		out.add("deleted a second", "%s", meter.Count(float64(had-left)/time.Since(began).Seconds()))
	} else {
		out.add("deleted a second", "all of it at once")
	}
	out.Cells = append(out.Cells, pages.Cells...)
	out.add("memory, MB", "%d", meter.PeakMB())
	return out, r.close()
}
