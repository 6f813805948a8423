package tasks

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// MaxNoteBytes bounds the note beside a progress; the rest is cut off.
const MaxNoteBytes = 200

// LogLine is one line of a task's log.
type LogLine struct {
	At    time.Time
	Level string // debug, info, warn, error, stdout, stderr
	Text  string
}

// Sink takes what a run says while it works. Its methods may be called from any goroutine and must not block.
type Sink interface {
	Log(line LogLine)
	Progress(percent int, note string)
}

// Run is what a handler may know and say about its own run. It is safe for use from many goroutines. What a leaked
// goroutine says after the run has ended goes nowhere.
type Run struct {
	TaskID  int64
	Type    string
	TraceID string // 32 hex digits, a W3C trace id
	Attempt int    // 1 for the first run
	// Traceparent names the span of the run as W3C Trace Context, when spans are recorded; else it is empty.
	Traceparent string
	// IdempotencyKey is the same on each attempt, and no other task has it. Empty stands for TraceID.
	IdempotencyKey string
	// Ledger is the file of the ledger that the server has, by which EndStrays finds what a command left; empty for none.
	Ledger string

	Logger  *slog.Logger
	sink    Sink
	ended   atomic.Bool
	told    atomic.Int64                     // lines that went to the program's own log
	secrets atomic.Pointer[strings.Replacer] // takes the secrets of the parameters out of what the run says; nil for none
}

type runKey struct{}

// NewRun completes r and returns a context that carries it for RunOf to find. What the handler logs goes to the task's
// log in sink, and up to MaxProgramLines of it to the program's own log in base with task_id, type, trace_id and attempt; either may be nil.
// The caller ends the run with End.
func NewRun(ctx context.Context, r *Run, sink Sink, base *slog.Logger) (context.Context, *Run) {
	r.sink = sink
	r.Logger = slog.New(&lazyHandler{run: r, base: base})
	return context.WithValue(ctx, runKey{}, r), r
}

// WithRun is NewRun without a program's log, as a test of a handler wants it.
func WithRun(ctx context.Context, r *Run, sink Sink) context.Context {
	ctx, _ = NewRun(ctx, r, sink, nil)
	return ctx
}

// RunOf returns the run that ctx belongs to. Outside a run it returns one that discards what it is told, so that a
// handler can be called from a plain test.
func RunOf(ctx context.Context) *Run {
	if r, ok := ctx.Value(runKey{}).(*Run); ok {
		return r
	}
	return &Run{Attempt: 1, Logger: slog.New(slog.DiscardHandler)}
}

// End closes the run's way to its sink. It may be called twice.
func (r *Run) End() { r.ended.Store(true) }

// Progress says that done of total is done. The page shows it as 0 to 100 %, with the note (at most MaxNoteBytes)
// beside it. A total that is not known yet, 0 or less, shows as 0 %.
func (r *Run) Progress(done, total int64, note string) {
	if r.sink == nil || r.ended.Load() {
		return
	}
	r.sink.Progress(percentOf(done, total), cleanText(r.discreet(note), MaxNoteBytes))
}

// Output puts a line of a command's output into the task's log, and only there. stream is "stdout" or "stderr".
func (r *Run) Output(stream, line string) {
	if stream != "stderr" {
		stream = "stdout"
	}
	r.log(LogLine{At: time.Now(), Level: stream, Text: line})
}

func (r *Run) log(line LogLine) {
	if r.sink != nil && !r.ended.Load() {
		line.Text = r.discreet(line.Text)
		r.sink.Log(line)
	}
}

func percentOf(done, total int64) int {
	switch {
	case total <= 0 || done <= 0:
		return 0
	case done >= total:
		return 100
	}
	// As a float, for done * 100 may overflow; and what is not all done must not be rounded to 100.
	return min(int(float64(done)/float64(total)*100), 99)
}
