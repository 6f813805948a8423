package tasks

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Bounds of what is kept of one run's log. The first half goes out live; of what follows the last half is kept, since
// the end of a log says most about why a run failed.
const (
	MaxLogLines     = 1_000
	MaxLogLineBytes = 4 << 10
	logHalf         = MaxLogLines / 2
	logBatch        = 64
	logDelay        = 250 * time.Millisecond
)

// SeqLine is a log line with its number in the run, ascending from 1. A gap is where lines were left out.
type SeqLine struct {
	Seq int
	LogLine
}

// LogBuffer gathers the log lines of one run and hands them on in batches, in order and one batch at a time: when 64
// have come, or 250 ms after the first, or at Close. It is safe for use from many goroutines and holds at most
// MaxLogLines lines of MaxLogLineBytes, however many come.
type LogBuffer struct {
	deliver func([]SeqLine)
	handing sync.Mutex // held while deliver runs, so that batches stay in order without stopping Log

	mu      sync.Mutex
	seq     int // lines that came so far
	pending []SeqLine
	tail    []LogLine // a ring of the latest lines after the first half
	omitted int       // bytes of the lines that the ring has left out
	timer   *time.Timer
	closed  bool
}

// NewLogBuffer returns a LogBuffer that hands its batches to deliver, which keeps the slice, must not block for long and
// must not log to the same buffer. The caller ends it with Close.
func NewLogBuffer(deliver func(lines []SeqLine)) *LogBuffer { return &LogBuffer{deliver: deliver} }

// Log takes one line; it cuts it to MaxLogLineBytes, with the number of bytes left out at its end, and makes its text
// storable. After Close it does nothing.
func (b *LogBuffer) Log(line LogLine) {
	line.Text = cutLine(strings.TrimRight(line.Text, "\r\n"))
	if b.add(line) {
		b.flush()
	}
}

func cutLine(text string) string {
	if len(text) <= MaxLogLineBytes {
		return cleanText(text, MaxLogLineBytes)
	}
	end := letterStart(text, maxLine)
	head := strings.TrimSuffix(cleanText(text[:end], maxLine), ellipsis)
	return logText([]byte(head), len(text)-end)
}

// add reports whether a batch is full.
func (b *LogBuffer) add(line LogLine) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.seq++
	if b.seq > logHalf {
		if i := (b.seq - logHalf - 1) % logHalf; i < len(b.tail) {
			b.omitted += len(b.tail[i].Text)
			b.tail[i] = line
		} else {
			b.tail = append(b.tail, line)
		}
		return false
	}
	b.pending = append(b.pending, SeqLine{b.seq, line})
	if len(b.pending) == 1 {
		b.timer = time.AfterFunc(logDelay, b.flush)
	}
	return len(b.pending) >= logBatch
}

func (b *LogBuffer) flush() {
	b.handing.Lock()
	defer b.handing.Unlock()
	b.mu.Lock()
	lines := b.take()
	b.mu.Unlock()
	if len(lines) > 0 {
		b.deliver(lines)
	}
}

// take empties pending and stops its timer. The caller holds mu.
func (b *LogBuffer) take() []SeqLine {
	lines := b.pending
	b.pending = nil
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	return lines
}

// Close hands on all that is left: when lines were left out, one of level warn says how many, and the latest follow. It
// returns when deliver has. It may be called twice.
func (b *LogBuffer) Close() {
	b.handing.Lock()
	defer b.handing.Unlock()
	b.mu.Lock()
	b.closed = true
	lines := append(b.take(), b.takeTail()...)
	b.mu.Unlock()
	if len(lines) > 0 {
		b.deliver(lines)
	}
}

func (b *LogBuffer) takeTail() []SeqLine {
	if len(b.tail) == 0 {
		return nil
	}
	ring := b.tail
	b.tail = nil
	first := b.seq - len(ring) + 1 // number of the oldest line in the ring
	var lines []SeqLine
	if left := first - logHalf - 1; left > 0 {
		first, left = first+1, left+1 // the line that says so takes the place of one
		omitted := b.omitted + len(ring[(left-1)%logHalf].Text)
		text := fmt.Sprintf("%s %d lines of %d bytes left out %s", ellipsis, left, omitted, ellipsis)
		lines = append(lines, SeqLine{logHalf + 1, LogLine{At: ring[left%logHalf].At, Level: "warn", Text: text}})
	}
	for seq := first; seq <= b.seq; seq++ {
		lines = append(lines, SeqLine{seq, ring[(seq-logHalf-1)%logHalf]})
	}
	return lines
}
