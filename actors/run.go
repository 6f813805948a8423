package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// run is one claimed task on its way through a pool. It stays in core.runs from the moment a pool has it until its end
// has been sent to the journal, so that a pool which crashes finds in its next life what the former one had started.
type run struct {
	*models.Claimed
	core *core
	def  *tasks.Definition

	ctx     context.Context
	cancel  context.CancelCauseFunc
	release context.CancelFunc // frees the deadline's timer
	done    chan struct{}      // closed when the handler has returned

	started  atomic.Bool // given to a worker
	launched atomic.Bool // the worker has started the handler
	detached atomic.Bool // no worker waits for it: the handler's goroutine reports to the pool itself
	stuck    atomic.Bool // the handler ignored the end of ctx; it no longer occupies a slot
	outcome  atomic.Pointer[outcome]
	worker   atomic.Pointer[string]
	span     func(*models.Completion) // ends the span of the run; nil when none is recorded
	settler  *pool                    // the instance that has settled it; touched by pools only
}

// outcome is what a handler came back with.
type outcome struct {
	result   json.RawMessage
	err      error
	panicked *tasks.PanicError // err too; nil when the handler did not panic
	cause    error             // why the run's context had ended by then; nil when it had not
	at       time.Time
	means    *models.Completion // what that is for the task
}

// finish keeps what a run came back with, and what that means for its task. It is found out on the goroutine of the
// handler, since a result or an error may be many megabytes long.
func (r *run) finish(out outcome) {
	out.means = r.completion(&out)
	out.result = nil
	r.outcome.Store(&out)
	if r.span != nil {
		r.span(out.means)
	}
}

func (r *run) key() models.RunKey { return models.RunKey{ID: r.ID, Attempt: r.Attempt} }

// Describe names the run in the tree.
func (r *run) Describe() string { return fmt.Sprintf("task %d, run %d", r.ID, r.Attempt) }

func newRun(c *core, claimed *models.Claimed, def *tasks.Definition) *run {
	return &run{Claimed: claimed, core: c, def: def, done: make(chan struct{})}
}

// begin makes the context of the run. It belongs to no actor: a handler must outlive a crash of its pool.
func (r *run) begin(worker string) {
	r.free() // of a worker that was lost before it began
	r.worker.Store(&worker)
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel, r.release = cancel, func() {}
	if r.Timeout > 0 {
		ctx, r.release = context.WithTimeoutCause(ctx, r.Timeout, tasks.ErrTimeout)
	}
	r.ctx = ctx
	r.started.Store(true)
}

// free ends the context of a run, if it has one.
func (r *run) free() {
	if r.cancel != nil {
		r.cancel(nil)
		r.release()
	}
}

// execute runs the handler in the calling goroutine, which is the run's own, and reports to pool if no worker waits.
func (r *run) execute(pool *actor.PID) {
	out := outcome{err: tasks.ErrGoexit}
	said := &voice{run: r}
	base, parent := r.traced()
	ctx, told := tasks.NewRun(base, &tasks.Run{TaskID: r.ID, Type: r.Type, TraceID: r.TraceID, Attempt: r.Attempt, Traceparent: parent, IdempotencyKey: r.idempotencyKey(), Ledger: r.core.store.Path()}, said, r.core.logger)
	defer func() {
		if v := recover(); v != nil {
			p := tasks.NewPanicError(v, kit.AsPanic(v).Stack)
			out = outcome{err: p, panicked: p}
		}
		told.End()
		said.close()
		out.at, out.cause = time.Now(), context.Cause(r.ctx)
		r.finish(out)
		close(r.done) // before looking at detached: one side always sees the other
		if r.detached.Load() {
			r.core.sys.Root.Send(pool, &runReturned{run: r})
		}
	}()
	result, err := r.def.Handler(ctx, json.RawMessage(r.Params))
	out = outcome{result: result, err: err}
}

// voice takes what the handler says while it works: log lines and progress.
type voice struct {
	run  *run
	mu   sync.Once
	logs atomic.Pointer[tasks.LogBuffer]
	last atomic.Int64 // when progress was last sent, Unix nanoseconds
	note atomic.Pointer[models.ProgressNote]
}

// progressPause is the least time between two writes of a run's progress.
const progressPause = 500 * time.Millisecond

func (v *voice) Log(line tasks.LogLine) {
	v.mu.Do(func() { v.logs.Store(tasks.NewLogBuffer(v.deliver)) })
	v.logs.Load().Log(line)
}

func (v *voice) deliver(lines []tasks.SeqLine) {
	rows := make([]models.LogLine, len(lines))
	for i, l := range lines {
		rows[i] = models.LogLine{TaskID: v.run.ID, Attempt: v.run.Attempt, Seq: l.Seq, At: models.At(l.At), Level: l.Level, Text: l.Text}
	}
	v.run.core.sys.Root.Send(v.run.core.journal, &SaveLogs{Lines: rows})
}

func (v *voice) Progress(percent int, note string) {
	n := &models.ProgressNote{ID: v.run.ID, Attempt: v.run.Attempt, Percent: percent, Note: note}
	now, last := time.Now().UnixNano(), v.last.Load()
	if now-last < int64(progressPause) || !v.last.CompareAndSwap(last, now) {
		v.note.Store(n) // the latest word is sent when the run ends, unless a later one is sent before
		return
	}
	v.note.Store(nil)
	v.run.core.sys.Root.Send(v.run.core.journal, &SaveProgress{Note: *n})
}

// close sends what is left. It comes before the end of the run is reported, so the journal writes it to a running row.
func (v *voice) close() {
	if b := v.logs.Load(); b != nil {
		b.Close()
	}
	if n := v.note.Swap(nil); n != nil {
		v.run.core.sys.Root.Send(v.run.core.journal, &SaveProgress{Note: *n})
	}
}

// completion says what the outcome of a run means for its task: the one place where that is decided.
func (r *run) completion(out *outcome) *models.Completion {
	c := &models.Completion{
		ID: r.ID, Type: r.Type, TraceID: r.TraceID, Attempt: r.Attempt, Failures: r.Failures, StartedAt: r.StartedAt,
		FinishedAt: max(models.At(out.at), r.StartedAt),
	}
	if w := r.worker.Load(); w != nil {
		c.Worker = *w
	}
	err := out.err
	if err == nil {
		c.Result, err = resultText(out.result)
	}
	cause := out.cause
	if out.panicked != nil {
		c.Stack = models.CutText(out.panicked.Stack, MaxErrorBytes)
	}
	switch {
	case errors.Is(cause, tasks.ErrCancelled):
		c.State, c.Outcome, c.ErrorKind = models.StateCancelled, models.OutcomeCancelled, tasks.KindCancelled
		if err != nil {
			c.Error = errorText(err)
		}
		return c
	case err == nil:
		c.State, c.Outcome = models.StateSuccess, models.OutcomeSuccess
		return c
	case errors.Is(cause, tasks.ErrShutdown) && out.panicked == nil:
		c.State, c.Outcome, c.ErrorKind, c.Error = models.StatePending, models.OutcomeInterrupted, tasks.KindShutdown, errorText(err)
		return c
	}
	r.failed(c, err, cause)
	return c
}

// failed fills in what a failing run leads to: another run after a while, or the end.
func (r *run) failed(c *models.Completion, err, cause error) {
	policy := r.def.Policy
	verdict := tasks.Judge(err, policy)
	if verdict.Kind == tasks.KindError && errors.Is(cause, tasks.ErrTimeout) {
		verdict.Kind = tasks.KindTimeout
	}
	c.ErrorKind, c.Error, c.Failures = verdict.Kind, errorText(err), r.Failures+1
	switch {
	case !verdict.Retryable:
		c.State, c.Outcome = models.StateFailed, models.OutcomeFailed
	case c.Failures > r.MaxRetries:
		c.State, c.Outcome = models.StateDead, models.OutcomeDead
	default:
		c.State, c.Outcome = models.StateRetryWait, models.OutcomeRetry
		wait := tasks.Wait(c.Failures, policy.BackoffBase, policy.BackoffMax, rand.Float64)
		c.RetryRule = tasks.Rule(c.Failures, policy.BackoffBase, policy.BackoffMax)
		if verdict.Fixed {
			wait = min(verdict.After, tasks.MaxBackoff)
			c.RetryRule = "the handler asked for " + wait.String()
		}
		c.RunAt = c.FinishedAt.Add(wait)
	}
}

// errorText is what is kept of a handler's error, which may be of a type whose methods panic.
func errorText(err error) string { return models.CutText(tasks.ErrorText(err), MaxErrorBytes) }

// resultText is a handler's result as it is stored. One that is too long is kept as a JSON string of its head and tail.
func resultText(result json.RawMessage) (string, error) {
	if len(result) == 0 {
		return "", nil
	}
	if err := tasks.CheckJSON(result, tasks.MaxDepth); err != nil {
		reason := err.Error()
		if bad, ok := errors.AsType[*tasks.InvalidError](err); ok && len(bad.Fields) > 0 {
			reason = bad.Fields[0].Message
		}
		return "", fmt.Errorf("%w: %s", tasks.ErrResult, reason)
	}
	if len(result) <= MaxResultBytes {
		return string(result), nil
	}
	var cut strings.Builder
	text := json.NewEncoder(&cut)
	text.SetEscapeHTML(false) // without it no letter takes more than twice its bytes
	if err := text.Encode(models.CutText(string(result), MaxResultBytes/2-2)); err != nil {
		return "", fmt.Errorf("cutting the result: %w", err)
	}
	return strings.TrimSuffix(cut.String(), "\n"), nil
}
