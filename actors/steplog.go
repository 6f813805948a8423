package actors

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"reax/models"
	"reax/tasks"
)

// maxLoggedText bounds an error or a task's parameters in a line of the log; the ledger has more of them.
const maxLoggedText = 2 << 10

// stepChange is what a person did, with what became of it.
type stepChange struct {
	asked *ChangeTasks
	done  *models.Changed
}

// step is one line of the log: something that happened to one task and is durable.
type step struct {
	level   slog.Level
	message string
	trace   string
	id      int64
	typ     string
	action  string
	state   models.State
	cost    time.Duration // how long it took: to store, to wait or to run
}

// write hands the line to the handler itself: a Logger would look up its caller's place, which costs as much as all the
// rest. Every line begins with the same attributes.
func (s step) write(h slog.Handler, now time.Time, more ...slog.Attr) {
	if !h.Enabled(context.Background(), s.level) {
		return
	}
	r := slog.NewRecord(now, s.level, s.message, 0)
	attrs := append(make([]slog.Attr, 0, 16), slog.String("trace_id", s.trace), slog.Int64("task_id", s.id), slog.String("type", s.typ),
		slog.String("action", s.action), slog.String("state", string(s.state)), slog.Float64("cost_ms", float64(s.cost.Microseconds())/1000))
	r.AddAttrs(append(attrs, more...)...)
	_ = h.Handle(context.Background(), r) // a log that cannot be written stops no task
}

// maxStepsBehind bounds how many steps wait to be logged.
const maxStepsBehind = 20_000

// stepLog writes the lines of steps in a goroutine beside the journal, which has no time for it under load. A log that is
// slower than the journal, or cannot be written at all, stops nothing: lines are then left out, and how many is logged.
type stepLog struct {
	logger  *slog.Logger
	batches chan *batch
	behind  atomic.Int64 // steps in batches
	missing atomic.Int64 // steps whose lines were left out and not told of yet
	ending  chan struct{}
	ended   chan struct{}
}

func newStepLog(logger *slog.Logger) *stepLog {
	l := &stepLog{logger: logger, batches: make(chan *batch, 1024), ending: make(chan struct{}), ended: make(chan struct{})}
	go l.run()
	return l
}

// end returns when all that was taken before has been written. It is called once; what a journal that could not be stopped
// in time hands over after it is not written.
func (l *stepLog) end() {
	close(l.ending)
	<-l.ended
}

// take has the steps of a committed batch logged. The batch must not be changed after it.
func (l *stepLog) take(b *batch) {
	n := b.steps()
	if n == 0 || !l.logger.Enabled(context.Background(), slog.LevelError) {
		return
	}
	if behind := l.behind.Add(n); behind <= maxStepsBehind || behind == n {
		select {
		case l.batches <- b:
			return
		default:
		}
	}
	l.behind.Add(-n)
	l.missing.Add(n)
}

func (l *stepLog) run() {
	defer close(l.ended)
	for {
		select {
		case b := <-l.batches:
			l.log(b)
		case <-l.ending:
			for len(l.batches) > 0 {
				l.log(<-l.batches)
			}
			return
		}
	}
}

func (l *stepLog) log(b *batch) {
	l.write(b)
	l.behind.Add(-b.steps())
	if n := l.missing.Swap(0); n > 0 {
		l.logger.Warn("lines were left out: the log could not be written as fast as tasks went on", slog.Int64("steps", n))
	}
}

// write outlives a handler of the log that panics, such as one of a program that embeds the runtime.
func (l *stepLog) write(b *batch) {
	defer func() { _ = recover() }()
	b.logSteps()
}

// steps is about how many lines the batch is worth.
func (b *batch) steps() int64 {
	n := len(b.inserts) + len(b.claimed) + len(b.done) + len(b.lost) + len(b.stuck)
	for _, c := range b.changed {
		n += len(c.done.Tasks)
	}
	return int64(n)
}

// logSteps writes one line for each step of a task that the batch has made durable.
func (b *batch) logSteps() {
	h, now := b.logger.Handler(), time.Now()
	if h.Enabled(context.Background(), slog.LevelInfo) {
		debug := h.Enabled(context.Background(), slog.LevelDebug)
		for _, t := range b.inserts {
			b.logEnqueued(h, now, t, debug)
		}
		if debug {
			for _, c := range b.claimed {
				logStarted(h, now, c)
			}
		}
		for _, c := range b.changed {
			c.log(h, now)
		}
		for _, c := range b.done {
			if c.Written {
				logSucceeded(h, now, c)
			}
		}
	}
	logEnded(b.logger, b.ended)
	for _, key := range b.stuck {
		r, ok := b.runs.Get(key.ID)
		if !ok || r.Attempt != key.Attempt {
			continue // its handler has returned since
		}
		step{slog.LevelWarn, "the handler ignores the end of its time", r.TraceID, r.ID, r.Type, "stuck", models.StateRunning, now.Sub(r.StartedAt.Time())}.
			write(h, now, slog.Int("attempt", r.Attempt))
	}
}

func (b *batch) logEnqueued(h slog.Handler, now time.Time, t *models.NewTask, debug bool) {
	if t.Held != nil {
		step{slog.LevelInfo, "a task holds the unique key already", t.Held.TraceID, t.Held.ID, t.Held.Type, "duplicate", t.Held.State, 0}.
			write(h, now, slog.String("by", t.EnqueuedBy))
		return
	}
	more := make([]slog.Attr, 0, 6)
	more = append(more, slog.Int("priority", t.Priority), slog.String("by", t.EnqueuedBy))
	if t.RunAt > t.CreatedAt {
		more = append(more, slog.Time("run_at", t.RunAt.Time()))
	}
	if t.Schedule != "" {
		more = append(more, slog.String("schedule", t.Schedule))
	}
	if t.RepeatedFrom != 0 {
		more = append(more, slog.Int64("repeated_from", t.RepeatedFrom))
	}
	if debug {
		more = append(more, slog.String("params", b.loggedParams(t)))
	}
	step{slog.LevelInfo, "task enqueued", t.TraceID, t.ID, t.Type, "enqueue", t.State, now.Sub(t.CreatedAt.Time())}.write(h, now, more...)
	if debug && t.IsStarted() {
		logStarted(h, now, t.Claimed())
	}
}

// loggedParams are the parameters without what the type's schema calls writeOnly. Those of a type that is not known here may hold
// anything, and are left out.
func (b *batch) loggedParams(t *models.NewTask) string {
	d, ok := b.registry.Lookup(t.Type)
	if !ok || d.Schema == nil {
		return tasks.Hidden
	}
	return models.CutText(d.Schema.Mask(t.Params), maxLoggedText)
}

func logStarted(h slog.Handler, now time.Time, c *models.Claimed) {
	step{slog.LevelDebug, "attempt started", c.TraceID, c.ID, c.Type, "start", models.StateRunning, max(c.StartedAt.Sub(c.ReadyAt), 0)}.
		write(h, now, slog.Int("attempt", c.Attempt))
}

func logSucceeded(h slog.Handler, now time.Time, c *models.Completion) {
	step{slog.LevelInfo, "task succeeded", c.TraceID, c.ID, c.Type, "finish", models.StateSuccess, c.FinishedAt.Sub(c.StartedAt)}.
		write(h, now, slog.Int("attempt", c.Attempt), slog.String("worker", c.Worker))
}

// log writes what a person did to each of the tasks. What a running task does about it is a step of its own.
func (c stepChange) log(h slog.Handler, now time.Time) {
	for i := range c.done.Tasks {
		t := &c.done.Tasks[i]
		more := []slog.Attr{slog.String("by", c.asked.By.Name)}
		if c.asked.By.Reason != "" {
			more = append(more, slog.String("reason", c.asked.By.Reason))
		}
		step{slog.LevelInfo, "a person changed the task", t.TraceID, t.ID, t.Type, string(c.asked.Action), t.State, now.Sub(t.UpdatedAt.Time())}.
			write(h, now, more...)
	}
}

// outcomeSteps says how a run ended other than by a success at the first try.
var outcomeSteps = map[string]struct {
	level           slog.Level
	message, action string
}{
	models.OutcomeSuccess:     {slog.LevelInfo, "task succeeded", "finish"},
	models.OutcomeRetry:       {slog.LevelWarn, "attempt failed, the task will be retried", "fail"},
	models.OutcomeFailed:      {slog.LevelWarn, "task failed, retrying would not help", "fail"},
	models.OutcomeDead:        {slog.LevelError, "task is dead, no retry is left", "fail"},
	models.OutcomeCancelled:   {slog.LevelInfo, "task was stopped", "finish"},
	models.OutcomeInterrupted: {slog.LevelInfo, "attempt was cut off by the shutdown", "interrupt"},
	models.OutcomeCrashed:     {slog.LevelWarn, "the process died during the attempt", "crash"},
	models.OutcomeLost:        {slog.LevelWarn, "the attempt was lost in the process", "lose"},
}

// logEnded writes a line for each run that was not a success at the first try.
func logEnded(logger *slog.Logger, ended []models.Ended) {
	h, now := logger.Handler(), time.Now()
	for i := range ended {
		c := ended[i].Completion
		how := outcomeSteps[c.Outcome]
		if c.State == models.StateDead {
			how.level = slog.LevelError
		}
		more := []slog.Attr{slog.Int("attempt", c.Attempt), slog.String("worker", c.Worker)}
		if c.Error != "" {
			more = append(more, slog.String("error_kind", c.ErrorKind), slog.String("error", models.CutText(c.Error, maxLoggedText)))
		}
		if c.State == models.StateRetryWait {
			more = append(more, slog.Time("run_at", c.RunAt.Time()))
		}
		if c.Suspected != "" {
			more = append(more, slog.String("suspected", c.Suspected))
		}
		step{how.level, how.message, c.TraceID, c.ID, c.Type, how.action, c.State, c.FinishedAt.Sub(c.StartedAt)}.write(h, now, more...)
	}
}
