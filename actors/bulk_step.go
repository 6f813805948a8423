package actors

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"reax/models"
	"reax/tasks"
)

// StepBulk asks the journal for the next part of a bulk action; answered with *models.BulkStepped or an error.
type StepBulk struct{ Step models.BulkStep }

// stepBulk writes one step of a bulk action. Its tasks are told of like any others.
func (b *batch) stepBulk(tx *models.Tx, o op, m *StepBulk) error {
	out, err := tx.StepBulk(&m.Step)
	if err != nil {
		return err
	}
	b.ready = append(b.ready, out.Changed.Ready...)
	b.orders = append(b.orders, out.Changed.Stop...)
	b.inserts = append(b.inserts, out.Made...)
	if len(out.Changed.Tasks) > 0 {
		asked := &ChangeTasks{Action: Action(out.Run.Action), By: models.Actor{Name: out.Run.Actor, Reason: out.Run.Reason}}
		b.changed = append(b.changed, stepChange{asked, &out.Changed})
	}
	b.answers = append(b.answers, answer{o.sender, out})
	return nil
}

// prepareReplace makes the corrected copies of a step, and says which tasks cannot have one. What has become of the old
// ones until they are written is looked at again then.
func (b *bulk) prepareReplace(ctx context.Context, run *models.BulkRun, step *models.BulkStep) error {
	rows, err := b.store.WholeTasks(ctx, step.IDs)
	if err != nil {
		return err
	}
	byID := make(map[int64]*models.Task, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	for _, id := range step.IDs {
		old := byID[id]
		if old == nil {
			step.Refused = append(step.Refused, models.Refused{ID: id, Err: models.ErrNotFound})
			continue
		}
		made, err := b.corrected(old, json.RawMessage(run.Patch), run.Actor)
		if err != nil {
			step.Refused = append(step.Refused, models.Refused{ID: id, Err: err})
			continue
		}
		step.Replace = append(step.Replace, models.Replacement{ID: id, New: made})
	}
	step.IDs = nil
	return nil
}

// corrected is the copy of a failed or dead task with a patch in its parameters. The error is a *models.StateError or a
// *models.UnfitError.
func (c *core) corrected(old *models.Task, patch json.RawMessage, by string) (*models.NewTask, error) {
	if old.State != models.StateFailed && old.State != models.StateDead {
		return nil, &models.StateError{ID: old.ID, State: old.State, Action: models.ActionReplace}
	}
	params, err := tasks.MergePatch(json.RawMessage(old.Params), patch)
	if err != nil {
		return nil, &models.UnfitError{Code: models.SkipInvalid, Reason: err.Error()}
	}
	req, err := repeatOf(old, params, by)
	if err != nil {
		return nil, &models.UnfitError{Code: models.SkipOther, Reason: err.Error()}
	}
	req.UniqueKey = old.UniqueKey
	made, err := c.prepare(&req)
	switch {
	case errors.Is(err, ErrUnknownType):
		return nil, &models.UnfitError{Code: models.SkipNoType, Reason: "this program does not know its type"}
	case err != nil:
		return nil, &models.UnfitError{Code: models.SkipInvalid, Reason: faultOf(err)}
	}
	return made, nil
}

// faultOf is the first thing that is wrong with a request, with its place.
func faultOf(err error) string {
	if bad := (*tasks.InvalidError)(nil); errors.As(err, &bad) && len(bad.Fields) > 0 {
		return bad.Fields[0].Location + ": " + bad.Fields[0].Message
	}
	return err.Error()
}

// TryPatch says which of some tasks a replace with a patch would leave alone because of their parameters, and why. It
// changes nothing. It fails with models.ErrNotFound, *tasks.InvalidError or *TooLargeError.
func (r *Runtime) TryPatch(ctx context.Context, ids []int64, patch json.RawMessage) ([]PatchTried, error) {
	if err := checkPatch(patch); err != nil {
		return nil, err
	}
	rows, err := r.store.WholeTasks(ctx, ids[:min(len(ids), bulkReplaceStep)])
	if err != nil {
		return nil, err
	}
	all := make([]PatchTried, len(rows))
	for i := range rows {
		all[i].Task = rows[i]
		made, err := r.corrected(&rows[i], patch, "")
		if err != nil {
			s := models.SkipOf(rows[i].ID, err)
			all[i].Skip = &Skip{ID: s.TaskID, Code: s.Code, Reason: s.Reason}
			continue
		}
		all[i].Params = json.RawMessage(made.Params)
	}
	return all, nil
}

// PatchTried is what a patch would make of one task.
type PatchTried struct {
	Task   models.Task
	Params json.RawMessage // of the copy
	Skip   *Skip           // why there would be none
}

// isWebAddress reports whether text is an address that a browser may be sent to.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// repeatOf is the request for a copy of a task with other parameters.
func repeatOf(old *models.Task, params json.RawMessage, by string) (EnqueueRequest, error) {
	timeout := time.Duration(old.TimeoutUS) * time.Microsecond
	req := EnqueueRequest{Type: old.Type, Params: params, Priority: old.Priority, MaxRetries: &old.MaxRetries, Timeout: &timeout, By: by, repeatedFrom: old.ID}
	var err error
	if old.Tags != "" {
		err = json.Unmarshal([]byte(old.Tags), &req.Tags)
	}
	return req, err
}
