package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const (
	shownRuns   = 12 // on one page of a timeline
	auditShown  = 20
	shownLines  = 60
	logBudget   = 8_000 // bytes of HTML for the text of log lines
	storyBudget = 9_000 // for the errors and stacks of a timeline
	whyTimeout  = 2 * time.Second
)

// taskOf reads the task that the address names.
func (s *Server) taskOf(c echo.Context) (models.Task, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return models.Task{}, models.ErrNotFound
	}
	return s.ledger.Task(c.Request().Context(), id)
}

// number reads a small number of the query; 0 when there is none or it is not one.
func number(c echo.Context, name string) int {
	n, err := strconv.Atoi(c.QueryParam(name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// taskPage is one task.
func (s *Server) taskPage(c echo.Context) error {
	ctx := c.Request().Context()
	t, err := s.taskOf(c)
	if err != nil {
		return err
	}
	before := number(c, "runs")
	attempts, err := s.ledger.LatestAttempts(ctx, t.ID, before, shownRuns+1)
	if err != nil {
		return err
	}
	audit, err := s.ledger.AuditOf(ctx, "task", strconv.FormatInt(t.ID, 10), auditShown)
	if err != nil {
		return err
	}
	h := newTaskHistory(ctx, &t, attempts, audit, before)
	page := views.TaskDetail{
		Task: t, Token: rand.Text(), Actions: s.taskActions(ctx, &t), Runs: h.bars(), Moments: h.moments(), Facts: taskFacts(ctx, &t),
		Params: payload(ctx, &t, "params", s.shownParams(&t)), Result: payload(ctx, &t, "result", s.shownResult(&t)),
		Discard: discardConfirmation(ctx, &t),
	}
	if h.older > 0 {
		page.Older = views.URL(ctx, taskPath(t.ID), "runs", strconv.Itoa(h.older))
	}
	if before > 0 {
		page.Newest = views.URL(ctx, taskPath(t.ID))
	}
	if page.Why, err = s.waiting(ctx, &t); err != nil {
		return err
	}
	if page.Log, err = s.taskLog(ctx, &t, number(c, "attempt"), number(c, "before")); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.TaskPage(page))
}

func taskPath(id int64) string { return fmt.Sprintf("/tasks/%d", id) }

// waiting asks the queue why a task does not run yet. A queue that does not answer must not keep the page away.
func (s *Server) waiting(ctx context.Context, t *models.Task) (*views.Waiting, error) {
	if !t.State.IsWaiting() {
		return nil, nil
	}
	asking, cancel := context.WithTimeout(ctx, whyTimeout)
	defer cancel()
	why, err := s.runtime.Why(asking, t)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &views.Waiting{Text: views.T(ctx, "task.gate_unknown")}, nil
	}
	return s.waitingView(ctx, t, why), nil
}

func (s *Server) waitingView(ctx context.Context, t *models.Task, why actors.Why) *views.Waiting {
	if why.Gate == actors.GateNone {
		return nil
	}
	pool, _ := s.runtime.Pool(t.Type)
	w := &views.Waiting{Gate: string(why.Gate), Note: why.Reason}
	pairs := []any{"by", views.ActorName(ctx, why.By), "n", why.Workers, "size", pool.Concurrency, "type", t.Type, "at", "", "left", ""}
	if why.Gate == actors.GateTime {
		pairs[9] = views.Clock(ctx, models.At(why.Until))
		pairs[11] = views.Duration(ctx, why.Until.Sub(views.ViewerOf(ctx).Now).Round(time.Second))
	}
	w.Text = views.T(ctx, "task.gate."+w.Gate, pairs...)
	fact := func(key, value string) { w.Facts = append(w.Facts, views.Fact{Label: views.T(ctx, key), Value: value}) }
	if t.ReadyAt != 0 && why.Gate != actors.GateNoHandler && why.Gate != actors.GateStopping {
		place := views.T(ctx, "task.place_far")
		if why.InWindow {
			place = views.T(ctx, "task.place_before", "n", why.Position)
		}
		fact("task.place", place)
		priority := views.T(ctx, "task.effective_plain", "p", t.Priority)
		if why.Lifted {
			priority = views.T(ctx, "task.effective_lifted", "p", t.Priority)
		} else if !why.LiftAt.IsZero() {
			fact("task.lift", views.T(ctx, "task.lift_at", "at", views.Clock(ctx, models.At(why.LiftAt))))
		}
		fact("task.effective", priority)
	}
	return w
}

func taskFacts(ctx context.Context, t *models.Task) []views.Fact {
	var facts []views.Fact
	add := func(f views.Fact, key string) {
		f.Label = views.T(ctx, key)
		facts = append(facts, f)
	}
	optional := func(f views.Fact, key string) {
		if f.Value != "" {
			add(f, key)
		}
	}
	clock := func(at models.Instant) string {
		if at.IsZero() {
			return ""
		}
		return views.Clock(ctx, at)
	}
	add(views.Fact{Value: strconv.FormatInt(t.ID, 10), Mono: true, Copy: true}, "task.id")
	add(views.Fact{Value: t.Type, URL: views.URL(ctx, "/types/"+views.Segment(t.Type))}, "task.type")
	add(views.Fact{Value: t.TraceID, URL: views.URL(ctx, tracePath(t.TraceID)), Mono: true, Copy: true}, "task.trace")
	add(views.Fact{Value: strconv.Itoa(t.Priority)}, "task.priority")
	add(views.Fact{Value: views.T(ctx, "task.failures_of", "k", t.Failures, "most", t.RunLimit())}, "task.failures")
	timeout := views.T(ctx, "task.no_timeout")
	if t.TimeoutUS > 0 {
		timeout = views.Duration(ctx, t.Timeout())
	}
	add(views.Fact{Value: timeout}, "task.timeout")
	add(views.Fact{Value: clock(t.CreatedAt)}, "task.created")
	if t.State.IsWaiting() {
		add(views.Fact{Value: clock(t.RunAt)}, "task.run_at")
	}
	optional(views.Fact{Value: clock(t.StartedAt)}, "task.started")
	optional(views.Fact{Value: clock(t.FinishedAt)}, "task.finished")
	optional(views.Fact{Value: t.UniqueKey, Mono: true, Copy: true}, "task.unique_key")
	for _, tag := range tagsOf(t.Tags) {
		add(views.Fact{Value: tag, URL: views.URL(ctx, "/tasks", "tag", tag)}, "task.tag")
	}
	if t.Schedule != "" {
		add(views.Fact{Value: t.Schedule, URL: views.URL(ctx, "/schedules/"+views.Segment(t.Schedule))}, "task.schedule")
		optional(views.Fact{Value: clock(t.ScheduledFor)}, "task.scheduled_for")
	}
	if t.RepeatedFrom != 0 {
		add(views.Fact{Value: strconv.FormatInt(t.RepeatedFrom, 10), URL: views.URL(ctx, taskPath(t.RepeatedFrom))}, "task.repeated_from")
	}
	optional(views.Fact{Value: t.Worker, Mono: true}, "task.worker")
	optional(views.Fact{Value: t.Suspected}, "task.suspected")
	return facts
}

// taskLog is the end of the log of one run, the latest when none is chosen.
func (s *Server) taskLog(ctx context.Context, t *models.Task, attempt, before int) (*views.TaskLog, error) {
	if t.Attempt == 0 {
		return nil, nil
	}
	if attempt == 0 || attempt > t.Attempt {
		attempt = t.Attempt
	}
	lines, err := s.ledger.LogTail(ctx, t.ID, attempt, before, shownLines+1)
	if err != nil {
		return nil, err
	}
	log := &views.TaskLog{Attempt: attempt}
	link := func(attempt, before int) string {
		v := url.Values{}
		if attempt != t.Attempt {
			v.Set("attempt", strconv.Itoa(attempt))
		}
		if before > 0 {
			v.Set("before", strconv.Itoa(before))
		}
		path := taskPath(t.ID)
		if len(v) > 0 {
			path += "?" + v.Encode()
		}
		return path + "#log"
	}
	more := len(lines) > shownLines
	lines = lines[max(len(lines)-shownLines, 0):]
	room := budget(logBudget)
	for i := len(lines) - 1; i >= 0; i-- {
		text, _ := room.take(lines[i].Text, 1_000)
		if text == "" && lines[i].Text != "" {
			lines, more = lines[i+1:], true
			break
		}
		lines[i].Text = text
	}
	log.Lines = lines
	if more && len(lines) > 0 {
		log.Older = views.URL(ctx, link(attempt, lines[0].Seq))
	}
	if before > 0 {
		log.Newest = views.URL(ctx, link(attempt, 0))
	}
	for n := max(t.Attempt-shownRuns+1, 1); n <= t.Attempt; n++ {
		log.Runs = append(log.Runs, views.Tab{Text: views.T(ctx, "task.attempt", "k", n), URL: views.URL(ctx, link(n, 0)), Current: n == attempt})
	}
	return log, nil
}

// budget is how many bytes of HTML the long texts of a page may still take.
type budget int

// take gives as much of text as fits, and reports whether that is all of it.
func (b *budget) take(text string, limit int) (string, bool) {
	limit = min(limit, int(*b))
	size := 0
	for i, r := range text {
		n := len(string(r))
		switch r {
		case '<', '>':
			n = 4
		case '&', '"', '\'':
			n = 5
		}
		if size+n > limit {
			*b -= budget(size)
			if i == 0 {
				return "", false
			}
			return strings.TrimRight(text[:i], " \n") + "…", false
		}
		size += n
	}
	*b -= budget(size)
	return text, true
}
