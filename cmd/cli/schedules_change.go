package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"reax/timetable"
)

// scheduleFlags are what a new schedule and a change of one have in common.
type scheduleFlags struct {
	Timezone string   `placeholder:"ZONE" help:"The time zone of the pattern, such as Europe/Berlin; UTC. A time without an offset is in it too, or else local."`
	Param    []string `short:"p" name:"param" sep:"none" placeholder:"KEY=VALUE" xor:"params" help:"A parameter of its tasks, as with enqueue; text may be a template."`
	Params   string   `placeholder:"JSON|@FILE|-" xor:"params" help:"All parameters of its tasks, as with enqueue."`
	Priority *int     `placeholder:"1-10" help:"Of its tasks; 1 is the most urgent."`
	Tag      []string `sep:"none" placeholder:"TAG" help:"A tag of its tasks; may be given several times."`
	Missed   string   `placeholder:"skip|run_once|run_all" help:"What becomes of runs that were missed; run_once."`
	Overlap  string   `placeholder:"skip|allow|queue_one" help:"What becomes of a run while one before it is unfinished; skip."`
	Reason   string   `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

// scheduleBody is the body of POST and PATCH /schedules.
type scheduleBody struct {
	Version  int64           `json:"version,omitempty"`
	Name     string          `json:"name,omitempty"`
	Task     string          `json:"task,omitempty"`
	Cron     string          `json:"cron,omitempty"`
	Every    string          `json:"every,omitempty"`
	At       *time.Time      `json:"at,omitempty"`
	Timezone string          `json:"timezone,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Priority *int            `json:"priority,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Missed   string          `json:"missed,omitempty"`
	Overlap  string          `json:"overlap,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// plan puts when the schedule runs into the body. A moment without an offset is in the zone.
func (b *scheduleBody) plan(cron, every, at, zone string) (err error) {
	b.Cron = cron
	if b.Every, err = durationFlag("--every", every); err != nil {
		return err
	}
	if at == "" {
		return nil
	}
	moment, err := momentFlag("--at", at, zone)
	b.At = &moment
	return err
}

// momentFlag reads a moment; without an offset it is in the named zone, or in the local one when none is named.
func momentFlag(name, text, zone string) (time.Time, error) {
	location := time.Local
	if zone != "" {
		_, err := timetable.Parse(timetable.Spec{Every: time.Hour, Timezone: zone})
		if err == nil {
			location, err = time.LoadLocation(zone)
		}
		if err != nil {
			return time.Time{}, usagef("--%v", err)
		}
	}
	moment, err := parseMomentIn(text, location)
	if err != nil {
		return time.Time{}, usagef("%s: %v", name, err)
	}
	return moment, nil
}

// fill puts the common flags into the body. The parameters are those of the task type.
func (f *scheduleFlags) fill(ctx context.Context, a *app, api *client, b *scheduleBody, task string) (err error) {
	b.Timezone, b.Priority, b.Tags, b.Missed, b.Overlap, b.Reason = f.Timezone, f.Priority, f.Tag, f.Missed, f.Overlap, f.Reason
	switch {
	case f.Params != "":
		b.Params, err = readParams(a, f.Params)
	case len(f.Param) > 0:
		b.Params, err = typedParams(ctx, api, task, f.Param)
	}
	return err
}

type schedulesAddCmd struct {
	Name  string `arg:"" help:"A name for it."`
	Task  string `required:"" placeholder:"TYPE" help:"The type of the tasks that it makes."`
	Cron  string `placeholder:"PATTERN" xor:"plan" required:"" help:"When: five fields such as \"0 7 * * *\", or @daily and its like."`
	Every string `placeholder:"DURATION" xor:"plan" required:"" help:"Or an interval, such as 90m."`
	At    string `placeholder:"TIME" xor:"plan" required:"" help:"Or once."`
	scheduleFlags
}

func (c *schedulesAddCmd) Run(ctx context.Context, a *app) error {
	body := &scheduleBody{Name: c.Name, Task: c.Task}
	if err := body.plan(c.Cron, c.Every, c.At, c.Timezone); err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	if err := c.fill(ctx, a, api, body, c.Task); err != nil {
		return c.finish(a, err)
	}
	answer, err := api.call(ctx, http.MethodPost, apiPath+"/schedules", nil, body)
	return c.saved(a, answer, err)
}

// saved says what a schedule is now.
func (f serverFlags) saved(a *app, answer json.RawMessage, err error) error {
	if err != nil || f.JSON {
		return f.printed(a, answer, err)
	}
	var s schedule
	if err := read(answer, &s); err != nil {
		return err
	}
	line := fmt.Sprintf("%s: %s", s.Name, s.Description)
	switch {
	case s.Paused && s.PausedUntil != nil:
		line += " · paused until " + s.local(s.PausedUntil)
	case s.Paused:
		line += " · paused"
	case s.Next != nil:
		line += " · next " + zoned(s.Next)
	default:
		line += " · has no next run"
	}
	_, err = fmt.Fprintln(a.stdout, cleanLine(line))
	return err
}

type schedulesEditCmd struct {
	Name    string `arg:"" help:"The schedule's name."`
	Rename  string `placeholder:"NAME" help:"A new name."`
	Task    string `placeholder:"TYPE" help:"Another task type."`
	Cron    string `placeholder:"PATTERN" xor:"plan" help:"When, in place of what it was: five fields, or @daily and its like."`
	Every   string `placeholder:"DURATION" xor:"plan" help:"Or an interval."`
	At      string `placeholder:"TIME" xor:"plan" help:"Or once."`
	Version int64  `placeholder:"N" help:"The version that is to be changed, as show gives it; without it, the one there is now."`
	scheduleFlags
}

// Run reads the schedule first: a change has to name the version that it is meant for.
func (c *schedulesEditCmd) Run(ctx context.Context, a *app) error {
	if c.Rename+c.Task+c.Cron+c.Every+c.At+c.Timezone+c.Params+c.Missed+c.Overlap == "" && len(c.Param)+len(c.Tag) == 0 && c.Priority == nil {
		return usagef("nothing to change: name at least one flag, such as --cron")
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, schedulePath(c.Name), nil)
	if err != nil {
		return c.finish(a, err)
	}
	var old schedule
	if err := read(answer, &old); err != nil {
		return err
	}
	body := &scheduleBody{Version: cmp.Or(c.Version, old.Version), Name: c.Rename, Task: c.Task}
	if err := body.plan(c.Cron, c.Every, c.At, cmp.Or(c.Timezone, old.Timezone)); err != nil {
		return err
	}
	if err := c.fill(ctx, a, api, body, cmp.Or(c.Task, old.Task)); err != nil {
		return c.finish(a, err)
	}
	answer, err = api.call(ctx, http.MethodPatch, schedulePath(c.Name), nil, body)
	return c.saved(a, answer, err)
}

type schedulesRmCmd struct {
	Name   string `arg:"" help:"The schedule's name."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

func (c *schedulesRmCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	query := url.Values{}
	if c.Reason != "" {
		query.Set("reason", c.Reason)
	}
	answer, err := api.call(ctx, http.MethodDelete, schedulePath(c.Name), query, nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	_, err = fmt.Fprintln(a.stdout, cleanLine(c.Name+" is deleted; its tasks stay"))
	return err
}

type schedulesRunCmd struct {
	Name   string `arg:"" help:"The schedule's name."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	Wait   bool   `help:"Wait for the end: exit code 0 on success, 1 otherwise."`
	serverFlags
}

func (c *schedulesRunCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, schedulePath(c.Name)+"/run", nil, reasonBody{c.Reason})
	if err != nil {
		return c.finish(a, err)
	}
	return c.accepted(ctx, a, api, answer, c.Wait)
}

type schedulesPauseCmd struct {
	Name   string `arg:"" help:"The schedule's name."`
	Reason string `placeholder:"TEXT" help:"Why, for the record and for others to read."`
	Until  string `placeholder:"TIME" help:"When it goes on by itself: a time, or how long from now, such as 2h."`
	serverFlags
}

func (c *schedulesPauseCmd) Run(ctx context.Context, a *app) error {
	body, err := untilBodyOf(c.Reason, c.Until)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, schedulePath(c.Name)+"/pause", nil, body)
	return c.saved(a, answer, err)
}

// untilBody is the body of what holds for a while.
type untilBody struct {
	Reason string     `json:"reason,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
}

// untilBodyOf reads when it ends: a time, or how long from now.
func untilBodyOf(reason, until string) (untilBody, error) {
	body := untilBody{Reason: reason}
	if until == "" {
		return body, nil
	}
	end, err := parseMoment(until)
	if d, bad := parseDuration(until); bad == nil {
		end, err = time.Now().Add(d).Truncate(time.Second), nil
	}
	if err != nil {
		return body, usagef("--until: %v", err)
	}
	body.Until = &end
	return body, nil
}

type schedulesResumeCmd struct {
	Name   string `arg:"" help:"The schedule's name."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
	serverFlags
}

func (c *schedulesResumeCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.call(ctx, http.MethodPost, schedulePath(c.Name)+"/resume", nil, reasonBody{c.Reason})
	return c.saved(a, answer, err)
}
