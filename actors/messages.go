package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

// Messages, by receiver. All are sent as pointers and not changed once sent. Commands are VerbNoun, facts are past
// tense, questions end in Query. A type written in lower case is a message that an actor sends to itself; those stand
// in the actor's own file.

// To every child of the supervisor, once, when all of them are there.
type begin struct{}

// To the journal.
type (
	// EnqueueTasks asks for tasks to be stored, all or none; answered with *TasksEnqueued or an error. A caller whose
	// ctx has ended is not served: nobody would learn of its tasks.
	EnqueueTasks struct {
		Ctx   context.Context
		Tasks []*models.NewTask
		Then  func(*models.Tx) error // writes what belongs to the tasks, in their transaction; nil for nothing
	}
	// ClaimTasks asks to make candidates running; the queue is told with *TasksClaimed.
	ClaimTasks struct{ Candidates []models.Candidate }
	// FinishRuns says how runs ended. The journal sets bare when it has taken texts out that the ledger refused.
	FinishRuns struct {
		Completions []*models.Completion
		bare        bool
	}
	// ReleaseTasks asks to make waiting tasks ready whose time has come; answered with *TasksReleased.
	ReleaseTasks struct{ IDs []int64 }
	// ReportStuck says that a handler ignores the end of its context.
	ReportStuck struct{ Run models.RunKey }
	// ReturnLost asks to put back running rows that nobody runs.
	ReturnLost struct{ Runs []models.RunKey }
	// ChangeTasks is a person's action on tasks; answered with *models.Changed or an error.
	ChangeTasks struct {
		Ctx    context.Context
		Action Action
		IDs    []int64
		By     models.Actor
	}
	// ChangeType is a person's change to a task type; answered with *models.TypeSetting or an error.
	ChangeType struct {
		Ctx    context.Context
		Change models.TypeChange
		By     models.Actor
	}
	// SaveProgress and SaveLogs keep what running handlers say.
	SaveProgress struct{ Note models.ProgressNote }
	SaveLogs     struct{ Lines []models.LogLine }
	// PurgeTasks deletes old finished tasks; answered with *TasksPurged.
	PurgeTasks struct {
		IDs     []int64
		Minutes models.Instant // delete statistics from before; none deletes none
	}
	// SaveSchedules makes, changes and deletes schedules, all or none; answered with *models.SchedulesSaved or an error.
	SaveSchedules struct {
		Ctx    context.Context
		Saves  []models.ScheduleSave
		Delete []int64
		By     models.Actor
	}
	// SwitchSchedule pauses or resumes a schedule; answered as SaveSchedules is.
	SwitchSchedule struct {
		Ctx    context.Context
		Switch models.ScheduleSwitch
		By     models.Actor
	}
	// StartSchedule stores a task of a schedule outside of its plan; answered as SaveSchedules is.
	StartSchedule struct {
		Ctx  context.Context
		ID   int64
		Task *models.NewTask
		By   models.Actor
	}
	// FireSchedule deals with what is due of a schedule; answered with *ScheduleFired or an error.
	FireSchedule struct{ Firing *models.Firing }
	// LendSlots lets the journal start tasks of a type as it stores them: nothing of the type waits, and so many slots are
	// free. RecallSlots asks for what is left of them; it is always answered with SlotsReturned.
	LendSlots struct {
		Type string
		N    int
	}
	RecallSlots struct{ Type string }
	// FlushJournal is answered with *JournalFlushed when all that was sent before it is durable. Last marks the end of
	// this process in good order.
	FlushJournal struct {
		Ctx  context.Context
		Last bool
	}
)

// From the journal to whoever asked.
type (
	TasksEnqueued  struct{}
	TasksReleased  struct{ N int }
	TasksPurged    struct{ N int64 }
	JournalFlushed struct{}
	ScheduleFired  struct{}
)

// To the queue.
type (
	// TasksReady tells of tasks that may run now.
	TasksReady struct{ Tasks []models.Ready }
	// TasksClaimed hands over durable claims, and names the candidates that were not to be had.
	TasksClaimed struct {
		Runs []*models.Claimed
		Gone []int64
	}
	// TasksStarted hands over tasks that were stored as running, on slots that the queue had lent.
	TasksStarted struct{ Runs []*models.Claimed }
	// SlotsReturned says how many lent slots the journal gives back.
	SlotsReturned struct {
		Type string
		N    int
	}
	// RunsSettled says that slots of a type are free again.
	RunsSettled struct {
		Type string
		IDs  []int64
	}
	// PoolReported is what a pool is and holds now: sent when a pool starts, changes its size, or is asked.
	PoolReported struct {
		Type        string
		Pool        *actor.PID
		Concurrency int
		Stuck       int
		Holds       []models.RunKey // runs that occupy a slot
		Freed       []int64         // runs that are still there and no longer occupy one
		Blocked     string          // why the pool takes nothing now; empty when it does
	}
	// TypeChanged tells of a person's change.
	TypeChanged struct{ Setting models.TypeSetting }
	// StopDispatch ends the start of new runs for good.
	StopDispatch struct{}
	// IdleQuery asks how many slots are given out; answered with *IdleReply.
	IdleQuery struct{}
	IdleReply struct{ Out int }
)

// To a pool.
type (
	// RunTask hands over one claimed task.
	RunTask struct{ Claimed *models.Claimed }
	// StopRun asks for a running task to be stopped, because a person wants it. It goes by way of the queue, so that it
	// cannot overtake the RunTask that it is about.
	StopRun struct {
		Type string
		Run  models.RunKey
	}
	// ResizePool sets the number of workers.
	ResizePool struct{ Concurrency int }
	// PoolQuery asks for *PoolReported.
	PoolQuery struct{}
	// StopRuns ends the contexts of all runs with ErrShutdown.
	StopRuns struct{}
)

// To the scheduler.
type (
	// TasksWaiting tells that there are tasks that wait for a time, the first of them for Earliest.
	TasksWaiting struct{ Earliest models.Instant }
)

// ProbeRuns walks journal -> queue -> pools behind every message that was sent before it. When a pool answers the
// reconciler, any run that was on its way to that pool has arrived.
type ProbeRuns struct {
	Round int64
	From  *actor.PID
}

// PoolProbed is a pool's answer to ProbeRuns, for the reconciler.
type PoolProbed struct {
	Round int64
	Type  string
}

// Describe names the task in the tree.
func (m *RunTask) Describe() string {
	return fmt.Sprintf("task %d, run %d", m.Claimed.ID, m.Claimed.Attempt)
}

// HandlerGraceDefault and its neighbours fill zero fields of Options.
const (
	shutdownGraceDefault = 30 * time.Second
	handlerGraceDefault  = 5 * time.Second
	promoteBaseDefault   = 300 * time.Second
	promoteStepDefault   = 30 * time.Second
)
