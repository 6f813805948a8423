package web

import (
	"sync"
	"time"
)

// tries slows down who guesses passwords. After some failures each further try has to wait, twice as long each time: for
// an account, so that one cannot be guessed from many places, and for an address, so that it cannot try many accounts.
// The wait for an account stays short, or anybody could keep its owner out.
type tries struct {
	accounts, addresses tryTable
}

const (
	maxTryEntries = 10_000
	forgetTries   = time.Hour // without a failure
)

func newTries() *tries {
	return &tries{
		accounts:  tryTable{free: 5, longest: 30 * time.Second},
		addresses: tryTable{free: 15, longest: 15 * time.Minute},
	}
}

// begin counts a try as a failure until it is forgiven, so that many at one time are no way around the wait. It gives how
// long to wait when it is too early; such a try does not count.
func (t *tries) begin(account, address string, now time.Time) time.Duration {
	if wait := max(t.accounts.wait(account, now), t.addresses.wait(address, now)); wait > 0 {
		return wait
	}
	t.accounts.fail(account, now)
	t.addresses.fail(address, now)
	return 0
}

// forgive takes back a try that was no failure. The account begins anew; its address does not, or who has an account could
// guess those of others without a wait.
func (t *tries) forgive(account, address string) {
	t.accounts.forget(account)
	t.addresses.takeBack(address)
}

// tryTable counts the failures of accounts, or of addresses.
type tryTable struct {
	free    int           // failures that cost nothing
	longest time.Duration // that one has to wait

	mu      sync.Mutex
	entries map[string]*tryEntry
}

type tryEntry struct {
	failures int
	last     time.Time
}

// wait is how long it is until a key may try again.
func (t *tryTable) wait(key string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[key]
	if e == nil || e.failures < t.free || now.Sub(e.last) >= forgetTries {
		return 0
	}
	delay := t.longest
	if over := e.failures - t.free; over < 20 {
		delay = min(time.Second<<over, t.longest)
	}
	return max(e.last.Add(delay).Sub(now), 0)
}

func (t *tryTable) fail(key string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[key]
	if e == nil || now.Sub(e.last) >= forgetTries {
		t.makeRoom(now)
		e = &tryEntry{}
		t.entries[key] = e
	}
	e.failures++
	e.last = now
}

// makeRoom forgets those that are forgotten by now and, where that is not enough, the one that failed longest ago.
func (t *tryTable) makeRoom(now time.Time) {
	if t.entries == nil {
		t.entries = map[string]*tryEntry{}
	}
	if len(t.entries) < maxTryEntries {
		return
	}
	oldest, at := "", now
	for key, e := range t.entries {
		if now.Sub(e.last) >= forgetTries {
			delete(t.entries, key)
		} else if !e.last.After(at) {
			oldest, at = key, e.last
		}
	}
	if len(t.entries) >= maxTryEntries {
		delete(t.entries, oldest)
	}
}

func (t *tryTable) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, key)
}

func (t *tryTable) takeBack(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil && e.failures > 0 {
		e.failures--
	}
}
