package peers

import "fmt"

// measure is a kind of run.
type measure string

const (
	throughput measure = "throughput" // as fast as the callers can
	idle       measure = "idle"       // one task at a time
	half       measure = "half"       // at half of the rate that the system reached with 64 callers
	stock      measure = "stock"      // idle, with the polling of a system that is told nothing
)

// result is what one run has found. Rates are tasks a second, times milliseconds, memory MB.
type result struct {
	Tasks       int64
	Refused     int64 // enqueues that had to be tried again
	Repeats     int64 // runs beyond one a task
	EnqueueRate float64
	DoneRate    float64
	P50, P99    float64 // from the call of enqueue to the start of the handler
	Memory      int64   // of the process, at its peak
	Server      int64   // of Redis or PostgreSQL, at its peak
	Disk        int64   // bytes, after a stop in order
	Error       string  `json:",omitempty"`
}

// line says the result while the rest goes on.
func (r result) line(m measure) string {
	switch {
	case r.Error != "":
		return r.Error
	case m == throughput:
		return fmt.Sprintf("%8.0f enqueued/s %8.0f done/s, %d tasks, %d+%d MB, %d B a task", r.EnqueueRate, r.DoneRate, r.Tasks, r.Memory, r.Server, r.Disk/max(r.Tasks, 1))
	}
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, %d tasks", r.P50, r.P99, r.Tasks)
}

// key is what runs have in common that count as one figure.
type key struct {
	system  string
	measure measure
	callers int
}

// results are all runs of an invocation.
type results map[key][]result

// values are one figure of the runs that succeeded.
func (rs results) values(k key, of func(result) float64) []float64 {
	var out []float64
	for _, r := range rs[k] {
		if r.Error == "" {
			out = append(out, of(r))
		}
	}
	return out
}
