package kit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes is a list that goroutines write to and a test reads.
type notes[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *notes[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
}

func (n *notes[T]) get() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func (n *notes[T]) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = nil
}

var quiet = slog.New(slog.DiscardHandler)

// system makes an actor system that must be clean at the end of the test.
func system(t *testing.T) *System {
	t.Helper()
	s := NewSystem(quiet)
	t.Cleanup(func() {
		require.Empty(t, s.Tree.Snapshot(), "actors that were not stopped")
		if !s.ended.Load() {
			s.End()
		}
	})
	return s
}

// spawn starts a root actor that ends with the test.
func spawn(t *testing.T, s *System, name string, receive actor.ReceiveFunc) *actor.PID {
	t.Helper()
	pid, err := s.Root.SpawnNamed(s.Tree.Props("test", func() actor.Actor { return receive }), name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, Join(context.Background(), s.ActorSystem, pid)) })
	return pid
}

func TestJoinWaitsForTheRealEnd(t *testing.T) {
	s := system(t)
	open, ended := make(chan struct{}), make(chan struct{})
	props := s.Tree.Props("test", func() actor.Actor {
		return actor.ReceiveFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopping); ok {
				<-open
				close(ended)
			}
		})
	})
	pid, err := s.Root.SpawnNamed(props, "slow")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, Join(ctx, s.ActorSystem, pid), context.DeadlineExceeded)
	close(open)
	require.NoError(t, Join(t.Context(), s.ActorSystem, pid))
	<-ended
	require.NoError(t, Join(t.Context(), s.ActorSystem, pid), "one that is gone is gone")
}

func TestASnapshotShowsActorsThatWorkHangAndCrash(t *testing.T) {
	s := system(t)
	entered, open := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(open) })
	defer release()
	parent, err := s.Root.SpawnNamed(s.Tree.Props("parent", func() actor.Actor { return &overseer{tree: s.Tree, names: []string{"calm", "hung"}} }), "top")
	require.NoError(t, err)
	_, err = Ask[string](t.Context(), s, parent, "ready")
	require.NoError(t, err)
	hung, calm := actor.NewPID(s.Address(), "top/hung"), actor.NewPID(s.Address(), "top/calm")
	s.Root.Send(hung, func() { close(entered); <-open })
	s.Root.Send(hung, func() {})
	s.Root.Send(calm, func() { panic("boom") })
	<-entered
	_, err = Ask[string](t.Context(), s, calm, "ready")
	require.NoError(t, err)
	rows := s.Tree.Snapshot()
	require.Len(t, rows, 3)
	require.Equal(t, []string{"top", "top/calm", "top/hung"}, []string{rows[0].ID, rows[1].ID, rows[2].ID})
	require.Equal(t, []int{0, 1, 1}, []int{rows[0].Depth, rows[1].Depth, rows[2].Depth})
	require.Equal(t, "top", rows[1].Parent)
	require.Equal(t, "child", rows[1].Kind)
	require.EqualValues(t, 1, rows[1].Restarts)
	require.Equal(t, "panic: boom", rows[1].LastPanic)
	require.Contains(t, rows[1].LastStack, "TestASnapshot")
	require.WithinDuration(t, time.Now(), rows[1].PanicAt, time.Minute)
	require.Positive(t, rows[2].Busy)
	require.Equal(t, "func()", rows[2].Doing)
	require.Equal(t, 1, rows[2].Mailbox)

	var wg sync.WaitGroup // looking at it while it changes is safe
	for range 4 {
		wg.Go(func() {
			for range 200 {
				s.Tree.Snapshot()
			}
		})
	}
	for range 200 {
		s.Root.Send(calm, func() { panic("again") })
	}
	wg.Wait()
	release()
	require.NoError(t, Join(t.Context(), s.ActorSystem, parent))
}

// overseer has children that do what they are told, and restarts them at once.
type overseer struct {
	tree  *Tree
	names []string
}

func (o *overseer) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		for _, name := range o.names {
			if _, err := c.SpawnNamed(o.tree.Props("child", func() actor.Actor { return actor.ReceiveFunc(obey) }), name); err != nil {
				panic(err)
			}
		}
	case string:
		c.Respond("yes")
	}
}

func (o *overseer) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	sup.RestartChildren(child)
}

func obey(c actor.Context) {
	switch m := c.Message().(type) {
	case func():
		m()
	case string:
		c.Respond("yes")
	}
}

// TestAnActorThatPanicsWhileItStopsStops: the library would revive it, or strand its parent.
func TestAnActorThatPanicsWhileItStopsStops(t *testing.T) {
	for _, at := range []string{"*actor.Stopping", "*actor.Stopped"} {
		s := system(t)
		s.Tree.Fault = func(kind string, message any) {
			if kind == "child" && typeName(message) == at {
				panic("boom")
			}
		}
		parent, err := s.Root.SpawnNamed(s.Tree.Props("parent", func() actor.Actor { return &overseer{tree: s.Tree, names: []string{"a"}} }), "top")
		require.NoError(t, err)
		_, err = Ask[string](t.Context(), s, parent, "ready")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, Join(ctx, s.ActorSystem, parent), at)
	}
}

func TestPathsAreInTheOrderOfTheTree(t *testing.T) {
	for _, pair := range [][2]string{
		{"reax", "reax/a"}, {"reax/a/w$9", "reax/a/w$10"}, {"reax/a/w$1f", "reax/b"}, {"reax/a", "reax/a/b"}, {"reax/a/b", "reax/ab"},
	} {
		require.Negative(t, comparePaths(pair[0], pair[1]), "%v", pair)
		require.Positive(t, comparePaths(pair[1], pair[0]), "%v", pair)
	}
}

func TestRestartDelays(t *testing.T) {
	var got []time.Duration
	for i := range 12 {
		got = append(got, restartDelay(i+1))
	}
	s := time.Second
	require.Equal(t, []time.Duration{0, 0, 0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, 60 * s}, got)
	require.Equal(t, time.Minute, restartDelay(1<<40))
}

// guardedOverseer restarts its children as every supervisor of ours does.
type guardedOverseer struct {
	overseer
	restarter Restarter
}

func (o *guardedOverseer) Receive(c actor.Context) {
	if m, ok := c.Message().(*Respawn); ok {
		o.restarter.Resume(c.(actor.Supervisor), m)
		return
	}
	o.overseer.Receive(c)
}

func (o *guardedOverseer) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	o.restarter.Fail(sys, sup, sup.(actor.Context).Self(), child, reason, message)
}

// TestARestarterNeverGivesUpAndKeepsTheMailbox: a child that always crashes is restarted more and more slowly, and calm
// lets it start anew.
func TestARestarterNeverGivesUpAndKeepsTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		s := NewSystem(quiet)
		var crashes atomic.Int64
		parent, err := s.Root.SpawnNamed(s.Tree.Props("parent", func() actor.Actor {
			return &guardedOverseer{overseer{s.Tree, []string{"a"}}, Restarter{Logger: quiet, OnCrash: func(string) { crashes.Add(1) }}}
		}), "top")
		require.NoError(t, err)
		synctest.Wait()
		child := actor.NewPID(s.Address(), "top/a")
		begun := time.Now()
		var at notes[time.Duration]
		for range 20 {
			s.Root.Send(child, func() { at.add(time.Since(begun)); panic("boom") })
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		synctest.Wait()
		require.Len(t, at.get(), 19, "the mailbox is kept, and taken up after each delay")
		sec := time.Second
		require.Equal(t, []time.Duration{0, 0, 0, 0, sec, 3 * sec, 7 * sec, 15 * sec, 31 * sec, 63 * sec, 123 * sec, 183 * sec}, at.get()[:12])
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Len(t, at.get(), 20)
		at.clear()
		for range 4 {
			s.Root.Send(child, func() { at.add(time.Since(begun)); panic("boom") })
		}
		synctest.Wait()
		require.Len(t, at.get(), 4, "after a calm time restarts are free again")
		require.EqualValues(t, 24, crashes.Load())
		require.NoError(t, Join(t.Context(), s.ActorSystem, parent))
		s.End()
	})
}

func TestAHubTellsOfManyChangesAtOnceAndLosesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub()
		h.Publish("before") // nobody listens
		var told notes[[]string]
		unsubscribe := h.Subscribe(func(topics []string) { told.add(topics) })
		h.Publish("a")
		synctest.Wait()
		require.Equal(t, [][]string{{"a"}}, told.get(), "the first word comes at once")
		for range 100 {
			h.Publish("b", "c")
			h.Publish("c")
		}
		synctest.Wait()
		require.Len(t, told.get(), 1)
		time.Sleep(hubPause)
		synctest.Wait()
		require.Equal(t, [][]string{{"a"}, {"b", "c"}}, told.get())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, told.get(), 2)
		h.Publish("d")
		unsubscribe()
		unsubscribe()
		time.Sleep(time.Second)
		synctest.Wait()
		require.LessOrEqual(t, len(told.get()), 3)
		told.clear()
		h.Publish("e")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, told.get())

		h.Subscribe(func(topics []string) { told.add(topics) })
		h.Publish("f")
		h.Publish("g")
		synctest.Wait()
		h.Publish("h")
		h.Close()
		h.Publish("i")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, told.get(), 1, "nothing is told after the end")
	})
}

// TestAHubMayBeUsedFromEverywhere, from inside a subscriber too.
func TestAHubMayBeUsedFromEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub()
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 50 {
					un := h.Subscribe(func([]string) {
						n.Add(1)
						h.Publish("again")
						h.Subscribe(func([]string) {})()
					})
					h.Publish(fmt.Sprint(i % 3))
					time.Sleep(100 * time.Millisecond)
					un()
				}
			})
		}
		wg.Wait()
		h.Close()
		require.Positive(t, n.Load())
	})
}

func TestOfManyWhoRemoveOneIsToldYes(t *testing.T) {
	table := NewTable[int, string]()
	for i := range 100 {
		table.Put(i, fmt.Sprint(i))
	}
	var yes atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				if table.Remove(i) {
					yes.Add(1)
				}
				table.Values(func(string) bool { return true })
				table.Keys()
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100, yes.Load())
	require.Zero(t, table.Len())
	table.Put(1, "a")
	table.Put(1, "b")
	got, ok := table.Get(1)
	require.True(t, ok)
	require.Equal(t, "b", got)
	_, ok = table.Get(2)
	require.False(t, ok)
	require.Equal(t, []int{1}, table.Keys())
	require.Empty(t, table.Values(func(string) bool { return false }))
}

// TestTheLibrarySpeaksFromWarningsOn: it logs whole messages at lower levels, and they may hold secrets.
func TestTheLibrarySpeaksFromWarningsOn(t *testing.T) {
	var out strings.Builder
	s := NewSystem(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for range 10 {
		s.Root.Send(actor.NewPID(s.Address(), "nobody"), "secret")
	}
	require.EqualValues(t, 10, s.DeadLetters.Load())
	s.End()
	require.NotContains(t, out.String(), "secret")
}
