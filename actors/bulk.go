package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reax/models"
	"reax/tasks"
)

const (
	bulkSpread      = time.Hour // the longest time over which an action is spread
	bulkPatchDepth  = 100
	maxBulkPatch    = 64 << 10
	bulkKept        = 90 * 24 * time.Hour // after its end
	bulkPlanKept    = 24 * time.Hour      // when nobody starts it
	bulkReadTimeout = 5 * time.Second
)

// PlanBulk freezes the set of a bulk action and counts it, so that what a person confirms is what was counted; StartBulk
// does it. The plan is kept for a day. It fails as Bulk does, but a discard needs its reason only when it starts.
func (r *Runtime) PlanBulk(ctx context.Context, req BulkRequest) (models.BulkRun, error) {
	plan, ids, err := r.bulkPlan(ctx, req, false)
	if err != nil {
		return models.BulkRun{}, err
	}
	return record(ctx, r, nil, func(tx *models.Tx) (models.BulkRun, error) { return tx.PlanBulk(plan, ids) })
}

// StartBulk begins a planned action, evenly spread over a time of at most an hour; zero does it at once. It goes on until
// it is done, also when the process is started anew meanwhile. The record names c, with the reason of the plan when it has
// none. Starting it twice starts it once. It fails with models.ErrNotFound when there is no such action, and with
// *tasks.InvalidError when a reason is missing.
func (r *Runtime) StartBulk(ctx context.Context, id int64, spread time.Duration, c Change) (models.BulkRun, error) {
	plan, err := r.store.BulkRun(ctx, id)
	if err != nil || plan.State != models.BulkPlanned {
		return plan, err
	}
	c.Reason = cmp.Or(c.Reason, plan.Reason)
	if err := c.check(plan.Action == models.ActionDiscard); err != nil {
		return plan, err
	}
	spread = min(max(spread, 0), bulkSpread)
	run, err := record(ctx, r, []string{"bulk"}, func(tx *models.Tx) (models.BulkRun, error) { return tx.StartBulk(id, spread, c.actor()) })
	if err == nil {
		r.tellBulk(&bulkChanged{Run: run})
	}
	return run, err
}

// StopBulk ends an action that runs, or is planned: what it has done until now stands, and nothing more happens. One that
// has ended is given as it is. It fails with models.ErrNotFound when there is no such action.
func (r *Runtime) StopBulk(ctx context.Context, id int64, c Change) (models.BulkRun, error) {
	if err := c.check(false); err != nil {
		return models.BulkRun{}, err
	}
	run, err := record(ctx, r, []string{"bulk"}, func(tx *models.Tx) (models.BulkRun, error) { return tx.StopBulk(id, c.actor()) })
	if err == nil {
		r.tellBulk(&bulkChanged{Run: run})
	}
	return run, err
}

// tellBulk tells the bulk actor. When it is not there it finds in the ledger what it has to do once it starts.
func (r *Runtime) tellBulk(msg any) {
	if pid := r.bulk.Load(); pid != nil {
		r.sys.Root.Send(pid, msg)
	}
}

// Bulk applies an action to many tasks and waits until that is done. The set is frozen first. When ctx ends before, the
// action goes on all the same; the report says what was done until then, and the error is ErrUnavailable. It fails with
// *tasks.InvalidError, *TooLargeError, ErrUnavailable or ErrStopped.
func (r *Runtime) Bulk(ctx context.Context, req BulkRequest) (BulkReport, error) {
	plan, ids, err := r.bulkPlan(ctx, req, true)
	if err != nil || len(ids) == 0 {
		return BulkReport{}, err
	}
	run, err := record(ctx, r, nil, func(tx *models.Tx) (models.BulkRun, error) {
		planned, err := tx.PlanBulk(plan, ids)
		if err != nil {
			return planned, err
		}
		return tx.StartBulk(planned.ID, 0, req.Change.actor())
	})
	if err != nil {
		return BulkReport{}, err
	}
	ended := make(chan struct{})
	r.bulkEnds.Put(run.ID, ended)
	defer r.bulkEnds.Remove(run.ID)
	r.tellBulk(&bulkChanged{Run: run})
	// A bulk actor that has just started may have found the action, and ended it, before the channel was there.
	if now, err := r.store.BulkRun(ctx, run.ID); err != nil || now.State == models.BulkRunning {
		select {
		case <-ended:
		case <-r.life.stopped:
		case <-ctx.Done():
		}
	}
	report, err := r.bulkReport(context.WithoutCancel(ctx), run.ID)
	if err == nil && report.Done+report.SkippedTotal < report.Matched && ctx.Err() != nil {
		err = fmt.Errorf("%w: the bulk action %d goes on in the background", ErrUnavailable, run.ID)
	}
	return report, err
}

// bulkReport is what a bulk action has done until now.
func (r *Runtime) bulkReport(ctx context.Context, id int64) (BulkReport, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkReadTimeout)
	defer cancel()
	run, err := r.store.BulkRun(ctx, id)
	if err != nil {
		return BulkReport{}, err
	}
	report := BulkReport{ID: id, Matched: run.Matched, Done: run.Done, SkippedTotal: run.Skipped}
	skips, err := r.store.BulkSkips(ctx, id, MaxBulkSkips)
	for _, s := range skips {
		report.Skipped = append(report.Skipped, Skip{ID: s.TaskID, Code: s.Code, Reason: s.Reason})
	}
	return report, err
}

// bulkPlan checks a request and lists the tasks that it is about.
func (r *Runtime) bulkPlan(ctx context.Context, req BulkRequest, starts bool) (models.BulkRun, []int64, error) {
	plan := models.BulkRun{Action: string(req.Action), Actor: req.Change.By, Reason: req.Change.Reason}
	if err := req.Change.check(starts && req.Action == ActionDiscard); err != nil {
		return plan, nil, err
	}
	if req.Action == ActionReplace {
		if req.Filter == nil || len(req.Filter.Types) != 1 {
			return plan, nil, tasks.Invalid("/filter", "other", "must name exactly one type: that is what the parameters are checked against")
		}
		plan.Type, plan.Patch = req.Filter.Types[0], string(req.Patch)
		if err := checkPatch(req.Patch); err != nil {
			return plan, nil, err
		}
		if def, ok := r.registry.Lookup(plan.Type); !ok {
			return plan, nil, fmt.Errorf("%w: %q", ErrUnknownType, models.CutText(plan.Type, 200))
		} else if def.Internal {
			return plan, nil, tasks.Invalid("/filter/type", "own_type", def.Name)
		}
	}
	ids, err := r.freeze(ctx, req)
	return plan, ids, err
}

// checkPatch refuses what is no merge patch of parameters.
func checkPatch(patch json.RawMessage) error {
	if len(patch) > maxBulkPatch {
		return &TooLargeError{What: "bytes of a patch", Limit: maxBulkPatch}
	}
	if err := tasks.CheckJSON(patch, bulkPatchDepth); err != nil {
		if bad := (*tasks.InvalidError)(nil); errors.As(err, &bad) {
			for i := range bad.Fields {
				bad.Fields[i].Location = "/patch" + bad.Fields[i].Location
			}
		}
		return err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(patch, &members) != nil || members == nil {
		return tasks.Invalid("/patch", "object")
	}
	if len(members) == 0 {
		return tasks.Invalid("/patch", "empty")
	}
	return nil
}

// freeze lists the tasks that a bulk action is about, each once.
func (r *Runtime) freeze(ctx context.Context, req BulkRequest) ([]int64, error) {
	switch req.Action {
	case ActionRetry, ActionCancel, ActionDiscard, ActionReplace:
	default:
		return nil, tasks.Invalid("/action", "one_of", "retry, cancel, discard")
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

// MarkGroup stores what people know of a group of errors, in place of what they did before: a name, a note with a link,
// and whether the group is muted, for good or until a time. It fails with models.ErrNotFound when there never was such an
// error, and with *tasks.InvalidError.
func (r *Runtime) MarkGroup(ctx context.Context, m models.GroupMark, c Change) (models.GroupMark, error) {
	if err := c.check(false); err != nil {
		return m, err
	}
	for _, f := range []struct {
		field, text string
		most        int
	}{{"/name", m.Name, MaxGroupNameBytes}, {"/note", m.Note, MaxReasonBytes}, {"/link", m.Link, MaxReasonBytes}} {
		switch {
		case len(f.text) > f.most:
			return m, tasks.Invalid(f.field, "bytes", f.most)
		case !isPlainText(f.text):
			return m, tasks.Invalid(f.field, "control")
		}
	}
	if m.Link != "" && !isWebAddress(m.Link) {
		return m, tasks.Invalid("/link", "format.uri")
	}
	if m.Muted && m.MutedUntil != 0 && m.MutedUntil <= models.At(time.Now()) {
		return m, tasks.Invalid("/muted_until", "other", "must be in the future")
	}
	return record(ctx, r, []string{"tasks", "stats"}, func(tx *models.Tx) (models.GroupMark, error) { return tx.MarkGroup(m, c.actor()) })
}
