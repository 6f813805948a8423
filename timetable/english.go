package timetable

import (
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

type english struct{}

func (english) in(sentence, zone string) string { return sentence + ", " + zone }

func (english) note(code string) string {
	switch code {
	case NoteGap:
		return "The clock goes forward and skips %[1]s; the run is at %[2]s, the first moment after the gap."
	case NoteRepeated:
		return "The clock goes back and shows %[1]s twice; the run is at the first."
	case NoteDoubled:
		return "The clock went back and shows %[1]s for the second time; a pattern for every hour runs both times."
	case NoteZoneChange:
		return "The clock was changed since the run before; an interval keeps real time, so that the time of day is now %[1]s."
	}
	return ""
}

func (english) once(at string) string { return "Once, on " + strings.Replace(at, " ", " at ", 1) }

func (english) verbatim(pattern string) string { return fmt.Sprintf("By the cron pattern %q", pattern) }

func (english) interval(seconds int64, since string) string {
	count, unit, days := units(seconds)
	said := "Every " + plural(count, []string{"second", "minute", "hour"}[unit])
	if days > 1 {
		said += fmt.Sprintf(" (%d days)", days)
	}
	if since != "" {
		said += ", counted from " + since
	}
	return said
}

func (english) times(t times) string {
	minutes := and(items(t.minutes, number, "–"))
	switch t.form {
	case listed:
		return "At " + and(clocks(t.list))
	case steadily:
		return "Every " + plural(int64(t.step), "minute")
	case hourly:
		return fmt.Sprintf("Every %s from %s to %s", plural(int64(t.step), "hour"), clock(t.first), clock(t.last))
	case within:
		return fmt.Sprintf("Every %s from %s to %s", plural(int64(t.step), "minute"), clock(t.first), clock(t.last))
	case anyHour:
		if t.minutes == 1 {
			return "Every hour"
		}
		if minutes == "" {
			return ""
		}
		return fmt.Sprintf("At minute%s %s of every hour", ending(t.minutes), minutes)
	}
	hours := and(items(t.hours, number, "–"))
	if hours == "" || minutes == "" {
		return ""
	}
	return fmt.Sprintf("At minute%s %s of the hour%s %s", ending(t.minutes), minutes, ending(t.hours), hours)
}

func (e english) dates(d dates) string {
	months := and(items(d.months, func(m int) string { return time.Month(m).String() }, " to "))
	if d.everyDay {
		if months != "" {
			return "every day in " + months
		}
		return "every day"
	}
	var choices []string
	days := e.days(d)
	if days == nil && d.days != 0 {
		return ""
	}
	if days != nil {
		choices = append(choices, "on "+and(days)+" of ")
	}
	if d.weekdays != 0 {
		choices = append(choices, e.weekdays(d.weekdays))
	}
	if nth := e.nth(d.nth); nth != nil {
		choices = append(choices, "on "+and(nth)+" of ")
	}
	for i, choice := range choices {
		before, unfinished := strings.CutSuffix(choice, " of ")
		switch {
		case unfinished && months != "" && len(choices) == 1:
			return before + " of " + months + " every year"
		case unfinished:
			choices[i] = before + " of the month"
		}
	}
	said := strings.Join(choices, " or ")
	switch {
	case months == "":
		return said
	case len(choices) > 1: // or else it would be the months of the last one only
		said += ","
	}
	return said + " in " + months
}

// days are the parts of the day-of-month field.
func (english) days(d dates) []string {
	said := items(d.days, func(n int) string { return "the " + ordinal(n) }, " to ")
	if said == nil && d.days != 0 {
		return nil
	}
	const working = "working day (Monday to Friday)"
	for _, c := range d.special {
		switch c.Type {
		case cron.DomLast:
			said = append(said, "the last day")
		case cron.DomLastOffset:
			said = append(said, fmt.Sprintf("the %s day before the last day", ordinal(c.N)))
		case cron.DomLastWeekday:
			said = append(said, "the last "+working)
		case cron.DomNearestWeekday:
			said = append(said, fmt.Sprintf("the %s nearest the %s", working, ordinal(c.N)))
		}
	}
	return said
}

func (english) weekdays(set uint64) string {
	said := items(set, englishWeekday, " to ")
	if len(said) == 1 && strings.Contains(said[0], " to ") {
		return said[0]
	}
	return "every " + and(said)
}

func (english) nth(list []cron.DowConstraint) (said []string) {
	for _, c := range list {
		which := "last"
		if c.N > 0 {
			which = []string{"first", "second", "third", "fourth", "fifth"}[c.N-1]
		}
		said = append(said, "the "+which+" "+englishWeekday(c.Weekday))
	}
	return said
}

func englishWeekday(n int) string { return time.Weekday(n % 7).String() }

// together joins a frequency and its days by a comma, and leaves out "every day" where it goes without saying.
func (english) together(t times, when, on string) string {
	switch {
	case on == "every day" && (t.form == steadily || t.form == anyHour):
		return when
	case t.form == listed && (strings.HasPrefix(on, "on ") || strings.HasPrefix(on, "every ")):
		return when + " " + on
	}
	return when + ", " + on
}

func and(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	if list[last-1] == "…" {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

func plural(n int64, unit string) string {
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// ending is the s of a plural.
func ending(set uint64) string {
	if set&(set-1) == 0 {
		return ""
	}
	return "s"
}

func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// units is an interval in the largest unit that fits: 0 seconds, 1 minutes, 2 hours. Days are given beside the hours,
// since a day of an interval is 24 hours also when the day of the calendar is not.
func units(seconds int64) (count int64, unit int, days int64) {
	switch {
	case seconds%3600 == 0:
		if seconds%day == 0 {
			days = seconds / day
		}
		return seconds / 3600, 2, days
	case seconds%60 == 0:
		return seconds / 60, 1, 0
	}
	return seconds, 0, 0
}
