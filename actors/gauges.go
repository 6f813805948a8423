package actors

import (
	"time"

	"reax/models"
)

// gaugeMinutes is how far back Gauges go.
const gaugeMinutes = 60

// Gauge is how many tasks were where at the end of a minute, or now in the minute that is not over.
type Gauge struct {
	Minute    models.Instant // its start
	Ready     int64          // waited for a worker
	Running   int64
	RetryWait int64
	Dead      int64
}

// Gauges are those of the last hour, oldest first. What was before the process started is not known, so there may be
// fewer, and minutes may be missing. The slice must not be changed.
func (r *Runtime) Gauges() []Gauge {
	if all := r.figures.gauges.Load(); all != nil {
		return *all
	}
	return nil
}

// gauge notes how many tasks are where. Readers keep the slice, so each time makes a new one.
func (s *statistics) gauge(now time.Time) {
	g := Gauge{Minute: models.At(now.Truncate(time.Minute))}
	for _, k := range s.counts.Keys() {
		n, _ := s.counts.Get(k)
		switch k.state {
		case models.CountReady:
			g.Ready += n
		case models.StateRunning:
			g.Running += n
		case models.StateRetryWait:
			g.RetryWait += n
		case models.StateDead:
			g.Dead += n
		}
	}
	kept := make([]Gauge, 0, gaugeMinutes)
	if old := s.figures.gauges.Load(); old != nil {
		for _, o := range *old {
			if o.Minute < g.Minute && o.Minute > g.Minute.Add(-gaugeMinutes*time.Minute) {
				kept = append(kept, o)
			}
		}
	}
	kept = append(kept, g)
	s.figures.gauges.Store(&kept)
}
