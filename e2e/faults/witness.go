package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// line is what a handler says of its run, as the probe writes it.
type line struct {
	Event   string `json:"event"` // start, end, or mark, which is the suite's own
	TaskID  int64  `json:"task_id"`
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	PID     int    `json:"pid"`
}

// witness takes down what the handlers say, outside reax. They write to a named pipe: it has no size that a full disk
// could limit, what was written outlives its writer, and it keeps the order of all of them.
type witness struct {
	name string
	pipe *os.File

	mu    sync.Mutex
	lines []line
	marks chan struct{}
	ended chan struct{}
}

func newWitness(folder string) (*witness, error) {
	w := &witness{name: filepath.Join(folder, "witness"), marks: make(chan struct{}), ended: make(chan struct{})}
	if err := unix.Mkfifo(w.name, 0o600); err != nil {
		return nil, fmt.Errorf("making the witness's pipe: %w", err)
	}
	pipe, err := os.OpenFile(w.name, os.O_RDWR, 0) // also for writing, so that it does not end when nobody writes
	if err != nil {
		return nil, fmt.Errorf("opening the witness's pipe: %w", err)
	}
	w.pipe = pipe
	go w.read()
	return w, nil
}

func (w *witness) read() {
	defer close(w.ended)
	for scan := bufio.NewScanner(w.pipe); scan.Scan(); {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			continue // an empty line, or one that a kill cut short
		}
		if l.Event == "mark" {
			w.marks <- struct{}{}
			continue
		}
		w.take(l)
	}
}

func (w *witness) take(l line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, l)
}

// all gives the lines that were written before the call, in their order.
func (w *witness) all() ([]line, error) {
	if _, err := w.pipe.WriteString("\n{\"event\":\"mark\"}\n"); err != nil {
		return nil, fmt.Errorf("writing to the witness's pipe: %w", err)
	}
	select {
	case <-w.marks:
	case <-time.After(patience):
		return nil, errors.New("the witness's pipe is stuck")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]line(nil), w.lines...), nil
}

func (w *witness) close() error {
	err := w.pipe.Close()
	<-w.ended
	return err
}
