package web

import (
	"cmp"
	"context"
	"time"

	"reax/actors"
	"reax/models"
	"reax/views"
)

const (
	pastShown    = 14 * 24 * time.Hour // how long an incident is told of when it is over
	pastMost     = 10
	plannedMost  = 5
	pausesLooked = 1_000

	slowDay = 15 // minutes from which on a day was slow
)

// StatusLedger is what the status page reads of *models.Store. Its methods may be called from many goroutines.
type StatusLedger interface {
	OldestReady(ctx context.Context, typ string) (models.Instant, error)
	DayStats(ctx context.Context, from, to models.Instant) ([]models.DayStat, error)
	PausesAhead(ctx context.Context, at models.Instant, limit int) ([]models.Pause, error)
	OpenIncidents(ctx context.Context, at models.Instant) ([]models.Incident, error)
	PastIncidents(ctx context.Context, from, to models.Instant, limit int) ([]models.Incident, error)
	Incident(ctx context.Context, id int64) (models.Incident, error)
}

func withStatusDefaults(groups []StatusGroup) []StatusGroup {
	all := make([]StatusGroup, len(groups))
	for i, g := range groups {
		g.Slow = cmp.Or(g.Slow, actors.SlowDefault)
		g.Failing = cmp.Or(g.Failing, StatusFailingDefault)
		g.Window = cmp.Or(g.Window, StatusWindowDefault)
		g.Samples = cmp.Or(g.Samples, StatusSamplesDefault)
		all[i] = g
	}
	return all
}

// statusType is what is known of one type now.
type statusType struct {
	name   string
	pool   actors.PoolStatus
	oldest time.Duration
}

// readStatus finds out how everything is.
func (s *Server) readStatus(ctx context.Context, made *views.Status, now time.Time) error {
	at := models.At(now)
	groups := s.status.cfg.Groups
	types, err := s.statusTypes(ctx, now)
	if err != nil {
		return err
	}
	var longest time.Duration
	for i := range groups {
		longest = max(longest, groups[i].Window)
	}
	minutes, err := s.ledger.MinuteStats(ctx, models.At(now.Add(-longest).Truncate(time.Minute)), at.Add(time.Minute))
	if err != nil {
		return err
	}
	zone := s.status.cfg.Zone
	days, err := s.ledger.DayStats(ctx, models.At(actors.DayStart(now, zone, 1-actors.StatusDays)), at.Add(time.Minute))
	if err != nil {
		return err
	}
	pauses, err := s.ledger.PausesAhead(ctx, at, pausesLooked)
	if err != nil {
		return err
	}
	made.Groups = make([]views.StatusGroup, len(groups))
	for i := range groups {
		g := &groups[i]
		shown := &made.Groups[i]
		shown.Name, shown.Window = g.Name, g.Window
		g.fillNow(shown, types, minutes, now)
		for _, p := range pauses {
			if shown.PausedUntil == 0 && g.Holds(p.Task) {
				shown.PausedUntil = p.Until
			}
		}
		shown.Days = g.days(days, zone, now)
	}
	if err := s.readIncidents(ctx, made, at); err != nil {
		return err
	}
	made.Word = s.overall(made)
	return nil
}

// statusTypes are the types that a group holds.
func (s *Server) statusTypes(ctx context.Context, now time.Time) ([]statusType, error) {
	var all []statusType
	for _, d := range s.runtime.Registry().All() {
		held := false
		for i := range s.status.cfg.Groups {
			held = held || s.status.cfg.Groups[i].Holds(d.Name)
		}
		if !held {
			continue
		}
		t := statusType{name: d.Name}
		t.pool, _ = s.runtime.Pool(d.Name)
		if t.pool.Ready > 0 {
			oldest, err := s.ledger.OldestReady(ctx, d.Name)
			if err != nil {
				return nil, err
			}
			if oldest != 0 {
				t.oldest = max(models.At(now).Sub(oldest), 0)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// fillNow says how the group is now: failing, else paused, else slow, else ok.
func (g *StatusGroup) fillNow(shown *views.StatusGroup, types []statusType, minutes []models.MinuteStat, now time.Time) {
	var known, paused, blocked int
	for i := range types {
		t := &types[i]
		if !g.Holds(t.name) {
			continue
		}
		known++
		switch {
		case t.pool.Paused && t.pool.PausedBy == "": // by itself: its handlers hang
			blocked++
		case t.pool.Paused:
			paused++
			continue // what a pause keeps waiting is not slow
		}
		shown.Oldest = max(shown.Oldest, t.oldest)
	}
	var waits models.Histogram
	from := models.At(now.Add(-g.Window).Truncate(time.Minute))
	for i := range minutes {
		m := &minutes[i]
		if m.Minute < from || !g.Holds(m.Type) {
			continue
		}
		shown.Good += m.Succeeded
		shown.All += m.Succeeded + failedRuns(m)
		waits.Merge(m.WaitHist)
	}
	if waits.Total() > 0 {
		shown.Usual = max(waits.Quantile(.9), 1)
	}
	shown.Enough = shown.All >= g.Samples
	switch {
	case blocked > 0, shown.Enough && float64(shown.Good) < g.Failing*float64(shown.All):
		shown.Word = views.StatusFailing
	case paused > 0:
		shown.Word, shown.Partly = views.StatusPaused, paused < known
	case shown.Oldest > g.Slow:
		shown.Word = views.StatusSlow
	default:
		shown.Word = views.StatusOK
	}
}

// days are the bars of the group, one for each day, also those on which nothing ran.
func (g *StatusGroup) days(rows []models.DayStat, zone *time.Location, now time.Time) []views.StatusDay {
	index := map[models.Instant]int{}
	bars := make([]views.StatusDay, actors.StatusDays)
	for i := range bars {
		day := actors.DayStart(now, zone, i+1-actors.StatusDays)
		bars[i] = views.StatusDay{Date: day.Format(time.DateOnly), Word: views.StatusNone}
		index[models.At(day)] = i
	}
	for i := range rows {
		at, ok := index[rows[i].Day] // days of another zone are left alone
		if !ok || !g.Holds(rows[i].Type) {
			continue
		}
		bars[at].Good += rows[i].Succeeded
		bars[at].All += rows[i].Succeeded + rows[i].Failed
		bars[at].Slow = max(bars[at].Slow, rows[i].Slow)
	}
	for i := range bars {
		b := &bars[i]
		switch {
		case b.All == 0 && b.Slow == 0:
		case float64(b.Good) < g.Failing*float64(b.All):
			b.Word = views.StatusFailing
		case b.Slow >= slowDay:
			b.Word = views.StatusSlow
		default:
			b.Word = views.StatusOK
		}
	}
	return bars
}

// readIncidents reads what operators have written.
func (s *Server) readIncidents(ctx context.Context, made *views.Status, at models.Instant) error {
	open, err := s.ledger.OpenIncidents(ctx, at)
	if err != nil {
		return err
	}
	for i := range open {
		if open[i].HasBegun(at) {
			made.Open = append(made.Open, open[i])
		} else if len(made.Planned) < plannedMost {
			made.Planned = append(made.Planned, open[i])
		}
	}
	made.Past, err = s.ledger.PastIncidents(ctx, at.Add(-pastShown), at, pastMost)
	return err
}

// overall is the word of everything: the worst of the groups, of what operators say, and of reax itself.
func (s *Server) overall(made *views.Status) views.StatusWord {
	if s.runtime.Health().Status == actors.StatusDown {
		return views.StatusFailing
	}
	is := map[views.StatusWord]bool{}
	for i := range made.Groups {
		is[made.Groups[i].Word] = true
	}
	for i := range made.Open {
		if made.Open[i].Kind == models.IncidentMaintenance {
			is[views.StatusMaintenance] = true
		} else {
			is[views.StatusIncident] = true
		}
	}
	for _, word := range []views.StatusWord{views.StatusFailing, views.StatusIncident, views.StatusMaintenance, views.StatusPaused, views.StatusSlow} {
		if is[word] {
			return word
		}
	}
	return views.StatusOK
}
