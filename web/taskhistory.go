package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reax/models"
	"reax/views"
)

// taskHistory is what the ledger knows of one task: its row, some of its runs and what people did to it.
type taskHistory struct {
	ctx   context.Context
	task  *models.Task
	runs  []taskRun      // oldest first
	audit []models.Audit // newest first
	older int            // the number of the oldest run shown, when there are runs before it
	part  bool           // a page of older runs
	room  budget
	found []models.Attempt // failures whose errors were shown already
}

// taskRun is one run. The last one may still go on.
type taskRun struct {
	models.Attempt
	readyAt models.Instant // since when it could have started; none when that is not known
	on      bool
}

// newTaskHistory puts the runs together: attempts lists up to shownRuns+1 of those that were not a success at the first try,
// the row of the task has the one that is on, or the only one.
func newTaskHistory(ctx context.Context, t *models.Task, attempts []models.Attempt, audit []models.Audit, before int) *taskHistory {
	h := &taskHistory{ctx: ctx, task: t, audit: audit, part: before > 0, room: storyBudget}
	previous := models.Attempt{}
	if len(attempts) > shownRuns {
		previous, attempts = attempts[0], attempts[1:]
		h.older = attempts[0].Attempt
	}
	known := len(attempts) > 0 && attempts[len(attempts)-1].Attempt == t.Attempt
	if latest := t.State == models.StateRunning || t.State == models.StateSuccess; latest && !known && !h.part && t.Attempt > 0 {
		a := models.Attempt{Attempt: t.Attempt, Worker: t.Worker, StartedAt: t.StartedAt}
		if t.State == models.StateSuccess {
			a.Outcome, a.FinishedAt = models.OutcomeSuccess, t.FinishedAt
		}
		attempts = append(slices.Clone(attempts), a)
	}
	for _, a := range attempts {
		h.runs = append(h.runs, taskRun{Attempt: a, readyAt: h.readyAt(&a, &previous), on: a.Outcome == ""})
		previous = a
	}
	return h
}

// readyAt is since when a run could have started: since the task was accepted, its planned time, the end of a run that
// was cut off, or since somebody wanted it to run.
func (h *taskHistory) readyAt(a, previous *models.Attempt) models.Instant {
	at := previous.FinishedAt
	switch {
	case a.Attempt == 1:
		at = h.task.CreatedAt
		if h.task.Attempt == 1 && h.task.State != models.StateRetryWait { // else it is the time of the next run
			at = max(at, min(h.task.RunAt, a.StartedAt))
		}
	case previous.Attempt != a.Attempt-1:
		return 0
	case previous.RetryAt != 0:
		at = previous.RetryAt
	}
	for _, entry := range h.audit {
		if entry.Action == models.ActionRetry && entry.At >= previous.FinishedAt && entry.At <= a.StartedAt {
			at = entry.At
			break
		}
	}
	if at == 0 || at > a.StartedAt {
		return 0
	}
	return at
}

func (r *taskRun) waited() time.Duration {
	if r.readyAt == 0 {
		return 0
	}
	return max(r.StartedAt.Sub(r.readyAt), 0)
}

func (h *taskHistory) ran(r *taskRun) time.Duration {
	end := r.FinishedAt
	if r.on {
		end = models.At(views.ViewerOf(h.ctx).Now)
	}
	return max(end.Sub(r.StartedAt), 0)
}

// tone is the state whose colour a run has.
func (r *taskRun) tone() string {
	switch r.Outcome {
	case "":
		return string(models.StateRunning)
	case models.OutcomeCrashed, models.OutcomeLost:
		return "suspected"
	case models.OutcomeInterrupted:
		return string(models.StatePending)
	case models.OutcomeRetry:
		return string(models.StateFailed)
	}
	return r.Outcome
}

func (h *taskHistory) bars() []views.RunBar {
	var bars []views.RunBar
	for i := range h.runs {
		r := &h.runs[i]
		bars = append(bars, views.RunBar{Label: h.t("task.attempt", "k", r.Attempt.Attempt), Tone: r.tone(), Wait: r.waited(), Run: h.ran(r)})
	}
	return bars
}

func (h *taskHistory) t(key string, pairs ...any) string { return views.T(h.ctx, key, pairs...) }

// moments is the timeline, newest first.
func (h *taskHistory) moments() []views.Moment {
	var all []views.Moment
	add := func(m views.Moment) {
		m.Exact = true
		all = append(all, m)
	}
	// What happened at one instant stays in this order, the last of it first.
	if !h.part {
		h.now(add)
	}
	for i := len(h.runs) - 1; i >= 0; i-- {
		r := &h.runs[i]
		if !r.on {
			add(h.end(r))
		}
		if r.on || r.Attempt.Attempt == 1 {
			add(h.begin(r))
		}
	}
	low, high := h.window()
	for i := range h.audit {
		if e := &h.audit[i]; e.At >= low && e.At < high {
			add(h.manual(e))
		}
	}
	if h.older == 0 {
		add(h.enqueued())
	}
	slices.SortStableFunc(all, func(a, b views.Moment) int { return cmp.Compare(b.At, a.At) })
	if m := h.next(); m != nil && !h.part {
		all = slices.Insert(all, 0, *m)
	}
	return all
}

// window is the time that this page of the timeline is about.
func (h *taskHistory) window() (low, high models.Instant) {
	high = 1 << 62
	if h.part && len(h.runs) > 0 {
		high = h.runs[len(h.runs)-1].FinishedAt + 1
	}
	if h.older > 0 {
		low = h.runs[0].StartedAt
	}
	return low, high
}

// next is what is to come.
func (h *taskHistory) next() *views.Moment {
	t := h.task
	if t.State != models.StateRetryWait && (t.State != models.StatePending || t.ReadyAt != 0) {
		return nil
	}
	m := views.Moment{Tone: string(t.State), At: t.RunAt, Title: h.t("task.next_run")}
	if t.State == models.StateRetryWait {
		m.Title = h.t("task.next_attempt", "k", t.Failures+1, "most", t.RunLimit())
		if n := len(h.runs); n > 0 && h.runs[n-1].RetryAt == t.RunAt {
			m.Note = h.rule(h.runs[n-1].RetryRule)
		}
	}
	return &m
}

// now are the moments that only the row of the task tells of.
func (h *taskHistory) now(add func(views.Moment)) {
	t := h.task
	if !t.StuckAt.IsZero() {
		add(views.Moment{Tone: "stuck", At: t.StuckAt, Title: h.t("task.stuck"), Note: h.t("task.stuck_note")})
	}
	if !t.PromotedAt.IsZero() {
		add(views.Moment{Tone: "quiet", At: t.PromotedAt, Title: h.t("task.lifted"), Note: h.t("task.lifted_note", "p", t.Priority)})
	}
	asked := slices.ContainsFunc(h.audit, func(e models.Audit) bool { return e.Action == models.ActionCancel && e.At >= t.CancelRequestedAt })
	if !t.CancelRequestedAt.IsZero() && !asked {
		add(views.Moment{Tone: "cancelled", At: t.CancelRequestedAt, Title: h.t("task.cancel_requested")})
	}
}

func (h *taskHistory) begin(r *taskRun) views.Moment {
	m := views.Moment{Tone: string(models.StateRunning), At: r.StartedAt, Title: h.t("task.begun", "k", r.Attempt.Attempt)}
	var notes []string
	if r.readyAt != 0 {
		notes = append(notes, h.t("task.waited", "d", views.Duration(h.ctx, r.waited())))
	}
	if r.on && h.task.TimeoutUS > 0 {
		notes = append(notes, h.t("task.until_timeout", "d", views.Duration(h.ctx, h.task.Timeout())))
	}
	if r.Worker != "" {
		notes = append(notes, worker(r.Worker))
	}
	m.Note = strings.Join(notes, " · ")
	return m
}

func (h *taskHistory) end(r *taskRun) views.Moment {
	n := r.Attempt.Attempt
	m := views.Moment{Tone: r.tone(), At: r.FinishedAt, Title: h.t("task.outcome."+r.Outcome, "k", n)}
	notes := []string{h.t("task.after", "d", views.Duration(h.ctx, h.ran(r)))}
	if r.readyAt != 0 && n > 1 {
		notes = append(notes, h.t("task.waited", "d", views.Duration(h.ctx, r.waited())))
	}
	if r.ErrorKind != "" && r.Outcome != models.OutcomeCancelled && r.Outcome != models.OutcomeInterrupted {
		notes = append(notes, h.kind(r.ErrorKind))
	}
	if r.Worker != "" && n > 1 {
		notes = append(notes, worker(r.Worker))
	}
	m.Note = strings.Join(notes, " · ")
	m.Body = views.FailedRun(h.failure(&r.Attempt))
	return m
}

// worker is the name of a worker without what all of them have in common.
func worker(name string) string { return strings.TrimPrefix(name, "reax/pools/") }

// kind says an error kind; one that is not known is shown as it is.
func (h *taskHistory) kind(kind string) string {
	if text, ok := views.ViewerOf(h.ctx).Locale.Lookup("task.kind." + kind); ok {
		return text
	}
	return kind
}

func (h *taskHistory) failure(a *models.Attempt) views.RunFailure {
	f := views.RunFailure{ID: "run-" + strconv.Itoa(a.Attempt), RetryAt: a.RetryAt, Rule: h.rule(a.RetryRule)}
	limit := 3_000
	for _, shown := range h.found {
		if shown.Error == a.Error && a.Error != "" {
			f.Same, limit = shown.Attempt, 300
			break
		}
	}
	all := true
	var whole bool
	f.Error, whole = h.room.take(a.Error, limit)
	if f.Same == 0 {
		f.Stack, all = h.room.take(a.Stack, 4_000)
		h.found = append(h.found, *a)
	}
	if !whole || !all {
		f.Whole = views.URL(h.ctx, taskPath(h.task.ID)+"/error.txt", "attempt", strconv.Itoa(a.Attempt))
	}
	return f
}

// rule says how a retry time came about. The arithmetic is the same in every language, the words are not.
func (h *taskHistory) rule(rule string) string {
	if asked, ok := strings.CutPrefix(rule, "the handler asked for "); ok {
		return h.t("task.rule_asked", "d", asked)
	}
	if sum, most, ok := strings.Cut(rule, ", at most "); ok {
		return h.t("task.rule", "sum", sum, "most", most)
	}
	return rule
}

// manual is what a person did.
func (h *taskHistory) manual(e *models.Audit) views.Moment {
	m := views.Moment{Tone: "quiet", At: e.At}
	key := e.Action
	switch {
	case e.Action == models.ActionCancel && e.Before == string(models.StateRunning):
		key, m.Tone = "stop", "cancelled"
	case e.Action == models.ActionRetry && models.State(e.Before).IsWaiting():
		key, m.Tone = "sooner", e.Before
	case e.Action == models.ActionRetry:
		m.Tone = string(models.StateRetryWait)
	case e.Action == models.ActionCancel, e.Action == models.ActionDiscard, e.Action == models.ActionReplace:
		m.Tone = string(models.StateCancelled)
	}
	if e.Action == models.ActionReplace {
		m.More = append(m.More, views.Fact{Label: h.t("task.replaced_by"), Value: e.After, URL: views.URL(h.ctx, "/tasks/"+views.Segment(e.After))})
	}
	if e.Bulk != 0 {
		m.More = append(m.More, views.Fact{Label: h.t("task.in_bulk"), Value: strconv.FormatInt(e.Bulk, 10), URL: views.URL(h.ctx, bulkPath(e.Bulk))})
	}
	title, ok := views.ViewerOf(h.ctx).Locale.Lookup("task.manual."+key, "by", h.who(e.Actor))
	if !ok {
		title = fmt.Sprintf("%s (%s)", e.Action, h.who(e.Actor))
	}
	m.Title = title
	var notes []string
	if e.Reason != "" {
		reason, _ := h.room.take(e.Reason, 1_000)
		notes = append(notes, h.t("task.reason", "reason", reason))
	}
	if e.Address != "" {
		notes = append(notes, e.Address)
	}
	m.Note = strings.Join(notes, " · ")
	return m
}

// who is whoever did something, in words.
func (h *taskHistory) who(by string) string {
	return views.ActorName(h.ctx, by)
}

func (h *taskHistory) enqueued() views.Moment {
	t := h.task
	m := views.Moment{Tone: string(models.StatePending), At: t.CreatedAt}
	fact := func(key, value string, path string) {
		m.More = append(m.More, views.Fact{Label: h.t(key), Value: value, URL: views.URL(h.ctx, path)})
	}
	switch {
	case t.Schedule != "" && t.ScheduledFor != 0:
		m.Title = h.t("task.enqueued_schedule")
		m.Note = h.t("task.for_occurrence", "at", views.Clock(h.ctx, t.ScheduledFor))
		fact("task.schedule", t.Schedule, "/schedules/"+views.Segment(t.Schedule))
	case t.Schedule != "":
		m.Title = h.t("task.enqueued_by", "by", h.who(t.EnqueuedBy))
		m.Note = h.t("task.run_now_of_schedule")
		fact("task.schedule", t.Schedule, "/schedules/"+views.Segment(t.Schedule))
	default:
		m.Title = h.t("task.enqueued_by", "by", h.who(t.EnqueuedBy))
	}
	if t.RepeatedFrom != 0 {
		fact("task.repeated_from", strconv.FormatInt(t.RepeatedFrom, 10), taskPath(t.RepeatedFrom))
	}
	return m
}
