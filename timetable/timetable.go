// Package timetable is the arithmetic of recurring times: which instants a cron pattern, an interval or a one-off stands
// for in a time zone, and a sentence that says so. It knows no clock, no tasks and no storage: every answer follows from
// its arguments alone. A Timetable never changes, so any number of goroutines may use it at once.
//
// # Cron patterns
//
// Five fields: minute (0-59), hour (0-23), day of month (1-31), month (1-12 or JAN-DEC), weekday (0-7 or SUN-SAT, where
// 0 and 7 are Sunday). A field is a list, separated by commas, of:
//
//   - *, or ?, which means the same;
//   - a value, or a range such as 9-17. A range may pass the end of its cycle: 22-2, NOV-FEB, FRI-MON;
//   - either with a step: */15, 9-17/2, and 5/15, which means 5-59/15. The step must be smaller than the range, so that
//     */90 minutes is refused and not run every hour. A weekday range with a step must not pass Sunday;
//   - in the day of month: L (the last day), L-3 (the third day before the last), 15W (the Monday-to-Friday day nearest
//     the 15th, in the same month), LW (the last Monday-to-Friday day);
//   - in the weekday: 5#3 (the third Friday of the month), 5#L (the last Friday).
//
// Instead of fields: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly.
//
// When both the day of month and the weekday are restricted, a day matches if either does: "0 9 13 * 5" runs on each
// 13th and on each Friday. A field is unrestricted only when one of its items is * or ?; */10 restricts, and so does
// 1-31. (Vixie's cron looks only at the first letter, so that there "0 0 */10 * 1" means and; here it means or.)
//
// Refused: a time zone inside the pattern, @every (both have their own fields), @reboot, seconds, empty list items,
// more than 200 bytes, and a pattern that can never run, such as 30 February.
//
// # Daylight saving, and any other change of a zone's offset
//
// A pattern whose hours are not all 24 names times of day; each time of day of each matching date runs exactly once:
//
//   - a time that the clock skips runs at the first instant after the gap. All times of one gap are one run: in New
//     York "*/30 2 * * *" runs once, at 03:00, and "0 2-3 * * *" too. "0 */2 * * *" runs at 00:00, 03:00 (for 02:00)
//     and 04:00;
//   - a time that happens twice runs the first time only: "30 1,2,3 * * *" runs three times;
//   - a date that the zone leaves out altogether (Apia, 2011-12-30) has no runs, like 30 February.
//
// A pattern whose hours are all 24 (* or */1 or 0-23) has no time of day to keep. It runs on through the change,
// whenever the clock shows a matching minute: not in the gap, and both times in a repeated hour, so that "*/15 * * * *"
// runs every real quarter of an hour and "0 * * * *" every real hour. One exception: where the clock jumps by a part of
// an hour (30 minutes on Lord Howe), an hour could lose its run; so the skipped minutes run once, after the gap.
//
// # Intervals
//
// An interval runs at its anchor and each whole multiple of the interval after it, in elapsed time: 24h is 24 real
// hours, whatever the clock does.
package timetable

import "time"

// Spec is a schedule as a person wrote it. Exactly one of Cron, Every and At is set.
type Spec struct {
	Cron     string        // a pattern; see the package comment
	Every    time.Duration // whole seconds, from 1 second to 10 years
	At       time.Time     // one run; a part of a second is dropped
	Timezone string        // an IANA name such as Europe/Berlin; empty means UTC
	Anchor   time.Time     // where Every counts from, and its first run; zero means 1970-01-01 00:00 UTC
}

// Timetable is a Spec that was found sound.
type Timetable struct {
	plan plan
	zone *time.Location
}

// plan is one kind of schedule. Instants are seconds since 1970.
type plan interface {
	next(from int64) (run int64, ok bool) // the first run at or after from
	count(from, to int64) int             // runs from from up to and including to, at most CountLimit
	explain(run int64) (note string, wall int64)
	describe(say speech) string
}

const (
	maxEvery = 3660 * 24 * time.Hour // ten years, leap days included
	day      = 24 * 60 * 60
)

// earliest and latest bound every instant here: years that JSON can carry, in any zone, and no arithmetic near the end of
// an int64.
var (
	earliest = time.Date(1, 1, 3, 0, 0, 0, 0, time.UTC).Unix()
	latest   = time.Date(9999, 12, 29, 0, 0, 0, 0, time.UTC).Unix()
)

// Parse checks a schedule. Every error is a *FieldError. The work is bounded whatever the text.
func Parse(s Spec) (*Timetable, error) {
	zone, bad := loadZone(s.Timezone)
	if bad != nil {
		return nil, bad
	}
	p, bad := s.plan(zone)
	if bad != nil {
		return nil, bad
	}
	return &Timetable{plan: p, zone: zone}, nil
}

func (s Spec) plan(zone *time.Location) (plan, *FieldError) {
	switch {
	case s.Cron == "" && s.Every == 0 && s.At.IsZero():
		return nil, refuse("cron", "plan.none")
	case s.Cron != "" && s.Every != 0:
		return nil, refuse("every", "plan.both")
	case !s.At.IsZero() && (s.Cron != "" || s.Every != 0):
		return nil, refuse("at", "plan.once")
	case s.Every != 0:
		return newInterval(s.Every, s.Anchor, zone)
	case !s.At.IsZero():
		if at := s.At.Unix(); at >= earliest && at <= latest {
			return once{at: at, zone: zone}, nil
		}
		return nil, refuse("at", "at.year")
	}
	p, bad := parsePattern(s.Cron)
	if bad != nil {
		return nil, bad
	}
	return &wallClock{pattern: p, zone: zone}, nil
}

// Next is the first run after the instant given, in the time zone of the schedule and on a whole second. It is zero
// when there is none.
func (t *Timetable) Next(after time.Time) time.Time {
	run, ok := t.plan.next(following(after))
	if !ok || run > latest {
		return time.Time{}
	}
	return t.local(run)
}

// following is the first whole second after an instant.
func following(after time.Time) int64 { return min(max(after.Unix(), earliest), latest) + 1 }

func (t *Timetable) local(run int64) time.Time { return time.Unix(run, 0).In(t.zone) }

// CountLimit is where Between stops to count.
const CountLimit = 1_000_000

// Between lists the runs after from, up to and including to: the oldest limit of them, and how many more there are, at
// most CountLimit. The cost grows with limit and with the number of days, not with the number of runs.
func (t *Timetable) Between(from, to time.Time, limit int) (runs []time.Time, more int) {
	for len(runs) < limit {
		run := t.Next(from)
		if run.IsZero() || run.After(to) {
			return runs, 0
		}
		runs, from = append(runs, run), run
	}
	return runs, t.plan.count(following(from), min(to.Unix(), latest))
}

// Last is the latest run after from, up to and including to; zero when there is none.
func (t *Timetable) Last(from, to time.Time) (last time.Time) {
	low, high := max(from.Unix(), earliest), min(to.Unix(), latest)
	// The window grows backwards from its end, so that a year of runs every minute costs no more than an hour of them.
	for width := int64(60); last.IsZero() && low < high; width *= 2 {
		start := max(low, high-width)
		for run := t.Next(time.Unix(start, 0)); !run.IsZero() && !run.After(to); run = t.Next(run) {
			last = run
		}
		if start == low {
			break
		}
	}
	return last
}

// MaxPreview is the most runs that a preview shows.
const MaxPreview = 100

// Preview is the next n runs after from, each with what there is to know about it. n is taken as 1 to MaxPreview; there
// are fewer when the schedule has no more.
func (t *Timetable) Preview(from time.Time, n int) []Occurrence {
	var list []Occurrence
	for range min(max(n, 1), MaxPreview) {
		run := t.Next(from)
		if run.IsZero() {
			break
		}
		note, wall := t.plan.explain(run.Unix())
		list = append(list, Occurrence{At: run, Note: note, Wall: onWall(wall).Format(layout(wall))})
		from = run
	}
	return list
}
