// Package sizes measures how reax grows with its work: each figure at several sizes of one thing, and not at one.
package sizes

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reax/bench/meter"
)

// row is one size of a case and what was measured there.
type row struct {
	Size  int
	Cells []cell
}

// cell is one figure, as the table shows it.
type cell struct{ Name, Text string }

// job is what one process is to do.
type job struct {
	ctx   context.Context
	size  int
	dir   string // the folder of the database
	began time.Time
}

// kase is one thing that grows.
type kase struct {
	name  string
	title string
	of    string // what the size counts
	sizes []int
	kept  bool // the sizes share one file, which a process of its own has filled
	fill  func(job) error
	run   func(job) (row, error)
	apart time.Duration // when set, the sizes run at once, their starts so far apart
}

var kases = []kase{
	{
		name: "pending", title: "Waiting tasks of one type, 50 workers, a fresh process on that file", of: "pending",
		sizes: []int{10_000, 100_000, 1_000_000, 10_000_000}, kept: true, fill: fillPending, run: pending,
	},
	{
		name: "finished", title: "Finished tasks, while retention deletes them and 200 tasks a second are enqueued and run", of: "finished",
		sizes: []int{100_000, 1_000_000, 5_000_000}, fill: fillFinished, run: finished, apart: 20 * time.Second,
	},
	{name: "delayed", title: "Delayed tasks, all due in the same second, 50 workers", of: "delayed", sizes: []int{1_000, 10_000, 100_000}, run: delayed},
	{
		name: "workers", title: "Workers of one type, each run 100 ms long; tasks come at half of what they can do, 4,000 a second at most", of: "workers",
		sizes: []int{10, 100, 1_000}, run: workers,
	},
	{name: "schedules", title: "Schedules, all due every 10 s at the same moment", of: "schedules", sizes: []int{100, 1_000, 10_000}, run: schedules},
	{
		name: "dashboards", title: "Overviews with live updates in as many browsers, while 300 tasks a second run", of: "dashboards",
		sizes: []int{1, 50, 200}, run: dashboards,
	},
}

func caseOf(name string) (kase, error) {
	for _, k := range kases {
		if k.name == name {
			return k, nil
		}
	}
	return kase{}, fmt.Errorf("there is no case %q", name)
}

// config is what the flags say.
type config struct {
	cases string
	scale float64
	root  string
	docs  string
}

// Main measures what the arguments ask for, each size in a process of its own, and prints a table a case.
func Main(ctx context.Context, args []string) error {
	var c config
	flags := flag.NewFlagSet("sizes", flag.ContinueOnError)
	flags.StringVar(&c.cases, "cases", "pending,finished,delayed,workers,schedules,dashboards", "what to measure")
	flags.Float64Var(&c.scale, "scale", 1, "multiplies every size; 0.01 is for a quick look")
	flags.StringVar(&c.root, "dir", "/var/tmp", "folder for the databases; 10,000,000 tasks take 4 GB")
	flags.StringVar(&c.docs, "docs", "", "the folder docs, whose tables are written anew; empty only prints")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.root, "reax-sizes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	var text strings.Builder
	load := meter.Load()
	for name := range strings.SplitSeq(c.cases, ",") {
		k, err := caseOf(name)
		if err != nil {
			return err
		}
		rows, err := c.rows(ctx, k, filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		writeTable(&text, k, rows)
	}
	head := fmt.Sprintf("Measured on %s; load of the machine before it %s; %s in all. Memory is the process's at its peak.\n", meter.Machine(), load, meter.Span(time.Since(began)))
	fmt.Println(head + text.String())
	if c.docs == "" {
		return nil
	}
	return meter.WriteSection(filepath.Join(c.docs, "performance.md"), "sizes", head+text.String())
}

// rows measures every size of a case.
func (c config) rows(ctx context.Context, k kase, dir string) ([]row, error) {
	defer os.RemoveAll(dir)
	rows, errs := make([]row, len(k.sizes)), make([]error, len(k.sizes))
	folder := func(i int) string {
		if k.kept {
			return dir
		}
		return filepath.Join(dir, strconv.Itoa(i))
	}
	size := func(i int) int { return max(int(float64(k.sizes[i])*c.scale), 1) }
	prepare := func(i int) error {
		if err := os.MkdirAll(folder(i), 0o700); err != nil || k.fill == nil {
			return err
		}
		_, err := process(ctx, k.name, "fill", size(i), folder(i))
		return err
	}
	measure := func(i int) {
		rows[i], errs[i] = process(ctx, k.name, "run", size(i), folder(i))
		fmt.Fprintln(os.Stderr, k.name, rows[i], errs[i])
	}
	var wg sync.WaitGroup
	for i := range k.sizes {
		if err := prepare(i); err != nil {
			return nil, err
		}
		if k.apart == 0 {
			measure(i)
		}
	}
	for i := range k.sizes {
		if k.apart > 0 {
			wg.Go(func() { measure(i) })
			select {
			case <-time.After(k.apart):
			case <-ctx.Done():
			}
		}
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("with %d: %w", size(i), err)
		}
	}
	return rows, nil
}

// process does one step of a case in a process of its own.
func process(ctx context.Context, name, step string, size int, dir string) (row, error) {
	self, err := os.Executable()
	if err != nil {
		return row{}, err
	}
	cmd := exec.CommandContext(ctx, self, "size", "-case", name, "-step", step, "-n", strconv.Itoa(size), "-dir", dir, "-began", strconv.FormatInt(time.Now().UnixNano(), 10))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return row{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	var r row
	if step == "fill" {
		return r, nil
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}

func writeTable(b *strings.Builder, k kase, rows []row) {
	fmt.Fprintf(b, "\n%s:\n\n| %s |", k.title, k.of)
	for _, c := range rows[0].Cells {
		fmt.Fprintf(b, " %s |", c.Name)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(rows[0].Cells)+1) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", meter.Count(float64(r.Size)))
		for _, c := range r.Cells {
			fmt.Fprintf(b, " %s |", c.Text)
		}
		b.WriteString("\n")
	}
}

// Child does one step in this process, and prints its row as JSON.
func Child(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	name := flags.String("case", "", "the case")
	step := flags.String("step", "run", "fill, run or serve")
	n := flags.Int("n", 1, "the size")
	dir := flags.String("dir", "", "folder of the database")
	began := flags.Int64("began", 0, "when the process was started, Unix nanoseconds")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	stop, err := meter.Profile(*profile)
	if err != nil {
		return err
	}
	defer stop()
	k, err := caseOf(*name)
	if err != nil {
		return err
	}
	j := job{ctx: ctx, size: *n, dir: *dir, began: time.Unix(0, *began)}
	switch *step {
	case "fill":
		return k.fill(j)
	case "serve":
		return serveDashboards(j)
	}
	r, err := k.run(j)
	if err != nil {
		return err
	}
	r.Size = *n
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (r *row) add(name, format string, args ...any) {
	r.Cells = append(r.Cells, cell{name, fmt.Sprintf(format, args...)})
}

// waits adds the median and the 99th percentile of times.
func (r *row) waits(name string, times []time.Duration) {
	slices.Sort(times)
	r.add(name+" p50, ms", "%.1f", meter.MS(meter.Percentile(times, 50)))
	r.add("p99", "%.1f", meter.MS(meter.Percentile(times, 99)))
}
