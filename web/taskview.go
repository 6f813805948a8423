package web

import (
	"encoding/json"
	"time"

	"reax/models"
)

// TaskJSON is a task as the API shows it. It is exported because huma passes over embedded types that are not.
type TaskJSON struct {
	ID           int64           `json:"id"`
	Type         string          `json:"type"`
	Params       json.RawMessage `json:"params" doc:"As they were accepted; big numbers keep their digits. Values that the schema of the type calls secret are hidden"`
	Priority     int             `json:"priority" doc:"1 (most urgent) to 10"`
	State        models.State    `json:"state" enum:"pending,running,retry_wait,success,failed,dead,cancelled"`
	Suspected    string          `json:"suspected" doc:"Why the latest run may have been a second one; empty when it was not"`
	Stuck        bool            `json:"stuck" doc:"Its handler ignored the end of its context and still runs"`
	Attempt      int             `json:"attempt" doc:"The number of the latest run; 0 before the first"`
	Failures     int             `json:"failures" doc:"Runs that failed since it was accepted or last retried by a person"`
	Crashes      int             `json:"crashes" doc:"Processes that died while it ran, since then"`
	MaxRetries   int             `json:"max_retries" doc:"Runs after the first, at most"`
	RunAt        moment          `json:"run_at" doc:"It does not start before"`
	TraceID      string          `json:"trace_id"`
	UniqueKey    string          `json:"unique_key"`
	Tags         []string        `json:"tags" nullable:"false"`
	Progress     int             `json:"progress" doc:"Percent"`
	ProgressNote string          `json:"progress_note"`
	Result       json.RawMessage `json:"result" doc:"What the handler gave; null when nothing"`
	Error        string          `json:"error"`
	ErrorKind    string          `json:"error_kind"`
	Fingerprint  string          `json:"fingerprint" doc:"The same for errors that differ only in numbers and names"`
	EnqueuedBy   string          `json:"enqueued_by"`
	Schedule     string          `json:"schedule"`
	ScheduledFor moment          `json:"scheduled_for" doc:"The occurrence of its schedule that it stands for; null when a person ran the schedule"`
	RepeatedFrom *int64          `json:"repeated_from"`
	CreatedAt    moment          `json:"created_at"`
	StartedAt    moment          `json:"started_at" doc:"Of the latest run"`
	FinishedAt   moment          `json:"finished_at"`
	UpdatedAt    moment          `json:"updated_at"`
}

// taskDetailJSON is one task with what a list leaves out.
type taskDetailJSON struct {
	TaskJSON
	CancelRequestedAt moment        `json:"cancel_requested_at" doc:"A person asked for the running task to be stopped"`
	PromotedAt        moment        `json:"promoted_at" doc:"Waiting lifted it over what was not lifted"`
	Timeout           *string       `json:"timeout" doc:"Limit of one run, such as 2m; null means none"`
	Attempts          []attemptJSON `json:"attempts" nullable:"false" doc:"Oldest first; a first run that succeeded has no entry"`
}

// attemptJSON is one run of a task.
type attemptJSON struct {
	Attempt     int    `json:"attempt"`
	Outcome     string `json:"outcome" enum:"success,retry,failed,dead,cancelled,interrupted,crashed,lost"`
	Error       string `json:"error"`
	ErrorKind   string `json:"error_kind"`
	Fingerprint string `json:"fingerprint"`
	Stack       string `json:"stack"`
	Worker      string `json:"worker"`
	StartedAt   moment `json:"started_at"`
	FinishedAt  moment `json:"finished_at"`
	RetryAt     moment `json:"retry_at" doc:"When the next run was planned"`
	RetryRule   string `json:"retry_rule" doc:"How retry_at came about"`
}

// taskView is a task as the API shows it: without what is secret.
func (s *Server) taskView(t *models.Task) TaskJSON { return taskRow(s.shown(t)) }

// taskRow is taskView of what shown gives.
func taskRow(t *models.Task) TaskJSON {
	v := TaskJSON{
		ID: t.ID, Type: t.Type, Params: rawJSON(t.Params), Priority: t.Priority, State: t.State,
		Suspected: t.Suspected, Stuck: !t.StuckAt.IsZero(), Attempt: t.Attempt, Failures: t.Failures, Crashes: t.Crashes,
		MaxRetries: t.MaxRetries, RunAt: moment(t.RunAt), TraceID: t.TraceID, UniqueKey: t.UniqueKey, Tags: tagsOf(t.Tags),
		Progress: t.Progress, ProgressNote: t.ProgressNote, Result: rawJSON(t.Result), Error: t.Error, ErrorKind: t.ErrorKind,
		Fingerprint: t.Fingerprint, EnqueuedBy: t.EnqueuedBy, Schedule: t.Schedule, ScheduledFor: moment(t.ScheduledFor),
		CreatedAt: moment(t.CreatedAt), StartedAt: moment(t.StartedAt), FinishedAt: moment(t.FinishedAt), UpdatedAt: moment(t.UpdatedAt),
	}
	if t.RepeatedFrom != 0 {
		v.RepeatedFrom = &t.RepeatedFrom
	}
	return v
}

func (s *Server) taskViews(list []models.Task) []TaskJSON {
	views := make([]TaskJSON, 0, len(list))
	for i := range list {
		views = append(views, s.taskView(&list[i]))
	}
	return views
}

// tagsOf reads the column; one that cannot be read shows as no tags rather than taking the page down.
func tagsOf(column string) []string {
	var tags []string
	if column != "" && json.Unmarshal([]byte(column), &tags) != nil || tags == nil {
		return []string{}
	}
	return tags
}

func (s *Server) taskDetail(t *models.Task, attempts []models.Attempt) taskDetailJSON {
	v := taskDetailJSON{
		TaskJSON: s.taskView(t), CancelRequestedAt: moment(t.CancelRequestedAt), PromotedAt: moment(t.PromotedAt),
		Timeout: durationText(time.Duration(t.TimeoutUS) * time.Microsecond), Attempts: make([]attemptJSON, 0, len(attempts)),
	}
	for _, a := range attempts {
		v.Attempts = append(v.Attempts, attemptJSON{
			Attempt: a.Attempt, Outcome: a.Outcome, Error: a.Error, ErrorKind: a.ErrorKind, Fingerprint: a.Fingerprint,
			Stack: a.Stack, Worker: a.Worker, StartedAt: moment(a.StartedAt), FinishedAt: moment(a.FinishedAt),
			RetryAt: moment(a.RetryAt), RetryRule: a.RetryRule,
		})
	}
	return v
}
