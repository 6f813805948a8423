package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"reax/models"
	"reax/tasks"
)

func (c Change) actor() models.Actor {
	return models.Actor{Name: c.By, Reason: c.Reason, Address: c.Address, RequestID: c.RequestID}
}

// check refuses what may not stand in the record.
func (c Change) check(needsReason bool) error {
	switch {
	case needsReason && c.Reason == "":
		return tasks.Invalid("/reason", "required")
	case len(c.Reason) > MaxReasonBytes:
		return tasks.Invalid("/reason", "bytes", MaxReasonBytes)
	case !isPlainText(c.Reason):
		return tasks.Invalid("/reason", "control")
	}
	return nil
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
	same := params == nil
	if same {
		params = json.RawMessage(old.Params)
	}
	req, err := repeatOf(&old, params, c.By)
	if err != nil {
		return Enqueued{}, fmt.Errorf("reading the tags of task %d: %w", id, err)
	}
	req.own = same // what reax has made may be made again as it was
	return r.enqueueOne(ctx, &req, func(tx *models.Tx, made *models.Task) error {
		return tx.Audited(c.actor(), models.Audit{
			Action: "repeat", Target: "task", TargetID: strconv.FormatInt(id, 10), After: fmt.Sprintf(`{"task":"%d"}`, made.ID),
		})
	})
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
		return tasks.Invalid("/concurrency", "between", 1, tasks.MaxConcurrency)
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
