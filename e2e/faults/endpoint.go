package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// endpoint is what the HTTP tasks of a round call. Its paths are its moods.
type endpoint struct {
	server   http.Server
	listener net.Listener
	witness  *witness
	done     chan struct{} // lets go of what hangs
}

func newEndpoint(ctx context.Context, w *witness) (*endpoint, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for HTTP tasks: %w", err)
	}
	e := &endpoint{listener: listener, witness: w, done: make(chan struct{})}
	mux := http.NewServeMux()
	for path, mood := range map[string]http.HandlerFunc{
		"/ok":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok": true}`) },
		"/hang":    e.hang,
		"/reset":   reset,
		"/slow":    slow,
		"/endless": endless,
	} {
		mux.HandleFunc("POST "+path, e.witnessed(mood))
	}
	e.server.Handler, e.server.ReadHeaderTimeout = mux, patience
	go func() { _ = e.server.Serve(listener) }() // it ends with close
	return e, nil
}

func (e *endpoint) close() error {
	close(e.done)
	return e.server.Close()
}

func (e *endpoint) witnessed(mood http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseInt(r.Header.Get("X-Reax-Task-Id"), 10, 64)
		attempt, _ := strconv.Atoi(r.Header.Get("X-Reax-Attempt"))
		l := line{Event: "start", TaskID: id, Type: r.Header.Get("X-Reax-Type"), Attempt: attempt}
		e.witness.take(l)
		l.Event = "end"
		defer e.witness.take(l)
		mood(w, r)
	}
}

func (e *endpoint) hang(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-e.done:
	}
}

// reset breaks the connection off without a word.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// slow answers a letter at a time, now and then in time.
func slow(w http.ResponseWriter, r *http.Request) {
	for i := range 20 {
		if _, err := w.Write([]byte{"0123456789"[i%10]}); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(15 * time.Millisecond):
		}
	}
}

// endless answers with 1 GB.
func endless(w http.ResponseWriter, _ *http.Request) {
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 1 << 10 {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}
