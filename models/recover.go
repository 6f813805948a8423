package models

import (
	"fmt"
	"time"
)

// crashLimit is how many deaths of the process one task may be part of before it is parked as dead.
const crashLimit = 3

// aloneAfter is from how many crashes on a task runs without another such task beside it.
const aloneAfter = crashLimit - 1

// IsQuarantined reports whether a task with so many crashes must not run beside another such task: when the process
// dies again, the one of them that ran is to blame, and the innocent are not parked with the guilty.
func IsQuarantined(crashes int) bool { return crashes >= aloneAfter }

// Recovered counts what Recover did, and lists what may run again.
type Recovered struct {
	Requeued, Held, Dead, Cancelled int
	Ready                           []Ready
	Ended                           []Ended // every run that was cut off
}

// Recover ends the runs that a former process left in state running: no more than that process had workers. holds says
// for which types a crash parks the task as failed.
func (tx *Tx) Recover(holds func(typ string) bool) (Recovered, error) {
	var left []Task
	err := tx.db.Raw(`SELECT id, type, trace_id, attempt, failures, crashes, started_at, worker, boot_id, cancel_requested_at FROM tasks
 WHERE state = 'running' AND state <> 'success' AND boot_id <> ? ORDER BY id`, tx.w.bootID).Scan(&left).Error
	if err != nil {
		return Recovered{}, fmt.Errorf("looking for runs of a former process: %w", err)
	}
	suspects, err := tx.quarantinedBoots()
	if err != nil {
		return Recovered{}, err
	}
	var sum Recovered
	done := make([]*Completion, len(left))
	for i := range left {
		t := &left[i]
		crashes := t.Crashes
		if !suspects[t.BootID] || IsQuarantined(t.Crashes) {
			crashes++
		}
		done[i] = afterCrash(t, crashes, holds(t.Type), tx.now)
	}
	ended, err := tx.Finish(done)
	sum.Ended = ended
	for i := range ended {
		switch ended[i].State {
		case StatePending:
			sum.Requeued++
			sum.Ready = append(sum.Ready, ended[i].Ready)
		case StateDead:
			sum.Dead++
		case StateCancelled: // a person had asked for it
			sum.Cancelled++
		default:
			sum.Held++
		}
	}
	return sum, err
}

// quarantinedBoots tells which former processes died while a quarantined task ran: only that one is blamed.
func (tx *Tx) quarantinedBoots() (map[string]bool, error) {
	var boots []string
	err := tx.db.Raw(`SELECT DISTINCT boot_id FROM tasks WHERE state = 'running' AND state <> 'success' AND boot_id <> ? AND crashes >= ?`,
		tx.w.bootID, aloneAfter).Scan(&boots).Error
	if err != nil {
		return nil, fmt.Errorf("looking for suspects of a crash: %w", err)
	}
	set := map[string]bool{}
	for _, b := range boots {
		set[b] = true
	}
	return set, nil
}

func afterCrash(t *Task, crashes int, hold bool, now Instant) *Completion {
	c := &Completion{
		ID: t.ID, Type: t.Type, TraceID: t.TraceID, Attempt: t.Attempt, State: StatePending, Outcome: OutcomeCrashed, Failures: t.Failures,
		StartedAt: t.StartedAt, FinishedAt: now, Worker: t.Worker, BootID: t.BootID, ErrorKind: "crash", CrashCount: crashes,
		Error:     fmt.Sprintf("the process died while run %d was going on", t.Attempt),
		Suspected: fmt.Sprintf("the process died during run %d, started %s; it may have done its work", t.Attempt, t.StartedAt.Time().Format(time.RFC3339)),
	}
	switch {
	case crashes >= crashLimit:
		c.State = StateDead
		c.Error = fmt.Sprintf("the process died %d times while this task ran, last during run %d", crashes, t.Attempt)
	case hold:
		c.State = StateFailed
		c.Error += "; its type holds such tasks for a person to decide"
	}
	return c
}
