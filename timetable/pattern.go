package timetable

import (
	"math/bits"
	"slices"
	"time"

	"github.com/netresearch/go-cron"
)

// pattern is a cron pattern over wall times, which know nothing of zones. Bit n of a set stands for the value n.
type pattern struct {
	text     string
	minutes  uint64
	hours    uint64
	allHours bool
	dates    cron.SpecSchedule // as parsed, but at midnight only: which dates match
}

const (
	star     = uint64(1) << 63 // the library's mark of a field that has a *
	all24    = uint64(1)<<24 - 1
	all60    = uint64(1)<<60 - 1
	allDates = uint64(1)<<32 - 2
	allDays  = uint64(1)<<7 - 1
	all12    = uint64(1)<<13 - 2
)

// searchYears is how long a date may stay away. The rarest is a 29 February on a given weekday ("5#5" in February):
// up to 40 years, across a year such as 2100 that has none.
const searchYears = 41

func newPattern(text string, s *cron.SpecSchedule) *pattern {
	p := &pattern{text: text, minutes: s.Minute &^ star, hours: s.Hour &^ star, dates: *s}
	p.allHours = p.hours == all24
	p.dates.Second, p.dates.Minute, p.dates.Hour, p.dates.Location = 1, 1, 1, time.UTC
	p.dates.DomConstraints, p.dates.DowConstraints = unique(s.DomConstraints), unique(s.DowConstraints)
	return p
}

// unique drops what is there already: saying L fifty times must not make each date fifty times as dear.
func unique[T comparable](list []T) (kept []T) {
	for _, one := range list {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// nextDate is the first matching date from the given one on, both counted in days since 1970.
func (p *pattern) nextDate(from int64) (date int64, ok bool) {
	// One second earlier, because the library's Next is strict.
	t := p.dates.Next(time.Unix(from*day-1, 0).UTC())
	return floorDiv(t.Unix(), day), !t.IsZero()
}

// nextWall is the first matching wall time from the given one on.
func (p *pattern) nextWall(wall int64) (match int64, ok bool) {
	minute := -floorDiv(-wall, 60)
	today := floorDiv(minute, day/60)
	date, ok := p.nextDate(today)
	if ok && date == today {
		if m, later := p.nextMinute(int(minute - today*(day/60))); later {
			return today*day + int64(m)*60, true
		}
		date, ok = p.nextDate(today + 1)
	}
	first, _ := p.nextMinute(0)
	return date*day + int64(first)*60, ok
}

// nextMinute is the first matching minute of a day from the given one on.
func (p *pattern) nextMinute(from int) (minute int, ok bool) {
	hour := from / 60
	if p.hours>>hour&1 == 1 {
		if rest := p.minutes >> (from % 60); rest != 0 {
			return from + bits.TrailingZeros64(rest), true
		}
	}
	rest := p.hours >> (hour + 1)
	if rest == 0 {
		return 0, false
	}
	return (hour+1+bits.TrailingZeros64(rest))*60 + bits.TrailingZeros64(p.minutes), true
}

// restOfDay counts the matching minutes of a matching day, from the given one on.
func (p *pattern) restOfDay(from int) int {
	hour := from / 60
	n := bits.OnesCount64(p.hours>>(hour+1)) * bits.OnesCount64(p.minutes)
	if p.hours>>hour&1 == 1 {
		n += bits.OnesCount64(p.minutes >> (from % 60))
	}
	return n
}
