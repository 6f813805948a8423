package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// schedulesCmd are the commands on schedules; without one of them they are listed.
type schedulesCmd struct {
	List    schedulesListCmd    `cmd:"" default:"withargs" help:"List the schedules, by name."`
	Show    schedulesShowCmd    `cmd:"" help:"Show one schedule with its next and its latest occurrences."`
	Add     schedulesAddCmd     `cmd:"" help:"Make a schedule."`
	Edit    schedulesEditCmd    `cmd:"" help:"Change or rename a schedule."`
	Rm      schedulesRmCmd      `cmd:"" help:"Delete a schedule; its tasks stay."`
	Run     schedulesRunCmd     `cmd:"" help:"Run a schedule's task now, outside of the plan."`
	Pause   schedulesPauseCmd   `cmd:"" help:"Stop a schedule, for a while or until it is resumed."`
	Resume  schedulesResumeCmd  `cmd:"" help:"Let a paused schedule go on with its next time."`
	Preview schedulesPreviewCmd `cmd:"" help:"Say when a schedule would run; needs no server."`
}

// schedule is what the commands read of a schedule in the API's answers. Its instants have the offset of its own zone.
type schedule struct {
	Name         string          `json:"name"`
	Owner        string          `json:"owner"`
	Task         string          `json:"task"`
	Cron         string          `json:"cron"`
	Every        string          `json:"every"`
	At           *time.Time      `json:"at"`
	Timezone     string          `json:"timezone"`
	Params       json.RawMessage `json:"params"`
	Priority     *int            `json:"priority"`
	Tags         []string        `json:"tags"`
	Missed       string          `json:"missed"`
	Overlap      string          `json:"overlap"`
	Paused       bool            `json:"paused"`
	PauseReason  string          `json:"pause_reason"`
	PausedBy     string          `json:"paused_by"`
	PausedUntil  *time.Time      `json:"paused_until"`
	Version      int64           `json:"version"`
	Next         *time.Time      `json:"next"`
	LastAt       *time.Time      `json:"last_at"`
	LastTaskID   *int64          `json:"last_task_id"`
	LastOutcome  string          `json:"last_outcome"`
	Runs         int64           `json:"runs"`
	MissedCount  int64           `json:"missed_count"`
	OverlapCount int64           `json:"overlap_count"`
	Error        string          `json:"error"`
	Description  string          `json:"description"`
	UpdatedAt    *time.Time      `json:"updated_at"`
	UpdatedBy    string          `json:"updated_by"`
	Upcoming     []struct {
		Local    *time.Time `json:"local"`
		NoteText string     `json:"note_text"`
	} `json:"upcoming"`
	Occurrences []struct {
		Local     *time.Time `json:"local"`
		Outcome   string     `json:"outcome"`
		TaskID    *int64     `json:"task_id"`
		Late      bool       `json:"late"`
		BlockedBy *int64     `json:"blocked_by"`
		Note      string     `json:"note"`
	} `json:"occurrences"`
}

// zoned writes a moment with the offset that it has, as the clocks of a schedule's zone show it.
func zoned(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

// local writes a moment as the clocks of the schedule's zone show it.
func (s *schedule) local(t *time.Time) string {
	zone, err := time.LoadLocation(s.Timezone)
	if t == nil || err != nil {
		return zoned(t)
	}
	moved := t.In(zone)
	return zoned(&moved)
}

// when is the plan in short.
func (s *schedule) when() string {
	switch {
	case s.Cron != "":
		return s.Cron + " " + s.Timezone
	case s.Every != "":
		return "every " + s.Every
	}
	return "once"
}

func (s *schedule) state() string {
	switch {
	case s.Paused:
		return "paused"
	case s.Next == nil && s.Error != "":
		return "broken"
	case s.Next == nil:
		return "ended"
	}
	return "on"
}

// note is the one thing to know about the schedule in a list.
func (s *schedule) note() string {
	switch {
	case s.Error != "":
		return s.Error
	case s.Paused:
		return s.PauseReason
	case s.LastOutcome != "enqueued":
		return s.LastOutcome
	}
	return ""
}

func schedulePath(name string) string { return apiPath + "/schedules/" + url.PathEscape(name) }

type schedulesListCmd struct {
	Task   string `placeholder:"TYPE" help:"Only schedules of this task type."`
	Limit  int    `default:"100" help:"How many schedules to list at most; ${default}."`
	Cursor string `placeholder:"CURSOR" help:"Where the list before this one ended."`
	serverFlags
}

func (c *schedulesListCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, text := range map[string]string{"task": c.Task, "cursor": c.Cursor} {
		if text != "" {
			query.Set(name, text)
		}
	}
	answer, err := api.get(ctx, apiPath+"/schedules", query)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Schedules  []schedule `json:"schedules"`
		NextCursor string     `json:"next_cursor"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	var rows [][]string
	for i := range page.Schedules {
		s := &page.Schedules[i]
		rows = append(rows, []string{s.Name, s.Task, cut(cleanLine(s.when()), noteWidth), s.state(), zoned(s.Next), cut(cleanLine(s.note()), noteWidth)})
	}
	if err := table(a.stdout, []string{"NAME", "TASK", "WHEN", "STATE", "NEXT", "NOTE"}, rows); err != nil {
		return err
	}
	if page.NextCursor != "" {
		fmt.Fprintf(a.stderr, "there are more: add --cursor %s\n", cleanLine(page.NextCursor))
	}
	return nil
}

type schedulesShowCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	serverFlags
}

func (c *schedulesShowCmd) Run(ctx context.Context, a *app) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	answer, err := api.get(ctx, schedulePath(c.Name), nil)
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var s schedule
	if err := read(answer, &s); err != nil {
		return err
	}
	return s.print(a.stdout)
}

// print writes the schedule for a person: one fact a line, then what comes and what was.
func (s *schedule) print(w io.Writer) error {
	var b strings.Builder
	fact := func(name, text string) {
		if text != "" && text != "null" && text != "-" {
			fmt.Fprintf(&b, "%-13s %s\n", name, indent(cleanLines(text), 14))
		}
	}
	fact("schedule", fmt.Sprintf("%s · %s", s.Name, s.Task))
	fact("state", s.state())
	fact("paused", strings.TrimSuffix(s.PauseReason+" · "+s.PausedBy, " · "))
	fact("paused until", s.local(s.PausedUntil))
	fact("error", s.Error)
	fact("plan", s.when())
	fact("that is", s.Description)
	fact("next", zoned(s.Next))
	fact("last", s.local(s.LastAt))
	if s.LastTaskID != nil {
		fact("last task", strconv.FormatInt(*s.LastTaskID, 10))
	}
	fact("so far", fmt.Sprintf("%d runs · %d missed · %d overlapped", s.Runs, s.MissedCount, s.OverlapCount))
	fact("missed", s.Missed)
	fact("overlap", s.Overlap)
	if s.Priority != nil {
		fact("priority", strconv.Itoa(*s.Priority))
	}
	fact("tags", strings.Join(s.Tags, ", "))
	fact("params", string(s.Params))
	fact("owner", s.Owner)
	fact("version", fmt.Sprintf("%d · %s · %s", s.Version, at(s.UpdatedAt), s.UpdatedBy))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return s.printOccurrences(w)
}

func (s *schedule) printOccurrences(w io.Writer) error {
	var rows [][]string
	for _, o := range s.Upcoming {
		rows = append(rows, []string{zoned(o.Local), o.NoteText})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		if err := table(w, []string{"TO COME", "NOTE"}, rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, o := range s.Occurrences {
		task, note := "", o.Note
		if o.TaskID != nil {
			task = strconv.FormatInt(*o.TaskID, 10)
		}
		if o.BlockedBy != nil && note == "" {
			note = fmt.Sprintf("task %d was unfinished", *o.BlockedBy)
		}
		if o.Late {
			note = strings.TrimSuffix("late: "+note, ": ")
		}
		rows = append(rows, []string{zoned(o.Local), o.Outcome, task, cut(cleanLine(note), noteWidth)})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return table(w, []string{"BEFORE", "OUTCOME", "TASK", "NOTE"}, rows)
}
