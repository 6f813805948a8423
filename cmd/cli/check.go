package cli

import (
	"cmp"
	"context"
	"fmt"

	"reax/timetable"
)

type checkCmd struct {
	configFlags
}

// Run checks everything that serve would refuse before it opens the database.
func (c *checkCmd) Run(ctx context.Context, a *app) error {
	asm, err := a.assemble(c.configFlags)
	if err != nil {
		return err
	}
	cfg := asm.Config
	_, loopback, err := listenAddress(ctx, cfg.Addr)
	if err != nil {
		return err
	}
	if _, err := newLogger(a.stderr, cfg.LogLevel, cfg.LogFormat); err != nil {
		return err
	}
	if err := cfg.Access.check(); err != nil {
		return err
	}
	for _, text := range asm.warnings() {
		fmt.Fprintln(a.stdout, "warning:", cleanLine(text))
	}
	if !loopback {
		fmt.Fprintf(a.stdout, "warning: other machines can reach %s: the server starts there once there is an account\n", cleanLine(cfg.Addr))
	}
	rows := [][]string{}
	for _, d := range asm.Registry.All() {
		timeout := "none"
		if d.Policy.Timeout > 0 {
			timeout = formatDuration(d.Policy.Timeout)
		}
		rows = append(rows, []string{d.Name, d.Kind, timeout, fmt.Sprint(d.Policy.MaxRetries), fmt.Sprint(d.Policy.Priority),
			fmt.Sprint(d.Policy.Concurrency)})
	}
	if err := table(a.stdout, []string{"TYPE", "KIND", "TIMEOUT", "RETRIES", "PRIORITY", "CONCURRENCY"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, c := range cfg.Schedules {
		if t, err := timetable.Parse(c.plan()); err == nil {
			rows = append(rows, []string{c.Name, c.Task, t.Describe("en")})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		if err := table(a.stdout, []string{"SCHEDULE", "TASK", "WHEN"}, rows); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s is good: %s · address %s · database %s\n",
		cleanLine(cmp.Or(cfg.File, "the built-in configuration")), asm.describe(), cfg.Addr, cleanLine(cfg.Database))
	return err
}
