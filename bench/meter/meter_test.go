package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASectionIsReplacedAndTheRestStays(t *testing.T) {
	old := "before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n"
	fresh, err := replaceSection(old, "peers", "new\n\n")
	require.NoError(t, err)
	require.Equal(t, "before\n<!-- peers -->\nnew\n<!-- /peers -->\nafter\n", fresh)
	again, err := replaceSection(fresh, "peers", "new")
	require.NoError(t, err)
	require.Equal(t, fresh, again)
	_, err = replaceSection("nothing", "peers", "new")
	require.Error(t, err)
}

func TestFigures(t *testing.T) {
	require.Equal(t, "1,234,567", Count(1234566.7))
	require.Equal(t, "999", Count(999))
	require.Equal(t, "0", Count(0))
	require.InDelta(t, 2, Median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 1, Median([]float64{2, 1}), 0)
	require.Zero(t, Median(nil))
	times := []time.Duration{1, 2, 3, 4}
	require.Equal(t, time.Duration(3), Percentile(times, 50))
	require.Equal(t, time.Duration(4), Percentile(times, 100))
	require.Equal(t, "11 min 5 s", Span(665*time.Second))
	require.Equal(t, "59 s", Span(59*time.Second))
	require.Positive(t, PeakMB())
}
