package views

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"reax/models"
)

// BulkChoice is what a list offers to do with the tasks that are picked in it.
type BulkChoice struct {
	Retry, Cancel, Discard bool
	All                    string // what the choice of everything that matches says; empty offers none
}

// Bulk is a bulk action: first the question, then how far it is. Its texts are in the viewer's language.
type Bulk struct {
	ID         string
	Action     string // retry, cancel or discard
	Planned    bool
	Running    bool
	N          int // in the set
	Done       int
	Skipped    int
	By, Reason string
	StartedAt  models.Instant
	FinishedAt models.Instant
	Spread     time.Duration
	Fields     []Field // of the question
	Sample     []TaskRow
	Why        []BulkWhy
	Listed     []BulkSkip // some of what was left alone
	Back       string     // the list that it came from, as forms carry it
	BackURL    templ.SafeURL
}

// BulkWhy is a reason for which tasks were left alone.
type BulkWhy struct {
	Text string
	N    int
}

// BulkSkip is one task that was left alone.
type BulkSkip struct {
	ID   int64
	Text string
}

// place is where the action is, in a sentence.
func (b Bulk) place(ctx context.Context) string {
	state := "finished"
	if b.Running {
		state = "running"
	}
	return T(ctx, "bulk."+state+"."+b.Action, "n", b.N)
}

// left is what is still to be done.
func (b Bulk) left() int { return max(b.N-b.Done-b.Skipped, 0) }

func (b Bulk) facts(ctx context.Context) []Fact {
	facts := []Fact{{Label: T(ctx, "bulk.by"), Value: b.By}}
	if b.Reason != "" {
		facts = append(facts, Fact{Label: T(ctx, "bulk.why"), Value: line(b.Reason, 1000)})
	}
	facts = append(facts, Fact{Label: T(ctx, "bulk.started"), Value: Clock(ctx, b.StartedAt)})
	if b.Spread > 0 {
		facts = append(facts, Fact{Label: T(ctx, "bulk.spread"), Value: Duration(ctx, b.Spread)})
	}
	if !b.FinishedAt.IsZero() {
		facts = append(facts, Fact{Label: T(ctx, "bulk.ended"), Value: Clock(ctx, b.FinishedAt)})
	}
	return facts
}
