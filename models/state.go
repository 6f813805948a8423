// Package models is the ledger: the rows reax keeps, the states a task may take, and every statement that reads or
// writes them. It knows no actor and no handler. Writes belong to the journal actor alone; reads are open to all.
package models

import (
	"fmt"
	"slices"
	"strings"
)

// State is where a task is in its life. The text is what the database, the API and the pages show.
type State string

// The states of a task. StateSuccess, StateFailed, StateDead and StateCancelled are resting places: nothing but a
// person moves a task out of them.
const (
	StatePending   State = "pending"    // accepted, waiting for its time or a worker
	StateRunning   State = "running"    // a worker has it
	StateRetryWait State = "retry_wait" // failed, will run again at run_at
	StateSuccess   State = "success"    // done, result kept
	StateFailed    State = "failed"     // permanent error: retrying would not help
	StateDead      State = "dead"       // retries used up, or the process died with it too often
	StateCancelled State = "cancelled"  // a person stopped or discarded it
)

// States lists every state in the order in which pages and reports show them.
var States = []State{StatePending, StateRunning, StateRetryWait, StateSuccess, StateFailed, StateDead, StateCancelled}

// transitions is the whole state machine. Every write goes through it; what is not listed cannot happen.
var transitions = map[State][]State{
	StatePending:   {StateRunning, StateCancelled},
	StateRunning:   {StateSuccess, StateRetryWait, StateFailed, StateDead, StateCancelled, StatePending},
	StateRetryWait: {StateRunning, StateCancelled, StatePending},
	StateSuccess:   {},
	StateFailed:    {StatePending, StateCancelled},
	StateDead:      {StatePending, StateCancelled},
	StateCancelled: {StatePending},
}

// CanBecome reports whether the state machine allows s to change into next.
func (s State) CanBecome(next State) bool { return slices.Contains(transitions[s], next) }

// IsKnown reports whether s is one of States.
func (s State) IsKnown() bool { _, ok := transitions[s]; return ok }

// IsFinal reports whether a task in s is finished: only a person can move it again.
func (s State) IsFinal() bool {
	return s == StateSuccess || s == StateFailed || s == StateDead || s == StateCancelled
}

// IsWaiting reports whether a task in s waits for its time or for a worker.
func (s State) IsWaiting() bool { return s == StatePending || s == StateRetryWait }

// sourcesOf lists the states that may change into next, as the IN list of a conditional update needs them.
func sourcesOf(next State) []State {
	var from []State
	for _, s := range States {
		if s.CanBecome(next) {
			from = append(from, s)
		}
	}
	return from
}

// StateError says that a task was not in a state in which the wanted action makes sense. The API answers it with
// 409 wrong_state.
type StateError struct {
	ID     int64
	State  State
	Action string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("task %d is %s: %s does not apply", e.ID, e.State, e.Action)
}

// quoted writes states as SQL does, for the inside of an IN list.
func quoted(states []State) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = "'" + string(s) + "'"
	}
	return strings.Join(texts, ", ")
}
