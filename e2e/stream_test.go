package e2e

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is a stream of requests for tasks at one server after the other. Its callers never wait for each other.
type load struct {
	target   atomic.Pointer[api]
	mu       sync.Mutex
	accepted []int64
	other    map[int]int // answers that were neither 2xx nor 503, by status
	refused  int         // answers 503
	stop     chan struct{}
	stopping sync.Once
	callers  sync.WaitGroup
}

// startLoad asks for so many tasks a second; request makes each one.
func startLoad(t *testing.T, perSecond int, request func(n int64) []byte) *load {
	t.Helper()
	l := &load{stop: make(chan struct{}), other: map[int]int{}}
	slots := make(chan int64)
	for range 64 {
		l.callers.Go(func() {
			for n := range slots {
				if target := l.target.Load(); target != nil {
					l.ask(target, request(n))
				}
			}
		})
	}
	l.callers.Go(func() {
		defer close(slots)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for n := int64(0); ; n++ {
			select {
			case <-tick.C:
			case <-l.stop:
				return
			}
			select {
			case slots <- n:
			default: // all callers wait for an answer
			}
		}
	})
	t.Cleanup(l.end)
	return l
}

func (l *load) ask(target *api, body []byte) {
	got, err := target.call(http.MethodPost, "/api/v1/tasks", body)
	if err != nil {
		return // the server died: nobody knows what became of the request
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var v task
	switch {
	case got.status/100 == 2 && json.Unmarshal(got.body, &v) == nil:
		l.accepted = append(l.accepted, v.ID)
	case got.status == http.StatusServiceUnavailable:
		l.refused++
	default:
		l.other[got.status]++
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// end stops the callers and waits for them. It may be called twice.
func (l *load) end() {
	l.stopping.Do(func() { close(l.stop) })
	l.callers.Wait()
}
