package sizes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"reax/bench/meter"
)

// addresses are the pages and lists that each size is asked for.
var addresses = []string{
	"/", "/tasks", "/tasks?state=pending", "/tasks?state=success", "/tasks?state=dead&type=" + massType, "/types", "/types/" + massType, "/schedules", "/dead",
	"/api/v1/tasks?state=pending", "/api/v1/stats",
}

// get asks once. An answer that is not 200 is an error.
func get(ctx context.Context, client *http.Client, address, fragments string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	if fragments != "" {
		req.Header.Set("X-Reax-Fragments", fragments)
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answered %s", address, resp.Status)
	}
	return time.Since(began), nil
}

// pages adds how long all addresses take, asked one after another, and which has the worst median.
func (r *rig) pages(ctx context.Context, into *row) error {
	const rounds = 8
	var all []time.Duration
	var worst time.Duration
	var name string
	for _, a := range addresses {
		var own []time.Duration
		for range rounds {
			took, err := get(ctx, http.DefaultClient, r.base+a, "")
			if err != nil {
				return err
			}
			own = append(own, took)
		}
		all = append(all, own...)
		slices.Sort(own)
		if m := meter.Percentile(own, 50); m > worst {
			worst, name = m, a
		}
	}
	slices.Sort(all)
	into.add("pages p50, ms", "%.1f", meter.MS(meter.Percentile(all, 50)))
	into.add("p95", "%.1f", meter.MS(meter.Percentile(all, 95)))
	into.add("slowest page, its p50", "`%s` %.1f", name, meter.MS(worst))
	return nil
}
