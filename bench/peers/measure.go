package peers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reax/bench/meter"
)

// drainLimit is how long a system may take for what is left when the callers have ended.
const drainLimit = 90 * time.Second

// refusedLimit is how many enqueues of a run may fail and be tried again.
const refusedLimit = 1000

// idleTasks is the most tasks of an idle run.
const idleTasks = 2000

// book is what the benchmark itself writes down of each task, beside the books of the system.
type book struct {
	begin   time.Time
	called  []int64        // by number: when enqueue was called, ns after begin
	started []atomic.Int64 // by number: when the handler started first, ns after begin; 0 while it has not
	runs    atomic.Int64   // of the handler
	first   atomic.Int64   // tasks that ran
}

// newBook has room for what a run of the plan enqueues, and no more: the collector would take more for use.
func newBook(p plan) *book {
	n := idleTasks
	switch p.measure {
	case throughput:
		n = int(p.tasks)
	case half:
		n = int(p.rate*p.d.Seconds()) + 2
	}
	return &book{begin: time.Now(), called: make([]int64, n), started: make([]atomic.Int64, n)}
}

func (b *book) now() int64 { return int64(time.Since(b.begin)) }

// handle is the handler of every system: it only notes when it began.
func (b *book) handle(body []byte) {
	b.runs.Add(1)
	if n := number(body); n >= 0 && n < int64(len(b.started)) && b.started[n].CompareAndSwap(0, b.now()) {
		b.first.Add(1)
	}
}

func (b *book) enqueue(ctx context.Context, s system, n int64) error {
	if n >= int64(len(b.called)) {
		return errors.New("more tasks than the benchmark has room for")
	}
	b.called[n] = b.now()
	return s.enqueue(ctx, newBody(n))
}

// waits are the sorted times from call to start of n tasks after the first skipped ones.
func (b *book) waits(skipped, n int64) []time.Duration {
	var out []time.Duration
	for i := skipped; i < n; i++ {
		if at := b.started[i].Load(); at > 0 {
			out = append(out, time.Duration(at-b.called[i]))
		}
	}
	slices.Sort(out)
	return out
}

// settle waits until all n tasks are done by the system's books, and looks whether each has run.
func (b *book) settle(ctx context.Context, s system, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	// Until the handler has seen all, the books are left alone: on one connection to ask is to stand in the way.
	for b.first.Load() < n {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("of %d tasks %d had run after %s", n, b.first.Load(), drainLimit)
		}
	}
	for {
		done, err := s.done(ctx)
		if err != nil {
			return fmt.Errorf("reading the books: %w", err)
		}
		if done == n {
			return nil
		}
		if done > n {
			return fmt.Errorf("%d tasks were accepted, and %d are done", n, done)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// throughput has the callers enqueue so many tasks as fast as they can, and waits until everything is done.
func (b *book) throughput(ctx context.Context, s system, callers int, n int64, r *result) error {
	var next, refused atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n && failed.Load() == nil; i = next.Add(1) - 1 {
				for err := b.enqueue(ctx, s, i); err != nil; err = b.enqueue(ctx, s, i) {
					if refused.Add(1) > refusedLimit {
						failed.CompareAndSwap(nil, &err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return fmt.Errorf("enqueuing: %w", *err)
	}
	accepted := time.Since(began)
	if err := b.settle(ctx, s, n); err != nil {
		return err
	}
	r.Tasks, r.Refused = n, refused.Load()
	r.EnqueueRate = float64(n) / accepted.Seconds()
	r.DoneRate = float64(n) / time.Since(began).Seconds()
	return nil
}

// idle enqueues one task after another, each when the one before it has long been done.
func (b *book) idle(ctx context.Context, s system, d time.Duration, r *result) error {
	const warm = 20
	var n int64
	for began := time.Now(); n < idleTasks && (n < warm+5 || time.Since(began) < d); n++ {
		if err := b.enqueue(ctx, s, n); err != nil {
			return err
		}
		for b.started[n].Load() == 0 {
			if time.Since(began) > d+drainLimit {
				return fmt.Errorf("task %d did not start", n)
			}
			time.Sleep(50 * time.Microsecond)
		}
		// The end is written meanwhile. The wait varies, so that it is not in step with a poll.
		time.Sleep(4*time.Millisecond + rand.N(12*time.Millisecond))
	}
	r.Tasks = n
	r.setWaits(b.waits(warm, n))
	return b.settle(ctx, s, n)
}

// paced enqueues at a rate, evenly, whatever the system does meanwhile.
func (b *book) paced(ctx context.Context, s system, callers int, rate float64, d time.Duration, r *result) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for failed.Load() == nil {
				n := next.Add(1) - 1
				at := began.Add(time.Duration(float64(n) / rate * float64(time.Second)))
				if at.Sub(began) > d {
					return
				}
				time.Sleep(time.Until(at))
				if err := b.enqueue(ctx, s, n); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return fmt.Errorf("enqueuing: %w", *err)
	}
	n := b.accepted(next.Load())
	r.Tasks, r.EnqueueRate = n, float64(n)/time.Since(began).Seconds()
	if err := b.settle(ctx, s, n); err != nil {
		return err
	}
	r.setWaits(b.waits(n/5, n))
	return nil
}

// accepted is how many of the first tasks were called for: the callers end with a few numbers in hand.
func (b *book) accepted(handed int64) int64 {
	handed = min(handed, int64(len(b.called)))
	for handed > 0 && b.called[handed-1] == 0 {
		handed--
	}
	return handed
}

func (r *result) setWaits(waits []time.Duration) {
	r.P50, r.P99 = meter.MS(meter.Percentile(waits, 50)), meter.MS(meter.Percentile(waits, 99))
}
