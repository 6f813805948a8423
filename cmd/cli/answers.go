package cli

import (
	"encoding/json"
	"fmt"
	"time"
)

// task is what the commands read of a task in the API's answers. Results stay as they were written.
type task struct {
	ID                int64           `json:"id"`
	Type              string          `json:"type"`
	Params            json.RawMessage `json:"params"`
	Priority          int             `json:"priority"`
	State             string          `json:"state"`
	Suspected         string          `json:"suspected"`
	Stuck             bool            `json:"stuck"`
	Attempt           int             `json:"attempt"`
	Failures          int             `json:"failures"`
	Crashes           int             `json:"crashes"`
	MaxRetries        int             `json:"max_retries"`
	RunAt             *time.Time      `json:"run_at"`
	TraceID           string          `json:"trace_id"`
	UniqueKey         string          `json:"unique_key"`
	Tags              []string        `json:"tags"`
	Progress          int             `json:"progress"`
	ProgressNote      string          `json:"progress_note"`
	Result            json.RawMessage `json:"result"`
	Error             string          `json:"error"`
	ErrorKind         string          `json:"error_kind"`
	EnqueuedBy        string          `json:"enqueued_by"`
	RepeatedFrom      *int64          `json:"repeated_from"`
	CreatedAt         *time.Time      `json:"created_at"`
	StartedAt         *time.Time      `json:"started_at"`
	FinishedAt        *time.Time      `json:"finished_at"`
	UpdatedAt         *time.Time      `json:"updated_at"`
	CancelRequestedAt *time.Time      `json:"cancel_requested_at"`
	Duplicate         bool            `json:"duplicate"`
	Attempts          []attempt       `json:"attempts"`
}

type attempt struct {
	Attempt    int        `json:"attempt"`
	Outcome    string     `json:"outcome"`
	Error      string     `json:"error"`
	ErrorKind  string     `json:"error_kind"`
	Stack      string     `json:"stack"`
	Worker     string     `json:"worker"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	RetryAt    *time.Time `json:"retry_at"`
	RetryRule  string     `json:"retry_rule"`
}

// isFinal reports whether nothing but a person moves the task any more.
func (t *task) isFinal() bool {
	switch t.State {
	case "success", "failed", "dead", "cancelled":
		return true
	}
	return false
}

// mark is the state with what stands beside it.
func (t *task) mark() string {
	switch {
	case t.Stuck:
		return t.State + " (stuck)"
	case t.CancelRequestedAt != nil && t.State == "running":
		return t.State + " (cancelling)"
	case t.Suspected != "":
		return t.State + " (suspected)"
	}
	return t.State
}

// note is the one thing to know about the task in a list.
func (t *task) note() string {
	switch {
	case t.Error != "" && t.State != "success":
		return t.Error
	case t.State == "running" && (t.Progress > 0 || t.ProgressNote != ""):
		return fmt.Sprintf("%d%% %s", t.Progress, t.ProgressNote)
	}
	return ""
}

// read turns an answer into v.
func read(answer json.RawMessage, v any) error {
	if err := json.Unmarshal(answer, v); err != nil {
		return fmt.Errorf("the answer of the server cannot be read: %w", err)
	}
	return nil
}

// at writes a moment in the local zone and names the zone, so that no two readers take it for different moments.
func at(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05 -07:00")
}
