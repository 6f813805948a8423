package kit

import "sync"

// Table is a map that many goroutines may use. Actors keep in one what must outlive the actor itself: when a pool
// crashes, the handlers it had started go on, and the next instance finds them here.
type Table[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]V
}

// NewTable returns an empty Table.
func NewTable[K comparable, V any]() *Table[K, V] { return &Table[K, V]{m: map[K]V{}} }

// Put stores v under k.
func (t *Table[K, V]) Put(k K, v V) {
	t.mu.Lock()
	t.m[k] = v
	t.mu.Unlock()
}

// Get returns what is stored under k.
func (t *Table[K, V]) Get(k K) (V, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, ok := t.m[k]
	return v, ok
}

// Remove takes k out and reports whether it was there: of several who try, one is told yes.
func (t *Table[K, V]) Remove(k K) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.m[k]
	delete(t.m, k)
	return ok
}

// Len is the number of entries.
func (t *Table[K, V]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.m)
}

// Values copies all entries that keep accepts.
func (t *Table[K, V]) Values(keep func(V) bool) []V {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []V
	for _, v := range t.m {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// Keys copies all keys.
func (t *Table[K, V]) Keys() []K {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]K, 0, len(t.m))
	for k := range t.m {
		out = append(out, k)
	}
	return out
}
