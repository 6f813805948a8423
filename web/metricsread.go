package web

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reax/actors"
	"reax/models"
)

// collection is where one scrape collects.
type collection struct{ out chan<- prometheus.Metric }

func (c collection) send(m prometheus.Metric, err error) {
	if err != nil { // a fault of ours: the scrape says which metric it is
		m = prometheus.NewInvalidMetric(buildInfoDesc, err)
	}
	c.out <- m
}

func (c collection) gauge(d *prometheus.Desc, value float64, labels ...string) {
	c.send(prometheus.NewConstMetric(d, prometheus.GaugeValue, value, labels...))
}

func (c collection) counter(d *prometheus.Desc, n int64, labels ...string) {
	c.send(prometheus.NewConstMetric(d, prometheus.CounterValue, float64(n), labels...))
}

// timing gives a histogram every other bucket of ours, which is two or three a decade: each one is a series a type.
func (c collection) timing(d *prometheus.Desc, t *actors.Timing, labels ...string) {
	buckets := map[float64]uint64{}
	var below uint64
	bounds := models.HistogramBounds()
	for i, n := range t.Histogram {
		below += uint64(max(n, 0))
		if i%5%2 == 0 && i < len(bounds)-1 {
			buckets[bounds[i].Seconds()] = below
		}
	}
	m, err := prometheus.NewConstHistogram(d, below, t.Sum.Seconds(), buckets, labels...)
	if err == nil && len(t.Exemplars) > 0 {
		m, err = prometheus.NewMetricWithExemplars(m, exemplarsOf(t.Exemplars)...)
	}
	c.send(m, err)
}

// exemplarsOf orders them by time, for of several in one bucket the last is taken.
func exemplarsOf(all []actors.Exemplar) []prometheus.Exemplar {
	slices.SortFunc(all, func(a, b actors.Exemplar) int { return a.At.Compare(b.At) })
	var out []prometheus.Exemplar
	for _, e := range all {
		out = append(out, prometheus.Exemplar{Value: e.Took.Seconds(), Timestamp: e.At, Labels: prometheus.Labels{"trace_id": e.TraceID}})
	}
	return out
}

func (c collection) sizes(d *prometheus.Desc, sizes []int64, sum int64) {
	buckets := map[float64]uint64{}
	var below uint64
	for i, n := range sizes {
		below += uint64(max(n, 0))
		if i < len(sizes)-1 {
			buckets[float64(int(1)<<i)] = below
		}
	}
	c.send(prometheus.NewConstHistogram(d, below, float64(sum), buckets))
}

func (c collection) health(f *actors.Figures) {
	h := &f.Health
	for _, status := range healthStatuses {
		c.gauge(healthDesc, oneIf(h.Status == status), status)
	}
	causes := map[string]int{}
	for _, cause := range h.Causes {
		causes[cause.Code]++
	}
	for _, code := range actors.CauseCodes() {
		c.gauge(causeDesc, float64(causes[code]), code)
	}
	rate := math.NaN()
	if h.Finished5m > 0 {
		rate = h.SuccessRate5m
	}
	c.gauge(successDesc, rate)
	c.gauge(writableDesc, oneIf(h.DatabaseOK))
	c.gauge(oldestWaitDesc, h.OldestWait.Truncate(time.Millisecond).Seconds())
	c.gauge(diskFreeDesc, float64(h.DiskFree))
	c.gauge(diskTotalDesc, float64(h.DiskTotal))
}

func (c collection) taskType(t *actors.TypeFigures) {
	for _, state := range models.States {
		c.gauge(tasksDesc, float64(t.Tasks[state]), t.Type, string(state))
	}
	c.gauge(tasksReadyDesc, float64(t.Tasks[models.CountReady]), t.Type)
	c.counter(tasksEnqueuedDesc, t.Enqueued, t.Type)
	c.counter(tasksStartedDesc, t.Started, t.Type)
	for _, outcome := range slices.Sorted(maps.Keys(t.Finished)) {
		c.counter(tasksFinishedDesc, t.Finished[outcome], t.Type, outcome)
	}
	c.counter(tasksPromotedDesc, t.Promoted, t.Type)
	c.timing(taskWaitDesc, &t.Wait, t.Type)
	c.timing(taskRunDesc, &t.Run, t.Type)
	c.gauge(workersDesc, float64(t.Workers), t.Type)
	c.gauge(workersBusyDesc, float64(t.Busy), t.Type)
	c.gauge(handlersStuckDesc, float64(t.Stuck), t.Type)
	c.gauge(typePausedDesc, oneIf(t.Paused), t.Type)
}

func (c collection) schedules(s *actors.ScheduleFigures) {
	for _, outcome := range outcomesOfOccurrences {
		c.counter(occurrencesDesc, s.Occurrences[outcome], outcome)
	}
	c.timing(latenessDesc, &s.Lateness)
	c.gauge(schedulesWrongDesc, float64(s.Faulty))
	c.gauge(schedulesDueDesc, float64(s.Overdue))
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
