package timetable

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/netresearch/go-cron"
)

const maxPattern = 200 // bytes

// parser reads the fields. Its default would be that a day must match both the day of month and the weekday.
var parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor |
	cron.Extended | cron.DowOrDom).WithMaxSearchYears(searchYears)

// nicknames are the patterns that have a name.
var nicknames = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// fields are the five in their order, each with its values and what a person may write.
var fields = [5]patternField{
	{"minute", "minute", 0, 59, "0-59, *, */15, 0,30 or 10-20"},
	{"hour", "hour", 0, 23, "0-23, *, */2, 9,18 or 9-17"},
	{"dom", "day of month", 1, 31, "1-31, *, 1,15, L (last day), L-3, 15W (nearest Monday to Friday) or LW"},
	{"month", "month", 1, 12, "1-12, JAN-DEC, * or 3,6,9"},
	{"dow", "weekday", 0, 7, "0-7 (0 and 7 are Sunday), SUN-SAT, *, 1-5, 5#3 (third Friday) or 5#L (last Friday)"},
}

// patternField is one of the five. key is its name for programs.
type patternField struct {
	key, name string
	min, max  int
	hint      string
}

func parsePattern(text string) (*pattern, *FieldError) {
	if len(text) > maxPattern {
		return nil, refuse("cron", "cron.long", maxPattern, len(text))
	}
	text = strings.TrimSpace(text)
	bad := checkShape(text)
	if bad == nil && !strings.HasPrefix(text, "@") {
		bad = checkFields(strings.Fields(text))
	}
	if bad != nil {
		return nil, bad
	}
	if text[0] == '@' {
		text = strings.ToLower(text)
	}
	schedule, err := parser.Parse(text)
	spec, ok := schedule.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil, locate(strings.Fields(text))
	}
	p := newPattern(text, spec)
	if p.hours == 0 || p.minutes == 0 {
		return nil, refuse("cron", "cron.no_time", text)
	}
	// Any date that exists at all comes up within these years: the calendar repeats every 28 between 1901 and 2099.
	if _, ok := p.nextDate(10957); !ok { // 2000-01-01
		return nil, refuse("cron", "cron.no_day", text)
	}
	return p, nil
}

// checkShape refuses what is not five fields or a nickname, each kind with its own advice.
func checkShape(text string) *FieldError {
	count := len(strings.Fields(text))
	switch upper := strings.ToUpper(text); {
	case strings.ContainsFunc(text, strangeSpace):
		return refuse("cron", "cron.lines")
	case text == "":
		return refuse("cron", "cron.empty")
	case strings.Contains(upper, "TZ="):
		return refuse("cron", "cron.zone")
	case strings.HasPrefix(upper, "@EVERY"):
		return refuse("cron", "cron.every")
	case upper == "@REBOOT":
		return refuse("cron", "cron.reboot", strings.Join(nicknames, ", "))
	case text[0] == '@' && !slices.Contains(nicknames, strings.ToLower(text)):
		return refuse("cron", "cron.nickname", text, strings.Join(nicknames, ", "))
	case text[0] == '@':
		return nil
	case count == 6:
		return refuse("cron", "cron.six")
	case count != 5:
		return refuse("cron", "cron.count", count)
	}
	return nil
}

// checkFields refuses what the library would take, but for something else than it says.
func checkFields(parts []string) *FieldError {
	for i, part := range parts {
		field := fields[i]
		bad := func(code string, args ...any) *FieldError {
			return refusePart(field.key, part, "cron.part."+code, args...)
		}
		if at := strings.IndexFunc(part, strange); at >= 0 {
			return bad("letter", strconv.QuoteRune([]rune(part[at:])[0]))
		}
		for item := range strings.SplitSeq(part, ",") {
			if item == "" {
				return bad("item")
			}
			values, _, stepped := strings.Cut(item, "/")
			if len(values) > 1 && strings.ContainsAny(values, "*?") {
				return bad("alone", values[:1])
			}
			low, high, ranged := strings.Cut(values, "-")
			for _, end := range []string{low, high} {
				if n, err := strconv.Atoi(end); err == nil && (n < field.min || n > field.max) && !strings.EqualFold(low, "l") {
					return bad("range", n, field.min, field.max)
				}
			}
			// The library counts eight days in a week when a stepped range passes Saturday.
			if field.key == "dow" && ranged && stepped && weekday(low) > weekday(high) {
				return bad("sunday")
			}
		}
	}
	return nil
}

// strange tells the runes that no pattern has; among them + as a sign, and letters that only look like digits.
func strange(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("*?,-/#", r))
}

// strangeSpace tells the white space that only looks like the space between two fields, or would break a line of a log.
func strangeSpace(r rune) bool { return unicode.IsSpace(r) && r != ' ' && r != '\t' }

// weekday is the number of a weekday, or -1 when it is none: the library says so better.
func weekday(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(text))
}

// locate names the field that the library could not read, by reading each alone.
func locate(parts []string) *FieldError {
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = part
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			code := "cron.part.unclear"
			if strings.Contains(err.Error(), "step") {
				code = "cron.part.step"
			}
			return refusePart(fields[i].key, part, code)
		}
	}
	return refuse("cron", "cron.unclear")
}

// members lists the values of a set in their order.
func members(set uint64) (list []int) {
	for set &^= star; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}
