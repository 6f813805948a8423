package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reax/models"
)

// Actors is the live supervision tree. Nobody was asked for it: it shows an actor that does not answer as well.
type Actors struct {
	Roots  []Actor
	Node   string // the id of the chosen actor; empty for none
	Chosen *Actor // nil when there is no such actor now
	Total  int
	Busy   int
	Stuck  []string // the ids of those that do not get on
}

// Actor is one actor with those it supervises.
type Actor struct {
	ID, Kind  string
	Doing     string // the message that it handles; empty when idle
	TaskID    int64  // of that; 0 when it is about no single task
	Busy      time.Duration
	Stuck     bool // with one message for too long, which no worker can be
	Mailbox   int
	Processed int64
	Restarts  int64
	Panic     string
	Stack     string
	PanicAt   models.Instant
	Children  []Actor
}

const (
	openDepth    = 2  // levels of the tree that are open at first
	foldFrom     = 4  // idle workers of one pool that become one line
	foldOthersAt = 40 // siblings of another kind from which on the idle ones become one line
	busyRows     = 60 // working workers that are listed, all pools together
	leastBusy    = 3  // of one pool in any case
	freshCrash   = 15 * time.Minute
)

// worker reports whether it runs tasks, which may take hours.
func (a Actor) worker() bool { return a.Kind == "worker" }

// name is the last part of its id. A pool has the name of its type.
func (a Actor) name() string {
	last := a.ID[strings.LastIndexByte(a.ID, '/')+1:]
	if a.Kind == "pool" {
		return strings.ReplaceAll(last, "|", "/")
	}
	return last
}

// quiet reports whether there is nothing to see about it.
func (a Actor) quiet() bool {
	return a.Busy == 0 && a.Mailbox == 0 && a.Restarts == 0 && a.Panic == "" && !slices.ContainsFunc(a.Children, func(c Actor) bool { return !c.quiet() })
}

func (a Actor) mark(ctx context.Context) (tone, word string) {
	switch {
	case a.Stuck:
		return "failed", T(ctx, "actors.stuck")
	case a.Busy > 0:
		return "running", T(ctx, "actors.working")
	}
	return "quiet", T(ctx, "actors.idle")
}

// doing says what it works on, a task by its number.
func (a Actor) doing(ctx context.Context) string {
	if a.TaskID != 0 {
		return T(ctx, "actors.task", "id", fmt.Sprint(a.TaskID))
	}
	return a.Doing
}

// size is how many actors there are in a part of the tree.
func size(list []Actor) int {
	n := len(list)
	for _, a := range list {
		n += size(a.Children)
	}
	return n
}

// nodes is the tree as rows, with what is quiet folded where there is much of it.
func (p Actors) nodes(ctx context.Context) []Node {
	pools := 0
	for _, root := range p.Roots {
		pools += count(root, func(a Actor) bool { return a.Kind == "pool" })
	}
	return p.rows(ctx, p.Roots, 0, max(leastBusy, busyRows/max(pools, 1)))
}

func count(a Actor, is func(Actor) bool) (n int) {
	if is(a) {
		n = 1
	}
	for _, c := range a.Children {
		n += count(c, is)
	}
	return n
}

func (p Actors) rows(ctx context.Context, list []Actor, depth, most int) []Node {
	idle, busy := p.hidden(list, most)
	var rows []Node
	for _, a := range list {
		if !idle[a.ID] && !busy[a.ID] {
			rows = append(rows, p.row(ctx, a, depth, most))
		}
	}
	if len(busy) > 0 {
		rows = append(rows, Node{Name: T(ctx, "actors.more_working", "n", len(busy))})
	}
	if len(idle) > 0 {
		key := "actors.idle_others"
		if list[0].worker() {
			key = "actors.idle_workers"
		}
		rows = append(rows, Node{Name: T(ctx, key, "n", len(idle))})
	}
	return rows
}

// hidden are the siblings that become a number: the idle ones when there are many, and of the working workers those that
// began last.
func (p Actors) hidden(list []Actor, most int) (idle, busy map[string]bool) {
	idle, busy = map[string]bool{}, map[string]bool{}
	var working []Actor
	for _, a := range list {
		switch chosen := a.ID == p.Node || strings.HasPrefix(p.Node, a.ID+"/"); {
		case chosen || a.Stuck:
		case a.quiet():
			idle[a.ID] = true
		case a.worker() && a.Busy > 0:
			working = append(working, a)
		}
	}
	if from := foldOthersAt; len(list) > 0 && (list[0].worker() && len(idle) < foldFrom || !list[0].worker() && len(list) < from) {
		clear(idle)
	}
	slices.SortStableFunc(working, func(a, b Actor) int { return cmp.Compare(b.Busy, a.Busy) })
	for _, a := range working[min(most, len(working)):] {
		busy[a.ID] = true
	}
	return idle, busy
}

func (p Actors) row(ctx context.Context, a Actor, depth, most int) Node {
	tone, word := a.mark(ctx)
	n := Node{
		ID: "node-" + a.ID, Name: a.name(), Tone: tone, Word: word, URL: URL(ctx, "/actors", "node", a.ID), Doing: a.doing(ctx),
		Current: a.ID == p.Node, Open: depth < openDepth || strings.HasPrefix(p.Node, a.ID+"/") || !a.quiet(),
		Children: p.rows(ctx, a.Children, depth+1, most),
	}
	if a.TaskID != 0 {
		n.DoingURL = URL(ctx, fmt.Sprintf("/tasks/%d", a.TaskID))
	}
	if a.Busy > 0 {
		n.Note = Duration(ctx, a.Busy)
	}
	if !a.PanicAt.IsZero() && ViewerOf(ctx).now().Sub(a.PanicAt.Time()) < freshCrash {
		n.Alarm, n.AlarmAt = T(ctx, "actors.crashed"), a.PanicAt
	}
	if a.Mailbox > 0 || !a.worker() {
		n.Facts = append(n.Facts, Fact{Label: T(ctx, "actors.mailbox"), Value: Number(int64(a.Mailbox))})
	}
	n.Facts = append(n.Facts, Fact{Label: T(ctx, "actors.processed"), Value: Short(a.Processed)})
	if a.Restarts > 0 {
		n.Facts = append(n.Facts, Fact{Label: T(ctx, "actors.restarts"), Value: Number(a.Restarts)})
	}
	return n
}

func (a Actor) facts(ctx context.Context) []Fact {
	busy := Fact{Label: T(ctx, "actors.doing"), Value: a.doing(ctx)}
	if a.TaskID != 0 {
		busy.URL = URL(ctx, fmt.Sprintf("/tasks/%d", a.TaskID))
	}
	facts := []Fact{{Label: T(ctx, "actors.id"), Value: a.ID, Mono: true, Copy: true}, {Label: T(ctx, "actors.kind"), Value: a.Kind}, busy}
	if a.Busy > 0 {
		facts = append(facts, Fact{Label: T(ctx, "actors.elapsed"), Value: Duration(ctx, a.Busy)})
	}
	if a.Kind == "pool" {
		facts = append(facts, Fact{Label: T(ctx, "actors.type"), Value: a.name(), URL: URL(ctx, "/types/"+Segment(a.name()))})
	}
	return append(facts,
		Fact{Label: T(ctx, "actors.mailbox"), Value: Number(int64(a.Mailbox))},
		Fact{Label: T(ctx, "actors.processed"), Value: Number(a.Processed)},
		Fact{Label: T(ctx, "actors.restarts"), Value: Number(a.Restarts)},
		Fact{Label: T(ctx, "actors.children"), Value: Number(int64(size(a.Children)))},
	)
}
