package actors

import (
	"math/bits"
	"sync/atomic"
	"time"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// OtherTypes stands for all task types that are not registered, wherever what is told of types has to stay bounded.
const OtherTypes = "other"

// histogramBuckets is how many buckets a models.Histogram has.
const histogramBuckets = len(models.Histogram{})

// SizeBuckets is how many buckets the sizes of the journal's batches are counted in: bucket i holds those of up to 2^i
// changes, and the last one all others.
const SizeBuckets = 13

// Timing is how long something took, since the process started.
type Timing struct {
	models.Histogram
	Sum       time.Duration
	Exemplars []Exemplar // at most one a bucket, the latest
}

// Exemplar is one of those that a Timing has counted.
type Exemplar struct {
	TraceID string
	Took    time.Duration
	At      time.Time
}

// meter counts what happens, for metrics. The types are those that were registered at the start, so that no client and
// no old row can make it grow. Only the journal adds, except where something else is said; anybody may read meanwhile.
type meter struct {
	types    map[string]*typeMeter // not changed after newMeter
	commits  timer
	sizes    [SizeBuckets]atomic.Int64
	changes  atomic.Int64 // in all batches together
	lateness timer
	outcomes kit.Counts[string]              // of occurrences
	missed   *kit.Table[int64, missedLately] // by the id of the schedule; statistics forgets what is old
}

// typeMeter is what a meter counts of one type.
type typeMeter struct {
	enqueued, started, succeeded, retried, failed, dead, cancelled, promoted atomic.Int64

	wait, run timer
}

// timer is a Timing while it grows.
type timer struct {
	buckets   [histogramBuckets]atomic.Int64
	sum       atomic.Int64
	exemplars [histogramBuckets]atomic.Pointer[Exemplar]
}

// missedLately is that a schedule missed runs.
type missedLately struct {
	name string
	n    int64
	at   time.Time // of the latest word of it
}

func newMeter(types []string) *meter {
	m := &meter{types: map[string]*typeMeter{OtherTypes: {}}, missed: kit.NewTable[int64, missedLately]()}
	for _, name := range types {
		m.types[name] = &typeMeter{}
	}
	return m
}

func typeNames(registry *tasks.Registry) []string {
	var names []string
	for _, def := range registry.All() {
		names = append(names, def.Name)
	}
	return names
}

// of is the label of a type, and what is counted under it.
func (m *meter) of(typ string) (string, *typeMeter) {
	if t := m.types[typ]; t != nil {
		return typ, t
	}
	return OtherTypes, m.types[OtherTypes]
}

// add counts what a transaction added to the statistics of a type.
func (m *meter) add(d *models.MinuteStat) {
	_, t := m.of(d.Type)
	for _, c := range []struct {
		counter *atomic.Int64
		n       int64
	}{
		{&t.enqueued, d.Enqueued},
		{&t.started, d.Started},
		{&t.succeeded, d.Succeeded},
		{&t.retried, d.Retried},
		{&t.failed, d.Failed},
		{&t.dead, d.Dead},
		{&t.cancelled, d.Cancelled},
		{&t.promoted, d.Promoted},
	} {
		if c.n > 0 {
			c.counter.Add(c.n)
		}
	}
	t.wait.merge(&d.WaitHist, d.WaitSum)
	t.run.merge(&d.RunHist, d.RunSum)
}

// committed counts a transaction of the journal that has ended.
func (m *meter) committed(began time.Time, changes int) {
	m.commits.add(time.Since(began))
	m.sizes[min(bits.Len(uint(max(changes, 1)-1)), SizeBuckets-1)].Add(1)
	m.changes.Add(int64(changes))
}

// told counts what a committed batch means for schedules, and keeps one of its runs as an example: one a batch is enough
// to find a slow run by, and costs nothing.
func (m *meter) told(b *batch) {
	if n := len(b.done); n > 0 {
		if c := b.done[n-1]; c.StartedAt != 0 {
			took := max(c.FinishedAt.Sub(c.StartedAt), 0)
			_, t := m.of(c.Type)
			t.run.exemplars[models.HistogramBucket(took)].Store(&Exemplar{TraceID: c.TraceID, Took: took, At: c.FinishedAt.Time()})
		}
	}
	for _, f := range b.fired {
		if !f.Stale {
			m.fired(f)
			b.traceEnqueued(f.Tasks, time.Now(), nil)
		}
	}
}

func (m *meter) fired(f *models.Fired) {
	for _, t := range f.Tasks {
		m.lateness.add(t.CreatedAt.Sub(t.ScheduledFor))
	}
	for _, d := range f.Due {
		if outcome := d.Outcome(); outcome != "" {
			m.outcomes.Add(outcome, 1)
		}
	}
	n := int64(len(f.Missed)) + f.MissedMore
	if n == 0 {
		return
	}
	m.outcomes.Add(models.OccurrenceMissed, n)
	before, _ := m.missed.Get(f.ID)
	m.missed.Put(f.ID, missedLately{name: f.Name, n: before.n + n, at: time.Now()})
}

func (t *timer) add(d time.Duration) {
	d = max(d, 0)
	t.buckets[models.HistogramBucket(d)].Add(1)
	t.sum.Add(int64(d))
}

func (t *timer) merge(h *models.Histogram, sum time.Duration) {
	for i, n := range h {
		if n > 0 {
			t.buckets[i].Add(n)
		}
	}
	if sum > 0 {
		t.sum.Add(int64(sum))
	}
}

func (t *timer) read() Timing {
	// The sum first: what is in it has been counted.
	timing := Timing{Sum: time.Duration(t.sum.Load())}
	for i := range t.buckets {
		timing.Histogram[i] = t.buckets[i].Load()
		if e := t.exemplars[i].Load(); e != nil {
			timing.Exemplars = append(timing.Exemplars, *e)
		}
	}
	return timing
}
