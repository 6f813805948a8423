package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"reax/bench/meter"
)

// report is what is written of an invocation.
type report struct {
	Machine string
	Load    string // of the machine, before the first run
	Peers   string // versions
	Began   time.Time
	Took    time.Duration
	Runs    int
	For     time.Duration
	Systems []string // keys of variants
	Callers []int
	All     []line
	results results
}

// line is the runs of one figure, as they are saved.
type line struct {
	System  string
	Measure measure
	Callers int
	Runs    []result
}

func newReport(ctx context.Context, c config, vs []variant, rs results) *report {
	r := &report{
		Machine: meter.Machine(), Load: meter.Load(), Peers: versions(ctx), Began: time.Now(), Runs: c.runs, For: c.duration,
		Callers: c.callers, results: rs,
	}
	for _, v := range vs {
		r.Systems = append(r.Systems, v.Key)
	}
	return r
}

// versions names those of the libraries and of the servers.
func versions(ctx context.Context) string {
	var words []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/hibiken/asynq", "github.com/riverqueue/river", "maragu.dev/goqite", "github.com/mikestefanello/backlite":
				words = append(words, filepath.Base(m.Path)+" "+m.Version)
			}
		}
	}
	if out, err := exec.CommandContext(ctx, "redis-server", "--version").Output(); err == nil {
		for word := range strings.FieldsSeq(string(out)) {
			if v, ok := strings.CutPrefix(word, "v="); ok {
				words = append(words, "Redis "+v)
			}
		}
	}
	if bin, err := postgresPrograms(); err == nil {
		if out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output(); err == nil {
			words = append(words, "PostgreSQL "+strings.Fields(string(out))[2])
		}
	}
	return strings.Join(words, ", ")
}

func (r *report) finish() { r.Took = time.Since(r.Began) }

func (r *report) save(path string) error {
	for k, runs := range r.results {
		r.All = append(r.All, line{k.system, k.measure, k.callers, runs})
	}
	slices.SortFunc(r.All, func(a, b line) int {
		return strings.Compare(fmt.Sprint(a.System, a.Measure, a.Callers), fmt.Sprint(b.System, b.Measure, b.Callers))
	})
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func loadReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{results: results{}}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the runs in %s: %w", path, err)
	}
	for _, l := range r.All {
		r.results[key{l.System, l.Measure, l.Callers}] = l.Runs
	}
	return r, nil
}

// publish prints the tables, and writes them and the chart into docs unless that is empty.
func (r *report) publish(docs string) error {
	text := r.markdown()
	fmt.Println(text)
	if docs == "" {
		return nil
	}
	chart := r.chart()
	if err := os.WriteFile(filepath.Join(docs, "img", "peers.svg"), []byte(chart), 0o644); err != nil {
		return err
	}
	return meter.WriteSection(filepath.Join(docs, "performance.md"), "peers", text)
}
