package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// countFirst is how many tasks the first run has, from whose rate the others are counted out.
const countFirst = 1000

// config is what the flags of bench peers say.
type config struct {
	systems  string
	callers  []int
	measures string
	runs     int
	duration time.Duration
	root     string
	docs     string
	load     string
	save     string
	log      bool
}

func parse(args []string) (config, error) {
	var c config
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.StringVar(&c.systems, "systems", "", "comma-separated beginnings of the systems' keys: reax, asynq, river, goqite, backlite; empty means all")
	callers := flags.String("callers", "8,64,512", "callers of the throughput runs; 512 go with 200 workers, fewer with 50")
	flags.StringVar(&c.measures, "measures", "throughput,idle,half,stock", "what to measure")
	flags.IntVar(&c.runs, "runs", 3, "rounds; the median of a figure counts")
	flags.DurationVar(&c.duration, "for", 3*time.Second, "about how long one run takes; tasks are counted out for it by runs that are thrown away")
	flags.StringVar(&c.root, "dir", "/var/tmp", "folder for the data; its disk is what is measured")
	flags.StringVar(&c.docs, "docs", "", "the folder docs, whose table and chart are written anew; empty only prints")
	flags.StringVar(&c.save, "save", "", "also write all runs to this file")
	flags.BoolVar(&c.log, "log", false, "reax writes a line of log for each step of a task, as its server does; without it, none")
	flags.StringVar(&c.load, "load", "", "measure nothing: take the runs of such a file")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	for word := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return c, fmt.Errorf("-callers takes whole numbers, not %q", word)
		}
		c.callers = append(c.callers, n)
	}
	if c.runs < 1 {
		return c, errors.New("-runs is at least 1")
	}
	return c, nil
}

func (c config) wants(m measure) bool {
	return slices.Contains(strings.Split(c.measures, ","), string(m))
}

// bench is one invocation.
type bench struct {
	config
	dir      string // for all of its data
	postgres server
	results  results
	sized    map[key]int64 // tasks of a throughput run
	counter  int
}

// Main measures what the arguments ask for, and prints it.
func Main(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	vs, err := chosen(c.systems)
	if err != nil {
		return err
	}
	if c.load != "" {
		rep, err := loadReport(c.load)
		if err != nil {
			return err
		}
		return rep.publish(c.docs)
	}
	dir, err := os.MkdirTemp(c.root, "reax-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // the user postgres has a folder in it
		return err
	}
	b := &bench{config: c, dir: dir, results: results{}, sized: map[key]int64{}}
	if slices.ContainsFunc(vs, func(v variant) bool { return v.needs == "postgres" }) {
		if b.postgres, err = startPostgres(ctx, dir); err != nil {
			return err
		}
		defer b.postgres.stop()
	}
	rep := newReport(ctx, c, vs, b.results)
	for round := range c.runs {
		for _, v := range vs {
			b.round(ctx, v, round)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d after %s\n", round+1, c.runs, time.Since(rep.Began).Round(time.Second))
	}
	rep.finish()
	if c.save != "" {
		if err := rep.save(c.save); err != nil {
			return err
		}
	}
	return rep.publish(c.docs)
}

// round runs everything of one system once.
func (b *bench) round(ctx context.Context, v variant, round int) {
	if b.wants(throughput) {
		for _, n := range b.callers {
			b.count(ctx, v, key{v.Key, throughput, n})
			b.one(ctx, v, key{v.Key, throughput, n}, 0)
		}
	}
	if b.wants(idle) {
		b.one(ctx, v, key{v.Key, idle, 1}, 0)
	}
	if rates := b.results.values(key{v.Key, throughput, 64}, func(r result) float64 { return r.DoneRate }); b.wants(half) && len(rates) > 0 {
		b.one(ctx, v, key{v.Key, half, 64}, rates[0]/2)
	}
	if b.wants(stock) && v.polls != "" && v.strict && round == 0 {
		b.one(ctx, v, key{v.Key, stock, 1}, 0)
	}
}

// count finds out how many tasks make a throughput run of about the right length.
func (b *bench) count(ctx context.Context, v variant, k key) {
	if b.sized[k] > 0 {
		return
	}
	b.sized[k] = countFirst
	for range 2 {
		r, err := b.subprocess(ctx, v, k, 0)
		if err != nil {
			return // the run that counts will fail likewise, and say so
		}
		short := float64(b.sized[k])/r.DoneRate < 0.5
		b.sized[k] = max(int64(r.DoneRate*b.duration.Seconds()), countFirst/4)
		if !short {
			return
		}
	}
}

// one does a run and keeps its result; a run that failed is kept as its error.
func (b *bench) one(ctx context.Context, v variant, k key, rate float64) {
	if ctx.Err() != nil {
		return
	}
	r, err := b.subprocess(ctx, v, k, rate)
	if err != nil {
		r = result{Error: err.Error()}
	}
	b.results[k] = append(b.results[k], r)
	fmt.Fprintf(os.Stderr, "%-20s %-10s %3d callers  %s\n", k.system, k.measure, k.callers, r.line(k.measure))
}

func (b *bench) subprocess(ctx context.Context, v variant, k key, rate float64) (result, error) {
	b.counter++
	dir := filepath.Join(b.dir, fmt.Sprintf("run-%d", b.counter))
	store := filepath.Join(dir, "store")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	srv := b.postgres
	switch v.needs {
	case "redis":
		fsync := "everysec"
		if v.strict {
			fsync = "always"
		}
		var err error
		if srv, err = startRedis(ctx, dir, fsync); err != nil {
			return result{}, err
		}
		defer srv.stop()
	case "":
		srv = server{}
	}
	d := b.duration
	if k.measure == stock {
		d *= 4 // most of it is waiting
	}
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	cmd := exec.CommandContext(ctx, self, "peer", "-system", v.Key, "-measure", string(k.measure), "-callers", strconv.Itoa(k.callers),
		"-tasks", strconv.FormatInt(b.sized[k], 10), "-rate", fmt.Sprint(rate), "-for", d.String(), "-dir", store, "-addr", srv.addr, "-data", srv.data, "-pid", strconv.Itoa(srv.pid), "-log="+strconv.FormatBool(b.log))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, lastLine(errs.String()))
	}
	var r result
	return r, json.Unmarshal(out.Bytes(), &r)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
