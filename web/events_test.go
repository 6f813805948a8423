package web

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// publish tells those who listen to the fake.
func (f *fake) publish(topics ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tell := range f.subs {
		if tell != nil {
			tell(topics)
		}
	}
}

func (f *fake) listeners() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tell := range f.subs {
		if tell != nil {
			n++
		}
	}
	return n
}

// pipes is a listener whose connections are in memory, so that their deadlines are those of a synctest bubble.
type pipes struct {
	conns chan net.Conn
	end   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error {
	p.end.Do(func() { close(p.conns) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// stream is an open event stream of a server.
type stream struct {
	conn   net.Conn
	answer *http.Response
	text   *bufio.Reader
}

func openStream(t *testing.T, listener *pipes) *stream {
	t.Helper()
	ours, theirs := net.Pipe()
	listener.conns <- theirs
	_, err := io.WriteString(ours, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(ours), nil) //nolint:bodyclose // it has no end; the connection is closed
	require.NoError(t, err)
	require.Equal(t, 200, answer.StatusCode)
	s := &stream{conn: ours, answer: answer, text: bufio.NewReader(answer.Body)}
	require.Equal(t, "retry: 3000\n\n", s.next(t))
	return s
}

// next is the next message: lines up to an empty one.
func (s *stream) next(t *testing.T) string {
	t.Helper()
	text := ""
	for {
		line, err := s.text.ReadString('\n')
		require.NoError(t, err)
		text += line
		if line == "\n" {
			return text
		}
	}
}

// bubble is a server in a synctest bubble, whose answers may take no longer than a second.
type bubble struct {
	*testing.T
	f        *fake
	server   *Server
	listener *pipes
	http     *http.Server
}

func withEvents(t *testing.T, test func(b bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		known := func(*http.Request) (Identity, bool) { return Identity{Name: "ann", Role: viewer}, !f.gone.Load() }
		s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler), Auth: known})
		b := bubble{t, f, s, &pipes{conns: make(chan net.Conn)}, &http.Server{Handler: s.Handler(), WriteTimeout: time.Second}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = b.http.Serve(b.listener)
		}()
		test(b)
		s.EndStreams()
		require.NoError(t, b.http.Close())
		<-ended
	})
}

func TestEventsArriveLongAfterTheWriteTimeout(t *testing.T) {
	withEvents(t, func(b bubble) {
		s := openStream(b.T, b.listener)
		defer s.conn.Close()
		require.Equal(b, "text/event-stream", s.answer.Header.Get("Content-Type"))
		require.Equal(b, "no-store", s.answer.Header.Get("Cache-Control"))
		require.Equal(b, "no", s.answer.Header.Get("X-Accel-Buffering"))
		for range 3 {
			b.f.publish("tasks", "stats")
			require.Equal(b, "event: changed\ndata: tasks,stats\n\n", s.next(b.T))
			began := time.Now()
			require.Equal(b, ": still here\n\n", s.next(b.T))
			require.Greater(b, time.Since(began), b.http.WriteTimeout)
			require.LessOrEqual(b, time.Since(began), streamHeartbeat)
		}
	})
}

func TestStreamsEndFirstAtShutdown(t *testing.T) {
	withEvents(t, func(b bubble) {
		one, two := openStream(b.T, b.listener), openStream(b.T, b.listener)
		defer one.conn.Close()
		defer two.conn.Close()
		b.server.EndStreams()
		b.server.EndStreams()
		for _, open := range []*stream{one, two} {
			_, err := open.text.ReadString('\n')
			require.ErrorIs(b, err, io.EOF)
		}
		late := openStream(b.T, b.listener)
		defer late.conn.Close()
		_, err := late.text.ReadString('\n')
		require.ErrorIs(b, err, io.EOF)
		require.NoError(b, b.http.Shutdown(context.Background()), "nothing is left to wait for")
		require.Zero(b, b.f.listeners())
	})
}

func TestAStreamEndsWithItsClient(t *testing.T) {
	withEvents(t, func(b bubble) {
		s := openStream(b.T, b.listener)
		require.Equal(b, 1, b.f.listeners())
		require.NoError(b, s.conn.Close())
		synctest.Wait()
		require.Zero(b, b.f.listeners())
		require.Zero(b, b.server.streams.open.Load())
	})
}

func TestAClientThatDoesNotReadHoldsNoStream(t *testing.T) {
	withEvents(t, func(b bubble) {
		s := openStream(b.T, b.listener)
		defer s.conn.Close()
		b.f.publish("tasks")
		time.Sleep(streamWriteLimit + time.Second)
		synctest.Wait()
		require.Zero(b, b.f.listeners())
	})
}

func TestThereAreOnlySoManyStreams(t *testing.T) {
	f := newFake(t)
	s := New(Config{Runtime: f, Ledger: f, Logger: slog.New(slog.DiscardHandler)})
	s.streams.open.Store(maxStreams)
	w := send(s.Handler(), scenario{url: "/events"}.request())
	require.Equal(t, 503, w.Code)
	requireProblem(t, w)
	require.EqualValues(t, maxStreams, s.streams.open.Load())
}

func TestNewsIsToldOnce(t *testing.T) {
	n := &news{wake: make(chan struct{}, 1)}
	n.add([]string{"tasks"})
	n.add([]string{"stats", "tasks"}) // does not block though nobody has read the first
	<-n.wake
	require.Equal(t, []string{"tasks", "stats"}, n.take())
	require.Empty(t, n.take())
}

func TestAStreamEndsSoonAfterTheSession(t *testing.T) {
	withEvents(t, func(b bubble) {
		s := openStream(b.T, b.listener)
		defer s.conn.Close()
		require.Equal(b, ": still here\n\n", s.next(b.T))
		b.f.gone.Store(true)
		_, err := s.text.ReadString('\n')
		require.ErrorIs(b, err, io.EOF)
		require.Zero(b, b.f.listeners())
	})
}
