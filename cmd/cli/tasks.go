package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reax/models"
)

// noteWidth bounds an error text in a list, in terminal cells.
const noteWidth = 60

type listCmd struct {
	State   []string `placeholder:"STATE" help:"Only tasks in this state; may be given several times."`
	Type    []string `placeholder:"TYPE" help:"Only tasks of this type; may be given several times."`
	Query   string   `name:"q" short:"q" placeholder:"TEXT" help:"Only tasks with this text in their error, or with this id or start of a trace id."`
	Tag     string   `placeholder:"TAG" help:"Only tasks with this tag."`
	TraceID string   `name:"trace-id" placeholder:"HEX" help:"Only tasks with this trace id."`
	From    string   `placeholder:"TIME" help:"Only tasks accepted at this time or later: a time, or how long ago, such as 1h."`
	To      string   `placeholder:"TIME" help:"Only tasks accepted before this time."`
	Sort    string   `placeholder:"ORDER" help:"Not newest first but by changed, priority or duration; a minus sign turns the order round, as in --sort=-duration for the longest first."`
	Limit   int      `default:"50" help:"How many tasks to list at most; ${default}."`
	Cursor  string   `placeholder:"CURSOR" help:"Where the list before this one ended."`
	serverFlags
}

func (c *listCmd) Run(ctx context.Context, a *app) error {
	order := models.Order(c.Sort)
	if !order.IsKnown() {
		return usagef("--sort: there is no order %q: it is changed, priority or duration, with a minus sign before it to turn it round", c.Sort)
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, text := range map[string]string{"q": c.Query, "tag": c.Tag, "trace_id": c.TraceID, "sort": c.Sort, "cursor": c.Cursor} {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, texts := range map[string][]string{"state": c.State, "type": c.Type} {
		if len(texts) > 0 {
			query.Set(name, strings.Join(texts, ","))
		}
	}
	for name, text := range map[string]string{"from": c.From, "to": c.To} {
		if text == "" {
			continue
		}
		moment, err := parseMomentOrAgo(text, time.Now())
		if err != nil {
			return usagef("--%s: %v", name, err)
		}
		query.Set(name, moment.Format(time.RFC3339))
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, apiPath+"/tasks", query)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Tasks       []task `json:"tasks"`
		NextCursor  string `json:"next_cursor"`
		SortedAmong *int   `json:"sorted_among"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	heads := []string{"ID", "TYPE", "STATE", "RUN", "ACCEPTED", "NOTE"}
	if order != models.NewestFirst {
		heads = slices.Insert(heads, sortedColumn, strings.ToUpper(string(order.Column())))
	}
	var rows [][]string
	for _, t := range page.Tasks {
		row := []string{strconv.FormatInt(t.ID, 10), t.Type, t.mark(), strconv.Itoa(t.Attempt), at(t.CreatedAt), cut(cleanLine(t.note()), noteWidth)}
		if order != models.NewestFirst {
			row = slices.Insert(row, sortedColumn, t.sortedBy(order.Column(), time.Now()))
		}
		rows = append(rows, row)
	}
	if err := table(a.stdout, heads, rows); err != nil {
		return err
	}
	if page.SortedAmong != nil {
		fmt.Fprintf(a.stderr, "sorted among the newest %d that match: there may be older ones\n", *page.SortedAmong)
	}
	if page.NextCursor != "" {
		fmt.Fprintf(a.stderr, "there are more: add --cursor %s\n", cleanLine(page.NextCursor))
	}
	return nil
}

// sortedColumn is where a list shows what it is sorted by.
const sortedColumn = 4

// sortedBy is what a list by an order sorts the task by.
func (t *task) sortedBy(column models.Order, now time.Time) string {
	switch column {
	case models.ByChanged:
		return at(t.UpdatedAt)
	case models.ByPriority:
		return strconv.Itoa(t.Priority)
	}
	instant := func(t *time.Time) models.Instant {
		if t == nil {
			return 0
		}
		return models.At(*t)
	}
	row := models.Task{State: models.State(t.State), StartedAt: instant(t.StartedAt), FinishedAt: instant(t.FinishedAt), CancelRequestedAt: instant(t.CancelRequestedAt)}
	took, ok := row.RunTime(models.At(now))
	switch {
	case !ok:
		return "-"
	case took < time.Minute:
		return took.Round(time.Millisecond).String()
	}
	return took.Round(time.Second).String()
}

// parseMomentOrAgo reads a moment, or a duration before now.
func parseMomentOrAgo(text string, now time.Time) (time.Time, error) {
	if d, err := parseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	return parseMoment(text)
}

type showCmd struct {
	ID int64 `arg:"" name:"id" help:"The task's id."`
	serverFlags
}

func (c *showCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, taskPath(c.ID), nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var t task
	if err := read(answer, &t); err != nil {
		return err
	}
	return t.print(a.stdout)
}

// print writes the task for a person: one fact a line, then each run that was not a first-try success.
func (t *task) print(w io.Writer) error {
	var b strings.Builder
	fact := func(name, text string) {
		if text != "" && text != "null" && text != "-" {
			fmt.Fprintf(&b, "%-13s %s\n", name, indent(cleanLines(text), 14))
		}
	}
	fact("task", fmt.Sprintf("%d · %s", t.ID, t.Type))
	fact("state", t.mark())
	fact("suspected", t.Suspected)
	fact("runs", fmt.Sprintf("%d · %d failed of at most %d · %d crashed", t.Attempt, t.Failures, t.MaxRetries+1, t.Crashes))
	fact("priority", strconv.Itoa(t.Priority))
	fact("trace", t.TraceID)
	fact("unique key", t.UniqueKey)
	fact("tags", strings.Join(t.Tags, ", "))
	fact("accepted", at(t.CreatedAt))
	fact("accepted by", t.EnqueuedBy)
	if t.RepeatedFrom != nil {
		fact("repeats", strconv.FormatInt(*t.RepeatedFrom, 10))
	}
	fact("runs at", at(t.RunAt))
	fact("started", at(t.StartedAt))
	fact("finished", at(t.FinishedAt))
	if t.Progress > 0 || t.ProgressNote != "" {
		fact("progress", fmt.Sprintf("%d%% %s", t.Progress, t.ProgressNote))
	}
	fact("params", string(t.Params))
	fact("result", string(t.Result))
	fact("error", t.Error)
	for _, run := range t.Attempts {
		fmt.Fprintf(&b, "\nrun %d: %s\n", run.Attempt, cleanLine(run.Outcome))
		fact("  started", at(run.StartedAt))
		fact("  finished", at(run.FinishedAt))
		fact("  worker", run.Worker)
		fact("  next run", at(run.RetryAt))
		fact("  because", run.RetryRule)
		fact("  error", run.Error)
		fact("  stack", run.Stack)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// indent moves all lines but the first to the right.
func indent(text string, n int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", n))
}

// changeFlags name tasks to change, and why.
type changeFlags struct {
	IDs    []int64 `arg:"" name:"id" help:"The ids of the tasks."`
	Reason string  `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

type (
	retryCmd   struct{ changeFlags }
	cancelCmd  struct{ changeFlags }
	discardCmd struct{ changeFlags }
)

func (c *retryCmd) Run(ctx context.Context, a *app) error  { return c.change(ctx, a, "retry") }
func (c *cancelCmd) Run(ctx context.Context, a *app) error { return c.change(ctx, a, "cancel") }

func (c *discardCmd) Run(ctx context.Context, a *app) error {
	if strings.TrimSpace(c.Reason) == "" {
		return usagef("discard needs a --reason: it is what the record will say")
	}
	return c.change(ctx, a, "discard")
}

// change does one thing to each task. One that refuses does not keep the others from it.
func (c *changeFlags) change(ctx context.Context, a *app, action string) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	failed := false
	for _, id := range c.IDs {
		answer, err := api.call(ctx, http.MethodPost, taskPath(id)+"/"+action, nil, reasonBody{c.Reason})
		if _, refused := errors.AsType[*apiError](err); err != nil && !refused {
			return err // no server, so no use in going on
		}
		if err != nil {
			failed = true
			fmt.Fprintln(a.stderr, cleanLines(fmt.Sprintf("task %d: %v", id, c.finish(a, err))))
			continue
		}
		if c.JSON {
			fmt.Fprintf(a.stdout, "%s\n", answer)
			continue
		}
		var t task
		if err := read(answer, &t); err != nil {
			return err
		}
		line := fmt.Sprintf("task %d is %s", t.ID, t.mark())
		if action == "cancel" && t.State == "running" {
			line = fmt.Sprintf("task %d was asked to stop", t.ID)
		}
		fmt.Fprintln(a.stdout, cleanLine(line))
	}
	if failed {
		return errQuiet
	}
	return nil
}

// reasonBody is the body of the calls that change something.
type reasonBody struct {
	Reason string `json:"reason,omitempty"`
}

type repeatCmd struct {
	ID     int64  `arg:"" name:"id" help:"The id of a finished task."`
	Params string `placeholder:"JSON|@FILE|-" help:"Other parameters, as with enqueue."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	Wait   bool   `help:"Wait for the end: exit code 0 on success, 1 otherwise."`
	serverFlags
}

func (c *repeatCmd) Run(ctx context.Context, a *app) error {
	var body struct {
		Params json.RawMessage `json:"params,omitempty"`
		Reason string          `json:"reason,omitempty"`
	}
	body.Reason = c.Reason
	if c.Params != "" {
		params, err := readParams(a, c.Params)
		if err != nil {
			return err
		}
		body.Params = params
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, taskPath(c.ID)+"/repeat", nil, body)
	if err != nil {
		return c.finish(a, err)
	}
	return c.accepted(ctx, a, api, answer, c.Wait)
}

// printed prints an answer as it is, or passes the error on.
func (f serverFlags) printed(a *app, answer json.RawMessage, err error) error {
	if err != nil {
		return f.finish(a, err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", answer)
	return err
}
