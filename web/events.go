package web

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// streams are the open event streams. They never end by themselves, so they are ended before the server stops.
type streams struct {
	open   atomic.Int64
	end    sync.Once
	ending chan struct{}
}

// EndStreams ends the event streams, and each that is asked for later at once. Without it a server that waits for its
// requests would wait for them. It may be called more than once.
func (s *Server) EndStreams() { s.streams.end.Do(func() { close(s.streams.ending) }) }

// news is what changed since it was last read.
type news struct {
	mu     sync.Mutex
	topics []string
	wake   chan struct{}
}

// add never blocks, as a subscriber must not.
func (n *news) add(topics []string) {
	n.mu.Lock()
	for _, topic := range topics {
		if !slices.Contains(n.topics, topic) {
			n.topics = append(n.topics, topic)
		}
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	topics := n.topics
	n.topics = nil
	return topics
}

// events is a stream of the names of what changed. The page then asks for its own address again, so nothing but names
// ever goes through it, and a name that is lost in a reconnect does no harm.
func (s *Server) events(c echo.Context) error {
	stream, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer stream.close()
	n := &news{wake: make(chan struct{}, 1)}
	defer s.runtime.Subscribe(func(topics []string) {
		s.overview.changes.Add(1) // before anybody who hears of it can ask
		n.add(topics)
	})()
	err = stream.send("retry: 3000\n\n")
	for err == nil {
		select {
		case <-n.wake:
			err = stream.send("event: changed\ndata: %s\n\n", strings.Join(n.take(), ","))
		case <-stream.beat.C:
			err = stream.heartbeat()
		case <-s.streams.ending:
			return nil
		case <-c.Request().Context().Done():
			return nil
		}
	}
	return nil // the client is gone: there is nobody to tell
}
