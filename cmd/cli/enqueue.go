package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

type enqueueCmd struct {
	Type       string   `arg:"" help:"The task type."`
	Param      []string `short:"p" name:"param" sep:"none" placeholder:"KEY=VALUE" xor:"params" help:"A parameter; the type's schema says whether the value is text, a number or other JSON."`
	Params     string   `placeholder:"JSON|@FILE|-" xor:"params" help:"All parameters as a JSON object, from a file with @, or from the standard input with -."`
	Priority   *int     `placeholder:"1-10" help:"1 is the most urgent."`
	Delay      string   `placeholder:"DURATION" xor:"when" help:"How long to wait before the first run."`
	RunAt      string   `placeholder:"TIME" xor:"when" help:"When to run, such as 2026-01-31T09:30:00Z; without an offset it is local time."`
	MaxRetries *int     `placeholder:"N" help:"How many runs may follow the first."`
	Timeout    string   `placeholder:"DURATION" help:"The limit of one run; 0s for none."`
	UniqueKey  string   `placeholder:"KEY" help:"While a task with this key waits or runs, no second one is made."`
	Tag        []string `sep:"none" placeholder:"TAG" help:"A tag; may be given several times."`
	TraceID    string   `name:"trace-id" placeholder:"HEX" help:"The trace id, 32 hex digits; one is made without it."`
	Wait       bool     `help:"Wait for the end: exit code 0 on success, 1 otherwise."`
	serverFlags
}

// enqueueBody is the body of POST /tasks.
type enqueueBody struct {
	Type       string          `json:"type"`
	Params     json.RawMessage `json:"params,omitempty"`
	Priority   *int            `json:"priority,omitempty"`
	RunAt      *time.Time      `json:"run_at,omitempty"`
	Delay      string          `json:"delay,omitempty"`
	MaxRetries *int            `json:"max_retries,omitempty"`
	Timeout    string          `json:"timeout,omitempty"`
	UniqueKey  string          `json:"unique_key,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	TraceID    string          `json:"trace_id,omitempty"`
}

func (c *enqueueCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	// A command that reax or another program runs belongs to that one's trace.
	if caller := a.env("TRACEPARENT"); isTraceparent(caller) {
		api.trace = caller
	}
	body, err := c.body(ctx, a, api)
	if err != nil {
		return c.finish(a, err)
	}
	answer, err := api.call(ctx, http.MethodPost, apiPath+"/tasks", nil, body)
	if err != nil {
		return c.finish(a, err)
	}
	return c.accepted(ctx, a, api, answer, c.Wait)
}

func (c *enqueueCmd) body(ctx context.Context, a *app, api *client) (*enqueueBody, error) {
	body := &enqueueBody{
		Type: c.Type, Priority: c.Priority, MaxRetries: c.MaxRetries, UniqueKey: c.UniqueKey, Tags: c.Tag, TraceID: c.TraceID,
	}
	var err error
	if body.Delay, err = durationFlag("--delay", c.Delay); err != nil {
		return nil, err
	}
	if body.Timeout, err = durationFlag("--timeout", c.Timeout); err != nil {
		return nil, err
	}
	if c.RunAt != "" {
		moment, err := parseMoment(c.RunAt)
		if err != nil {
			return nil, usagef("--run-at: %v", err)
		}
		body.RunAt = &moment
	}
	switch {
	case c.Params != "":
		body.Params, err = readParams(a, c.Params)
	case len(c.Param) > 0:
		body.Params, err = typedParams(ctx, api, c.Type, c.Param)
	}
	return body, err
}

// accepted prints the task that an enqueue or a repeat gave, and follows it to its end if asked.
func (f serverFlags) accepted(ctx context.Context, a *app, api *client, answer json.RawMessage, wait bool) error {
	var t task
	if err := read(answer, &t); err != nil {
		return err
	}
	if f.JSON && !wait {
		_, err := fmt.Fprintf(a.stdout, "%s\n", answer)
		return err
	}
	if !f.JSON {
		line := fmt.Sprintf("accepted task %d · %s · trace %s", t.ID, t.Type, t.TraceID)
		if t.Duplicate {
			line = fmt.Sprintf("task %d holds the key %q already: no new task was made", t.ID, t.UniqueKey)
		}
		fmt.Fprintln(a.stdout, cleanLine(line))
	}
	if !wait {
		return nil
	}
	answer, err := api.await(ctx, t.ID)
	if err != nil {
		return f.finish(a, err)
	}
	return f.outcome(a, answer)
}

// Steps between looks at a task that runs.
const (
	firstLook   = 50 * time.Millisecond
	longestLook = time.Second
	serverGone  = time.Minute // how long a server may be away, as in a restart, before waiting for it ends
)

// await looks at a task until it is finished. A server that restarts meanwhile is waited for.
func (c *client) await(ctx context.Context, id int64) (json.RawMessage, error) {
	var gone time.Duration
	for look := firstLook; ; look = min(look*3/2, longestLook) {
		answer, err := c.get(ctx, taskPath(id), nil)
		var t task
		_, unreachable := errors.AsType[*unreachableError](err)
		switch {
		case unreachable && ctx.Err() == nil && gone < serverGone:
			gone += look
		case err != nil:
			return nil, err
		default:
			gone = 0
			if err := read(answer, &t); err != nil || t.isFinal() {
				return answer, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for task %d: %w", id, context.Cause(ctx))
		case <-time.After(look):
		}
	}
}

// outcome prints how a finished task ended; the error is there when that was not success.
func (f serverFlags) outcome(a *app, answer json.RawMessage) error {
	var t task
	if err := read(answer, &t); err != nil {
		return err
	}
	switch {
	case f.JSON:
		fmt.Fprintf(a.stdout, "%s\n", answer)
	case t.State != "success":
		fmt.Fprintln(a.stderr, cleanLines(fmt.Sprintf("task %d is %s: %s", t.ID, t.State, t.Error)))
	case t.Result == nil || string(t.Result) == "null":
		fmt.Fprintf(a.stdout, "task %d is success\n", t.ID)
	default:
		fmt.Fprintln(a.stdout, cleanLine(fmt.Sprintf("task %d is success: %s", t.ID, t.Result)))
	}
	if t.State != "success" {
		return errQuiet
	}
	return nil
}

func taskPath(id int64) string { return apiPath + "/tasks/" + strconv.FormatInt(id, 10) }

// durationFlag writes a duration in the API's units, which know no days.
func durationFlag(name, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return "", usagef("%s: %v", name, err)
	}
	return d.String(), nil
}
