// Command bench measures reax on the machine it runs on: durable throughput, pick-up time when idle, a backlog of a
// million tasks, and what it costs when it has nothing to do. The handler does nothing, so every figure is reax's own.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

// params is what every task carries: about 60 bytes.
var params = json.RawMessage(`{"user_id": 1001, "date": "2026-11-29", "note": "bench run"}`)

func main() {
	dir := flag.String("dir", ".", "folder for the database files; its disk is what is measured")
	only := flag.String("only", "", "comma-separated parts to run: throughput, pickup, backlog, idle")
	runs := flag.Int("runs", 5, "runs of each throughput figure; the median counts")
	tasksPerRun := flag.Int("tasks", 0, "tasks in a throughput run; 0 takes about three seconds' worth")
	callers := flag.Int("callers", 0, "run the throughput part with this many callers only")
	backlog := flag.Int("backlog", 1_000_000, "pending tasks of the backlog part")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the measured part to this file")
	flag.Parse()

	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as reax serve sets it
	}
	stop := startProfile(*profile)
	defer stop()
	fmt.Printf("reax on %s, %d cores, %s\n", runtime.Version(), runtime.GOMAXPROCS(0), cpuModel())
	b := bench{root: *dir, runs: *runs, tasks: *tasksPerRun, callers: *callers, backlog: *backlog}
	for _, part := range []struct {
		name string
		run  func() error
	}{{"throughput", b.throughput}, {"pickup", b.pickup}, {"idle", b.idle}, {"backlog", b.backlogged}} {
		if *only != "" && !strings.Contains(","+*only+",", ","+part.name+",") {
			continue
		}
		if err := part.run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", part.name, err)
			os.Exit(1)
		}
	}
}

type bench struct {
	root    string
	runs    int
	tasks   int
	callers int
	backlog int
}

// system is one runtime on a database of its own.
type system struct {
	*actors.Runtime
	store *models.Store
	path  string
}

func (b bench) open(path string, workers int, h tasks.Handler) (*system, error) {
	registry := tasks.NewRegistry()
	policy := tasks.DefaultPolicy()
	policy.Concurrency = workers
	err := registry.Add(tasks.Definition{Name: "bench.noop", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: policy, Handler: h})
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	store, err := models.Open(context.Background(), models.Config{Path: path, Durability: models.DurabilityFull, Logger: quiet})
	if err != nil {
		return nil, err
	}
	r, err := actors.Start(context.Background(), store, registry, actors.Options{Logger: quiet})
	if err != nil {
		return nil, err
	}
	return &system{Runtime: r, store: store, path: path}, nil
}

func (s *system) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return s.store.Close()
}

// folder makes a folder for one measurement, and the function that removes it.
func (b bench) folder() (string, func(), error) {
	dir, err := os.MkdirTemp(b.root, "reax-bench-")
	return dir, func() { os.RemoveAll(dir) }, err
}

func database(dir string) string { return filepath.Join(dir, "reax.db") }

func startProfile(path string) func() {
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
