// Command worker is a team's own reax: its main registers two Go handlers, and everything else, from the dashboard to
// the command line, is there. Run it as `go run ./examples/worker serve`.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reax/cmd/cli"
	"reax/tasks"
)

func main() {
	cli.Main(func(r *tasks.Registry) {
		tasks.Register(r, "numbers.sum", sumNumbers,
			tasks.Describe("Adds numbers, one step each."), tasks.Timeout(time.Minute), tasks.Concurrency(8))
		tasks.Register(r, "welcome.send", sendWelcome,
			tasks.Describe("Greets a new user."), tasks.MaxRetries(5), tasks.Backoff(2*time.Second, time.Minute), tasks.OnCrash(tasks.Hold))
	})
}

// SumParams are the parameters of numbers.sum.
type SumParams struct {
	Numbers []int64 `json:"numbers" jsonschema:"required,minItems=1,maxItems=1000"`
}

// SumResult is the result of numbers.sum.
type SumResult struct {
	Sum int64 `json:"sum"`
}

func sumNumbers(ctx context.Context, p SumParams) (SumResult, error) {
	run := tasks.RunOf(ctx)
	var sum int64
	for i, n := range p.Numbers {
		if err := ctx.Err(); err != nil {
			return SumResult{}, context.Cause(ctx)
		}
		sum += n
		run.Progress(int64(i+1), int64(len(p.Numbers)), fmt.Sprintf("added %d", n))
	}
	run.Logger.Info("summed", "numbers", len(p.Numbers), "sum", sum)
	return SumResult{sum}, nil
}

// WelcomeParams are the parameters of welcome.send.
type WelcomeParams struct {
	Email string `json:"email" jsonschema:"required,maxLength=200"`
	Name  string `json:"name,omitempty" jsonschema:"maxLength=200"`
}

// WelcomeResult is the result of welcome.send.
type WelcomeResult struct {
	Subject string `json:"subject"`
}

func sendWelcome(ctx context.Context, p WelcomeParams) (WelcomeResult, error) {
	if !strings.Contains(p.Email, "@") {
		// No number of retries makes this an address.
		return WelcomeResult{}, tasks.Permanent(errors.New("the email has no @"))
	}
	tasks.RunOf(ctx).Logger.Info("sending", "email", p.Email)
	return WelcomeResult{"Welcome, " + strings.TrimSpace(p.Name+"!")}, nil
}
