package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// alertsCmd are the commands on alerts; without one of them the alerts are listed.
type alertsCmd struct {
	List   alertsListCmd   `cmd:"" default:"withargs" help:"List what the alert rules find now, and what they have found."`
	Rules  alertsRulesCmd  `cmd:"" help:"List the alert rules, by name."`
	Mute   alertsMuteCmd   `cmd:"" help:"Tell nobody of what a rule finds, for a while or until it is unmuted."`
	Unmute alertsUnmuteCmd `cmd:"" help:"Have people told again of what a rule finds."`
	Test   alertsTestCmd   `cmd:"" help:"Send a message that tells nothing to a receiver."`
}

// alert is what the commands read of an alert in the API's answers.
type alert struct {
	ID      int64      `json:"id"`
	Rule    string     `json:"rule"`
	When    string     `json:"when"`
	State   string     `json:"state"`
	Since   *time.Time `json:"since"`
	EndedAt *time.Time `json:"ended_at"`
	ToldTo  []string   `json:"told_to"`
	Name    string     `json:"name"`
	Error   string     `json:"error"`
	Count   int64      `json:"count"`
	Value   string     `json:"value"`
	Limit   string     `json:"limit"`
}

// about is what the alert is about, in short.
func (a *alert) about() string {
	var parts []string
	if a.Name != "" {
		parts = append(parts, a.Name)
	}
	if a.Count > 0 {
		parts = append(parts, strconv.FormatInt(a.Count, 10)+"×")
	}
	if a.Value != "" {
		parts = append(parts, a.Value+" (limit "+a.Limit+")")
	}
	if a.Error != "" {
		parts = append(parts, a.Error)
	}
	return strings.Join(parts, " · ")
}

type alertsListCmd struct {
	Limit  int    `default:"20" help:"How many of the history to list at most; ${default}."`
	Cursor string `placeholder:"CURSOR" help:"Where the list before this one ended."`
	serverFlags
}

// Run lists what is open, then what has ended.
func (c *alertsListCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.Cursor != "" {
		query.Set("cursor", c.Cursor)
	}
	answer, err := api.get(ctx, apiPath+"/alerts", query)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Open       []alert `json:"open"`
		History    []alert `json:"history"`
		NextCursor string  `json:"next_cursor"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	if c.Cursor == "" { // those that are still open stand in the first table
		page.History = slices.DeleteFunc(page.History, func(a alert) bool { return a.State != "ended" })
	}
	if err := printAlerts(a.stdout, page.Open, page.History); err != nil {
		return err
	}
	if page.NextCursor != "" {
		fmt.Fprintf(a.stderr, "there are more: add --cursor %s\n", cleanLine(page.NextCursor))
	}
	return nil
}

func printAlerts(w io.Writer, open, history []alert) error {
	if len(open)+len(history) == 0 {
		_, err := fmt.Fprintln(w, "no alerts")
		return err
	}
	rows := func(all []alert) (rows [][]string) {
		for i := range all {
			one := &all[i]
			rows = append(rows, []string{one.State, one.Rule, at(one.Since), at(one.EndedAt), cmp.Or(strings.Join(one.ToldTo, ","), "-"), cut(cleanLine(one.about()), noteWidth)})
		}
		return rows
	}
	return table(w, []string{"STATE", "RULE", "SINCE", "ENDED", "TOLD", "ABOUT"}, append(rows(open), rows(history)...))
}

type alertsRulesCmd struct{ serverFlags }

// Run lists the rules, then who can be told.
func (c *alertsRulesCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, apiPath+"/alerts/rules", nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Rules     []alertRule `json:"rules"`
		Receivers []struct {
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"receivers"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	var rows [][]string
	for i := range page.Rules {
		r := &page.Rules[i]
		from := "page"
		if r.File {
			from = "file"
		}
		rows = append(rows, []string{r.Name, r.looksAt(), r.state(), from, cmp.Or(strings.Join(r.Receivers, ","), "all")})
	}
	if err := table(a.stdout, []string{"RULE", "WHEN", "STATE", "FROM", "TELLS"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, r := range page.Receivers {
		rows = append(rows, []string{r.Name, r.Kind})
	}
	fmt.Fprintln(a.stdout)
	return table(a.stdout, []string{"RECEIVER", "KIND"}, rows)
}

// alertRule is what the commands read of a rule in the API's answers.
type alertRule struct {
	Name      string   `json:"name"`
	File      bool     `json:"file"`
	When      string   `json:"when"`
	Over      string   `json:"over"`
	Below     string   `json:"below"`
	For       string   `json:"for"`
	Types     []string `json:"types"`
	Receivers []string `json:"receivers"`
	State     string   `json:"state"`
	Mute      *struct {
		Until *time.Time `json:"until"`
	} `json:"mute"`
}

// looksAt is the rule in short.
func (r *alertRule) looksAt() string {
	text := r.When
	for _, part := range [][2]string{{"over", r.Over}, {"below", r.Below}, {"for", r.For}, {"of", strings.Join(r.Types, ",")}} {
		if part[1] != "" {
			text += " " + part[0] + " " + part[1]
		}
	}
	return cut(cleanLine(text), noteWidth)
}

func (r *alertRule) state() string {
	switch {
	case r.Mute == nil:
		return r.State
	case r.Mute.Until == nil:
		return r.State + ", muted"
	}
	return r.State + ", muted until " + at(r.Mute.Until)
}

func alertRulePath(name string) string { return apiPath + "/alerts/rules/" + url.PathEscape(name) }

type alertsMuteCmd struct {
	Rule   string `arg:"" help:"The rule."`
	Until  string `placeholder:"TIME" help:"When the mute ends by itself: a time, or how long from now, such as 2h; without it, never."`
	Reason string `placeholder:"TEXT" help:"Why, for the record and for others to read."`
	serverFlags
}

// Run mutes a rule.
func (c *alertsMuteCmd) Run(ctx context.Context, a *app) error {
	body, err := untilBodyOf(c.Reason, c.Until)
	if err != nil {
		return err
	}
	return c.setRule(ctx, a, c.Rule, "/mute", body)
}

type alertsUnmuteCmd struct {
	Rule   string `arg:"" help:"The rule."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

// Run ends the mute of a rule.
func (c *alertsUnmuteCmd) Run(ctx context.Context, a *app) error {
	return c.setRule(ctx, a, c.Rule, "/unmute", reasonBody{c.Reason})
}

// setRule changes a rule and says how it is now.
func (f serverFlags) setRule(ctx context.Context, a *app, name, action string, body any) error {
	api, err := f.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, alertRulePath(name)+action, nil, body)
	if err != nil || f.JSON {
		return f.printed(a, answer, err)
	}
	var r alertRule
	if err := read(answer, &r); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, cleanLine(r.Name+" is "+r.state()))
	return err
}

type alertsTestCmd struct {
	Receiver string `arg:"" help:"The receiver, as the configuration file names it."`
	Wait     bool   `help:"Wait until it is sent: exit code 0 when it was taken, 1 otherwise."`
	serverFlags
}

// Run sends a test message, which is a task as others are.
func (c *alertsTestCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, apiPath+"/alerts/receivers/"+url.PathEscape(c.Receiver)+"/test", nil, nil)
	if err != nil {
		return c.finish(a, err)
	}
	return c.accepted(ctx, a, api, answer, c.Wait)
}
