package actors

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"reax/models"
)

// alertUnit is what the limits of a kind of rule are counted in.
type alertUnit int

const (
	unitNone alertUnit = iota
	unitPercent
	unitTime
	unitCount
	unitBytes
)

// alertKind is what there is to know of a kind of rule.
type alertKind struct {
	unit        alertUnit
	below       bool // it is bad to be below the limit, and not above
	least, most int64
	limit       int64         // by default
	samples     int64         // by default; 0 when it needs none
	window      time.Duration // by default; 0 when it has none
	clearAfter  time.Duration // by default
}

var alertKinds = map[string]alertKind{
	models.AlertDead:    {clearAfter: time.Hour},
	models.AlertSuccess: {unit: unitPercent, below: true, least: 1, most: 100, limit: 90, samples: 20, clearAfter: time.Minute},
	models.AlertWait:    {unit: unitTime, least: int64(time.Second), most: int64(30 * 24 * time.Hour), limit: int64(10 * time.Minute), clearAfter: time.Minute},
	models.AlertBacklog: {unit: unitCount, least: 1, most: 1_000_000_000, limit: 1_000, clearAfter: time.Minute},
	models.AlertMissed:  {clearAfter: time.Minute},
	models.AlertSlow:    {unit: unitCount, least: 2, most: 1_000, limit: 3, samples: 20, clearAfter: time.Minute},
	models.AlertCrashes: {unit: unitCount, least: 1, most: 50, limit: 5, window: 10 * time.Minute, clearAfter: time.Minute},
	models.AlertDisk:    {unit: unitBytes, below: true, least: 1 << 20, most: 1 << 50, limit: 1 << 30, clearAfter: time.Minute},
}

// WithDefaults is the rule with the defaults of its kind where it says nothing.
func (r AlertRule) WithDefaults() AlertRule {
	kind := alertKinds[r.Kind]
	if r.Limit == 0 {
		r.Limit = kind.limit
	}
	if r.Samples == 0 {
		r.Samples = kind.samples
	}
	if r.Window == 0 {
		r.Window = kind.window
	}
	if r.ClearAfter == 0 {
		r.ClearAfter = kind.clearAfter
	}
	return r
}

// AlertLimit says what the limit of a kind of rule is like: whether there is one, whether it is bad to be below it, and
// what is asked for beside it.
func AlertLimit(kind string) (has, below, samples, window bool) {
	k := alertKinds[kind]
	return k.unit != unitNone, k.below, k.samples > 0, k.window > 0
}

var sizeText = regexp.MustCompile(`^([0-9]{1,15}) ?(B|KiB|MiB|GiB|TiB)$`)

var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// ParseAlertLimit reads the limit of a kind of rule: 90 or 90%, 10m, 1000, or 5GiB.
func ParseAlertLimit(kind, text string) (int64, error) {
	text = strings.TrimSpace(text)
	switch alertKinds[kind].unit {
	case unitTime:
		d, err := ParseAlertSpan(text)
		return int64(d), err
	case unitBytes:
		m := sizeText.FindStringSubmatch(text)
		if m == nil {
			return 0, errors.New("must be a size with its unit, such as 500MiB or 5GiB")
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		for _, unit := range sizeUnits {
			if unit == m[2] {
				break
			}
			if n > 1<<50 {
				return 0, errors.New("is too large")
			}
			n <<= 10
		}
		return n, err
	case unitPercent:
		text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	case unitNone:
		return 0, errors.New("is not for this kind of rule")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

// ParseAlertSpan reads a length of time such as 90s, 10m, 2h or 7d.
func ParseAlertSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 12); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration with its unit, such as 30s, 10m, 2h or 7d")
	}
	return d, nil
}

// FormatAlertLimit writes a limit of a kind of rule as ParseAlertLimit reads it.
func FormatAlertLimit(kind string, n int64) string { return alertKinds[kind].unit.format(n) }

// FormatAlertSpan writes a length of time without the units that are zero.
func FormatAlertSpan(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	}
	text := d.Truncate(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (u alertUnit) format(n int64) string {
	switch u {
	case unitPercent:
		return strconv.FormatInt(n, 10) + "%"
	case unitTime:
		return FormatAlertSpan(time.Duration(n))
	case unitBytes:
		i := 0
		for i < len(sizeUnits)-1 && n != 0 && n%1024 == 0 {
			n, i = n/1024, i+1
		}
		return fmt.Sprintf("%d%s", n, sizeUnits[i])
	}
	return strconv.FormatInt(n, 10)
}
