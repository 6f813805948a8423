package kit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

func TestAskTakesTheFirstAnswer(t *testing.T) {
	s := system(t)
	pid := spawn(t, s, "double", func(c actor.Context) {
		if n, ok := c.Message().(int); ok {
			c.Respond(n)
			c.Respond(-1)
			c.Respond(errors.New("too late"))
		}
	})
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			got, err := Ask[int](context.Background(), s, pid, i)
			if err != nil || got != i {
				t.Errorf("asked %d, got %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestAskTellsWhyThereIsNoAnswer(t *testing.T) {
	s := system(t)
	refused := errors.New("refused")
	mute := make(chan struct{})
	pid := spawn(t, s, "moody", func(c actor.Context) {
		switch c.Message() {
		case "error":
			c.Respond(refused)
		case "text":
			c.Respond("text")
		case "wait":
			<-mute
			c.Respond(1)
		}
	})
	_, err := Ask[int](t.Context(), s, pid, "error")
	require.ErrorIs(t, err, refused)
	_, err = Ask[int](t.Context(), s, pid, "text")
	require.ErrorContains(t, err, "unexpected answer string to string")
	gone := actor.NewPID(s.Address(), "nobody")
	_, err = Ask[int](t.Context(), s, gone, "x")
	require.ErrorIs(t, err, ErrActorGone)
	require.Positive(t, s.DeadLetters.Load())

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(refused)
	_, err = Ask[int](ctx, s, pid, "wait")
	require.ErrorIs(t, err, refused, "the cause of the context's end")
	waiting := make(chan error, 1)
	go func() {
		_, err := Ask[int](context.Background(), s, pid, "wait")
		waiting <- err
	}()
	close(mute)
	require.NoError(t, <-waiting)
	require.Len(t, s.replies, asks(s), "what is registered can be used again")
}

func asks(s *System) int {
	n := 0
	for _, id := range registered(s) {
		if strings.HasPrefix(id, "ask/") {
			n++
		}
	}
	return n
}

// TestAnAnswerReachesItsOwnQuestionOnly, although the process that takes answers is used again.
func TestAnAnswerReachesItsOwnQuestionOnly(t *testing.T) {
	s := system(t)
	pid := spawn(t, s, "slow", func(c actor.Context) {
		if n, ok := c.Message().(int); ok {
			c.Respond(n)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Ask[int](ctx, s, pid, "never answered")
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, asks(s), "an answer may still come to it, so it serves no other question")
	for n := range 3 {
		got, err := Ask[int](context.Background(), s, pid, n)
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
	require.Equal(t, 1, asks(s), "one process has served them all")

	p := s.reply()
	before := p.turn(s.ActorSystem)
	s.Root.Send(before, "first")
	require.Equal(t, "first", <-p.ch)
	now := p.turn(s.ActorSystem)
	s.Root.Send(before, "late")
	s.Root.Send(now, "right")
	s.Root.Send(now, "second")
	require.Equal(t, "right", <-p.ch)
	require.Empty(t, p.ch)

	for range repliesKept + 10 {
		s.keep(register(s.ActorSystem, "ask/"))
	}
	require.Equal(t, repliesKept+1, asks(s), "those that are kept, and the one in use here")
}

func registered(s *System) []string {
	var ids []string
	for _, bucket := range s.ProcessRegistry.LocalPIDs.LocalPIDs {
		bucket.IterCb(func(id string, _ any) { ids = append(ids, id) })
	}
	return ids
}

// TestAskEndsWithTheSystem: a message in the mailbox of an actor that stops vanishes without a word.
func TestAskEndsWithTheSystem(t *testing.T) {
	s := NewSystem(quiet)
	entered, open := make(chan struct{}), make(chan struct{})
	pid, err := s.Root.SpawnNamed(s.Tree.Props("test", func() actor.Actor {
		return actor.ReceiveFunc(func(c actor.Context) {
			if c.Message() == "block" {
				close(entered)
				<-open
			}
		})
	}), "slow")
	require.NoError(t, err)
	s.Root.Send(pid, "block")
	<-entered
	errs := make(chan error, 10)
	for range cap(errs) {
		go func() {
			_, err := Ask[int](context.Background(), s, pid, "question")
			errs <- err
		}()
	}
	require.Eventually(t, func() bool { return s.Tree.Snapshot()[0].Mailbox == cap(errs) }, time.Minute, time.Millisecond)
	s.Root.Stop(pid)
	close(open)
	require.NoError(t, Join(t.Context(), s.ActorSystem, pid))
	s.End()
	for range cap(errs) {
		require.ErrorIs(t, <-errs, ErrActorGone)
	}
}
