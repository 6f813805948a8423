package kit

import (
	"maps"
	"sync"
)

// Counts counts things by a key, from many goroutines. It is for what happens now and then: every change takes a lock.
type Counts[K comparable] struct {
	mu sync.Mutex
	n  map[K]int64
}

// Add adds n to the count of k.
func (c *Counts[K]) Add(k K, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[K]int64{}
	}
	c.n[k] += n
}

// All copies the counts.
func (c *Counts[K]) All() map[K]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}
