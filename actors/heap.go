package actors

import "reax/models"

// before is the order within a lane: first ready, first out.
func before(a, b models.Ready) bool {
	if a.ReadyAt != b.ReadyAt {
		return a.ReadyAt < b.ReadyAt
	}
	return a.ID < b.ID
}

// readyHeap is a binary heap with the earliest task on top. Tasks mostly come in order, and then a push costs one
// comparison. It is written out because container/heap would box every element.
type readyHeap []models.Ready

func (h *readyHeap) push(r models.Ready) {
	*h = append(*h, r)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !before(s[i], s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *readyHeap) pop() models.Ready {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if right := child + 1; right < last && before(s[right], s[child]) {
			child = right
		}
		if !before(s[child], s[i]) {
			return top
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}
