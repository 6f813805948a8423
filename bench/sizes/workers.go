package sizes

import (
	"runtime"
	"time"

	"reax/bench/meter"
)

// workers measures a type with many workers, half of which are busy.
func workers(j job) (row, error) {
	const lasts, limit, d = 100 * time.Millisecond, 4000.0, 4 * time.Second
	var out row
	r, err := open(j.ctx, j.dir, options{workers: j.size, lasts: lasts})
	if err != nil {
		return out, err
	}
	before := meter.CPUTime()
	rate := min(float64(j.size)/lasts.Seconds()/2, limit)
	var most int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(10 * time.Millisecond):
				most = max(most, r.running.Load())
			case <-stop:
				return
			}
		}
	}()
	waits, err := r.probe(j.ctx, massType, 0, rate, d)
	close(stop)
	<-done
	if err != nil {
		return out, err
	}
	out.add("tasks a second", "%s", meter.Count(float64(r.mass.Load())/d.Seconds()))
	out.add("at once, at most", "%d", most)
	out.waits("call to start", waits)
	out.add("cores used", "%.2f", (meter.CPUTime()-before).Seconds()/d.Seconds())
	out.add("goroutines", "%d", runtime.NumGoroutine())
	out.add("memory, MB", "%d", meter.PeakMB())
	return out, r.close()
}
