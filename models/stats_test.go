package models

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHistogramBoundsGrowByAFifthOfADecade(t *testing.T) {
	b := HistogramBounds()
	require.Len(t, b, 41)
	require.Equal(t, 100*time.Microsecond, b[0])
	require.Equal(t, time.Millisecond, b[5])
	require.Equal(t, time.Second, b[20])
	require.Equal(t, 10_000*time.Second, b[40])
	require.True(t, slices.IsSorted(b))
}

func TestHistogramCountsEachDurationInTheBucketOfItsBound(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want int
	}{
		{-time.Hour, 0}, {0, 0}, {1, 0}, {100 * time.Microsecond, 0}, {100*time.Microsecond + 1, 1}, {time.Millisecond, 5},
		{time.Millisecond + 1, 6}, {10_000 * time.Second, 40}, {10_000*time.Second + 1, 40}, {math.MaxInt64, 40}, {math.MinInt64, 0},
	} {
		var h Histogram
		h.Add(c.d)
		require.Equal(t, int64(1), h[c.want], c.d)
		require.Equal(t, int64(1), h.Total())
	}
}

func TestQuantileOfFewDurations(t *testing.T) {
	var h Histogram
	require.Zero(t, h.Quantile(0.5))
	for range 10 {
		h.Add(time.Millisecond)
	}
	require.Equal(t, time.Millisecond, h.Quantile(1))
	require.InDelta(t, (bounds[4]+time.Millisecond)/2, h.Quantile(0.5), 10)
	require.Equal(t, h.Quantile(1), h.Quantile(7))
	require.Equal(t, h.Quantile(0), h.Quantile(-7))
}

func TestQuantileIsNearTheRealOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(10_000*time.Second)), 1, 200).Draw(rt, "durations")
		var h, left, right Histogram
		for i, d := range all {
			h.Add(time.Duration(d))
			if i%2 == 0 {
				left.Add(time.Duration(d))
			} else {
				right.Add(time.Duration(d))
			}
		}
		left.Merge(right)
		require.Equal(rt, h, left)

		slices.Sort(all)
		var last time.Duration
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			estimate := h.Quantile(q)
			require.GreaterOrEqual(rt, estimate, last, "a higher share is never quicker")
			last = estimate
			real := time.Duration(all[max(int(math.Ceil(q*float64(len(all)))), 1)-1])
			bucket := bucketOf(real)
			require.LessOrEqual(rt, estimate, bounds[bucket])
			if bucket > 0 {
				require.GreaterOrEqual(rt, estimate, bounds[bucket-1])
			}
		}
	})
}

func TestHistogramTextIsCompactAndComesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var h, back Histogram
		copy(h[:], rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 41).Draw(rt, "counts"))
		text, err := json.Marshal(h)
		require.NoError(rt, err)
		require.NotRegexp(rt, `,0\]|\[0\]`, string(text))
		require.NoError(rt, json.Unmarshal(text, &back))
		require.Equal(rt, h, back)
	})
	require.Equal(t, "[0,2]", func() string { h := Histogram{0, 2}; text, _ := h.MarshalJSON(); return string(text) }())
}

func TestHistogramRefusesWhatIsNone(t *testing.T) {
	tooLong, err := json.Marshal(make([]int64, 42))
	require.NoError(t, err)
	for _, text := range []string{"", "{}", "[-1]", "[1.5]", `["1"]`, "[1", "[1,]", "[,1]", "[1,,2]", "[99999999999999999999]", string(tooLong)} {
		h := Histogram{7}
		require.Error(t, h.Scan(text), text)
		require.Equal(t, Histogram{7}, h)
	}
	var h Histogram
	require.Error(t, h.Scan(7))
	require.NoError(t, h.Scan([]byte("[1,2]")))
	require.Equal(t, Histogram{1, 2}, h)
	require.NoError(t, h.Scan(" [ 3, 9223372036854775807 ] "), "any JSON, not only what was written here")
	require.Equal(t, Histogram{3, math.MaxInt64}, h)
	require.NoError(t, h.Scan("[]"))
	require.Zero(t, h)
	require.NoError(t, h.Scan(nil))
	require.Zero(t, h)
}

func TestMinuteStatsOfASpan(t *testing.T) {
	s := openStore(t)
	stats := []MinuteStat{
		{Minute: 60, Type: "a", Enqueued: 1, Started: 2, Succeeded: 3, Retried: 4, Failed: 5, Dead: 6, Cancelled: 7, Promoted: 8,
			WaitHist: Histogram{1, 2}, RunHist: Histogram{3: 4}},
		{Minute: 60, Type: "b"}, {Minute: 120, Type: "a"}, {Minute: 180, Type: "a"},
	}
	require.NoError(t, s.Writer().Create(stats).Error)
	got, err := s.MinuteStats(t.Context(), 60, 180)
	require.NoError(t, err)
	require.Equal(t, stats[:3], got)
}
