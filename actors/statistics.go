package actors

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
	"reax/tasks"
)

const (
	statisticsPause = 5 * time.Second
	statisticsRead  = 2 * time.Second
	healthWindow    = 5 * time.Minute
)

// statistics keeps the figures that health shows, so that a health check costs no query.
type statistics struct {
	*core
	timer *time.Timer
	late  map[int64]models.Instant // the schedules that were due at the last look, with their times, by id
}

type measure struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*measure) IgnoreDeadLetterLogging() {}

func newStatistics(c *core) actor.Producer {
	return func() actor.Actor { return &statistics{core: c} }
}

func (s *statistics) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		s.measure(c)
	case *measure:
		s.measure(c)
	case *actor.Stopping, *actor.Restarting:
		stopTimer(s.timer)
	}
}

func (s *statistics) measure(c actor.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), statisticsRead)
	defer cancel()
	now := time.Now()
	s.gauge(now)
	s.lookAtDisk()
	s.lookAtSchedules(ctx)
	minutes, err := s.store.MinuteStats(ctx, models.At(now.Add(-healthWindow)), models.At(now.Add(time.Minute)))
	if err != nil {
		s.logger.Warn("the statistics cannot be read", slog.Any("error", err))
	} else {
		var good, all int64
		for i := range minutes {
			m := &minutes[i]
			if m.Type == tasks.NoticeType { // a receiver that is away is no trouble of the tasks
				continue
			}
			good += m.Succeeded
			all += m.Succeeded + m.Retried + m.Failed + m.Dead
		}
		s.figures.succeeded5m.Store(good)
		s.figures.finished5m.Store(all)
	}
	// How long tasks have waited changes while nothing happens, and pages must not stand still over it.
	s.hub.Publish("stats")
	s.timer = after(c, statisticsPause, &measure{})
}

// lookAtDisk notes how much room there is. What cannot be found out stays as it was.
func (c *core) lookAtDisk() {
	if database, wal, err := c.store.Size(); err == nil {
		c.figures.databaseBytes.Store(database)
		c.figures.walBytes.Store(wal)
	}
	if free, total, err := c.store.Disk(); err == nil {
		c.figures.diskFree.Store(free)
		c.figures.diskTotal.Store(total)
	}
}

// lookAtSchedules finds the schedules of which nothing came though their time has, and forgets those that missed a run
// a while ago.
func (s *statistics) lookAtSchedules(ctx context.Context) {
	now := time.Now()
	for _, id := range s.meter.missed.Keys() {
		if m, ok := s.meter.missed.Get(id); ok && now.Sub(m.at) >= healthMissedWindow {
			s.meter.missed.Remove(id)
		}
	}
	if !s.synced.Load() {
		return
	}
	rows, err := s.store.DueSchedules(ctx, models.At(s.now().Add(-lateAfter)), healthNamed)
	if err != nil {
		s.logger.Warn("the schedules that are due cannot be read", slog.Any("error", err))
		return
	}
	overdue, late := []overdueSchedule{}, make(map[int64]models.Instant, len(rows))
	for i := range rows {
		row := &rows[i]
		// At a start much is due that the scheduler has not come to. By the next look it has had its turn.
		if s.late[row.ID] == row.NextAt {
			overdue = append(overdue, overdueSchedule{name: row.Name, due: row.NextAt.Time()})
		}
		late[row.ID] = row.NextAt
	}
	s.late = late
	s.figures.overdue.Store(&overdue)
}
