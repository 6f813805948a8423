package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	followStep    = 100 * time.Millisecond // by which the pause grows before a stream that broke off is asked for again
	followPause   = 2 * time.Second        // the longest
	followTries   = 40                     // in a row: a minute, in which a server can be started again
	followSilence = 45 * time.Second       // a server that is there says so every 15 s
	maxEventBytes = 1 << 20
)

type logsCmd struct {
	ID      int64 `arg:"" name:"id" help:"The task's id."`
	Follow  bool  `short:"f" help:"Go on printing lines until the task is finished, over all its runs; with --attempt, until that run has ended."`
	Attempt int   `placeholder:"N" help:"Which run's lines; the latest."`
	serverFlags
}

// logEntry is a line of a log as the API gives it.
type logEntry struct {
	Seq   int        `json:"seq"`
	At    *time.Time `json:"at"`
	Level string     `json:"level"`
	Text  string     `json:"text"`
}

// logPage is what the commands read of a page of log lines.
type logPage struct {
	Attempt   int        `json:"attempt"`
	Lines     []logEntry `json:"lines"`
	NextAfter *int       `json:"next_after"` // nil when there are no more lines now
}

func (c *logsCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	if c.Follow {
		return c.finish(a, c.follow(ctx, a, api))
	}
	return c.finish(a, c.print(ctx, a, api))
}

// print prints the lines that there are now.
func (c *logsCmd) print(ctx context.Context, a *app, api *client) error {
	after := 0
	for {
		answer, err := api.get(ctx, taskPath(c.ID)+"/logs", logQuery(c.Attempt, after))
		if err != nil {
			return err
		}
		var page logPage
		if err := read(answer, &page); err != nil {
			return err
		}
		if c.JSON {
			fmt.Fprintf(a.stdout, "%s\n", answer)
		}
		for _, line := range page.Lines {
			after = max(after, line.Seq)
			c.printLine(a, line)
		}
		if page.NextAfter == nil || *page.NextAfter < after {
			return nil
		}
	}
}

func (c *logsCmd) printLine(a *app, line logEntry) {
	if !c.JSON {
		fmt.Fprintln(a.stdout, at(line.At), fmt.Sprintf("%-6s", cleanLine(line.Level)), cleanLine(line.Text))
	}
}

func logQuery(attempt, after int) url.Values {
	query := url.Values{}
	if attempt > 0 {
		query.Set("attempt", strconv.Itoa(attempt))
	}
	if after > 0 {
		query.Set("after", strconv.Itoa(after))
	}
	return query
}

// follow prints the lines of one run after the other as they come, until nothing more can. A stream that breaks off is
// asked for again from where it was.
func (c *logsCmd) follow(ctx context.Context, a *app, api *client) error {
	f := &logFollow{logsCmd: c, app: a, attempt: c.Attempt}
	for failures := 0; ; {
		began := f.events
		end, err := f.stream(ctx, api)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("following task %d: %w", c.ID, context.Cause(ctx))
		case end != nil && (end.Final || c.Attempt > 0):
			return nil
		case end != nil:
			f.attempt, f.after, failures = end.Attempt+1, 0, 0
			continue
		case err != nil && (f.events == 0 || !canComeBack(err)):
			return err // it has never worked, or never will
		}
		if failures++; f.events > began {
			failures = 1
		}
		if failures > followTries {
			return fmt.Errorf("following task %d: the stream broke off and does not come back: %w", c.ID, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Duration(failures-1)*followStep, followPause)):
		}
	}
}

// canComeBack reports whether the same call may work later: no server answered, or it could not just then.
func canComeBack(err error) bool {
	if refusal, ok := errors.AsType[*apiError](err); ok {
		return refusal.Status >= http.StatusInternalServerError
	}
	_, ok := errors.AsType[*unreachableError](err)
	return ok
}

// logFollow is how far a log has been followed.
type logFollow struct {
	*logsCmd
	*app
	attempt, after int
	events         int // so far
}

// logEnd is the last event of a stream.
type logEnd struct {
	Attempt int  `json:"attempt"`
	Final   bool `json:"final"`
}

// stream prints one stream. It returns nil and nil, or an error, when that broke off.
func (f *logFollow) stream(ctx context.Context, api *client) (*logEnd, error) {
	query := logQuery(f.attempt, f.after)
	query.Set("follow", "true")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(followSilence, cancel)
	defer silence.Stop()
	body, err := api.stream(ctx, taskPath(f.ID)+"/logs", query)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	f.events++ // it was answered: what comes now may be asked for again
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventBytes)
	var id, name, data string
	for lines.Scan() {
		silence.Reset(followSilence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if lines.Text() != "" {
				continue // a comment
			}
			end, err := f.event(id, name, data)
			if end != nil || err != nil {
				return end, err
			}
			id, name, data = "", "", ""
		}
	}
	if err := lines.Err(); err != nil {
		return nil, api.unreachable(err)
	}
	return nil, nil
}

func (f *logFollow) event(id, name, data string) (*logEnd, error) {
	switch name {
	case "line":
		var line logEntry
		if err := json.Unmarshal([]byte(data), &line); err != nil {
			return nil, fmt.Errorf("reading a line of the log: %w", err)
		}
		f.events++
		f.after = max(f.after, line.Seq)
		if attempt, err := strconv.Atoi(strings.Split(id, "-")[0]); err == nil && attempt > 0 {
			f.attempt = attempt
		}
		if f.JSON {
			fmt.Fprintf(f.stdout, "%s\n", data)
		}
		f.printLine(f.app, line)
	case "end":
		var end logEnd
		if err := json.Unmarshal([]byte(data), &end); err != nil {
			return nil, fmt.Errorf("reading the end of the log: %w", err)
		}
		return &end, nil
	}
	return nil, nil
}

// stream is get for an answer that goes on. The caller closes it.
func (c *client) stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", "reax/"+Version)
	req.Header.Set("Accept", "text/event-stream, application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	refusal := &apiError{Status: resp.StatusCode}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxEventBytes))
	if err == nil && json.Unmarshal(answer, refusal) == nil {
		refusal.Body = answer
	}
	if refusal.Status = resp.StatusCode; refusal.Status == http.StatusOK {
		refusal.Detail = fmt.Sprintf("what answers at %s cannot be followed", c.where)
	}
	return nil, refusal
}
