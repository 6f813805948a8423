package actors

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"reax/models"
)

const (
	// StatusDays is how many days the statistics of days go back, today included.
	StatusDays = 90

	daysFirst  = 2 * time.Second
	daysBreath = 50 * time.Millisecond // between days that are filled in
	daysPause  = 5 * time.Minute
	daysRead   = 10 * time.Second
)

// DayOptions say how the statistics of days are gathered.
type DayOptions struct {
	Zone *time.Location                 // in which a day begins; nil gathers none
	Slow func(typ string) time.Duration // the wait from which on a task of a type has waited for too long; may be nil
}

// SlowDefault is the wait from which on a task has waited for too long, where nothing else is said.
const SlowDefault = 5 * time.Minute

func (o DayOptions) slow(typ string) time.Duration {
	if o.Slow != nil {
		if d := o.Slow(typ); d > 0 {
			return d
		}
	}
	return SlowDefault
}

// daystats gathers minutes into days, for the status page: today again and again, and at the start the days that it has
// missed. Minutes are kept as long as the days are, so nothing is lost while it does not run.
type daystats struct {
	*core
	timer *time.Timer
	today time.Time
	todo  []time.Time // days before today that are not whole yet, the latest last
	saved []models.DayStat
	doing []models.DayStat // what the journal was asked to store
}

type countDay struct{}

// IgnoreDeadLetterLogging marks a message whose loss means only that the actor is gone.
func (*countDay) IgnoreDeadLetterLogging() {}

func newDaystats(c *core) actor.Producer {
	return func() actor.Actor { return &daystats{core: c} }
}

func (d *daystats) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		d.rearm(c, daysFirst)
	case *countDay:
		d.count(c)
	case *RecordWritten:
		d.saved = d.doing
		d.next(c)
	case error:
		d.logger.Warn("the statistics of a day could not be stored", slog.Any("error", m))
		d.today = time.Time{} // look again at what is missing
		d.rearm(c, daysPause)
	case *actor.Stopping, *actor.Restarting:
		stopTimer(d.timer)
	}
}

func (d *daystats) rearm(c actor.Context, wait time.Duration) {
	d.timer = after(c, wait, &countDay{})
}

func (d *daystats) next(c actor.Context) {
	if len(d.todo) > 0 {
		d.rearm(c, daysBreath)
		return
	}
	d.rearm(c, daysPause)
}

// count gathers one day: one that is missing, or else today as far as it has come.
func (d *daystats) count(c actor.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), daysRead)
	defer cancel()
	now := d.now()
	if today := DayStart(now, d.opts.Days.Zone, 0); !today.Equal(d.today) {
		missing, err := d.missing(ctx, today)
		if err != nil {
			d.logger.Warn("the statistics of days cannot be read", slog.Any("error", err))
			d.rearm(c, daysPause)
			return
		}
		d.today, d.todo, d.saved = today, append(missing, today), nil
	}
	day := d.today
	if n := len(d.todo); n > 0 {
		day, d.todo = d.todo[n-1], d.todo[:n-1]
	}
	rows, err := d.gather(ctx, day, now)
	if err != nil {
		d.logger.Warn("the minutes of a day cannot be read", slog.Any("error", err))
		d.today = time.Time{}
		d.rearm(c, daysPause)
		return
	}
	if len(rows) == 0 || slices.EqualFunc(rows, d.saved, sameDay) {
		d.next(c)
		return
	}
	d.doing = rows
	before := models.At(DayStart(d.today, d.opts.Days.Zone, 1-StatusDays))
	c.Request(d.journal, &WriteRecord{Ctx: context.Background(), Do: func(tx *models.Tx) (any, error) {
		return nil, tx.SaveDays(rows, before)
	}})
}

// missing are the days before today of which not every minute is counted, the oldest first. A day on which nothing ran
// has no row and is looked at again, which costs little.
func (d *daystats) missing(ctx context.Context, today time.Time) ([]time.Time, error) {
	zone := d.opts.Days.Zone
	rows, err := d.store.DayStats(ctx, models.At(DayStart(today, zone, 1-StatusDays)), models.At(today))
	if err != nil {
		return nil, err
	}
	counted := map[models.Instant]models.Instant{}
	for i := range rows {
		counted[rows[i].Day] = max(counted[rows[i].Day], rows[i].CountedTo)
	}
	var days []time.Time
	for n := 1 - StatusDays; n < 0; n++ {
		day := DayStart(today, zone, n)
		if counted[models.At(day)] < models.At(DayStart(today, zone, n+1)) {
			days = append(days, day)
		}
	}
	return days, nil
}

// gather adds up the minutes of a day by type.
func (d *daystats) gather(ctx context.Context, day, now time.Time) ([]models.DayStat, error) {
	end := DayStart(day, d.opts.Days.Zone, 1)
	if now.Before(end) {
		end = now.Truncate(time.Minute)
	}
	minutes, err := d.store.DayMinutes(ctx, models.At(day), models.At(end))
	if err != nil {
		return nil, err
	}
	return sumDay(models.At(day), models.At(end), minutes, d.opts.Days.slow), nil
}

// sumDay adds minutes up. A task that started after a wait that was too long had waited for too long in each of the
// minutes before, as far back as the day goes; so an hour in which nothing could start counts as one.
func sumDay(day, end models.Instant, minutes []models.DayMinute, slow func(typ string) time.Duration) []models.DayStat {
	type sum struct {
		models.DayStat
		limit  time.Duration
		slowTo models.Instant // the minutes before are counted already
	}
	sums := map[string]*sum{}
	var order []string
	for i := range minutes {
		m := &minutes[i]
		s := sums[m.Type]
		if s == nil {
			s = &sum{DayStat: models.DayStat{Day: day, Type: m.Type, CountedTo: end}, limit: slow(m.Type), slowTo: day}
			sums[m.Type] = s
			order = append(order, m.Type)
		}
		s.Succeeded += m.Succeeded
		s.Failed += m.Failed
		if m.Waited < s.limit {
			continue
		}
		over := m.Minute.Add(time.Minute)
		from := max(m.Minute.Add(-(m.Waited - s.limit).Truncate(time.Minute)), s.slowTo)
		s.Slow += int64(over.Sub(from) / time.Minute)
		s.slowTo = over
	}
	slices.Sort(order)
	rows := make([]models.DayStat, len(order))
	for i, typ := range order {
		rows[i] = sums[typ].DayStat
	}
	return rows
}

// sameDay reports whether two rows say the same of a day; up to when it is counted is no news while nothing happens.
func sameDay(a, b models.DayStat) bool {
	a.CountedTo, b.CountedTo = 0, 0
	return a == b
}

// DayStart is when a day begins, so many days after the one that t lies on in a zone. Not every day has 24 hours, nor begins
// at midnight.
func DayStart(t time.Time, zone *time.Location, days int) time.Time {
	y, m, day := t.In(zone).Date()
	noon := time.Date(y, m, day+days, 12, 0, 0, 0, zone)
	y, m, day = noon.Date()
	start := time.Date(y, m, day, 0, 0, 0, 0, zone)
	for start.Day() != day { // where the clock leaps over midnight
		start = start.Add(15 * time.Minute)
	}
	return start
}
