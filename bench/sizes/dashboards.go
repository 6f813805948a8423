package sizes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reax/bench/meter"
)

// dashboardsFor is how long the dashboards look.
const dashboardsFor = 8 * time.Second

// served is what the server of the dashboards says of itself at the end.
type served struct {
	Cores, Idle float64 // cores used with the dashboards, and with the tasks alone
	Memory      int64
	Waits       []time.Duration
}

// serveDashboards is reax under a light load. It says its address, serves until its input ends, and says what it used.
func serveDashboards(j job) error {
	r, err := open(j.ctx, j.dir, options{workers: 50, lasts: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	var s served
	var failed error
	var load sync.WaitGroup
	load.Go(func() { s.Waits, failed = r.probe(ctx, massType, 0, 300, time.Hour) })
	begun, before := time.Now(), meter.CPUTime()
	time.Sleep(2 * time.Second)
	s.Idle = (meter.CPUTime() - before).Seconds() / time.Since(begun).Seconds()
	r.taken()
	begun, before = time.Now(), meter.CPUTime()
	fmt.Println(r.base)
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Cores, s.Memory = (meter.CPUTime()-before).Seconds()/time.Since(begun).Seconds(), meter.PeakMB()
	cancel()
	load.Wait()
	if failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	s.Waits = append(s.Waits, r.taken()...)
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return err
	}
	return r.close()
}

// dashboards opens as many pages as browsers would, beside a server in a process of its own.
func dashboards(j job) (row, error) {
	var out row
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(j.ctx, self, "size", "-case", "dashboards", "-step", "serve", "-n", strconv.Itoa(j.size), "-dir", j.dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return out, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return out, err
	}
	if err := cmd.Start(); err != nil {
		return out, err
	}
	said := bufio.NewReader(pipe)
	base, err := said.ReadString('\n')
	if err != nil {
		return out, fmt.Errorf("the server did not start: %w", errors.Join(err, cmd.Wait()))
	}
	seen, failed := watch(j, strings.TrimSpace(base))
	_ = in.Close()
	var s served
	err = errors.Join(failed, json.NewDecoder(said).Decode(&s), cmd.Wait())
	if err != nil {
		return out, err
	}
	slices.Sort(seen.pulls)
	out.add("streams open", "%d", seen.streams.Load())
	out.add("events a second", "%s", meter.Count(float64(seen.events.Load())/dashboardsFor.Seconds()))
	out.add("updates asked for a second", "%s", meter.Count(float64(len(seen.pulls))/dashboardsFor.Seconds()))
	out.add("an update takes p50, ms", "%.1f", meter.MS(meter.Percentile(seen.pulls, 50)))
	out.add("p95", "%.1f", meter.MS(meter.Percentile(seen.pulls, 95)))
	out.waits("start of a task meanwhile", s.Waits)
	out.add("server's cores", "%.2f", s.Cores)
	out.add("without a dashboard", "%.2f", s.Idle)
	out.add("server's memory, MB", "%d", s.Memory)
	return out, nil
}

// seen is what the dashboards saw.
type seen struct {
	streams, events atomic.Int64
	mu              sync.Mutex
	pulls           []time.Duration
}

// watch has all dashboards look for a while.
func watch(j job, base string) (*seen, error) {
	ctx, cancel := context.WithTimeout(j.ctx, dashboardsFor)
	defer cancel()
	s := &seen{}
	errs := make([]error, j.size)
	var wg sync.WaitGroup
	for i := range j.size {
		wg.Go(func() { errs[i] = s.look(ctx, base) })
	}
	wg.Wait()
	return s, errors.Join(errs...)
}

var liveRegion = regexp.MustCompile(`data-live="([^"]+)" data-topics="([^"]+)"`)

// look is one page as its script does it: a stream, and 400 ms after news the regions that show it are asked for again.
func (s *seen) look(ctx context.Context, base string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	page, err := text(ctx, client, base+"/")
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/events", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream answered %s", resp.Status)
	}
	s.streams.Add(1)
	news := make(chan string, 1000)
	go func() {
		defer close(news)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if topics, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				s.events.Add(1)
				news <- topics
			}
		}
	}()
	dirty := map[string]bool{}
	for topics := range news {
		mark(dirty, page, topics)
		for wait := time.After(400 * time.Millisecond); wait != nil; {
			select {
			case more := <-news:
				mark(dirty, page, more)
			case <-wait:
				wait = nil
			}
		}
		if len(dirty) == 0 || ctx.Err() != nil {
			continue
		}
		names := make([]string, 0, len(dirty))
		for name := range dirty {
			names = append(names, name)
		}
		clear(dirty)
		took, err := get(ctx, client, base+"/", strings.Join(names, ","))
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		s.mu.Lock()
		s.pulls = append(s.pulls, took)
		s.mu.Unlock()
	}
	return nil
}

// mark notes the regions of a page that show one of the topics.
func mark(dirty map[string]bool, page, topics string) {
	for _, m := range liveRegion.FindAllStringSubmatch(page, -1) {
		for topic := range strings.SplitSeq(m[2], ",") {
			if slices.Contains(strings.Split(topics, ","), topic) {
				dirty[m[1]] = true
			}
		}
	}
}

func text(ctx context.Context, client *http.Client, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err == nil && !liveRegion.Match(all) {
		err = errors.New("the page has no region that changes by itself")
	}
	return string(all), err
}

// ignoreEnd is nil for what fails because the time is over.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
