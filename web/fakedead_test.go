package web

import (
	"context"
	"slices"
	"time"

	"reax/actors"
	"reax/models"
)

// fakeDead is what the fake knows of groups of errors and of bulk actions.
type fakeDead struct {
	times  []models.Instant
	sums   map[string][]int64
	plans  []actors.BulkRequest
	starts []actors.Change
	spread time.Duration
	run    *actors.BulkRun // the one that there is
}

func (f *fake) ErrorGroup(_ context.Context, typ, fingerprint string) (models.ErrorGroup, error) {
	for _, g := range f.groups {
		if g.Type == typ && g.Fingerprint == fingerprint {
			return g, f.readErr
		}
	}
	return models.ErrorGroup{}, models.ErrNotFound
}

func (f *fake) ErrorSample(_ context.Context, typ, fingerprint string, limit int) ([]models.Task, error) {
	var found []models.Task
	for _, row := range slices.Backward(f.rows) {
		if row.Type == typ && row.Fingerprint == fingerprint && len(found) < limit {
			found = append(found, row)
		}
	}
	return found, f.readErr
}

func (f *fake) ErrorTimes(_ context.Context, _, _ string, limit int) ([]models.Instant, error) {
	return f.times[:min(len(f.times), limit)], f.readErr
}

func (f *fake) Failures(context.Context, []models.Instant) (map[string][]int64, error) {
	copied := map[string][]int64{}
	for typ, row := range f.sums {
		copied[typ] = slices.Clone(row)
	}
	return copied, f.readErr
}

func (f *fake) Previews(_ context.Context, ids []int64) ([]models.Task, error) {
	var found []models.Task
	for _, row := range slices.Backward(f.rows) {
		if slices.Contains(ids, row.ID) {
			found = append(found, row)
		}
	}
	return found, f.readErr
}

func (f *fake) PlanBulk(ctx context.Context, req actors.BulkRequest) (actors.BulkRun, error) {
	if err := f.begin(ctx); err != nil {
		return actors.BulkRun{}, err
	}
	f.plans = append(f.plans, req)
	return actors.BulkRun{ID: "plan-1", Action: req.Action, State: actors.BulkPlanned}, nil
}

func (f *fake) StartBulk(id string, spread time.Duration, c actors.Change) (actors.BulkRun, error) {
	if f.run == nil || f.run.ID != id {
		return actors.BulkRun{}, models.ErrNotFound
	}
	f.starts, f.spread = append(f.starts, c), spread
	return *f.run, f.err
}

func (f *fake) BulkRun(id string) (actors.BulkRun, bool) {
	if f.run == nil || f.run.ID != id {
		return actors.BulkRun{}, false
	}
	return *f.run, true
}
