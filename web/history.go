package web

import (
	"context"
	"slices"
	"time"

	"reax/models"
)

const (
	hourMinutes = 60
	dayStep     = 30 * time.Minute
	daySteps    = 48
	settled     = 2 * time.Minute // after its end no run is added to a minute any more
)

// history is the statistics that the overview draws, kept so that a second costs the reading of its minute and not
// that of an hour or a day. It is used by one goroutine at a time.
type history struct {
	rows  []models.MinuteStat // of the last hour, the minute that is not over included; oldest first
	read  models.Instant      // rows before this are whole
	steps []period            // of the last day, oldest first; none until somebody wants them
	whole models.Instant      // steps before this are whole
}

// period is what came of the runs of a stretch of time.
type period struct {
	at        models.Instant
	succeeded int64
	failed    int64 // runs, whether or not the task runs again
	wait, run models.Histogram
}

func (p *period) add(m *models.MinuteStat) {
	p.succeeded += m.Succeeded
	p.failed += failedRuns(m)
	p.wait.Merge(m.WaitHist)
	p.run.Merge(m.RunHist)
}

func failedRuns(m *models.MinuteStat) int64 { return m.Retried + m.Failed + m.Dead }

func startOf(now time.Time, step time.Duration) models.Instant { return models.At(now.Truncate(step)) }

// readHour brings the rows of the last hour up to now.
func (h *history) readHour(ctx context.Context, ledger Ledger, now time.Time) error {
	current := startOf(now, time.Minute)
	first := current.Add(-(hourMinutes - 1) * time.Minute)
	from := max(first, min(h.read, current).Add(-settled))
	fresh, err := ledger.MinuteStats(ctx, from, current.Add(time.Minute))
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(h.rows), func(m models.MinuteStat) bool { return m.Minute < first || m.Minute >= from })
	h.rows, h.read = append(kept, fresh...), current
	return nil
}

// readDay brings the steps of the last day up to now. The first time reads a day, an hour at a time; what was read when
// the time ran out is kept, so that the next try goes on from there.
func (h *history) readDay(ctx context.Context, ledger Ledger, now time.Time) error {
	end := startOf(now, dayStep)
	begin := end.Add(-(daySteps - 1) * dayStep)
	for from := max(begin, min(h.whole, end)); from <= end; from = from.Add(time.Hour) {
		to := min(from.Add(time.Hour), end.Add(dayStep))
		rows, err := h.between(ctx, ledger, from, to)
		if err != nil {
			return err
		}
		h.steps = slices.DeleteFunc(h.steps, func(p period) bool { return p.at < begin || p.at >= from })
		for at := from; at < to; at = at.Add(dayStep) {
			h.steps = append(h.steps, periodOf(rows, at, dayStep))
		}
		h.whole = min(to, startOf(now.Add(-settled), dayStep))
	}
	return nil
}

// between gives rows from memory if they are there.
func (h *history) between(ctx context.Context, ledger Ledger, from, to models.Instant) ([]models.MinuteStat, error) {
	if from > h.read.Add(-hourMinutes*time.Minute) {
		return h.rows, nil
	}
	return ledger.MinuteStats(ctx, from, to)
}

func periodOf(rows []models.MinuteStat, at models.Instant, long time.Duration) period {
	p := period{at: at}
	for i := range rows {
		if m := &rows[i]; m.Minute >= at && m.Minute < at.Add(long) {
			p.add(m)
		}
	}
	return p
}

// periods are the last n stretches of the hour, in step with the clock. The last one is not over.
func (h *history) periods(now time.Time, step time.Duration, n int) []period {
	all := make([]period, 0, n)
	end := startOf(now, step)
	for i := n - 1; i >= 0; i-- {
		all = append(all, periodOf(h.rows, end.Add(-time.Duration(i)*step), step))
	}
	return all
}
