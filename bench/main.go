// Command bench measures reax on the machine it runs on. "bench peers" measures it beside other task systems, "bench
// sizes" how it grows; each has flags of its own. Without such a word it measures what reax costs when it has nothing to
// do, and its pages.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"reax/actors"
	"reax/bench/meter"
	"reax/models"
	"reax/tasks"
)

func main() {
	if command(os.Args[1:]) {
		return
	}
	dir := flag.String("dir", ".", "folder for the database files; its disk is what is measured")
	only := flag.String("only", "", "comma-separated parts to run: idle, status, pages")
	var pages pagesConfig
	flag.IntVar(&pages.tasks, "pages-tasks", 5_000_000, "tasks in the file of the pages part, which runs only when it is named by -only")
	flag.StringVar(&pages.file, "pages-file", "", "the file of the pages part: kept, and used again when it is there")
	flag.IntVar(&pages.seconds, "pages-seconds", 120, "how long the pages part asks for pages")
	flag.IntVar(&pages.rate, "pages-rate", 20, "requests a second of the pages part")
	flag.IntVar(&pages.load, "pages-load", 500, "tasks a second that are enqueued and run meanwhile")
	flag.IntVar(&pages.streams, "pages-streams", 10, "event streams held open meanwhile")
	flag.StringVar(&pages.match, "pages-match", "", "ask only for addresses whose name holds this")
	flag.BoolVar(&pages.serve, "pages-serve", false, "serve the file of the pages part until interrupted")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the measured part to this file")
	flag.Parse()

	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as reax serve sets it
	}
	stop, err := meter.Profile(*profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
	defer stop()
	fmt.Println("reax on", meter.Machine())
	b := bench{root: *dir}
	for _, part := range []struct {
		name string
		run  func() error
	}{{"idle", b.idle}, {"status", b.status}} {
		if *only != "" && !strings.Contains(","+*only+",", ","+part.name+",") {
			continue
		}
		if err := part.run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", part.name, err)
			os.Exit(1)
		}
	}
	if *only == "pages" {
		if err := b.pages(pages); err != nil {
			fmt.Fprintf(os.Stderr, "pages: %v\n", err)
			os.Exit(1)
		}
	}
}

type bench struct{ root string }

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

// onLoopback serves a handler until the server is closed, and says at which address.
func onLoopback(h http.Handler) (server *http.Server, address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener)
	return server, listener.Addr().String(), nil
}
