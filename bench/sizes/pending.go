package sizes

import (
	"time"

	"reax/actors"
	"reax/bench/meter"
)

// pending measures a process that finds many waiting tasks: its start, its memory, the drain, what an urgent task waits
// for beside it, and pages.
func pending(j job) (row, error) {
	var out row
	// What waits is not lifted, however long the file took to fill: the urgent task is to be the first.
	r, err := open(j.ctx, j.dir, options{workers: 50, runtime: actors.Options{PromoteBase: 24 * time.Hour}})
	if err != nil {
		return out, err
	}
	first := <-r.first
	out.add("process start to first run, ms", "%.0f", meter.MS(first.Sub(j.began)))
	began, had := time.Now(), r.mass.Load()
	waits, err := r.probe(j.ctx, massType, 1, 100, 3*time.Second)
	if err != nil {
		return out, err
	}
	ran, took := r.mass.Load()-had, time.Since(began)
	if int(ran) < j.size*9/10 { // a small file is empty before
		out.add("drained a second", "%s", meter.Count(float64(ran)/took.Seconds()))
	} else {
		out.add("drained a second", "all of it at once")
	}
	out.waits("urgent task beside it", waits)
	if err := r.Pause(j.ctx, massType, actors.Change{By: "bench"}); err != nil {
		return out, err
	}
	if err := r.pages(j.ctx, &out); err != nil {
		return out, err
	}
	out.add("memory, MB", "%d", meter.PeakMB())
	if err := r.Resume(j.ctx, massType, actors.Change{By: "bench"}); err != nil {
		return out, err
	}
	return out, r.close()
}
