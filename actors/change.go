package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"reax/models"
	"reax/tasks"
)

// bulkStep is how many tasks of a bulk action share a transaction.
const bulkStep = 500

func (c Change) actor() models.Actor {
	return models.Actor{Name: c.By, Reason: c.Reason, Address: c.Address, RequestID: c.RequestID}
}

// check refuses what may not stand in the record.
func (c Change) check(needsReason bool) error {
	switch {
	case needsReason && c.Reason == "":
		return invalid("/reason", "is required")
	case len(c.Reason) > MaxReasonBytes:
		return invalid("/reason", fmt.Sprintf("is longer than %d bytes", MaxReasonBytes))
	case !isPlainText(c.Reason):
		return invalid("/reason", "must be valid UTF-8 without control characters")
	}
	return nil
}

func invalid(field, message string) error {
	return &tasks.InvalidError{Fields: []tasks.FieldError{{Location: field, Message: message}}}
}

// Retry runs a task again: one that waits for its retry at once, one that had ended with a fresh count of retries. It
// fails with models.ErrNotFound, *models.StateError, *models.KeyHeldError or ErrUnavailable.
func (r *Runtime) Retry(ctx context.Context, id int64, c Change) (models.Task, error) {
	return r.changeOne(ctx, ActionRetry, id, c)
}

// Cancel keeps a waiting task from starting, or stops a running one. A running task is still running when Cancel
// returns, with CancelRequestedAt set. It fails as Retry does.
func (r *Runtime) Cancel(ctx context.Context, id int64, c Change) (models.Task, error) {
	return r.changeOne(ctx, ActionCancel, id, c)
}

// Discard gives up on a failed or dead task: it becomes cancelled, with the reason in the record. It fails as Retry does.
func (r *Runtime) Discard(ctx context.Context, id int64, c Change) (models.Task, error) {
	return r.changeOne(ctx, ActionDiscard, id, c)
}

func (r *Runtime) changeOne(ctx context.Context, action Action, id int64, c Change) (models.Task, error) {
	if err := c.check(action == ActionDiscard); err != nil {
		return models.Task{}, err
	}
	changed, err := ask[*models.Changed](ctx, r, &ChangeTasks{Ctx: ctx, Action: action, IDs: []int64{id}, By: c.actor()})
	if err != nil {
		return models.Task{}, err
	}
	if len(changed.Refused) > 0 {
		return models.Task{}, changed.Refused[0].Err
	}
	return changed.Tasks[0], nil
}

// Repeat makes a new task from a finished one, linked to it. Nil params take the old ones. It fails as Enqueue does, and
// with *models.StateError when the task has not finished.
func (r *Runtime) Repeat(ctx context.Context, id int64, params json.RawMessage, c Change) (Enqueued, error) {
	if err := c.check(false); err != nil {
		return Enqueued{}, err
	}
	old, err := r.store.Task(ctx, id)
	if err != nil {
		return Enqueued{}, err
	}
	if !old.State.IsFinal() {
		return Enqueued{}, &models.StateError{ID: id, State: old.State, Action: "repeat"}
	}
	if params == nil {
		params = json.RawMessage(old.Params)
	}
	req := EnqueueRequest{Type: old.Type, Params: params, Priority: old.Priority, MaxRetries: &old.MaxRetries, By: c.By, repeatedFrom: id}
	timeout := old.Timeout()
	req.Timeout = &timeout
	if old.Tags != "" {
		if err := json.Unmarshal([]byte(old.Tags), &req.Tags); err != nil {
			return Enqueued{}, fmt.Errorf("reading the tags of task %d: %w", id, err)
		}
	}
	return r.Enqueue(ctx, req)
}

// Bulk applies an action to many tasks: the set is frozen first, then worked through in steps. When it fails half-way
// the report says what was done until then, and the same call may be made again.
func (r *Runtime) Bulk(ctx context.Context, req BulkRequest) (BulkReport, error) {
	if err := req.Change.check(req.Action == ActionDiscard); err != nil {
		return BulkReport{}, err
	}
	ids, err := r.freeze(ctx, req)
	if err != nil {
		return BulkReport{}, err
	}
	report := BulkReport{Matched: len(ids)}
	for len(ids) > 0 {
		n := min(len(ids), bulkStep)
		changed, err := ask[*models.Changed](ctx, r, &ChangeTasks{Ctx: ctx, Action: req.Action, IDs: ids[:n], By: req.Change.actor()})
		if err != nil {
			return report, err
		}
		report.add(changed)
		ids = ids[n:]
	}
	return report, nil
}

// freeze lists the tasks that a bulk action is about.
func (r *Runtime) freeze(ctx context.Context, req BulkRequest) ([]int64, error) {
	if req.Action != ActionRetry && req.Action != ActionCancel && req.Action != ActionDiscard {
		return nil, invalid("/action", "must be retry, cancel or discard")
	}
	ids := req.IDs
	if req.Filter != nil {
		var err error
		if ids, err = r.store.TaskIDs(ctx, *req.Filter, MaxBulkTasks+1); err != nil {
			return nil, err
		}
	}
	if len(ids) > MaxBulkTasks {
		return nil, &TooLargeError{What: "tasks in one bulk action", Limit: MaxBulkTasks}
	}
	seen := make(map[int64]bool, len(ids))
	unique := make([]int64, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			unique = append(unique, id)
		}
	}
	return unique, nil
}

func (b *BulkReport) add(c *models.Changed) {
	b.Done += len(c.Tasks)
	b.SkippedTotal += len(c.Refused)
	for _, s := range c.Refused {
		if len(b.Skipped) < MaxBulkSkips {
			b.Skipped = append(b.Skipped, skipOf(s.ID, s.Err))
		}
	}
}

// skipOf says why a task was left alone.
func skipOf(id int64, err error) Skip {
	var wrong *models.StateError
	var held *models.KeyHeldError
	switch {
	case errors.As(err, &wrong):
		return Skip{ID: id, Code: string(wrong.State), Reason: fmt.Sprintf("it is %s", wrong.State)}
	case errors.As(err, &held):
		return Skip{ID: id, Code: SkipKeyHeld, Reason: held.Error()}
	case errors.Is(err, models.ErrNotFound):
		return Skip{ID: id, Code: SkipMissing, Reason: "there is no such task"}
	default:
		return Skip{ID: id, Code: SkipOther, Reason: "it could not be changed"}
	}
}

// Pause stops a type from starting tasks; what runs goes on. It outlives restarts. It fails with ErrUnknownType or
// ErrUnavailable.
func (r *Runtime) Pause(ctx context.Context, typ string, c Change) error {
	paused := true
	return r.changeType(ctx, models.TypeChange{Type: typ, Paused: &paused}, c)
}

// Resume lets a paused type start tasks again. It fails as Pause does.
func (r *Runtime) Resume(ctx context.Context, typ string, c Change) error {
	paused := false
	return r.changeType(ctx, models.TypeChange{Type: typ, Paused: &paused}, c)
}

// Resize sets how many tasks of a type run at one time, 1 to tasks.MaxConcurrency. It outlives restarts. It fails as
// Pause does, and with *tasks.InvalidError.
func (r *Runtime) Resize(ctx context.Context, typ string, n int, c Change) error {
	if n < 1 || n > tasks.MaxConcurrency {
		return invalid("/concurrency", fmt.Sprintf("must be between 1 and %d", tasks.MaxConcurrency))
	}
	return r.changeType(ctx, models.TypeChange{Type: typ, Concurrency: &n}, c)
}

func (r *Runtime) changeType(ctx context.Context, change models.TypeChange, c Change) error {
	if err := c.check(false); err != nil {
		return err
	}
	if _, ok := r.registry.Lookup(change.Type); !ok {
		return fmt.Errorf("%w: %q", ErrUnknownType, models.CutText(change.Type, 200))
	}
	_, err := ask[*models.TypeSetting](ctx, r, &ChangeType{Ctx: ctx, Change: change, By: c.actor()})
	return err
}
