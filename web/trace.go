package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"reax/models"
	"reax/views"
)

// Limits of a trace. What they keep away is told.
const (
	traceTasks  = 20
	traceAudit  = 20 // of one task
	traceCopies = 5  // of one task
)

// trace is all that the ledger knows of one trace id.
type trace struct {
	id      string
	tasks   []models.Task // oldest first
	runs    []tracedRun   // oldest first
	events  []tracedEvent // oldest first
	leftOut []string      // in the viewer's language
}

// tracedRun is one attempt on the axis.
type tracedRun struct {
	task     *models.Task
	run      *taskRun
	finished models.Instant // now, while it goes on
}

// Kinds of events, as the API names them.
const (
	traceDue      = "due"
	traceEnqueued = "enqueued"
	traceStarted  = "started"
	traceEnded    = "ended"
	traceMarked   = "marked"
	traceManual   = "manual"
	traceRepeated = "repeated"
	traceLine     = "log"
	traceNext     = "next"
)

// tracedEvent is one entry of the axis.
type tracedEvent struct {
	kind   string
	task   *models.Task
	at     models.Instant
	moment views.Moment
	run    *taskRun        // of started and ended
	audit  *models.Audit   // of manual
	line   *models.LogLine // of log
	other  *models.Task    // of repeated the copy, of enqueued the task that it is a copy of
}

// readTrace puts a trace together, with up to lines of the logs, in the language and the zone of the context's viewer. It
// fails with models.ErrNotFound when no task has the id.
func (s *Server) readTrace(ctx context.Context, id string, lines int) (*trace, error) {
	tasks, err := s.ledger.Traced(ctx, id, traceTasks+1)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return nil, models.ErrNotFound
	}
	t := &trace{id: id, tasks: tasks}
	if len(tasks) > traceTasks {
		t.tasks = tasks[:traceTasks]
		t.cut(ctx, "trace.more_tasks", traceTasks, nil)
	}
	var logged []tracedEvent
	most := lines // one that says much must not hide the others
	if n := len(t.tasks); n > 1 {
		most = max(lines/n, 1)
	}
	cut := false
	for i := range t.tasks {
		task := &t.tasks[i]
		if err := t.addTask(ctx, s.ledger, task); err != nil {
			return nil, err
		}
		found, err := s.ledger.LatestLogs(ctx, task.ID, most+1)
		if err != nil {
			return nil, err
		}
		if len(found) > most {
			found, cut = found[1:], true
		}
		for i := range found {
			logged = append(logged, tracedEvent{kind: traceLine, task: task, at: found[i].At, line: &found[i]})
		}
	}
	if cut {
		t.cut(ctx, "trace.more_lines", most, nil)
	}
	// What happened at one instant stays in this order: a line of a run comes after its start.
	t.events = append(t.events, logged...)
	slices.SortStableFunc(t.events, func(a, b tracedEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(rank(a), rank(b)))
	})
	slices.SortStableFunc(t.runs, func(a, b tracedRun) int { return cmp.Compare(a.run.StartedAt, b.run.StartedAt) })
	return t, nil
}

// rank orders what has one time: what ended comes after the lines that were logged before it.
func rank(e tracedEvent) int {
	return slices.Index([]string{traceDue, traceEnqueued, traceMarked, traceManual, traceStarted, traceLine, traceEnded, traceRepeated, traceNext}, e.kind)
}

func (t *trace) cut(ctx context.Context, key string, n int, task *models.Task) {
	id := ""
	if task != nil {
		id = strconv.FormatInt(task.ID, 10)
	}
	t.leftOut = append(t.leftOut, views.T(ctx, key, "n", n, "id", id))
}

// addTask adds what happened to one task, all but its log.
func (t *trace) addTask(ctx context.Context, ledger Ledger, task *models.Task) error {
	attempts, err := ledger.LatestAttempts(ctx, task.ID, 0, shownRuns+1)
	if err != nil {
		return err
	}
	audit, err := ledger.AuditOf(ctx, "task", strconv.FormatInt(task.ID, 10), traceAudit+1)
	if err != nil {
		return err
	}
	if len(audit) > traceAudit {
		audit = audit[:traceAudit]
		t.cut(ctx, "trace.more_audit", traceAudit, task)
	}
	copies, err := ledger.Repeats(ctx, task.ID, traceCopies+1)
	if err != nil {
		return err
	}
	if len(copies) > traceCopies {
		copies = copies[:traceCopies]
		t.cut(ctx, "trace.more_copies", traceCopies, task)
	}
	var origin *models.Task
	if task.RepeatedFrom != 0 {
		switch found, err := ledger.Task(ctx, task.RepeatedFrom); {
		case err == nil:
			origin = &found
		case !errors.Is(err, models.ErrNotFound): // retention may have deleted it
			return err
		}
	}
	h := newTaskHistory(ctx, task, attempts, audit, 0)
	if h.older > 0 {
		t.cut(ctx, "trace.more_runs", shownRuns, task)
	}
	add := func(kind string, m views.Moment) *tracedEvent {
		m.Body, m.More = nil, nil // it is on the page of the task
		t.events = append(t.events, tracedEvent{kind: kind, task: task, at: m.At, moment: m})
		return &t.events[len(t.events)-1]
	}
	if task.Schedule != "" && task.ScheduledFor != 0 {
		add(traceDue, views.Moment{Tone: "clock", At: task.ScheduledFor, Title: views.T(ctx, "trace.due", "name", task.Schedule)})
	}
	add(traceEnqueued, h.enqueued()).other = origin
	for i := range h.runs {
		r := &h.runs[i]
		add(traceStarted, h.begin(r)).run = r
		end := models.At(views.ViewerOf(ctx).Now)
		if !r.on {
			add(traceEnded, h.end(r)).run = r
			end = r.FinishedAt
		}
		t.runs = append(t.runs, tracedRun{task, r, end})
	}
	h.now(func(m views.Moment) { add(traceMarked, m) })
	for i := range audit {
		add(traceManual, h.manual(&audit[i])).audit = &audit[i]
	}
	for i := range copies {
		add(traceRepeated, views.Moment{Tone: "copy", At: copies[i].CreatedAt, Title: views.T(ctx, "trace.repeated")}).other = &copies[i]
	}
	if next := h.next(); next != nil {
		add(traceNext, *next)
	}
	return nil
}

// after is the time of an entry since the first one.
func (t *trace) after(at models.Instant) time.Duration { return at.Sub(t.events[0].at) }

// failure is the error of an entry that is the end of a failed run.
func (e *tracedEvent) failure() string {
	if e.kind != traceEnded {
		return ""
	}
	return e.run.Error
}
