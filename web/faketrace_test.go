package web

import (
	"context"

	"reax/models"
)

func (f *fake) Traced(_ context.Context, id string, limit int) ([]models.Task, error) {
	return f.some(limit, func(t *models.Task) bool { return t.TraceID == id })
}

func (f *fake) Repeats(_ context.Context, id int64, limit int) ([]models.Task, error) {
	return f.some(limit, func(t *models.Task) bool { return t.RepeatedFrom == id })
}

func (f *fake) some(limit int, keep func(*models.Task) bool) (found []models.Task, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rows {
		if keep(&f.rows[i]) && len(found) < limit {
			found = append(found, f.rows[i])
		}
	}
	return found, f.readErr
}

func (f *fake) LatestLogs(_ context.Context, id int64, limit int) ([]models.LogLine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []models.LogLine
	for _, l := range f.logs {
		if l.TaskID == id {
			lines = append(lines, l)
		}
	}
	return lines[max(len(lines)-limit, 0):], f.readErr
}
