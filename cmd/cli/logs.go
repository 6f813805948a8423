package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// followStep is how often logs -f looks for new lines.
const followStep = 500 * time.Millisecond

type logsCmd struct {
	ID      int64 `arg:"" name:"id" help:"The task's id."`
	Follow  bool  `short:"f" help:"Go on printing lines until the task is finished."`
	Attempt int   `placeholder:"N" help:"Which run's lines; the latest."`
	serverFlags
}

// logPage is what the commands read of a page of log lines.
type logPage struct {
	Attempt int `json:"attempt"`
	Lines   []struct {
		Seq   int        `json:"seq"`
		At    *time.Time `json:"at"`
		Level string     `json:"level"`
		Text  string     `json:"text"`
	} `json:"lines"`
	NextAfter *int `json:"next_after"` // nil when there are no more lines now
}

func (c *logsCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	attempt, after := c.Attempt, 0
	for {
		// The state is read before the lines, so that none is missed that came just before the end.
		done := true
		if c.Follow {
			answer, err := api.get(ctx, taskPath(c.ID), nil)
			if err != nil {
				return c.finish(a, err)
			}
			var t task
			if err := read(answer, &t); err != nil {
				return err
			}
			done = t.isFinal() || c.Attempt > 0 && c.Attempt < t.Attempt
			if c.Attempt == 0 && t.Attempt != attempt {
				if attempt > 0 { // the last lines of the run before
					if _, err := c.printNew(ctx, a, api, attempt, after); err != nil {
						return c.finish(a, err)
					}
				}
				attempt, after = t.Attempt, 0
			}
		}
		if after, err = c.printNew(ctx, a, api, attempt, after); err != nil {
			return c.finish(a, err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("following task %d: %w", c.ID, context.Cause(ctx))
		case <-time.After(followStep):
		}
	}
}

// printNew prints the lines of a run after line number after, and returns the number of the last one.
func (c *logsCmd) printNew(ctx context.Context, a *app, api *client, attempt, after int) (int, error) {
	for {
		query := url.Values{}
		if attempt > 0 {
			query.Set("attempt", strconv.Itoa(attempt))
		}
		if after > 0 {
			query.Set("after", strconv.Itoa(after))
		}
		answer, err := api.get(ctx, taskPath(c.ID)+"/logs", query)
		if err != nil {
			return after, err
		}
		var page logPage
		if err := read(answer, &page); err != nil {
			return after, err
		}
		if c.JSON && (len(page.Lines) > 0 || !c.Follow) {
			fmt.Fprintf(a.stdout, "%s\n", answer)
		}
		for _, line := range page.Lines {
			after = max(after, line.Seq)
			if !c.JSON {
				fmt.Fprintln(a.stdout, at(line.At), fmt.Sprintf("%-6s", cleanLine(line.Level)), cleanLine(line.Text))
			}
		}
		if page.NextAfter == nil || *page.NextAfter < after {
			return after, nil
		}
	}
}
