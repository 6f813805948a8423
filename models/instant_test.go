package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInstantIsTheSameMomentInEveryZone(t *testing.T) {
	tokyo := time.FixedZone("Tokyo", 9*3600)
	utc := time.Date(2026, 3, 1, 23, 30, 0, 123_456_789, time.UTC)
	require.Equal(t, At(utc), At(utc.In(tokyo)))
	require.Equal(t, utc.Truncate(time.Microsecond), At(utc.In(tokyo)).Time())
	require.Equal(t, time.UTC, At(utc.In(tokyo)).Time().Location())
}

func TestZeroInstantIsNone(t *testing.T) {
	require.True(t, At(time.Time{}).IsZero())
	require.True(t, Instant(0).Time().IsZero())
	require.Nil(t, Instant(0).orNull())
	require.Equal(t, int64(5), Instant(5).orNull())
	require.Nil(t, textOrNull(""))
	require.Equal(t, "x", textOrNull("x"))
}

func TestInstantArithmetic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		i := Instant(rapid.Int64Range(1, 1<<52).Draw(rt, "instant"))
		d := time.Duration(rapid.Int64Range(-1<<40, 1<<40).Draw(rt, "microseconds")) * time.Microsecond
		require.Equal(rt, d, i.Add(d).Sub(i))
		require.Equal(rt, i, At(i.Time()))
		other := Instant(rapid.Int64Range(1, 1<<52).Draw(rt, "other"))
		require.Equal(rt, i < other, i.Time().Before(other.Time()))
	})
}
