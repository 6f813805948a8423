// Package demo holds a few small task types to try reax with. They touch nothing outside the process.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reax/tasks"
)

// Register adds the demonstration types to r.
func Register(r *tasks.Registry) {
	tasks.Register(r, "demo.report", report, tasks.Timeout(15*time.Minute),
		tasks.Describe("Writes an imaginary report row by row: it shows progress, log lines and a result."))
	tasks.Register(r, "demo.flaky", flaky, tasks.MaxRetries(5), tasks.Backoff(2*time.Second, 30*time.Second),
		tasks.Describe("Fails on its first attempts and then succeeds, as a call to an unsteady service does."))
	tasks.Register(r, "demo.slow", slow, tasks.Timeout(time.Hour),
		tasks.Describe("Waits. Cancel it, or give the task a shorter timeout, to see how a run is ended."))
	tasks.Register(r, "demo.fail", fail, tasks.MaxRetries(2), tasks.Backoff(2*time.Second, 10*time.Second),
		tasks.Describe("Always fails: for good at once, or with an error that is retried until the retries are used up."))
	tasks.Register(r, "demo.panic", crash, tasks.MaxRetries(1), tasks.Backoff(2*time.Second, 10*time.Second),
		tasks.Describe("Panics. Only this run ends: its worker is restarted and the stack is kept with the attempt."))
}

// ReportParams are the parameters of demo.report.
type ReportParams struct {
	Title   string `json:"title,omitempty" jsonschema:"title=Title,description=What the report is called,maxLength=200,default=Weekly sales"`
	Rows    int    `json:"rows,omitempty" jsonschema:"title=Rows,description=How many rows to write,minimum=1,maximum=1000,default=20"`
	DelayMS int    `json:"delay_ms,omitempty" jsonschema:"title=Delay (ms),description=Milliseconds for each row,minimum=1,maximum=600,default=100"`
}

// ReportResult is the result of demo.report.
type ReportResult struct {
	Title string `json:"title"`
	Rows  int    `json:"rows"`
	Total int    `json:"total"`
}

func report(ctx context.Context, p ReportParams) (ReportResult, error) {
	p.Title = cmp.Or(p.Title, "Weekly sales")
	p.Rows, p.DelayMS = cmp.Or(p.Rows, 20), cmp.Or(p.DelayMS, 100)
	run := tasks.RunOf(ctx)
	run.Logger.Info("writing the report", "title", p.Title, "rows", p.Rows)
	result := ReportResult{Title: p.Title}
	for row := 1; row <= p.Rows; row++ {
		if err := wait(ctx, time.Duration(p.DelayMS)*time.Millisecond); err != nil {
			return result, fmt.Errorf("the report ends at row %d of %d: %w", row, p.Rows, err)
		}
		result.Rows, result.Total = row, result.Total+row*7%100
		run.Progress(int64(row), int64(p.Rows), fmt.Sprintf("row %d of %d", row, p.Rows))
		if tenth := max(p.Rows/10, 1); row%tenth == 0 {
			run.Logger.Info("rows written", "rows", row, "total", result.Total)
		}
	}
	return result, nil
}

// FlakyParams are the parameters of demo.flaky.
type FlakyParams struct {
	FailFirst *int `json:"fail_first,omitempty" jsonschema:"title=Failures,description=How many attempts fail before one succeeds,minimum=0,maximum=20,default=2"`
}

// FlakyResult is the result of demo.flaky.
type FlakyResult struct {
	Attempt int `json:"attempt"`
}

func flaky(ctx context.Context, p FlakyParams) (FlakyResult, error) {
	failures := 2
	if p.FailFirst != nil {
		failures = *p.FailFirst
	}
	attempt := tasks.RunOf(ctx).Attempt
	if attempt <= failures {
		return FlakyResult{}, fmt.Errorf("the service is not reachable (failure %d of %d)", attempt, failures)
	}
	return FlakyResult{Attempt: attempt}, nil
}

// SlowParams are the parameters of demo.slow.
type SlowParams struct {
	Seconds int `json:"seconds,omitempty" jsonschema:"title=Seconds,description=How long the run lasts,minimum=1,maximum=3000,default=30"`
}

func slow(ctx context.Context, p SlowParams) (struct{}, error) {
	seconds := cmp.Or(p.Seconds, 30)
	run := tasks.RunOf(ctx)
	for s := range seconds {
		if err := wait(ctx, time.Second); err != nil {
			run.Logger.Warn("told to stop", "seconds", s, "cause", err.Error())
			return struct{}{}, fmt.Errorf("the wait ends after %d of %d seconds: %w", s, seconds, err)
		}
		run.Progress(int64(s+1), int64(seconds), fmt.Sprintf("%d of %d seconds", s+1, seconds))
	}
	return struct{}{}, nil
}

// FailParams are the parameters of demo.fail.
type FailParams struct {
	Kind    string `json:"kind,omitempty" jsonschema:"title=Kind of error,enum=permanent,enum=retryable,default=permanent"`
	Message string `json:"message,omitempty" jsonschema:"title=Message,description=The text of the error,maxLength=1000,default=there is no such customer"`
}

func fail(_ context.Context, p FailParams) (struct{}, error) {
	err := errors.New(cmp.Or(p.Message, "there is no such customer"))
	if p.Kind == "retryable" {
		return struct{}{}, tasks.Retryable(err)
	}
	return struct{}{}, tasks.Permanent(err)
}

// PanicParams are the parameters of demo.panic.
type PanicParams struct {
	Message string `json:"message,omitempty" jsonschema:"title=Message,description=What the panic says,maxLength=1000,default=index out of range"`
}

func crash(_ context.Context, p PanicParams) (struct{}, error) {
	panic(cmp.Or(strings.TrimSpace(p.Message), "index out of range"))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
