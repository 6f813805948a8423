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

// shortWindows is how many of the windows are counted to the minute. The longer ones begin at a full hour.
const shortWindows = 2

// failures are the sums of a minute. A week of minutes is much to read, and only its last hours change.
type failures struct {
	minute models.Instant
	hour   models.Instant
	past   map[string][]int64 // by type, one for each long window, up to hour
	sums   map[string][]int64 // by type, one for each window
}

// failuresNow are the failures by type in each window, at most a minute old.
func (s *Server) failuresNow(ctx context.Context) (map[string][]int64, error) {
	now := views.ViewerOf(ctx).Now.Truncate(time.Minute)
	hour := now.Truncate(time.Hour)
	last := s.failures.Load()
	if last != nil && last.minute == models.At(now) {
		return last.sums, nil
	}
	next := &failures{minute: models.At(now), hour: models.At(hour), sums: map[string][]int64{}}
	if last != nil && last.hour == next.hour {
		next.past = last.past
	} else {
		var err error
		if next.past, err = s.failuresSince(ctx, hour, matrixWindows[shortWindows:], hour); err != nil {
			return nil, err
		}
		for _, row := range next.past {
			for i := range row {
				row[i] -= row[len(row)-1]
			}
		}
	}
	for typ, row := range next.past {
		next.sums[typ] = append(make([]int64, shortWindows), row[:len(row)-1]...)
	}
	recent, err := s.failuresSince(ctx, now, matrixWindows[:shortWindows], hour)
	if err != nil {
		return nil, err
	}
	for typ, row := range recent {
		sums := next.sums[typ]
		if sums == nil {
			sums = make([]int64, len(matrixWindows))
			next.sums[typ] = sums
		}
		copy(sums, row[:shortWindows])
		for i := shortWindows; i < len(sums); i++ {
			sums[i] += row[shortWindows]
		}
	}
	s.failures.Store(next)
	return next.sums, nil
}

// failuresSince sums the failures by type since the start of each of the named windows, which end at a moment, and last
// since hour. No window is shorter than that.
func (s *Server) failuresSince(ctx context.Context, end time.Time, names []string, hour time.Time) (map[string][]int64, error) {
	var since []models.Instant // the earliest first
	for _, name := range slices.Backward(names) {
		for _, w := range windows {
			if w.name == name {
				since = append(since, models.At(end.Add(-w.span)))
			}
		}
	}
	sums, err := s.ledger.Failures(ctx, append(since, models.At(hour)))
	if err != nil {
		return nil, err
	}
	for _, row := range sums {
		slices.Reverse(row[:len(names)])
	}
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
