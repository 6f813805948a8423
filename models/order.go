package models

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Order is by what a list of tasks is sorted. A minus sign before it turns it round, ties too: tasks of one value stand
// in the order in which they were accepted, and the other way round after the sign.
type Order string

// The orders of a list.
const (
	NewestFirst Order = ""
	ByChanged   Order = "changed"  // the latest change, earliest first
	ByPriority  Order = "priority" // most urgent first
	ByDuration  Order = "duration" // Task.RunTime, shortest first; tasks without one come last, also after a minus sign
)

// Orders lists every order but NewestFirst, the turn that people mostly want of each before the other.
var Orders = []Order{"-" + ByChanged, ByChanged, ByPriority, "-" + ByPriority, "-" + ByDuration, ByDuration}

// IsKnown reports whether o is NewestFirst or one of Orders.
func (o Order) IsKnown() bool { return o == NewestFirst || slices.Contains(Orders, o) }

// IsDown reports whether o is turned round by a minus sign.
func (o Order) IsDown() bool { return strings.HasPrefix(string(o), "-") }

// Column is o without its minus sign.
func (o Order) Column() Order { return Order(strings.TrimPrefix(string(o), "-")) }

// Reversed is o turned round.
func (o Order) Reversed() Order {
	if o.IsDown() {
		return o.Column()
	}
	return "-" + o
}

// RunTime is how long the latest run of a task took or, while it runs, has taken until now. It is false for a task that
// has not run, and for one that was waiting or had failed when a person ended it: what its row has then is when that was.
func (t *Task) RunTime(now Instant) (time.Duration, bool) {
	end := t.FinishedAt
	switch {
	case t.State == StateRunning:
		end = now
	case t.State == StateCancelled && t.CancelRequestedAt == 0:
		end = 0
	}
	if t.StartedAt == 0 || end == 0 {
		return 0, false
	}
	return end.Sub(t.StartedAt), true
}

// runTime is RunTime in microseconds as a statement has it, NULL where it is false. Its argument is now.
const runTime = `(CASE WHEN state = 'running' THEN ? WHEN state = 'cancelled' AND cancel_requested_at IS NULL THEN NULL
 ELSE finished_at END) - started_at`

// Rank gives the number by which o sorts a task: a lower one comes first. Running tasks have run until now.
func (o Order) Rank(t *Task, now Instant) int64 {
	var n int64
	switch o.Column() {
	case ByChanged:
		n = int64(t.UpdatedAt)
	case ByPriority:
		n = int64(t.Priority)
	case ByDuration:
		d, ok := t.RunTime(now)
		if !ok {
			return unranked
		}
		n = d.Microseconds()
	}
	if o.IsDown() {
		return -n
	}
	return n
}

// unranked is the rank of tasks that have no value to be sorted by.
const unranked = math.MaxInt64

// rank is Rank as a statement selects it.
func (o Order) rank(now Instant) condition {
	var c condition
	switch o.Column() {
	case ByChanged:
		c = condition{"updated_at", nil}
	case ByPriority:
		c = condition{"priority", nil}
	case ByDuration:
		c = condition{runTime, []any{int64(now)}}
	default:
		return condition{"0", nil}
	}
	if o.IsDown() {
		c.sql = "-(" + c.sql + ")"
	}
	c.sql = "coalesce(" + c.sql + ", 9223372036854775807)"
	return c
}

// ranked is a task as it is sorted.
type ranked struct{ id, rank int64 }

// compare gives which of two tasks comes first.
func (o Order) compare(a, b ranked) int {
	if o.IsDown() || o == NewestFirst {
		return cmp.Or(cmp.Compare(a.rank, b.rank), descending(a.id, b.id))
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
}
