package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

type typesCmd struct {
	serverFlags
}

func (c *typesCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, apiPath+"/types", nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Types []typeAnswer `json:"types"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	var rows [][]string
	for _, t := range page.Types {
		state := "on"
		switch {
		case !t.Registered:
			state = "no handler"
		case t.Paused:
			state = "paused"
		}
		rows = append(rows, []string{t.Name, t.Kind, state, fmt.Sprintf("%d/%d", t.Pool.Busy, t.Pool.Concurrency),
			strconv.FormatInt(t.Pool.Ready, 10), cut(cleanLine(t.Description), noteWidth)})
	}
	return table(a.stdout, []string{"TYPE", "KIND", "STATE", "BUSY", "READY", "DESCRIPTION"}, rows)
}

// typeFlags name the task type to change, and why.
type typeFlags struct {
	Type   string `arg:"" help:"The task type."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

type (
	pauseCmd  struct{ typeFlags }
	resumeCmd struct{ typeFlags }
	resizeCmd struct {
		Type string `arg:"" help:"The task type."`
		N    int    `arg:"" name:"n" help:"How many tasks run at one time."`
		serverFlags
	}
)

func (c *pauseCmd) Run(ctx context.Context, a *app) error {
	return c.set(ctx, a, http.MethodPost, typePath(c.Type)+"/pause", reasonBody{c.Reason}, c.Type+" is paused: what runs goes on, nothing new starts")
}

func (c *resumeCmd) Run(ctx context.Context, a *app) error {
	return c.set(ctx, a, http.MethodPost, typePath(c.Type)+"/resume", reasonBody{c.Reason}, c.Type+" starts tasks again")
}

func (c *resizeCmd) Run(ctx context.Context, a *app) error {
	body := map[string]int{"concurrency": c.N}
	return c.set(ctx, a, http.MethodPatch, typePath(c.Type), body, fmt.Sprintf("%s runs up to %d tasks at one time", c.Type, c.N))
}

func typePath(name string) string { return apiPath + "/types/" + url.PathEscape(name) }

// set changes something and says what is true now.
func (f serverFlags) set(ctx context.Context, a *app, method, path string, body any, done string) error {
	api, err := f.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, method, path, nil, body)
	if err != nil || f.JSON {
		return f.printed(a, answer, err)
	}
	_, err = fmt.Fprintln(a.stdout, cleanLine(done))
	return err
}

type statusCmd struct {
	serverFlags
}

// health is what the commands read of /healthz.
type health struct {
	Status       string   `json:"status"`
	Backlog      int64    `json:"backlog"`
	OldestWaitS  float64  `json:"oldest_wait_s"`
	WorkersBusy  int      `json:"workers_busy"`
	WorkersTotal int      `json:"workers_total"`
	SuccessRate  *float64 `json:"success_rate_5m"`
	Reasons      []string `json:"reasons"`
}

// Run prints how the server is. A server that is not ok answers 503 with the same body, which is no error here.
func (c *statusCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, status, err := api.exchange(ctx, http.MethodGet, "/healthz", nil, nil)
	if err != nil {
		return err
	}
	var h health
	if json.Unmarshal(answer, &h) != nil || h.Status == "" {
		return fmt.Errorf("what answers at %s is not a reax server: it answered %d %s", api.where, status, http.StatusText(status))
	}
	stats, err := api.get(ctx, apiPath+"/stats", nil)
	if err != nil && h.Status == "ok" {
		return c.finish(a, err)
	}
	if c.JSON {
		if stats == nil {
			stats = json.RawMessage("null")
		}
		fmt.Fprintf(a.stdout, "{\"health\":%s,\"stats\":%s}\n", answer, stats)
	} else {
		h.print(a, stats)
	}
	if h.Status != "ok" {
		return errQuiet
	}
	return nil
}

func (h *health) print(a *app, stats json.RawMessage) {
	fmt.Fprintf(a.stdout, "status   %s\n", cleanLine(h.Status))
	for _, reason := range h.Reasons {
		fmt.Fprintf(a.stdout, "         %s\n", cleanLine(reason))
	}
	fmt.Fprintf(a.stdout, "backlog  %d ready, the oldest for %.1f s\n", h.Backlog, h.OldestWaitS)
	fmt.Fprintf(a.stdout, "workers  %d of %d busy\n", h.WorkersBusy, h.WorkersTotal)
	if h.SuccessRate != nil {
		fmt.Fprintf(a.stdout, "success  %.1f%% of the runs of the last 5 minutes\n", *h.SuccessRate*100)
	}
	var s struct {
		Counts map[string]int64 `json:"counts"`
	}
	if json.Unmarshal(stats, &s) == nil && len(s.Counts) > 0 {
		line := "tasks   "
		for _, state := range []string{"pending", "running", "retry_wait", "success", "failed", "dead", "cancelled"} {
			line += fmt.Sprintf(" %d %s ·", s.Counts[state], state)
		}
		fmt.Fprintln(a.stdout, line[:len(line)-len(" ·")])
	}
}
