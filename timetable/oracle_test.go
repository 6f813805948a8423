package timetable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The oracle works out when a pattern runs without the parser and without Next: it walks through real time, reads the
// clock on the wall and applies the rules of the package comment as they are written there. Its patterns are checked by
// a matcher of its own, which knows only what the samples need.

type sample struct {
	text                                  string
	minutes, hours, days, months, weekday []bool
	special                               func(time.Time) bool // in place of the day of month and the weekday
	anyDate, anyWeekday, allHours         bool
}

func newSample(text string, special func(time.Time) bool) *sample {
	f := strings.Fields(text)
	s := &sample{text: text, special: special, anyDate: f[2] == "*", anyWeekday: f[4] == "*"}
	s.minutes, s.hours = spread(f[0], 0, 59), spread(f[1], 0, 23)
	s.months = spread(f[3], 1, 12)
	if special == nil {
		s.days, s.weekday = spread(f[2], 1, 31), spread(f[4], 0, 7)
		s.weekday[0] = s.weekday[0] || s.weekday[7]
	}
	s.allHours = f[1] == "*"
	return s
}

func spread(field string, low, high int) []bool {
	set := make([]bool, high+1)
	for item := range strings.SplitSeq(field, ",") {
		span, by, _ := strings.Cut(item, "/")
		from, to, step := low, high, 1
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			from, _ = strconv.Atoi(a)
			to = from
			if ranged {
				to, _ = strconv.Atoi(b)
			}
		}
		if by != "" {
			step, _ = strconv.Atoi(by)
		}
		for v := from; v <= to; v += step {
			set[v] = true
		}
	}
	return set
}

func (s *sample) matchesDate(d time.Time) bool {
	switch {
	case !s.months[d.Month()]:
		return false
	case s.special != nil:
		return s.special(d)
	}
	date, weekday := s.days[d.Day()], s.weekday[d.Weekday()]
	if s.anyDate || s.anyWeekday {
		return date && weekday
	}
	return date || weekday
}

func monthEnd(d time.Time) int {
	return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func workday(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }

// nearestWorkday is the Monday-to-Friday day of d's month that is closest to the given day.
func nearestWorkday(d time.Time, target int) int {
	for _, shift := range []int{0, -1, 1, -2, 2} { // the two last only at the edges of the month
		t := time.Date(d.Year(), d.Month(), target+shift, 0, 0, 0, 0, time.UTC)
		if t.Month() == d.Month() && workday(t) {
			return t.Day()
		}
	}
	return 0
}

var samples = []*sample{
	newSample("0 0 * * *", nil),
	newSample("30 0 * * *", nil),
	newSample("30 1 * * *", nil),
	newSample("45 1 * * *", nil),
	newSample("0 2 * * *", nil),
	newSample("15 2 * * *", nil),
	newSample("30 2 * * *", nil),
	newSample("0 3 * * *", nil),
	newSample("30 23 * * *", nil),
	newSample("0 7 * * 1-5", nil),
	newSample("0 0 * * 0", nil),
	newSample("30 2 * * 7", nil),
	newSample("*/30 2 * * *", nil),
	newSample("*/15 1 * * *", nil),
	newSample("0 2-3 * * *", nil),
	newSample("30 1,2,3 * * *", nil),
	newSample("0 */2 * * *", nil),
	newSample("0 */8 * * *", nil),
	newSample("10-50/20 0,23 * * 6,7", nil),
	newSample("0 0 1 * *", nil),
	newSample("0 2 13 * 5", nil),
	newSample("30 1 */10 * 1", nil),
	newSample("0 0 29 2 *", nil),
	newSample("0 9 25-31 3,10 0", nil),
	newSample("0 0 L * *", func(d time.Time) bool { return d.Day() == monthEnd(d) }),
	newSample("30 2 L-3 * *", func(d time.Time) bool { return d.Day() == monthEnd(d)-3 }),
	newSample("30 1 LW * *", func(d time.Time) bool {
		last := monthEnd(d)
		for !workday(time.Date(d.Year(), d.Month(), last, 0, 0, 0, 0, time.UTC)) {
			last--
		}
		return d.Day() == last
	}),
	newSample("0 2 1W,15W * *", func(d time.Time) bool { return d.Day() == nearestWorkday(d, 1) || d.Day() == nearestWorkday(d, 15) }),
	newSample("30 2 * 3-10 0#2", func(d time.Time) bool { return d.Weekday() == time.Sunday && d.Day() > 7 && d.Day() <= 14 }),
	newSample("0 0 * * 0#L", func(d time.Time) bool { return d.Weekday() == time.Sunday && d.Day() > monthEnd(d)-7 }),
	newSample("0 * * * *", nil),
	newSample("20 * * * *", nil),
	newSample("*/15 * * * *", nil),
	newSample("*/5 * * * *", nil),
	newSample("5-59/25 * * * 0", nil),
}

// truth is what the oracle found for one sample.
type truth struct {
	*sample
	runs      []int64
	checked   int64 // the last date that was matched, and whether it does
	matches   bool
	remembers bool
}

func (s *truth) isDue(wall int64) bool {
	minute := wall / 60 % 60
	hour := wall / 3600 % 24
	if !s.minutes[minute] || !s.hours[hour] {
		return false
	}
	if date := wall / day; !s.remembers || s.checked != date {
		s.remembers, s.checked, s.matches = true, date, s.matchesDate(time.Unix(wall, 0).UTC())
	}
	return s.matches
}

// stride is how the walk goes: the minutes of all samples are multiples of five, and so is the minute of every change. A
// run that Next has in between is found by the comparison.
const stride = 5 * 60

// walk goes from one instant to another.
func walk(zone *time.Location, from, to time.Time) []*truth {
	all := make([]*truth, len(samples))
	for i, s := range samples {
		all[i] = &truth{sample: s}
	}
	_, offset := from.Zone()
	expected := from.Unix() + int64(offset) // the wall time after the latest that the clock has shown
	var thisHour []*truth                   // the samples that could be due in the hour that the clock shows
	for now := from.Unix(); now <= to.Unix(); now += stride {
		if now%900 == 0 { // no zone changes its offset at another minute
			_, offset = time.Unix(now, 0).In(zone).Zone()
		}
		wall := now + int64(offset)
		jump := wall - expected
		if jump != 0 || wall%3600 == 0 || now == from.Unix() {
			thisHour = slices.DeleteFunc(slices.Clone(all), func(s *truth) bool { return !s.hours[wall/3600%24] })
		}
		might := thisHour
		if jump > 0 {
			might = all
		}
		for _, s := range might {
			due := s.isDue(wall) && (s.allHours || wall >= expected)
			if jump > 0 && (!s.allHours || jump%3600 != 0) {
				for skipped := expected; skipped < wall && !due; skipped += stride {
					date := skipped / day
					due = s.isDue(skipped) && (date == (expected-stride)/day || date == wall/day)
				}
			}
			if due {
				s.runs = append(s.runs, now)
			}
		}
		expected = max(expected, wall+stride)
	}
	return all
}

func TestTenYearsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"America/New_York", "Europe/London", "Asia/Shanghai", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			require.NoError(t, err)
			compareWithOracle(t, zone, time.Date(2026, 1, 1, 0, 0, 0, 0, zone), time.Date(2036, 1, 1, 0, 0, 0, 0, zone))
		})
	}
}

func TestOddChangesAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone string
		year int
	}{
		{"Pacific/Apia", 2011}, {"Asia/Pyongyang", 2015}, {"Asia/Pyongyang", 2018}, {"America/Caracas", 2016}, {"Asia/Kathmandu", 1986},
		{"Antarctica/Troll", 2027}, {"Africa/Casablanca", 2027}, {"Atlantic/Azores", 2027}, {"Pacific/Kwajalein", 1993}, {"America/Juneau", 1983},
		// Far years, for which the database has rules and no list of changes.
		{"America/New_York", 2040}, {"America/Santiago", 2040}, {"Australia/Lord_Howe", 2044}, {"Africa/Cairo", 2061},
	} {
		t.Run(fmt.Sprint(c.zone, " ", c.year), func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(c.zone)
			require.NoError(t, err)
			compareWithOracle(t, zone, time.Date(c.year-1, 12, 1, 0, 0, 0, 0, zone), time.Date(c.year+1, 1, 1, 0, 0, 0, 0, zone))
		})
	}
}

// dense is how many runs are too many to ask Next for each: it is asked for those within a week of each change of offset,
// and at the start. Between counts them all.
const dense = 25_000

func compareWithOracle(t *testing.T, zone *time.Location, from, to time.Time) {
	t.Helper()
	for _, s := range walk(zone, from, to) {
		tt := mustParse(t, Spec{Cron: s.text, Timezone: zone.String()})
		last := from.Add(-time.Second).Unix()
		_, more := tt.Between(time.Unix(last, 0), to, 0)
		require.Equal(t, min(len(s.runs), CountLimit), more, s.text)
		for _, run := range append(s.runs, tt.Next(to).Unix()) {
			if len(s.runs) < dense || run-from.Unix() < 7*day || nearChange(zone, run) {
				if next := tt.Next(time.Unix(last, 0)); next.Unix() != run {
					require.Equal(t, time.Unix(run, 0).In(zone).String(), next.String(), s.text)
				}
			}
			last = run
		}
	}
}

func nearChange(zone *time.Location, run int64) bool {
	_, before := time.Unix(run-7*day, 0).In(zone).Zone()
	_, after := time.Unix(run+7*day, 0).In(zone).Zone()
	return before != after
}
