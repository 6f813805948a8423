package models

import (
	"fmt"
	"time"
)

// Schedule is one row of schedules: work that recurs, or happens once at a moment.
type Schedule struct {
	ID           int64 `gorm:"primaryKey"`
	Name         string
	Owner        string // OwnerFile or OwnerAPI
	Task         string // the task type
	Cron         string // exactly one of Cron, EveryUS and At is set
	EveryUS      int64
	At           Instant
	Timezone     string
	Priority     int    // 0 takes the type's
	Tags         string // JSON array of strings; empty when there are none
	Missed       string // what to do about occurrences that were not dealt with in time: one of the Missed constants
	Overlap      string // what to do while a task of the schedule is unfinished: one of the Overlap constants
	Paused       bool
	PauseReason  string
	PausedBy     string
	PausedUntil  Instant // when a pause ends by itself; none for one that does not
	Anchor       Instant // where EveryUS counts from
	Version      int64   // one more with each change of the definition
	CursorAt     Instant // occurrences up to here have been dealt with
	NextAt       Instant // the first one after CursorAt; none when there is none, or the definition is broken
	LastAt       Instant // the latest occurrence that a task was made for
	LastTaskID   int64
	Runs         int64   // tasks made for occurrences
	MissedCount  int64   // occurrences that passed without a task because nobody was there in time
	OverlapCount int64   // occurrences that passed without a task because one was unfinished
	Error        string  // why the latest occurrence or the definition failed; empty after a success
	CreatedAt    Instant `gorm:"autoCreateTime:false"`
	UpdatedAt    Instant `gorm:"autoUpdateTime:false"` // of the definition or the pause
	UpdatedBy    string
	Params       string // a JSON object; its strings may be templates
}

// Every is the interval, 0 for the other kinds.
func (s *Schedule) Every() time.Duration { return time.Duration(s.EveryUS) * time.Microsecond }

// The owners of a schedule.
const (
	OwnerFile = "file" // the configuration file; only pause, resume and run now come from elsewhere
	OwnerAPI  = "api"
)

// What a schedule does about occurrences that were not dealt with in time.
const (
	MissedSkip    = "skip"     // they are recorded and counted
	MissedRunOnce = "run_once" // the latest one runs, the others are recorded and counted
	MissedRunAll  = "run_all"  // the latest MaxCatchUp run, oldest first
)

// What a schedule does with an occurrence while a task of an earlier one is unfinished.
const (
	OverlapSkip     = "skip"      // it is recorded with the task that blocked it
	OverlapAllow    = "allow"     // it runs beside it
	OverlapQueueOne = "queue_one" // one occurrence waits for the end of that task; further ones are as with skip
)

// Occurrence is one row of occurrences: what became of one instant of a schedule. The pair (ScheduleID, At) is unique,
// so that one instant never makes two tasks.
type Occurrence struct {
	ScheduleID int64   `gorm:"primaryKey;autoIncrement:false"`
	At         Instant `gorm:"primaryKey;autoIncrement:false"`
	Outcome    string  // one of the Occurrence constants
	TaskID     int64
	Late       bool  // dealt with more than a minute after At
	BlockedBy  int64 // the unfinished task, for OccurrenceOverlap and OccurrenceQueued
	Note       string
	CreatedAt  Instant `gorm:"autoCreateTime:false"`
}

// What became of an occurrence.
const (
	OccurrenceEnqueued = "enqueued" // TaskID stands for it
	OccurrenceMissed   = "missed"   // nobody was there in time
	OccurrenceOverlap  = "overlap"  // BlockedBy was unfinished
	OccurrenceQueued   = "queued"   // waits for the end of BlockedBy
	OccurrenceError    = "error"    // no task could be made of it; Note says why
)

// KeptOccurrences is how many occurrences of a schedule are kept, the latest.
const KeptOccurrences = 1_000

// ConflictError says that a schedule is no longer the version that a change was made for.
type ConflictError struct {
	Version int64    // that the change was made for
	Current Schedule // as it is now
}

func (e *ConflictError) Error() string {
	by := e.Current.UpdatedBy
	if by == "" {
		by = "somebody else"
	}
	return fmt.Sprintf("schedule %s was changed by %s meanwhile: it has version %d now, and the change was made for version %d",
		e.Current.Name, by, e.Current.Version, e.Version)
}

// OwnedError says that a schedule cannot be changed or made because of who owns the one of that name.
type OwnedError struct{ Name, Owner string }

func (e *OwnedError) Error() string {
	if e.Owner == OwnerFile {
		return fmt.Sprintf("schedule %s belongs to the configuration file: change it there", e.Name)
	}
	return fmt.Sprintf("schedule %s stands in the configuration file, and a schedule of that name was made through the API: rename one of the two", e.Name)
}
