package cli

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var (
	bareNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	dayPrefix  = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)
)

// parseDuration reads a duration such as 90s, 2m, 1h30m or 30d. A number without a unit is refused: nobody can tell
// whether it means seconds or milliseconds.
func parseDuration(text string) (time.Duration, error) {
	if bareNumber.MatchString(text) {
		return 0, fmt.Errorf("a duration needs a unit: write %ss for seconds or %sm for minutes", text, text)
	}
	rest, days := text, time.Duration(0)
	if m := dayPrefix.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n > int(math.MaxInt64/day)-1 {
			return 0, fmt.Errorf("%q is too long for a duration", text)
		}
		days, rest = time.Duration(n)*day, m[2]
	}
	if rest == "" && days > 0 || rest == "" && text != "" {
		return days, nil
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration: write it with its unit, such as 30s, 2m, 1h30m or 7d", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	case d > math.MaxInt64-days:
		return 0, fmt.Errorf("%q is too long for a duration", text)
	}
	return days + d, nil
}

// formatDuration writes d without the zero units that Duration.String leaves in: 2m, not 2m0s.
func formatDuration(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// parseMoment reads a moment; without an offset it is in the local zone.
func parseMoment(text string) (time.Time, error) { return parseMomentIn(text, time.Local) }

// parseMomentIn reads a moment. Without an offset it is what the clocks of the zone show; when they show it twice, the
// first time is meant.
func parseMomentIn(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return time.Time{}, fmt.Errorf("there is no %q in the zone %s: its clocks skip that time", text, zone)
		}
		start, _ := t.ZoneBounds()
		if start.IsZero() {
			return t, nil
		}
		_, offset := t.Zone()
		_, before := start.Add(-1).Zone()
		if first := t.Add(time.Duration(offset-before) * time.Second); first.Before(start) {
			t = first
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-01-31T09:30:00Z or \"2026-01-31 09:30\"", text)
}
