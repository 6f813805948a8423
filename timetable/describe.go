package timetable

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/netresearch/go-cron"
)

// speech is a language that can say what a schedule is.
type speech interface {
	once(at string) string
	interval(seconds int64, since string) string
	times(t times) string
	dates(d dates) string
	together(t times, times, dates string) string
	verbatim(pattern string) string
	in(sentence, zone string) string
	note(code string) string // a format of the planned time of day and the real one; empty for no note
}

func chosen(lang string) speech {
	if strings.HasPrefix(strings.ToLower(lang), "zh") {
		return chinese{}
	}
	return english{}
}

// Describe says in a sentence when the schedule runs, in Chinese when lang starts with zh and else in English. It is
// made from what was understood and not from how it was written, so that it shows what will happen.
func (t *Timetable) Describe(lang string) string {
	say := chosen(lang)
	return say.in(t.plan.describe(say), t.zone.String())
}

func (p once) describe(say speech) string {
	_, wall := p.explain(p.at)
	return say.once(onWall(wall).Format(layout(wall)))
}

func (p interval) describe(say speech) string {
	if p.anchor == 0 {
		return say.interval(p.every, "")
	}
	wall := p.anchor + periodAt(p.zone, p.anchor).offset
	return say.interval(p.every, onWall(wall).Format(layout(wall)))
}

func (c *wallClock) describe(say speech) string {
	t, d := c.times(), c.matching()
	when, on := say.times(t), ""
	if len(d.special)+len(d.nth) <= mostItems {
		on = say.dates(d)
	}
	if when == "" || on == "" {
		return say.verbatim(c.text)
	}
	return say.together(t, when, on)
}

// times is the part of a pattern inside a day, in the shortest of the forms that fit.
type times struct {
	form           form
	step           int // minutes for steadily and within, hours for hourly
	first, last    int // minutes of the day
	list           []int
	minutes, hours uint64
}

type form int

const (
	listed   form = iota // at each minute of the day in list
	steadily             // every step minutes, day and night
	anyHour              // at the minutes of every hour
	hourly               // every step hours from first to last
	within               // every step minutes from first to last
	crossed              // at the minutes of the hours
)

const (
	fewTimes  = 4 // listed rather than called a step
	mostTimes = 8 // listed at all
)

func (p *pattern) times() times {
	minutes, hours := members(p.minutes), members(p.hours)
	everyMinutes, even := evenly(minutes)
	everyHours, regular := progression(hours)
	t := times{
		minutes: p.minutes, hours: p.hours,
		first: hours[0]*60 + minutes[0], last: hours[len(hours)-1]*60 + minutes[len(minutes)-1],
	}
	switch runs := len(hours) * len(minutes); {
	case p.allHours && even && minutes[0] == 0:
		t.form, t.step = steadily, everyMinutes
	case p.allHours:
		t.form = anyHour
	case runs > fewTimes && len(minutes) == 1 && regular:
		t.form, t.step = hourly, everyHours
	case runs > fewTimes && even && (len(hours) == 1 || regular && everyHours == 1):
		t.form, t.step = within, everyMinutes
	case runs <= mostTimes:
		for _, h := range hours {
			for _, m := range minutes {
				t.list = append(t.list, h*60+m)
			}
		}
	default:
		t.form = crossed
	}
	return t
}

// dates is the part of a pattern above a day. A day matches when any of its parts matches.
type dates struct {
	everyDay bool
	days     uint64 // of the month
	special  []cron.DomConstraint
	weekdays uint64 // 1 is Monday and 7 Sunday, so that Friday to Sunday is a run
	nth      []cron.DowConstraint
	months   uint64 // none when all
}

func (p *pattern) matching() dates {
	s := &p.dates
	d := dates{days: s.Dom &^ star, special: s.DomConstraints, weekdays: s.Dow &^ star, nth: s.DowConstraints, months: s.Month &^ star}
	if d.months == all12 {
		d.months = 0
	}
	anyDate, anyDay := d.days == allDates, d.weekdays == allDays
	either := (s.Dom|s.Dow)&star == 0
	switch {
	case anyDate && anyDay || either && (anyDate || anyDay):
		return dates{everyDay: true, months: d.months}
	case s.Dow&star != 0:
		d.weekdays, d.nth = 0, nil
	case s.Dom&star != 0:
		d.days, d.special = 0, nil
	}
	d.weekdays = d.weekdays&^1 | d.weekdays&1<<7
	return d
}

// progression tells a list whose members are all one step apart; a single member is none.
func progression(list []int) (step int, ok bool) {
	if len(list) < 2 {
		return 0, false
	}
	step = list[1] - list[0]
	for i := 2; i < len(list); i++ {
		if list[i]-list[i-1] != step {
			return 0, false
		}
	}
	return step, true
}

// evenly tells minutes that stay one step apart across the hour.
func evenly(minutes []int) (step int, ok bool) {
	step, ok = progression(minutes)
	return step, ok && step*len(minutes) == 60
}

const (
	mostItems = 10 // of a list in a sentence
	fewItems  = 5  // of a progression that is written out
)

// items are the members of a set as a sentence lists them: runs of three and more as a range, a long progression by its
// ends. There are none when the list would be too long to read.
func items(set uint64, one func(int) string, through string) []string {
	list := members(set)
	if step, ok := progression(list); ok && step > 1 && len(list) > fewItems {
		return []string{one(list[0]), one(list[1]), one(list[2]), "…", one(list[len(list)-1])}
	}
	var said []string
	for i := 0; i < len(list); {
		length := bits.TrailingZeros64(^(set >> list[i]))
		if length >= 3 {
			said = append(said, one(list[i])+through+one(list[i]+length-1))
		} else {
			length = 1
			said = append(said, one(list[i]))
		}
		i += length
	}
	if len(said) > mostItems {
		return nil
	}
	return said
}

// clock writes a minute of the day.
func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

func clocks(list []int) (said []string) {
	for _, minute := range list {
		said = append(said, clock(minute))
	}
	return said
}

func number(n int) string { return strconv.Itoa(n) }
