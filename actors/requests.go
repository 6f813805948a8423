// Package actors is the runtime: a supervision tree that accepts tasks, decides what runs next, runs it and writes down
// what came of it. The rest of the program sees it through Runtime alone; PIDs and messages stay inside.
package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reax/actors/kit"
	"reax/models"
)

// EnqueueRequest asks for one task. Zero fields take the type's policy.
type EnqueueRequest struct {
	Type       string
	Params     json.RawMessage // a JSON object; kept byte for byte
	Priority   int             // 1 to 10; 0 takes the type's
	RunAt      time.Time       // zero or past means now
	MaxRetries *int            // nil takes the type's
	Timeout    *time.Duration  // nil takes the type's; 0 means none
	UniqueKey  string
	Tags       []string
	TraceID    string // 32 hex digits; empty takes that of Traceparent, or makes a new one
	// Traceparent is the caller's span as W3C Trace Context has it. What is no such header counts as none.
	Traceparent string
	By          string // who asked, for the record

	repeatedFrom int64
	own          bool // reax itself makes the task, and not a person or a program
}

// Enqueued is the answer to one EnqueueRequest.
type Enqueued struct {
	Task      models.Task
	Duplicate bool // Task is the one that already holds the unique key
}

// Change is who does something to a task or type, and why. Reason may be empty except for a discard.
type Change struct {
	By        string
	Reason    string
	Address   string
	RequestID string
}

// Action is what a person does to tasks.
type Action string

// The actions on tasks.
const (
	ActionRetry   Action = "retry"   // run again: now if it waits for its time, with a fresh count if it had ended
	ActionCancel  Action = "cancel"  // stop it, or keep it from starting
	ActionDiscard Action = "discard" // give up on a failed or dead task; needs a reason
	ActionReplace Action = "replace" // in bulk: run a copy of a failed or dead task with other parameters, and discard it
)

// BulkRequest applies Action to the tasks named by IDs, or to all that match Filter at the moment of the call.
type BulkRequest struct {
	Action Action
	IDs    []int64
	Filter *models.Filter  // of a replace, with exactly one type
	Patch  json.RawMessage // of a replace: a JSON object that is merged into the parameters, as RFC 7396 has it
	Change Change
}

// BulkReport says what a bulk action did. Skipped lists at most MaxBulkSkips entries; SkippedTotal counts all.
type BulkReport struct {
	ID           int64 // of the bulk action; 0 when nothing matched
	Matched      int
	Done         int
	Skipped      []Skip
	SkippedTotal int
}

// Skip is one task that a bulk action left alone.
type Skip struct {
	ID     int64
	Code   string // the state in which the action makes no sense, or one of models.SkipKeyHeld and the like
	Reason string // the same in words
}

// Limits of bulk actions.
const (
	MaxBulkTasks = 100_000
	MaxBulkSkips = 1_000
)

// Limits on what an enqueue may carry, in bytes and counts.
const (
	MaxParamsBytes    = 1 << 20
	MaxTags           = 20
	MaxTagBytes       = 64
	MaxUniqueKeyBytes = 256
	MaxBatch          = 1_000
	MaxResultBytes    = 64 << 10
	MaxErrorBytes     = 16 << 10
	MaxReasonBytes    = 1_000
	MaxGroupNameBytes = 100
)

// Errors of Runtime's methods, beside *tasks.InvalidError, *models.StateError and models.ErrNotFound.
var (
	// ErrUnknownType means that no task type of that name is registered.
	ErrUnknownType = errors.New("unknown task type")
	// ErrUnavailable means that the change could not be made durable now; the same call may work later.
	ErrUnavailable = errors.New("the database is not available")
	// ErrStopped means that the runtime is stopping or has stopped.
	ErrStopped = errors.New("reax is stopping")
)

// TooLargeError says which limit a request went over. The API answers it with 413.
type TooLargeError struct {
	What  string // "params", "tags", …
	Limit int    // bytes, or a count where What says so
}

func (e *TooLargeError) Error() string { return fmt.Sprintf("%s: the limit is %d", e.What, e.Limit) }

// BatchError says which of a batch's tasks were refused and why. Nothing of the batch was stored.
type BatchError struct{ Errors map[int]error }

func (e *BatchError) Error() string {
	return fmt.Sprintf("%d tasks of the batch were refused", len(e.Errors))
}

// PoolStatus is what a task type's pool does at this moment.
type PoolStatus struct {
	Concurrency int    // workers it should have
	Busy        int    // workers with a run
	Ready       int64  // tasks that wait for a worker, here and in the ledger
	Stuck       int    // handlers that ignored the end of their context and still run
	Paused      bool   // by a person, or by itself because of stuck handlers
	PauseReason string // why, in words
	PausedBy    string
}

// Health is the runtime's own view of how it is. It is read without asking any actor, so it answers when they cannot.
type Health struct {
	Status         string   // ok, degraded, draining or down
	Reasons        []string // why it is not ok, in sentences
	Causes         []Cause  // the same one by one, for readers of other languages
	Backlog        int64    // tasks ready to run
	OldestWait     time.Duration
	WorkersBusy    int
	WorkersTotal   int
	SuccessRate5m  float64 // of runs finished in the last five minutes; meaningful only if Finished5m > 0
	Finished5m     int64
	DatabaseOK     bool
	DatabaseReason string
	DiskFree       int64 // bytes that the database may still take; meaningful only if DiskTotal > 0
	DiskTotal      int64
}

// The words of Health.Status.
const (
	StatusOK       = "ok"
	StatusDegraded = "degraded"
	StatusDraining = "draining"
	StatusDown     = "down"
)

// TreeRow is one actor in the live supervision tree.
type TreeRow = kit.Row
