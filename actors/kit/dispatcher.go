package kit

import "sync/atomic"

// dispatcher runs mailboxes on goroutines that it keeps. The library starts a goroutine for every mailbox that stops
// being empty, and the stack of each must grow anew for the long way to Receive: under load that is a tenth of all work.
type dispatcher struct {
	work chan func() // without a buffer: taken by a goroutine that is idle now, or not at all
	idle atomic.Int32
	stop chan struct{}
}

const (
	dispatcherIdle       = 64  // goroutines that are kept for later
	dispatcherThroughput = 300 // messages of one mailbox before others get a turn; the library's own number
)

func newDispatcher() *dispatcher {
	return &dispatcher{work: make(chan func()), stop: make(chan struct{})}
}

// Schedule runs fn, soon and in a goroutine of its own.
func (d *dispatcher) Schedule(fn func()) {
	select {
	case d.work <- fn:
	default:
		go d.run(fn)
	}
}

// Throughput is part of the library's interface.
func (d *dispatcher) Throughput() int { return dispatcherThroughput }

func (d *dispatcher) run(fn func()) {
	for {
		fn()
		if d.idle.Add(1) > dispatcherIdle {
			d.idle.Add(-1)
			return
		}
		select {
		case fn = <-d.work:
			d.idle.Add(-1)
		case <-d.stop:
			return
		}
	}
}
