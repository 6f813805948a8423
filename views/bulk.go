package views

import (
	"context"
	"strconv"

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
	models.BulkRun
	Fields  []Field   // of the question
	Rows    []TaskRow // some of its set
	Newest  templ.SafeURL
	Older   templ.SafeURL
	Patch   string // of a replace, for the eyes
	Tried   []PatchTry
	Unfit   int // of those in Tried
	Why     []BulkWhy
	Listed  []BulkSkip // some of what was left alone
	Back    string     // the list that it came from, as forms carry it
	BackURL templ.SafeURL
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

// PatchTry is what a replace would make of one task.
type PatchTry struct {
	ID     int64
	Params string // of the copy; empty when there would be none
	Why    string // why there would be none
}

// BulkList is the bulk actions of late.
type BulkList struct {
	Rows   []models.BulkRun
	Newest templ.SafeURL
	Older  templ.SafeURL
}

// planned and running are where the action is.
func (b Bulk) planned() bool { return b.State == models.BulkPlanned }
func (b Bulk) running() bool { return b.State == models.BulkRunning }

// place is where the action is, in a sentence.
func (b Bulk) place(ctx context.Context) string { return bulkPlace(ctx, &b.BulkRun) }

func bulkPlace(ctx context.Context, r *models.BulkRun) string {
	state := r.State
	if state == models.BulkDone {
		state = "finished"
	}
	return T(ctx, "bulk."+state+"."+r.Action, "n", r.Matched)
}

// left is what is still to be done.
func (b Bulk) left() int { return max(b.Matched-b.Dealt(), 0) }

// leftWord is the word for what is left.
func (b Bulk) leftWord(ctx context.Context) string {
	if b.State == models.BulkStopped {
		return T(ctx, "bulk.word.not_done")
	}
	return T(ctx, "bulk.word.left")
}

// least is the role that may start it.
func (b Bulk) least() models.Role {
	if b.Action == models.ActionDiscard {
		return models.RoleAdmin
	}
	return models.RoleOperator
}

func (b Bulk) path() string { return "/bulk/" + strconv.FormatInt(b.ID, 10) }

// off says why somebody may not press a button that needs a role; empty when they may.
func off(ctx context.Context, need models.Role) string {
	if May(ctx, need) {
		return ""
	}
	return T(ctx, "access.off."+string(need))
}

func (b Bulk) facts(ctx context.Context) []Fact {
	facts := []Fact{{Label: T(ctx, "bulk.by"), Value: ActorName(ctx, b.Actor)}}
	if b.Type != "" {
		facts = append(facts, Fact{Label: T(ctx, "tasks.type"), Value: line(b.Type, 100), URL: URL(ctx, "/types/"+Segment(b.Type))})
	}
	if b.Reason != "" {
		facts = append(facts, Fact{Label: T(ctx, "bulk.why"), Value: line(b.Reason, 1000)})
	}
	if b.StartedAt.IsZero() {
		facts = append(facts, Fact{Label: T(ctx, "bulk.planned_at"), Value: Clock(ctx, b.PlannedAt)})
	} else {
		facts = append(facts, Fact{Label: T(ctx, "bulk.started"), Value: Clock(ctx, b.StartedAt)})
	}
	if b.SpreadUS > 0 {
		facts = append(facts, Fact{Label: T(ctx, "bulk.spread"), Value: Duration(ctx, b.Spread())})
	}
	if !b.FinishedAt.IsZero() {
		facts = append(facts, Fact{Label: T(ctx, "bulk.ended"), Value: Clock(ctx, b.FinishedAt)})
	}
	if b.StoppedBy != "" {
		facts = append(facts, Fact{Label: T(ctx, "bulk.stopped_by"), Value: ActorName(ctx, b.StoppedBy)})
	}
	return facts
}
