package timetable

import (
	"fmt"
	"maps"
	"slices"
)

// FieldError says what is wrong with one field of a Spec. Its message is for people, in English; other languages say it
// by its code.
type FieldError struct {
	Field   string // cron, every, at or timezone
	Message string
	Code    string   // stable; one of Codes
	Args    []string // what the code is about, in the order of the message
	Part    string   // the field of the pattern that is wrong: minute, hour, dom, month or dow; empty for the whole of it
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Codes lists every code that a FieldError may have, in order.
func Codes() []string { return slices.Sorted(maps.Keys(sentences)) }

func refuse(field, code string, args ...any) *FieldError {
	e := &FieldError{Field: field, Code: code, Message: fmt.Sprintf(sentences[code], args...)}
	for _, arg := range args {
		e.Args = append(e.Args, fmt.Sprint(arg))
	}
	return e
}

const zoneHint = "; use a name of the IANA database such as Europe/Berlin, Asia/Shanghai or UTC"

// sentences are what is said of a Spec, by code. Those that begin with cron.part are about one field of a pattern: its
// name and text stand before them, and what may be written after them.
var sentences = map[string]string{
	"cron.long":     "a pattern has at most %d letters; this one has %d",
	"cron.no_time":  "%q never runs: it names no time of day",
	"cron.no_day":   "%q never runs: no month that it names has such a day",
	"cron.lines":    "the pattern is one line; its fields are separated by spaces",
	"cron.empty":    "the pattern is empty; write five fields such as 0 7 * * * (at 07:00 every day)",
	"cron.zone":     "the time zone does not belong in the pattern; it has its own field: timezone",
	"cron.every":    "an interval is not a pattern; it has its own field: every, such as 90m",
	"cron.reboot":   "@reboot is not a time; use %s",
	"cron.nickname": "%q is not known; use %s",
	"cron.six": "a pattern has five fields (minute, hour, day of month, month, weekday), not 6; " +
		"seconds and years are not supported, and intervals below a minute have their own field: every",
	"cron.count":   "a pattern has five fields (minute, hour, day of month, month, weekday), not %d",
	"cron.unclear": "the pattern is not understood",

	"cron.part.letter":  "%s cannot be used",
	"cron.part.item":    "an item of the list is empty",
	"cron.part.alone":   "%q stands alone or before a step",
	"cron.part.range":   "%d is not from %d to %d",
	"cron.part.sunday":  "a range with a step must not pass Sunday: list the days",
	"cron.part.step":    "the step must be at least 1 and smaller than the range",
	"cron.part.unclear": "not understood",

	"every.short":  "the interval must be at least 1 second, not %s",
	"every.long":   "the interval must be at most 10 years, not %s",
	"every.whole":  "the interval must be a whole number of seconds, not %s",
	"every.anchor": "the year that the interval counts from must be from 1 to 9999",

	"plan.none": "a schedule needs a cron pattern, an interval above zero (every) or an instant (at)",
	"plan.both": "a schedule has either a cron pattern or an interval, not both",
	"plan.once": "a schedule that runs once has neither a cron pattern nor an interval",
	"at.year":   "the year must be from 1 to 9999",

	"zone.long":    "a time zone has at most 64 letters" + zoneHint,
	"zone.local":   "%q means something else on each machine" + zoneHint,
	"zone.bad":     "%q is not a time zone" + zoneHint,
	"zone.unknown": "there is no time zone %q" + zoneHint,
}

// refusePart refuses one field of a pattern.
func refusePart(field, text, code string, args ...any) *FieldError {
	at := slices.IndexFunc(fields[:], func(f patternField) bool { return f.key == field })
	e := refuse("cron", code, args...)
	e.Message = fmt.Sprintf("%s %q: %s; use %s", fields[at].name, text, e.Message, fields[at].hint)
	e.Part, e.Args = field, append([]string{text}, e.Args...)
	return e
}
