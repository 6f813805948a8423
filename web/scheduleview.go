package web

import (
	"cmp"
	"encoding/json"
	"time"

	"reax/models"
	"reax/timetable"
)

// ScheduleJSON is a schedule as the API shows it. It is exported because huma passes over embedded types that are not.
type ScheduleJSON struct {
	Name         string          `json:"name"`
	Owner        string          `json:"owner" enum:"file,api" doc:"file: it stands in the configuration file, and is changed there"`
	Task         string          `json:"task" doc:"The type of the tasks that it makes"`
	Cron         *string         `json:"cron" doc:"A cron pattern; exactly one of cron, every and at is not null"`
	Every        *string         `json:"every" doc:"An interval such as 1h30m"`
	At           moment          `json:"at" doc:"The one instant of a schedule that runs once"`
	Anchor       moment          `json:"anchor" doc:"Where an interval counts from"`
	Timezone     string          `json:"timezone" doc:"An IANA name"`
	Params       json.RawMessage `json:"params" doc:"Of its tasks; text may be templates over the occurrence. Values that the schema of the type calls secret are hidden"`
	Priority     *int            `json:"priority" doc:"Of its tasks; null: as the type says"`
	Tags         []string        `json:"tags" nullable:"false" doc:"Of its tasks"`
	Missed       string          `json:"missed" enum:"skip,run_once,run_all" doc:"What becomes of occurrences that reax could not run in time"`
	Overlap      string          `json:"overlap" enum:"skip,allow,queue_one" doc:"What becomes of an occurrence while a task of the schedule is unfinished"`
	Paused       bool            `json:"paused"`
	PauseReason  string          `json:"pause_reason"`
	PausedBy     string          `json:"paused_by"`
	PausedUntil  moment          `json:"paused_until" doc:"When the pause ends by itself"`
	Version      int64           `json:"version" doc:"Counts the changes; a change must name the version that it is meant for"`
	NextAt       moment          `json:"next_at" doc:"The next occurrence; null when there is none, as while it is paused without an end"`
	Next         *string         `json:"next" format:"date-time" doc:"The same in the time zone of the schedule, with its offset"`
	LastAt       moment          `json:"last_at" doc:"The latest occurrence that made a task"`
	LastTaskID   *int64          `json:"last_task_id"`
	LastOutcome  string          `json:"last_outcome" enum:",enqueued,missed,overlap,queued,error" doc:"What became of the latest occurrence; empty before the first"`
	Runs         int64           `json:"runs" doc:"Occurrences that made a task"`
	MissedCount  int64           `json:"missed_count"`
	OverlapCount int64           `json:"overlap_count"`
	Error        string          `json:"error" doc:"Why the latest occurrence made no task, or why the schedule has no next one; empty when all is well"`
	Description  string          `json:"description" doc:"When it runs, in English"`
	CreatedAt    moment          `json:"created_at"`
	UpdatedAt    moment          `json:"updated_at"`
	UpdatedBy    string          `json:"updated_by"`
}

// scheduleDetailJSON is one schedule with what a list leaves out.
type scheduleDetailJSON struct {
	ScheduleJSON
	DescriptionZh string           `json:"description_zh" doc:"When it runs, in Chinese"`
	Upcoming      []UpcomingJSON   `json:"upcoming" nullable:"false" doc:"The next 10 occurrences"`
	Occurrences   []occurrenceJSON `json:"occurrences" nullable:"false" doc:"The latest 60, newest first"`
}

// occurrenceJSON is what became of one occurrence.
type occurrenceJSON struct {
	At        moment `json:"at"`
	Local     string `json:"local" format:"date-time" doc:"The same instant in the time zone of the schedule, with its offset"`
	Outcome   string `json:"outcome" enum:"enqueued,missed,overlap,queued,error" doc:"overlap: skipped, because a task was unfinished; queued: it waits for that task"`
	TaskID    *int64 `json:"task_id"`
	Late      bool   `json:"late" doc:"More than a minute after its time"`
	BlockedBy *int64 `json:"blocked_by" doc:"The unfinished task"`
	Note      string `json:"note"`
	CreatedAt moment `json:"created_at" doc:"When it was decided"`
}

// timetableOf reads the plan of a stored schedule; nil when it is broken, which its error says.
func timetableOf(c *models.Schedule) *timetable.Timetable {
	t, err := timetable.Parse(timetable.Spec{
		Cron: c.Cron, Every: c.Every(), At: c.At.Time(), Timezone: c.Timezone, Anchor: c.Anchor.Time(),
	})
	if err != nil {
		return nil
	}
	return t
}

// scheduleView is a schedule as the API shows it: without what is secret.
func (s *Server) scheduleView(c *models.Schedule, t *timetable.Timetable) ScheduleJSON {
	v := ScheduleJSON{
		Name: c.Name, Owner: c.Owner, Task: c.Task, Every: durationText(c.Every()), At: moment(c.At),
		Timezone: cmp.Or(c.Timezone, "UTC"), Params: rawJSON(s.shownPlanParams(c)), Tags: tagsOf(c.Tags), Missed: c.Missed, Overlap: c.Overlap,
		Paused: c.Paused, PauseReason: c.PauseReason, PausedBy: c.PausedBy, PausedUntil: moment(c.PausedUntil), Version: c.Version,
		NextAt: moment(nextOf(c, t)), LastAt: moment(c.LastAt), LastTaskID: idOrNull(c.LastTaskID), Runs: c.Runs,
		MissedCount: c.MissedCount, OverlapCount: c.OverlapCount, Error: c.Error,
		CreatedAt: moment(c.CreatedAt), UpdatedAt: moment(c.UpdatedAt), UpdatedBy: c.UpdatedBy,
	}
	if c.Cron != "" {
		v.Cron = &c.Cron
	}
	if c.EveryUS != 0 {
		v.Anchor = moment(c.Anchor)
	}
	if c.Priority != 0 {
		v.Priority = &c.Priority
	}
	if t != nil {
		v.Description = t.Describe("en")
		if v.NextAt != 0 {
			local := localText(scheduleZone(c), models.Instant(v.NextAt))
			v.Next = &local
		}
	}
	return v
}

// nextOf is the next occurrence. A paused schedule goes on with the first one after the end of its pause.
func nextOf(c *models.Schedule, t *timetable.Timetable) models.Instant {
	switch {
	case t == nil:
		return 0
	case !c.Paused:
		return c.NextAt
	case c.PausedUntil.IsZero():
		return 0
	}
	return models.At(t.Next(c.PausedUntil.Time()))
}

func (s *Server) scheduleDetail(c *models.Schedule, t *timetable.Timetable, occurrences []models.Occurrence) scheduleDetailJSON {
	v := scheduleDetailJSON{ScheduleJSON: s.scheduleView(c, t), Upcoming: []UpcomingJSON{}, Occurrences: []occurrenceJSON{}}
	if t != nil {
		v.DescriptionZh = t.Describe("zh")
	}
	if v.NextAt != 0 {
		v.Upcoming = upcoming(t, models.Instant(v.NextAt).Time().Add(-time.Second), shownUpcoming)
	}
	zone := scheduleZone(c)
	for _, o := range occurrences {
		v.Occurrences = append(v.Occurrences, occurrenceJSON{
			At: moment(o.At), Local: localText(zone, o.At), Outcome: o.Outcome, TaskID: idOrNull(o.TaskID), Late: o.Late,
			BlockedBy: idOrNull(o.BlockedBy), Note: o.Note, CreatedAt: moment(o.CreatedAt),
		})
	}
	return v
}

// scheduleZone is the zone of a schedule; UTC when it has one that there is not.
func scheduleZone(c *models.Schedule) *time.Location {
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// localText is an instant as the clocks of a zone show it, with their offset.
func localText(zone *time.Location, at models.Instant) string {
	return at.Time().In(zone).Format(time.RFC3339)
}

func idOrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
