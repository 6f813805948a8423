package tasks

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWaitDoublesUpToItsLimit(t *testing.T) {
	for i, want := range []int{10, 20, 40, 80, 120, 120} {
		require.Equal(t, time.Duration(want)*time.Second, Wait(i+1, DefaultBackoffBase, DefaultBackoffMax, nil), "retry %d", i+1)
	}
}

func TestWaitAtTheEdges(t *testing.T) {
	const top = math.MaxInt64
	one := func() float64 { return 1 }
	for _, c := range []struct {
		name        string
		k           int
		base, limit time.Duration
		jitter      func() float64
		want        time.Duration
	}{
		{"retry 0 counts as the first", 0, time.Second, time.Minute, nil, time.Second},
		{"negative retry", math.MinInt, time.Second, time.Minute, nil, time.Second},
		{"huge retry", math.MaxInt, time.Second, time.Minute, nil, time.Minute},
		{"no base is no wait", 9, 0, time.Minute, one, 0},
		{"negative base", 9, -time.Second, time.Minute, one, 0},
		{"base over the limit", 1, time.Hour, time.Minute, nil, time.Minute},
		{"negative limit", 1, time.Hour, -1, one, 0},
		{"all at the top", math.MaxInt, top, top, one, top},
		{"last shift that fits", 63, 1, top, nil, 1 << 62},
		{"first that does not", 64, 1, top, nil, top},
		{"full jitter", 1, time.Second, time.Minute, one, 1100 * time.Millisecond},
		{"jitter over its range", 1, time.Second, time.Minute, func() float64 { return 7 }, 1100 * time.Millisecond},
		{"jitter under its range", 1, time.Second, time.Minute, func() float64 { return -7 }, time.Second},
		{"jitter that is no number", 1, time.Second, time.Minute, math.NaN, time.Second},
		{"infinite jitter", 1, time.Second, time.Minute, func() float64 { return math.Inf(1) }, 1100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, Wait(c.k, c.base, c.limit, c.jitter)) })
	}
}

func TestWaitForAnyNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Int().Draw(t, "k")
		base := time.Duration(rapid.Int64().Draw(t, "base"))
		limit := time.Duration(rapid.Int64().Draw(t, "limit"))
		share := rapid.Float64().Draw(t, "jitter")
		plain := Wait(k, base, limit, nil)
		got := Wait(k, base, limit, func() float64 { return share })
		require.GreaterOrEqual(t, plain, time.Duration(0))
		require.LessOrEqual(t, plain, max(limit, 0))
		require.GreaterOrEqual(t, got, plain)
		require.LessOrEqual(t, float64(got), float64(plain)*1.1+1)
		if k < math.MaxInt {
			require.GreaterOrEqual(t, Wait(k+1, base, limit, nil), plain, "a later retry never waits less")
		}
		require.NotEmpty(t, Rule(k, base, limit))
	})
}

func TestRuleInWords(t *testing.T) {
	require.Equal(t, "10 s × 2^(3-1) = 40 s, at most 120 s", Rule(3, 10*time.Second, 120*time.Second))
	require.Equal(t, "10 s × 2^(5-1) = 160 s, at most 120 s", Rule(5, 10*time.Second, 120*time.Second))
	require.Equal(t, "250 ms × 2^(1-1) = 250 ms, at most 1500 ms", Rule(1, 250*time.Millisecond, 1500*time.Millisecond))
	require.Equal(t, "10 s × 2^(99-1), at most 120 s", Rule(99, 10*time.Second, 120*time.Second))
	require.Equal(t, "0 s × 2^(1-1) = 0 s, at most 0 s", Rule(-4, -1, -1))
	require.Equal(t, "1.0005ms × 2^(1-1) = 1.0005ms, at most 1 s", Rule(1, 1000500*time.Nanosecond, time.Second))
}
