package web

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reax/actors"
	"reax/models"
)

const (
	snapshotAge   = time.Second
	snapshotLimit = 3 * time.Second // for reading all of one
	lineStep      = 5 * time.Minute
	lineSteps     = 12
	maxGroups     = 100
	maxSuspected  = 50
	recentWindow  = 24 * time.Hour
	missedLooks   = 50 // schedules whose latest occurrences are looked at
)

// snapshot is all that the overview tells, but for the words. It is not changed once it is made, so all viewers share it.
type snapshot struct {
	at      time.Time
	health  actors.Health
	known   bool // the ledger answered; without that only health is set
	total   map[models.State]int64
	types   []typeFigures // by name
	minutes []period      // of the last hour
	lines   []period      // the same by five minutes
	days    []period      // of the last day, if somebody wants them
	gauges  []actors.Gauge
	retryAt models.Instant
	groups  []models.ErrorGroup // the latest first
	suspect []models.Task
	boots   []models.Boot
	marks   []models.AuditMark // what was paused, resized and scheduled, oldest first
	missed  []missedSchedule
	plans   []models.Schedule
}

// missedSchedule is a schedule with what it missed lately.
type missedSchedule struct {
	name string
	n    int
	last models.Instant
}

// snapshots makes one when it is asked for and the last is too old, or something has changed since. However many look
// at the page, the ledger is read as often as for one of them.
type snapshots struct {
	changes atomic.Int64 // what the event streams have heard of

	mu      sync.Mutex
	history history
	latest  *snapshot
	seen    int64 // changes, when it was begun
	until   time.Time
}

// snapshot gives one that is at most a second old, and not older than what a live page was told of. day wants the last
// day as well.
func (s *Server) snapshot(ctx context.Context, day bool) *snapshot {
	v := &s.overview
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.latest != nil && now.Before(v.until) && v.seen == v.changes.Load() && (!day || !v.latest.known || v.latest.days != nil) {
		return v.latest
	}
	v.seen = v.changes.Load()
	// The one who asks first reads for all the others, and must not take it from them by going away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotLimit)
	defer cancel()
	made := &snapshot{at: now, health: s.runtime.Health(), gauges: s.runtime.Gauges()}
	if err := s.read(ctx, made, day); err != nil {
		s.logger.Warn("the overview cannot be read", slog.Any("error", err))
		made = &snapshot{at: now, health: made.health}
	}
	v.latest, v.until = made, time.Now().Add(snapshotAge)
	return made
}

// read fills a snapshot from the ledger.
func (s *Server) read(ctx context.Context, made *snapshot, day bool) error {
	h, now := &s.overview.history, made.at
	counts, err := s.countsByType(ctx)
	if err != nil {
		return err
	}
	if err := h.readHour(ctx, s.ledger, now); err != nil {
		return err
	}
	made.minutes, made.lines = h.periods(now, time.Minute, hourMinutes), h.periods(now, lineStep, lineSteps)
	from := made.minutes[0].at
	if day {
		if err := h.readDay(ctx, s.ledger, now); err != nil {
			return err
		}
		made.days = slices.Clone(h.steps)
		from = made.days[0].at
	}
	if made.boots, err = s.ledger.Boots(ctx, from); err != nil {
		return err
	}
	if made.marks, err = s.ledger.AuditMarks(ctx, from, models.At(now.Add(time.Minute)), maxMarks); err != nil {
		return err
	}
	if made.groups, err = s.ledger.ErrorGroups(ctx, maxGroups+1); err != nil {
		return err
	}
	suspect, err := s.ledger.List(ctx, models.Filter{Suspected: true}, maxSuspected)
	if err != nil {
		return err
	}
	// One that ended stays suspected for ever, and needs nobody after a while.
	made.suspect = slices.DeleteFunc(suspect.Tasks, func(t models.Task) bool {
		return t.State.IsFinal() && t.UpdatedAt < models.At(now.Add(-recentWindow))
	})
	if made.plans, err = s.ledger.Schedules(ctx); err != nil {
		return err
	}
	if made.missed, err = s.missed(ctx, made.plans, now); err != nil {
		return err
	}
	made.total = map[models.State]int64{}
	for _, states := range counts {
		for state, n := range states {
			made.total[state] += n
		}
	}
	if made.total[models.StateRetryWait] > 0 {
		if made.retryAt, err = s.ledger.NextRetry(ctx); err != nil {
			return err
		}
	}
	made.types = s.typesNow(counts, h.rows, made)
	made.known = true
	return nil
}

// missed looks for occurrences that nobody was there for within the last day.
func (s *Server) missed(ctx context.Context, plans []models.Schedule, now time.Time) ([]missedSchedule, error) {
	var all []missedSchedule
	looks := 0
	for i := range plans {
		if plans[i].MissedCount == 0 || looks == missedLooks {
			continue
		}
		looks++
		latest, err := s.ledger.Occurrences(ctx, plans[i].ID, 60)
		if err != nil {
			return nil, err
		}
		m := missedSchedule{name: plans[i].Name}
		for _, o := range latest {
			if o.Outcome == models.OccurrenceMissed && o.CreatedAt > models.At(now.Add(-recentWindow)) {
				m.n++
				m.last = max(m.last, o.At)
			}
		}
		if m.n > 0 {
			all = append(all, m)
		}
	}
	return all, nil
}
