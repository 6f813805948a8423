package views

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reax/models"
)

// zoneText names the viewer's zone with what it is away from UTC now.
func zoneText(ctx context.Context) string {
	v := ViewerOf(ctx)
	_, offset := v.now().In(v.Zone).Zone()
	if v.Zone == time.UTC || v.Zone.String() == "UTC" {
		return "UTC"
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "−", -offset
	}
	text := fmt.Sprintf("%s (UTC%s%d", v.Zone, sign, offset/3600)
	if minutes := offset % 3600 / 60; minutes > 0 {
		text += fmt.Sprintf(":%02d", minutes)
	}
	return text + ")"
}

func (v *Viewer) now() time.Time {
	if v.Now.IsZero() {
		return time.Now()
	}
	return v.Now
}

// Clock is an instant in the viewer's zone: the time alone on the day of the page, else with its date.
func Clock(ctx context.Context, at models.Instant) string {
	v := ViewerOf(ctx)
	t, now := at.Time().In(v.Zone), v.now().In(v.Zone)
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ShortClock is Clock without the seconds.
func ShortClock(ctx context.Context, at models.Instant) string {
	text := Clock(ctx, at)
	return text[:len(text)-len(":00")]
}

func rfc3339(at models.Instant) string { return at.Time().Format(time.RFC3339Nano) }

// second is rfc3339 for a time of which less than a second does not matter: a page has hundreds of them.
func second(at models.Instant) string { return at.Time().Format(time.RFC3339) }

// utc is what the pointer shows over a time.
func utc(at models.Instant) string { return at.Time().Format("2006-01-02 15:04:05.000") + " UTC" }

// units of a duration from large to small; two that follow each other are shown together.
var units = []struct {
	key  string
	size time.Duration
}{
	{"unit.day", 24 * time.Hour}, {"unit.hour", time.Hour}, {"unit.minute", time.Minute}, {"unit.second", time.Second},
}

// Duration is d for people: 320 ms, 1.4 s, 2 min 5 s, 3 d 4 h.
func Duration(ctx context.Context, d time.Duration) string {
	d = max(d, 0)
	switch {
	case d == 0:
		return T(ctx, "unit.second", "v", "0")
	case d < time.Millisecond:
		return T(ctx, "unit.millisecond", "v", fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)))
	case d < time.Second:
		return T(ctx, "unit.millisecond", "v", fmt.Sprint(d.Milliseconds()))
	case d < 10*time.Second && d%time.Second >= 50*time.Millisecond:
		return T(ctx, "unit.second", "v", fmt.Sprintf("%.1f", d.Truncate(100*time.Millisecond).Seconds()))
	}
	var parts []string
	for _, u := range units {
		if n := d / u.size; n > 0 || len(parts) > 0 {
			if n > 0 {
				parts = append(parts, T(ctx, u.key, "v", fmt.Sprint(int64(n))))
			}
			d %= u.size
			if len(parts) == 2 || n == 0 {
				break
			}
		}
	}
	return strings.Join(parts, " ")
}
