package tasks

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// MaxProgramLines bounds how many lines of one run go to the program's own log: a run that logs without end must not fill it,
// nor have others wait for it. The task's log still gets them.
const MaxProgramLines = 1_000

// forProgram is a line of the run as the program's log gets it; false when it has had enough of the run.
func (r *Run) forProgram(rec slog.Record) (slog.Record, bool) {
	n := r.told.Add(1)
	if n == MaxProgramLines+1 {
		return slog.NewRecord(rec.Time, slog.LevelWarn, "further lines of this run are only in the log of its task", 0), true
	}
	return rec, n <= MaxProgramLines
}

// lazyHandler builds the handlers behind Run.Logger when the first line is logged: most runs log nothing, and building
// them costs more than all else that a run needs.
type lazyHandler struct {
	run  *Run
	base *slog.Logger
	once sync.Once
	real slog.Handler
}

func (h *lazyHandler) handler() slog.Handler {
	h.once.Do(func() {
		handlers := []slog.Handler{newRunHandler(h.run)}
		if h.base != nil {
			attrs := []any{"task_id", h.run.TaskID, "type", h.run.Type, "trace_id", h.run.TraceID, "attempt", h.run.Attempt}
			handlers = append(handlers, discreetHandler{h.base.With(attrs...).Handler(), h.run})
		}
		h.real = slog.NewMultiHandler(handlers...)
	})
	return h.real
}

func (h *lazyHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.handler().Enabled(ctx, l)
}

func (h *lazyHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.handler().Handle(ctx, r)
}

func (h *lazyHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.handler().WithAttrs(attrs) }
func (h *lazyHandler) WithGroup(name string) slog.Handler       { return h.handler().WithGroup(name) }

// runHandler is the slog.Handler behind Run.Logger: it hands each record to the run as one line, the message followed by
// its attributes as key=value. The attributes are slog's own text.
type runHandler struct {
	run  *Run
	out  *attrBuffer
	text slog.Handler // writes a record's attributes to out
}

// attrBuffer is shared by a handler and those derived from it with WithAttrs and WithGroup.
type attrBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newRunHandler(r *Run) *runHandler {
	out := &attrBuffer{}
	return &runHandler{r, out, slog.NewTextHandler(&out.buf, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: onlyAttrs})}
}

// onlyAttrs drops the level and the empty message that slog writes itself, and keeps a caller's attributes of that name.
func onlyAttrs(groups []string, a slog.Attr) slog.Attr {
	_, isLevel := a.Value.Any().(slog.Level)
	if len(groups) == 0 && (a.Key == slog.LevelKey && isLevel || a.Key == slog.MessageKey && a.Value.String() == "") {
		return slog.Attr{}
	}
	return a
}

func (h *runHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelDebug && !h.run.ended.Load()
}

func (h *runHandler) Handle(ctx context.Context, rec slog.Record) error {
	attrs := rec.Clone()
	attrs.Message, attrs.Time = "", time.Time{}
	h.out.mu.Lock()
	h.out.buf.Reset()
	err := h.text.Handle(ctx, attrs)
	suffix := strings.TrimSpace(h.out.buf.String())
	h.out.mu.Unlock()
	if err != nil {
		return err
	}
	if rec.Time.IsZero() {
		rec.Time = time.Now()
	}
	h.run.log(LogLine{At: rec.Time, Level: levelName(rec.Level), Text: strings.TrimSpace(rec.Message + " " + suffix)})
	return nil
}

func (h *runHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &runHandler{h.run, h.out, h.text.WithAttrs(attrs)}
}

func (h *runHandler) WithGroup(name string) slog.Handler {
	return &runHandler{h.run, h.out, h.text.WithGroup(name)}
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}
