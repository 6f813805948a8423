package kit

import (
	"slices"
	"sync"
	"time"
)

// hubPause is the least time between two calls of a subscriber.
const hubPause = 500 * time.Millisecond

// Hub tells subscribers the names of what changed. It tells no more than what, so a slow reader loses nothing by
// hearing of many changes at once.
type Hub struct {
	mu     sync.Mutex
	subs   map[int]func(topics []string)
	nextID int
	dirty  []string
	timer  *time.Timer
	last   time.Time
	closed bool
}

// NewHub returns a Hub without subscribers.
func NewHub() *Hub { return &Hub{subs: map[int]func([]string){}} }

// Publish says that topics changed. It never blocks on a subscriber.
func (h *Hub) Publish(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.subs) == 0 {
		return
	}
	for _, t := range topics {
		if !slices.Contains(h.dirty, t) {
			h.dirty = append(h.dirty, t)
		}
	}
	if h.timer == nil && len(h.dirty) > 0 {
		h.timer = time.AfterFunc(max(hubPause-time.Since(h.last), 0), h.tell)
	}
}

func (h *Hub) tell() {
	h.mu.Lock()
	topics := h.dirty
	h.dirty, h.timer, h.last = nil, nil, time.Now()
	subs := make([]func([]string), 0, len(h.subs))
	for _, f := range h.subs {
		subs = append(subs, f)
	}
	h.mu.Unlock()
	for _, f := range subs {
		f(topics)
	}
}

// Subscribe calls f with what changed until the returned function is called. f must not block.
func (h *Hub) Subscribe(f func(topics []string)) (unsubscribe func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.nextID
	h.nextID++
	h.subs[id] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, id)
	}
}

// Close ends the calls.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
}
