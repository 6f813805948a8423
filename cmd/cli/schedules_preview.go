package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reax/timetable"
	"reax/web"
)

type schedulesPreviewCmd struct {
	Cron     string `placeholder:"PATTERN" xor:"plan" required:"" help:"Five fields such as \"0 7 * * *\", or @daily and its like."`
	Every    string `placeholder:"DURATION" xor:"plan" required:"" help:"Or an interval from --from on, such as 90m."`
	At       string `placeholder:"TIME" xor:"plan" required:"" help:"Or once."`
	Timezone string `placeholder:"ZONE" help:"The time zone of the pattern, by default UTC; times without an offset are in it too, or else local."`
	From     string `placeholder:"TIME" help:"Runs after this time; now."`
	N        int    `short:"n" default:"10" help:"How many runs; ${default}."`
	Lang     string `default:"en" enum:"en,zh,zh-CN" placeholder:"en|zh" help:"The language of the description and the notes; ${default}."`
	JSON     bool   `name:"json" help:"Print JSON, as the server's preview gives it."`
}

// Run asks no server: when a plan runs follows from the plan alone.
func (c *schedulesPreviewCmd) Run(a *app) error {
	if c.N < 1 || c.N > timetable.MaxPreview {
		return usagef("-n must be from 1 to %d", timetable.MaxPreview)
	}
	from := time.Now()
	if c.From != "" {
		var err error
		if from, err = momentFlag("--from", c.From, c.Timezone); err != nil {
			return err
		}
	}
	spec := timetable.Spec{Cron: c.Cron, Timezone: c.Timezone, Anchor: from.Truncate(time.Second)}
	if c.Every != "" {
		d, err := parseDuration(c.Every)
		if err == nil && d == 0 {
			err = errors.New("must be longer than 0")
		}
		if err != nil {
			return usagef("--every: %v", err)
		}
		spec.Every = d
	}
	if c.At != "" {
		var err error
		if spec.At, err = momentFlag("--at", c.At, c.Timezone); err != nil {
			return err
		}
	}
	t, err := timetable.Parse(spec)
	if err != nil {
		return usagef("--%v", err)
	}
	if c.JSON {
		text, err := json.Marshal(web.Preview(t, from, c.N))
		if err != nil {
			return fmt.Errorf("writing the preview: %w", err)
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", text)
		return err
	}
	fmt.Fprintln(a.stdout, cleanLine(t.Describe(c.Lang)))
	var rows [][]string
	for _, o := range t.Preview(from, c.N) {
		rows = append(rows, []string{zoned(&o.At), o.At.Format("Mon"), o.NoteText(c.Lang)})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no run after", zoned(&from))
		return err
	}
	return table(a.stdout, []string{"RUN", "DAY", "NOTE"}, rows)
}
