package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"reax/models"
	"reax/views"
)

// matrixWindows are the windows of the matrix, as addresses of the list of tasks name them, the longest last.
var matrixWindows = []string{"1h", "3h", "24h", "3d", "7d"}

const failedOrDead = string(models.StateFailed) + "," + string(models.StateDead)

// failures are the sums of a minute. A week of minutes is much to read, and changes little from one viewer to the next.
type failures struct {
	minute models.Instant
	sums   map[string][]int64 // by type, one for each window
}

// failuresNow are the failures by type in each window, at most a minute old.
func (s *Server) failuresNow(ctx context.Context) (map[string][]int64, error) {
	now := views.ViewerOf(ctx).Now.Truncate(time.Minute)
	if f := s.failures.Load(); f != nil && f.minute == models.At(now) {
		return f.sums, nil
	}
	var since []models.Instant // the earliest first
	for _, name := range slices.Backward(matrixWindows) {
		for _, w := range windows {
			if w.name == name {
				since = append(since, models.At(now.Add(-w.span)))
			}
		}
	}
	sums, err := s.ledger.Failures(ctx, since)
	if err != nil {
		return nil, err
	}
	for _, row := range sums {
		slices.Reverse(row)
	}
	s.failures.Store(&failures{models.At(now), sums})
	return sums, nil
}

// deadMatrix counts failures by type and window, the type with the most first.
func (s *Server) deadMatrix(ctx context.Context) (*views.Matrix, error) {
	sums, err := s.failuresNow(ctx)
	if err != nil {
		return nil, err
	}
	m := &views.Matrix{}
	for _, w := range matrixWindows {
		m.Windows = append(m.Windows, views.T(ctx, "window."+w))
	}
	types := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		last := len(matrixWindows) - 1
		return cmp.Or(cmp.Compare(sums[b][last], sums[a][last]), cmp.Compare(a, b))
	})
	for _, typ := range types[:min(len(types), maxMatrixRows)] {
		row := views.MatrixRow{Type: typ, URL: views.URL(ctx, "/dead", "type", typ)}
		for i, n := range sums[typ] {
			url := views.URL(ctx, "/tasks", "state", failedOrDead, "type", typ, "window", matrixWindows[i])
			row.Cells = append(row.Cells, views.MatrixCell{N: n, URL: url})
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

const maxMatrixRows = 50
