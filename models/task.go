package models

import "time"

// Task is one row of tasks. The wide columns come last in the table, so that a list of small columns never reads the
// pages of a large payload.
type Task struct {
	ID                int64 `gorm:"primaryKey"`
	Type              string
	State             State
	Priority          int   // 1 (most urgent) to 10
	Attempt           int   // number of the latest run; every run ever started counts, so it names a run for good
	ClaimedRetry      bool  // the latest run was claimed from retry_wait
	Failures          int   // runs that failed since the task was accepted or last retried by a person
	Crashes           int   // processes that died while this task ran, since then
	MaxRetries        int   // further runs after the first, so at most MaxRetries+1 failing runs
	TimeoutUS         int64 // limit of one run in microseconds; 0 means none
	RunAt             Instant
	ReadyAt           Instant // when it became ready to run; none while it waits for RunAt
	PromotedAt        Instant // when waiting lifted it over what was not lifted
	CreatedAt         Instant `gorm:"autoCreateTime:false"`
	StartedAt         Instant // start of the latest run
	FinishedAt        Instant // end of the latest run, or when a person ended it
	UpdatedAt         Instant `gorm:"autoUpdateTime:false"`
	CancelRequestedAt Instant // a person asked for the running task to be stopped
	StuckAt           Instant // its handler ignored the end of its context; the old code still runs
	Suspected         string  // why the latest run may have been a second one; empty when it was not
	Progress          int     // percent
	ProgressNote      string
	TraceID           string // 32 hex digits
	UniqueKey         string
	Worker            string // who has or had the latest run
	BootID            string // the process start that claimed it
	EnqueuedBy        string
	Schedule          string  // the name of the schedule that made it
	ScheduledFor      Instant // the occurrence of the schedule that it stands for; none when a person ran the schedule
	RepeatedFrom      int64
	ErrorKind         string
	Fingerprint       string // groups errors that differ only in numbers and names
	Tags              string // JSON array of strings; empty when there are none
	Error             string
	Result            string // JSON, as the handler gave it
	Params            string // JSON, byte for byte as it was accepted
	Cut               bool   `gorm:"-"` // a row of a list: Params, Result or Error hold only their first 2 KB
}

// RunLimit is the most runs that may fail before the task is dead: what "of n" means in "attempt k of n".
func (t *Task) RunLimit() int { return t.MaxRetries + 1 }

// Attempt is one row of attempts: a run that was not a first-try success. A task that succeeded at once has none, and
// its own row holds all there is to know.
type Attempt struct {
	ID          int64 `gorm:"primaryKey"`
	TaskID      int64
	Attempt     int // Task.Attempt of that run
	Outcome     string
	ErrorKind   string
	Fingerprint string
	Worker      string
	BootID      string
	StartedAt   Instant
	FinishedAt  Instant
	RetryAt     Instant // when the next run was planned, if one was
	RetryRule   string  // the arithmetic that gave RetryAt, for people
	Error       string
	Stack       string
}

// Outcomes of an attempt, as attempts.outcome keeps them.
const (
	OutcomeSuccess     = "success"
	OutcomeRetry       = "retry"       // failed, will run again
	OutcomeFailed      = "failed"      // permanent error
	OutcomeDead        = "dead"        // failed, no retry left
	OutcomeCancelled   = "cancelled"   // stopped by a person
	OutcomeInterrupted = "interrupted" // cut off by a shutdown; costs no retry
	OutcomeCrashed     = "crashed"     // the process died while it ran
	OutcomeLost        = "lost"        // the run was lost inside the process; costs no retry
)

// LogLine is one row of task_logs.
type LogLine struct {
	TaskID  int64 `gorm:"primaryKey"`
	Attempt int   `gorm:"primaryKey"`
	Seq     int   `gorm:"primaryKey"` // ascending from 1 within an attempt; a gap is where lines were left out
	At      Instant
	Level   string // debug, info, warn, error, stdout, stderr
	Text    string
}

// TableName is task_logs: the struct is named for what one row is.
func (LogLine) TableName() string { return "task_logs" }

// TypeSetting is what people changed about a task type while it ran; it outlives restarts.
type TypeSetting struct {
	Type        string `gorm:"primaryKey"`
	Paused      bool
	Concurrency int // 0 means: as the type was registered
	Reason      string
	ChangedBy   string
	ChangedAt   Instant
}

// Count is one row of counts: how many tasks of a type are in a state. It changes in the transaction of each change,
// so that no page ever counts rows.
type Count struct {
	Type  string `gorm:"primaryKey"`
	State State  `gorm:"primaryKey"`
	N     int64
}

// Audit is one row of audit: something a person or a token did.
type Audit struct {
	ID        int64 `gorm:"primaryKey"`
	At        Instant
	Actor     string
	Action    string
	Target    string // "task", "type", "schedule", "bulk", "group", …
	TargetID  string
	Reason    string
	Before    string
	After     string
	Address   string
	RequestID string
	Bulk      int64 `gorm:"-"` // the bulk action that did it, when the entry is a task's part of one
}

// TableName is audit: a log has no plural.
func (Audit) TableName() string { return "audit" }

// Boot is one row of boots: a start of the process. Running rows name the boot that claimed them.
type Boot struct {
	ID        string `gorm:"primaryKey"`
	StartedAt Instant
	StoppedAt Instant // none while it runs, and for ever when it crashed
	Host      string
	PID       int `gorm:"column:pid"`
	Version   string
}

// Timeout is the limit of one run; 0 means none.
func (t *Task) Timeout() time.Duration { return time.Duration(t.TimeoutUS) * time.Microsecond }
