package peers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"reax/bench/meter"
)

// markdown is the section of the documentation that this invocation can fill.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s; load of the machine before it %s; %s. Medians of %d runs, taken in turn, of about %s each; %s in all.\n\n",
		r.Machine, r.Load, r.Peers, r.Runs, r.For, meter.Span(r.Took))
	b.WriteString("![Tasks a second, by system and number of callers](img/peers.svg)\n\n")
	for _, callers := range r.Callers {
		r.throughputTable(&b, callers)
	}
	r.latencyTable(&b)
	r.costTable(&b)
	b.WriteString("| system | settings |\n|---|---|\n")
	for _, v := range r.variants() {
		fmt.Fprintf(&b, "| %s | %s |\n", v.Name, v.Says)
	}
	r.failures(&b)
	return b.String()
}

func (r *report) variants() []variant {
	var vs []variant
	for _, name := range r.Systems {
		if v, err := byKey(name); err == nil {
			vs = append(vs, v)
		}
	}
	return vs
}

func doneRate(r result) float64    { return r.DoneRate }
func enqueueRate(r result) float64 { return r.EnqueueRate }

func (r *report) throughputTable(b *strings.Builder, callers int) {
	fmt.Fprintf(b, "%d callers, %d workers:\n\n| system | enqueued/s | done/s | least | most | reax is faster |\n|---|---|---|---|---|---|\n", callers, workersFor(callers))
	own := meter.Median(r.results.values(key{"reax", throughput, callers}, doneRate))
	for _, v := range r.variants() {
		k := key{v.Key, throughput, callers}
		done := r.results.values(k, doneRate)
		if len(done) == 0 {
			fmt.Fprintf(b, "| %s | - | - | - | - | - |\n", v.Name)
			continue
		}
		times := "-"
		if v.Key != "reax" && own > 0 {
			times = strconv.FormatFloat(own/meter.Median(done), 'f', 1, 64) + "x"
		}
		low, high := extremes(done)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", v.Name, meter.Count(meter.Median(r.results.values(k, enqueueRate))),
			meter.Count(meter.Median(done)), meter.Count(low), meter.Count(high), times)
	}
	b.WriteString("\n")
}

func extremes(values []float64) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

func (r *report) latencyTable(b *strings.Builder) {
	b.WriteString("From the call of enqueue to the start of the handler, in milliseconds; half load is half of the system's own done/s with 64 callers:\n\n")
	b.WriteString("| system | idle p50 | p99 | half load, tasks/s | p50 | p99 | idle p50 with the polling it has when told nothing |\n|---|---|---|---|---|---|---|\n")
	for _, v := range r.variants() {
		cell := func(m measure, callers int, of func(result) float64, format func(float64) string) string {
			values := r.results.values(key{v.Key, m, callers}, of)
			if len(values) == 0 {
				return "-"
			}
			return format(meter.Median(values))
		}
		p50 := func(r result) float64 { return r.P50 }
		p99 := func(r result) float64 { return r.P99 }
		polls := "does not poll"
		if v.polls != "" {
			polls = cell(stock, 1, p50, millis)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", v.Name, cell(idle, 1, p50, millis), cell(idle, 1, p99, millis),
			cell(half, 64, enqueueRate, meter.Count), cell(half, 64, p50, millis), cell(half, 64, p99, millis), polls)
	}
	b.WriteString("\n")
}

func millis(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 2, 64)
	}
	return meter.Count(ms)
}

// costTable tells what the throughput runs with the most callers cost.
func (r *report) costTable(b *strings.Builder) {
	callers := 0
	for _, n := range r.Callers {
		callers = max(callers, n)
	}
	fmt.Fprintf(b, "With %d callers; the disk is what the store takes after a stop in order, over the tasks (PostgreSQL without its log):\n\n", callers)
	b.WriteString("| system | peak memory, MB | of its server | bytes on the disk a task | finished tasks are |\n|---|---|---|---|---|\n")
	for _, v := range r.variants() {
		k := key{v.Key, throughput, callers}
		if len(r.results.values(k, doneRate)) == 0 {
			continue
		}
		server := "-"
		if v.needs != "" {
			server = meter.Count(meter.Median(r.results.values(k, func(r result) float64 { return float64(r.Server) })))
		}
		kept := "gone"
		if strings.HasPrefix(v.Key, "reax") || strings.HasPrefix(v.Key, "river") {
			kept = "kept"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.Name, meter.Count(meter.Median(r.results.values(k, func(r result) float64 { return float64(r.Memory) }))),
			server, meter.Count(meter.Median(r.results.values(k, func(r result) float64 { return float64(r.Disk) / float64(max(r.Tasks, 1)) }))), kept)
	}
	b.WriteString("\n")
}

// failures names the runs that failed, and what was tried or run more than once.
func (r *report) failures(b *strings.Builder) {
	var said []string
	for _, v := range r.variants() {
		var failed, refused, repeats int64
		var last string
		for k, runs := range r.results {
			if k.system != v.Key {
				continue
			}
			for _, run := range runs {
				refused, repeats = refused+run.Refused, repeats+run.Repeats
				if run.Error != "" {
					failed, last = failed+1, run.Error
				}
			}
		}
		if failed > 0 {
			said = append(said, fmt.Sprintf("- %s: failed runs: %d, one of them with: %s", v.Name, failed, last))
		}
		if refused+repeats > 0 {
			said = append(said, fmt.Sprintf("- %s: enqueues that were tried again after an error: %d; runs that repeated a task: %d", v.Name, refused, repeats))
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(said, "\n"))
	}
}
