package web

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"reax/actors"
	"reax/models"
)

// fakeDead is what the fake knows of groups of errors and of bulk actions.
type fakeDead struct {
	times      []models.Instant
	failed     []fakeFailure
	plans      []actors.BulkRequest
	starts     []actors.Change
	spread     time.Duration
	run        *models.BulkRun // the one that there is
	set        []int64
	skips      []models.BulkSkip
	groupMarks []models.GroupMark
}

type fakeFailure struct {
	typ string
	ago time.Duration
	n   int64
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

func (f *fake) Failures(_ context.Context, since []models.Instant) (map[string][]int64, error) {
	sums := map[string][]int64{}
	for _, failure := range f.failed {
		at := models.At(time.Now().Add(-failure.ago))
		if at < since[0] {
			continue
		}
		if sums[failure.typ] == nil {
			sums[failure.typ] = make([]int64, len(since))
		}
		for i, from := range since {
			if at >= from {
				sums[failure.typ][i] += failure.n
			}
		}
	}
	return sums, f.readErr
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

func (f *fake) PlanBulk(ctx context.Context, req actors.BulkRequest) (models.BulkRun, error) {
	if err := f.begin(ctx); err != nil {
		return models.BulkRun{}, err
	}
	f.plans = append(f.plans, req)
	return models.BulkRun{ID: 1, Action: string(req.Action), State: models.BulkPlanned}, nil
}

func (f *fake) StartBulk(ctx context.Context, id int64, spread time.Duration, c actors.Change) (models.BulkRun, error) {
	if err := f.begin(ctx); err != nil {
		return models.BulkRun{}, err
	}
	f.starts, f.spread = append(f.starts, c), spread
	return f.BulkRun(ctx, id)
}

func (f *fake) StopBulk(ctx context.Context, id int64, c actors.Change) (models.BulkRun, error) {
	run, err := f.BulkRun(ctx, id)
	if err == nil && run.State == models.BulkRunning {
		f.changes = append(f.changes, c)
		f.run.State, f.run.StoppedBy, f.run.FinishedAt = models.BulkStopped, c.By, models.At(time.Now())
	}
	return f.BulkRun(ctx, id)
}

func (f *fake) TryPatch(_ context.Context, ids []int64, patch json.RawMessage) (tried []actors.PatchTried, err error) {
	for i, id := range ids {
		t := actors.PatchTried{Task: models.Task{ID: id}, Params: patch}
		if i == 0 {
			t.Skip = &actors.Skip{ID: id, Code: models.SkipInvalid, Reason: "/params/<b>: must be text"}
		}
		tried = append(tried, t)
	}
	return tried, f.readErr
}

func (f *fake) MarkGroup(ctx context.Context, m models.GroupMark, c actors.Change) (models.GroupMark, error) {
	if err := f.begin(ctx); err != nil {
		return m, err
	}
	m.ChangedBy = c.By
	f.groupMarks = append(f.groupMarks, m)
	for i := range f.groups {
		if g := &f.groups[i]; g.Type == m.Type && g.Fingerprint == m.Fingerprint {
			g.Mark = m
		}
	}
	return m, nil
}

func (f *fake) LatestFailure(_ context.Context, at models.Instant) (latest models.Instant, err error) {
	for i := range f.groups {
		if g := &f.groups[i]; !g.Mark.IsMuted(at) {
			latest = max(latest, g.LastAt)
		}
	}
	return latest, f.readErr
}

func (f *fake) BulkRun(_ context.Context, id int64) (models.BulkRun, error) {
	if f.run == nil || f.run.ID != id {
		return models.BulkRun{}, models.ErrNotFound
	}
	return *f.run, f.readErr
}

func (f *fake) BulkRuns(_ context.Context, before int64, limit int) (runs []models.BulkRun, err error) {
	if f.run != nil && (before == 0 || f.run.ID < before) {
		runs = append(runs, *f.run)
	}
	return runs[:min(len(runs), limit)], f.readErr
}

func (f *fake) BulkSet(context.Context, int64) ([]int64, error) { return f.set, f.readErr }

func (f *fake) BulkSkips(_ context.Context, _ int64, limit int) ([]models.BulkSkip, error) {
	return f.skips[:min(len(f.skips), limit)], f.readErr
}
