package actors

import (
	"encoding/json"
	"time"
)

// ScheduleSpec is a schedule as a person or the configuration file defines it. Exactly one of Cron, Every and At is set.
type ScheduleSpec struct {
	Name     string // as tasks.CheckName wants it
	Task     string // the task type
	Cron     string
	Every    time.Duration   // whole seconds
	At       time.Time       // one run
	Timezone string          // an IANA name; empty means UTC
	Params   json.RawMessage // an object; its strings may be templates over the occurrence
	Priority int             // 1 to 10; 0 takes the type's
	Tags     []string
	Missed   string    // skip, run_once (default) or run_all
	Overlap  string    // skip (default), allow or queue_one
	Anchor   time.Time // where Every counts from; zero keeps the stored one, which at first is the moment of creation
}

// SchedulePatch is a change of a schedule. Nil fields stay as they are. Setting one of Cron, Every and At clears the
// other two.
type SchedulePatch struct {
	Version  int64 // of the schedule that the change was made for
	Name     *string
	Task     *string
	Cron     *string
	Every    *time.Duration
	At       *time.Time
	Timezone *string
	Params   json.RawMessage
	Priority *int // 0 takes the type's
	Tags     *[]string
	Missed   *string
	Overlap  *string
}

// Limits of schedules.
const (
	MaxTemplateBytes = 4 << 10  // of one string of the parameters that is a template
	MaxRenderedBytes = 64 << 10 // of what it gives
	MaxCatchUp       = 100      // occurrences that run_all makes up for
)
