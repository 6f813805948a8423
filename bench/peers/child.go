package peers

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"reax/bench/meter"
)

// gcPercent is that of reax serve, for every system alike.
const gcPercent = 400

// Child is one run in a process of its own, so that its memory is its own. It prints its result as JSON.
func Child(args []string) error {
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	name := flags.String("system", "reax", "key of the system")
	kind := flags.String("measure", string(throughput), "throughput, idle, half or stock")
	callers := flags.Int("callers", 64, "goroutines that enqueue")
	rate := flags.Float64("rate", 0, "tasks a second, of the measure half")
	n := flags.Int64("tasks", 20_000, "tasks of the measure throughput")
	d := flags.Duration("for", 2500*time.Millisecond, "how long the other measures take")
	dir := flags.String("dir", "", "an empty folder; empty makes one here and removes it")
	addr := flags.String("addr", "", "address of the server")
	data := flags.String("data", "", "data folder of the server")
	pid := flags.Int("pid", 0, "process id of the server")
	log := flags.Bool("log", false, "reax writes a line for each step of a task")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	stop, err := meter.Profile(*profile)
	if err != nil {
		return err
	}
	defer stop()
	v, err := byKey(*name)
	if err != nil {
		return err
	}
	if *dir == "" { // called by hand, to profile reax
		if *dir, err = os.MkdirTemp(".", "reax-peer-"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
	}
	p := plan{measure(*kind), *n, *rate, *d}
	b := newBook(p)
	s := settings{
		dir: *dir, callers: *callers, workers: workersFor(*callers), strict: v.strict, stock: measure(*kind) == stock,
		server: server{addr: *addr, data: *data, pid: *pid}, handle: b.handle, log: *log,
	}
	r, err := run(context.Background(), v, s, b, p)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// plan is what a run is to do.
type plan struct {
	measure measure
	tasks   int64   // of the measure throughput
	rate    float64 // of the measure half
	d       time.Duration
}

func run(ctx context.Context, v variant, s settings, b *book, p plan) (result, error) {
	var r result
	watch := meter.WatchServer(s.server.pid)
	sys, err := v.open(ctx, s)
	if err != nil {
		return r, fmt.Errorf("starting: %w", err)
	}
	switch p.measure {
	case throughput:
		err = b.throughput(ctx, sys, s.callers, p.tasks, &r)
	case half:
		err = b.paced(ctx, sys, s.callers, p.rate, p.d, &r)
	default:
		err = b.idle(ctx, sys, p.d, &r)
	}
	if err != nil {
		return r, err
	}
	r.Repeats = b.runs.Load() - r.Tasks
	r.Memory, r.Server = meter.PeakMB(), watch.Peak()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := sys.close(ctx); err != nil {
		return r, fmt.Errorf("stopping: %w", err)
	}
	r.Disk, err = sys.bytes()
	return r, err
}
