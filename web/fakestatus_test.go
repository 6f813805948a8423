package web

import (
	"context"

	"reax/actors"
	"reax/models"
)

// The fake has no incidents and no days: the status page is tested on the real runtime.

func (f *fake) OpenIncident(context.Context, actors.NewIncident, actors.Change) (models.Incident, error) {
	return models.Incident{}, f.err
}

func (f *fake) UpdateIncident(context.Context, int64, string, string, actors.Change) (models.Incident, error) {
	return models.Incident{}, models.ErrNotFound
}

func (f *fake) EditIncident(context.Context, int64, actors.NewIncident, actors.Change) (models.Incident, error) {
	return models.Incident{}, models.ErrNotFound
}

func (f *fake) OldestReady(context.Context, string) (models.Instant, error) { return 0, f.readErr }

func (f *fake) DayStats(context.Context, models.Instant, models.Instant) ([]models.DayStat, error) {
	return nil, f.readErr
}

func (f *fake) PausesAhead(context.Context, models.Instant, int) ([]models.Pause, error) {
	return nil, f.readErr
}

func (f *fake) OpenIncidents(context.Context, models.Instant) ([]models.Incident, error) {
	return nil, f.readErr
}

func (f *fake) PastIncidents(context.Context, models.Instant, models.Instant, int) ([]models.Incident, error) {
	return nil, f.readErr
}

func (f *fake) Incident(context.Context, int64) (models.Incident, error) {
	return models.Incident{}, models.ErrNotFound
}
