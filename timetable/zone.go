package timetable

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a machine without a zone database must not change what a schedule means
)

// zoneName keeps to how IANA spells its names. Without it a file system would accept many spellings of one zone, and
// the cache of zones could grow without end.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,3}$`)

// zones keeps each zone that was asked for, by name: reading one costs far more than a Next.
var zones sync.Map

func loadZone(name string) (*time.Location, *FieldError) {
	switch {
	case name == "":
		return time.UTC, nil
	case len(name) > 64:
		return nil, refuse("timezone", "zone.long")
	case strings.EqualFold(name, "local") || name == "localtime" || name == "posixrules":
		return nil, refuse("timezone", "zone.local", name)
	case !zoneName.MatchString(name) || strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/"):
		return nil, refuse("timezone", "zone.bad", name)
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, refuse("timezone", "zone.unknown", name)
	}
	zones.Store(name, zone)
	return zone, nil
}

// period is a stretch of real time, from start up to but not including end, in which a zone keeps one offset from UTC.
// Within it the clock on the wall shows the instant plus the offset; such a sum is called wall here. The period after it
// may have the same offset.
type period struct{ start, end, offset int64 }

// unbounded is further away than any instant, and far from where sums would overflow.
const unbounded = math.MaxInt64 / 4

func periodAt(zone *time.Location, instant int64) period {
	t := time.Unix(instant, 0).In(zone)
	_, offset := t.Zone()
	p := period{start: -unbounded, end: unbounded, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= instant {
		// After the last change that the database lists, ZoneBounds also ends periods with the year, and takes every year
		// for 365 days: on 31 December of a leap year the end is a day too early. No zone changes on that day.
		p.end = (floorDiv(instant, day) + 1) * day
	}
	return p
}

// shownBefore is the wall time that the clock had reached when the period began: below it, walls of the period are
// shown again; when the period starts above it, the walls between were skipped. One period back is enough: no zone has
// ever changed twice within two days.
func shownBefore(zone *time.Location, p period) int64 {
	if p.start == -unbounded {
		return -unbounded
	}
	return p.start + periodAt(zone, p.start-1).offset
}
