package actors

import (
	"slices"
	"time"

	"reax/models"
)

// laneWindow is how many tasks of one type and priority are kept in memory; the rest waits in the ledger. Ten lanes
// make 50,000 tasks a type.
const laneWindow = 5_000

// lane holds the first tasks of one type and priority, first ready first out.
type lane struct {
	heap readyHeap
	// spilled says that the ledger may hold tasks of this lane that are not in the heap, all of them after last.
	spilled bool
	last    models.Ready
}

// lanes is what a task type has waiting: ten lanes, one a priority. Only the heads of lanes can be next, so lifting
// needs no look at the others and is exact however much stays in the ledger.
type lanes struct {
	window     int
	byPriority [10]lane
	known      map[int64]struct{} // ids in the heaps, so that a task read from the ledger and told of is kept once
}

// newLanes returns empty lanes that keep so many tasks each, and know that the ledger may hold some.
func newLanes(window int) *lanes {
	l := &lanes{window: window, known: map[int64]struct{}{}}
	for p := range l.byPriority {
		l.byPriority[p].spilled = true
	}
	return l
}

func (l *lanes) lane(priority int) *lane { return &l.byPriority[min(max(priority, 1), 10)-1] }

// push takes in a task that became ready. One that comes after what the window holds stays in the ledger.
func (l *lanes) push(r models.Ready) {
	n := l.lane(r.Priority)
	if n.spilled && !before(r, n.last) {
		return
	}
	l.add(n, r)
	if len(n.heap) > l.window+l.window/5 {
		l.spill(n)
	}
}

func (l *lanes) add(n *lane, r models.Ready) {
	if _, ok := l.known[r.ID]; ok {
		return
	}
	l.known[r.ID] = struct{}{}
	n.heap.push(r)
}

// spill drops the end of an overfull window; it is in the ledger.
func (l *lanes) spill(n *lane) {
	slices.SortFunc(n.heap, func(a, b models.Ready) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, r := range n.heap[l.window:] {
		delete(l.known, r.ID)
	}
	n.heap = n.heap[:l.window]
	n.spilled, n.last = true, n.heap[l.window-1]
}

// wantsRefill reports whether the lane has run dry while the ledger may hold more of it.
func (n *lane) wantsRefill() bool { return n.spilled && len(n.heap) == 0 }

// refill takes the next part of a lane as the ledger gave it, in order; full says that there may be more after it.
// Tasks for which skip is true are elsewhere: on their way to a pool, or kept apart.
func (l *lanes) refill(priority int, next []models.Ready, full bool, skip func(models.Ready) bool) {
	n := l.lane(priority)
	n.spilled = full
	for _, r := range next {
		n.last = r
		if !skip(r) {
			l.add(n, r)
		}
	}
}

// promotion is the rule by which waiting lifts a task.
type promotion struct{ base, step time.Duration }

// liftAt is when a task is lifted over all that are not.
func (p promotion) liftAt(r models.Ready) models.Instant {
	return r.ReadyAt.Add(p.base + time.Duration(r.Priority-1)*p.step)
}

// next chooses the lane whose head runs next: among lifted heads the one that was ready first, otherwise the most
// urgent. It returns nil when nothing waits in the window.
func (l *lanes) next(now models.Instant, p promotion) (n *lane, lifted bool) {
	for i := range l.byPriority {
		c := &l.byPriority[i]
		if len(c.heap) == 0 {
			continue
		}
		switch isLifted := p.liftAt(c.heap[0]) <= now; {
		case isLifted && (!lifted || before(c.heap[0], n.heap[0])):
			n, lifted = c, true
		case n == nil:
			n = c
		}
	}
	return n, lifted
}

func (l *lanes) pop(n *lane) models.Ready {
	r := n.heap.pop()
	delete(l.known, r.ID)
	return r
}

// oldest is when the task that waits longest became ready; none when nothing waits.
func (l *lanes) oldest() models.Instant {
	var first models.Instant
	for i := range l.byPriority {
		if h := l.byPriority[i].heap; len(h) > 0 && (first == 0 || h[0].ReadyAt < first) {
			first = h[0].ReadyAt
		}
	}
	return first
}

// unread reports whether the ledger may hold tasks that are not in the window.
func (l *lanes) unread() bool {
	return slices.ContainsFunc(l.byPriority[:], func(n lane) bool { return n.spilled })
}

// held is how many tasks are in the window.
func (l *lanes) held() int { return len(l.known) }
