package tasks

import (
	"fmt"
	"math"
	"time"
)

// Wait is how long to wait before retry k (1 for the first), counted from the failure: base doubled k-1 times, at most
// limit, plus up to 10 % of it so that tasks which failed together do not come back together. jitter gives a number from
// 0 to 1; nil means no jitter. The wait is never less than the plain value and never overflows, whatever the numbers.
func Wait(k int, base, limit time.Duration, jitter func() float64) time.Duration {
	plain, ok := doubled(k, max(base, 0))
	if !ok || plain > limit {
		plain = max(limit, 0)
	}
	if jitter == nil {
		return plain
	}
	share := jitter()
	if !(share > 0) { // also when it is not a number
		return plain
	}
	extra := time.Duration(float64(plain) / 10 * min(share, 1))
	if plain > math.MaxInt64-extra {
		return math.MaxInt64
	}
	return plain + extra
}

// doubled is base * 2^(k-1), and false when that does not fit.
func doubled(k int, base time.Duration) (time.Duration, bool) {
	if base == 0 || k <= 1 {
		return base, true
	}
	if k-1 > 62 || base > math.MaxInt64>>(k-1) {
		return 0, false
	}
	return base << (k - 1), true
}

// Rule says in words how Wait comes to its plain value: "10 s × 2^(3-1) = 40 s, at most 120 s".
func Rule(k int, base, limit time.Duration) string {
	k, base, limit = max(k, 1), max(base, 0), max(limit, 0)
	text := fmt.Sprintf("%s × 2^(%d-1)", span(base), k)
	if d, ok := doubled(k, base); ok {
		text += " = " + span(d)
	}
	return text + ", at most " + span(limit)
}

func span(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	return d.String()
}
