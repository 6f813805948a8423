package cli

import (
	"errors"
	"io"
	"sync"
)

// maxLogBehind bounds how many bytes of log wait to be written; who logs more waits.
const maxLogBehind = 1 << 20

// logWriter writes lines in a goroutine of its own, as many at one time as have come meanwhile: under load that is one call
// of the system for hundreds of lines, and when idle each line goes out at once. It is safe for use from many goroutines.
type logWriter struct {
	to     io.WriteCloser
	mu     sync.Mutex
	room   sync.Cond // a buffer was handed over, or the end has come
	lines  []byte
	spare  []byte
	wake   chan struct{}
	closed bool
	ended  chan struct{}
	err    error // of closing
}

var errLogClosed = errors.New("the log is closed")

// newLogWriter returns a logWriter that closes to when it is closed itself.
func newLogWriter(to io.WriteCloser) *logWriter {
	w := &logWriter{to: to, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	w.room.L = &w.mu
	go w.run()
	return w
}

// Write takes whole lines. It fails only after Close.
func (w *logWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) > maxLogBehind && !w.closed {
		w.room.Wait()
	}
	if w.closed {
		return 0, errLogClosed
	}
	if len(w.lines) == 0 && len(lines) > 0 {
		w.wake <- struct{}{} // there is room: it was taken when the buffer was
	}
	w.lines = append(w.lines, lines...)
	return len(lines), nil
}

func (w *logWriter) run() {
	defer close(w.ended)
	for range w.wake {
		w.mu.Lock()
		lines := w.lines
		w.lines, w.spare = w.spare[:0], nil
		w.room.Broadcast()
		w.mu.Unlock()
		_, _ = w.to.Write(lines) // where else could it be said
		w.mu.Lock()
		w.spare = lines
		w.mu.Unlock()
	}
	w.err = w.to.Close()
}

// Close returns when every line has been written. It may be called twice.
func (w *logWriter) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.wake)
		w.room.Broadcast()
	}
	w.mu.Unlock()
	<-w.ended
	return w.err
}
