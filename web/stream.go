package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	maxStreams       = 1000
	streamHeartbeat  = 15 * time.Second // a comment line, so that nothing in between takes the stream for dead
	streamWriteLimit = 10 * time.Second // for one write to a client that does not read
)

// eventStream is one answer that goes on: server-sent events.
type eventStream struct {
	server  *Server
	answer  *echo.Response
	control *http.ResponseController
	beat    *time.Ticker
	known   func() bool // whether who listens would still be let in
}

// openStream begins a stream, unless too many are open. The caller ends it with close.
func (s *Server) openStream(c echo.Context) (*eventStream, error) {
	if s.streams.open.Add(1) > maxStreams {
		s.streams.open.Add(-1)
		return nil, newProblem(http.StatusServiceUnavailable, "unavailable", "too many event streams are open: the limit is %d", maxStreams)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	return &eventStream{s, c.Response(), http.NewResponseController(c.Response()), time.NewTicker(streamHeartbeat), func() bool { return s.stillKnown(c) }}, nil
}

func (e *eventStream) close() {
	e.beat.Stop()
	e.server.streams.open.Add(-1)
}

// send writes and flushes. Its error means that the client is gone.
func (e *eventStream) send(format string, args ...any) error {
	// Without a deadline of its own each write would run into the one of the whole answer; and between two writes there
	// must be none.
	_ = e.control.SetWriteDeadline(time.Now().Add(streamWriteLimit))
	if _, err := fmt.Fprintf(e.answer, format, args...); err != nil {
		return err
	}
	if err := e.control.Flush(); err != nil {
		return err
	}
	_ = e.control.SetWriteDeadline(time.Time{})
	return nil
}

// heartbeat says that the stream still stands. It ends with the session of who listens.
func (e *eventStream) heartbeat() error {
	if !e.known() {
		return errors.New("the session has ended")
	}
	return e.send(": still here\n\n")
}
