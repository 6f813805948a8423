// Package kit is the toolbox under the actors: asking with a context, a live picture of the tree, supervision with
// back-off, and tables that outlive any actor. It is the only place in actors that may hold a lock.
package kit

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Row is one actor in a snapshot of the tree.
type Row struct {
	ID        string // path in the tree, e.g. "reax/queue"
	Parent    string
	Kind      string
	Depth     int           // 0 for the supervisor
	Mailbox   int           // messages that wait
	Processed int64         // messages handled since it was first spawned
	Restarts  int64         // likewise
	Doing     string        // what it works on, when it does
	Busy      time.Duration // for how long; 0 when idle
	LastPanic string
	LastStack string
	PanicAt   time.Time
}

// Describer lets a message say what it is in the tree ("task 42").
type Describer interface{ Describe() string }

// node is the live record of one actor. Each field is safe to read while the actor works, so that a snapshot shows a
// stuck actor as truly as an idle one.
type node struct {
	id, parent, kind    string
	mailbox             actor.Mailbox
	processed, restarts atomic.Int64
	busySince           atomic.Int64                          // Unix nanoseconds, 0 when idle
	doing               atomic.Pointer[actor.MessageEnvelope] // what is handled, formatted only when somebody looks
	lastPanic           atomic.Pointer[Panic]
	panicAt             atomic.Int64
}

// Tree is a live picture of every actor whose Props it made.
type Tree struct {
	// Fault, if set before the first actor, is called before each message is handled. Tests crash actors with it.
	Fault func(kind string, message any)

	// Restarts counts restarts by kind of actor, also of those that are gone.
	Restarts Counts[string]

	dispatcher *dispatcher
	mu         sync.RWMutex
	nodes      map[string]*node
}

func newTree() *Tree { return &Tree{dispatcher: newDispatcher(), nodes: map[string]*node{}} }

// Props builds the Props of exactly one actor; call it anew for each spawn.
func (t *Tree) Props(kind string, produce actor.Producer, opts ...actor.PropsOption) *actor.Props {
	n := &node{kind: kind}
	return actor.PropsFromProducer(produce, append(opts,
		actor.WithDispatcher(t.dispatcher),
		actor.WithMailbox(func() actor.Mailbox { n.mailbox = actor.Unbounded()(); return n.mailbox }),
		actor.WithOnInit(func(c actor.Context) {
			n.id = c.Self().Id
			if c.Parent() != nil {
				n.parent = c.Parent().Id
			}
			t.mu.Lock()
			t.nodes[n.id] = n
			t.mu.Unlock()
		}),
		actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) { t.receive(n, next, c, env) }
		}))...)
}

func (t *Tree) receive(n *node, next actor.ReceiverFunc, c actor.ReceiverContext, env *actor.MessageEnvelope) {
	switch env.Message.(type) {
	case *actor.Restarting:
		n.restarts.Add(1)
		t.Restarts.Add(n.kind, 1)
	case *actor.Stopped:
		defer t.forget(n.id)
	}
	n.doing.Store(env)
	n.busySince.Store(time.Now().UnixNano())
	defer func() {
		n.busySince.Store(0)
		n.doing.Store(nil)
		n.processed.Add(1)
		r := recover()
		if r == nil {
			return
		}
		p := AsPanic(r)
		n.lastPanic.Store(p)
		n.panicAt.Store(time.Now().UnixNano())
		switch env.Message.(type) {
		case *actor.Stopping, *actor.Stopped:
			return // the library revives an actor that panics in Stopping, and strands the parent for one in Stopped
		}
		panic(p)
	}()
	if t.Fault != nil {
		t.Fault(n.kind, env.Message)
	}
	next(c, env)
}

func (t *Tree) forget(id string) {
	t.mu.Lock()
	delete(t.nodes, id)
	t.mu.Unlock()
}

// Snapshot lists the tree, parents before their children. It asks no actor.
func (t *Tree) Snapshot() []Row {
	t.mu.RLock()
	nodes := make([]*node, 0, len(t.nodes))
	for _, n := range t.nodes {
		nodes = append(nodes, n)
	}
	t.mu.RUnlock()
	now := time.Now()
	rows := make([]Row, 0, len(nodes))
	for _, n := range nodes {
		rows = append(rows, n.row(now))
	}
	slices.SortFunc(rows, func(a, b Row) int { return comparePaths(a.ID, b.ID) })
	return rows
}

func (n *node) row(now time.Time) Row {
	r := Row{
		ID: n.id, Parent: n.parent, Kind: n.kind, Depth: strings.Count(n.id, "/"),
		Mailbox: n.mailbox.UserMessageCount(), Processed: n.processed.Load(), Restarts: n.restarts.Load(),
	}
	if since := n.busySince.Load(); since != 0 {
		r.Busy = max(now.Sub(time.Unix(0, since)), 1)
		if env := n.doing.Load(); env != nil {
			if d, ok := env.Message.(Describer); ok {
				r.Doing = d.Describe()
			} else {
				r.Doing = strings.TrimPrefix(fmt.Sprintf("%T", env.Message), "*actors.")
			}
		}
	}
	if p := n.lastPanic.Load(); p != nil {
		r.LastPanic, r.LastStack, r.PanicAt = p.Error(), string(p.Stack), time.Unix(0, n.panicAt.Load()).UTC()
	}
	return r
}

// comparePaths orders ids so that children follow their parent, and w$9 comes before w$10.
func comparePaths(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		if as[i] == bs[i] {
			continue
		}
		if len(as[i]) != len(bs[i]) && strings.Contains(as[i], "$") && strings.Contains(bs[i], "$") {
			return len(as[i]) - len(bs[i])
		}
		return strings.Compare(as[i], bs[i])
	}
	return len(as) - len(bs)
}
