package web

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/models"
)

// What is kept from one look to the next must make no difference: rows change only in the minutes that are not settled.
func TestAHistoryThatIsKeptIsOneThatIsReadAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &fake{}
		now := time.Date(2026, 3, 29, 0, 31, 0, 0, time.UTC)
		var kept history
		for range rapid.IntRange(1, 12).Draw(t, "looks") {
			minutes := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 200), rapid.IntRange(1300, 1700)).Draw(t, "minutes")
			for range minutes {
				now = now.Add(time.Minute)
				if rapid.Bool().Draw(t, "runs") {
					f.minutes = append(f.minutes, models.MinuteStat{Minute: startOf(now, time.Minute), Type: "a"})
				}
			}
			for i := range f.minutes {
				if m := &f.minutes[i]; m.Minute >= startOf(now.Add(-time.Minute), time.Minute) {
					m.Succeeded++
					m.RunHist.Add(time.Second)
				}
			}
			day := rapid.Bool().Draw(t, "day")
			anew := history{}
			for _, h := range []*history{&kept, &anew} {
				require.NoError(t, h.readHour(t.Context(), f, now))
				if day {
					require.NoError(t, h.readDay(t.Context(), f, now))
				}
			}
			require.Equal(t, anew.rows, kept.rows)
			require.Equal(t, anew.periods(now, lineStep, lineSteps), kept.periods(now, lineStep, lineSteps))
			if day {
				require.Len(t, kept.steps, daySteps)
				require.Equal(t, anew.steps, kept.steps)
			}
		}
	})
}

func TestADayThatCannotBeReadInTimeGoesOnWhereItWas(t *testing.T) {
	f, now := newFake(t), time.Now()
	f.minutes = []models.MinuteStat{{Minute: startOf(now.Add(-20*time.Hour), time.Minute), Type: "a", Succeeded: 7}}
	var h history
	require.NoError(t, h.readHour(t.Context(), f, now))
	require.NoError(t, h.readDay(t.Context(), f, now))
	f.reads.Store(0)
	require.NoError(t, h.readDay(t.Context(), f, now.Add(10*time.Second)))
	require.LessOrEqual(t, f.reads.Load(), int64(1), "a day is read once")
	require.True(t, slices.ContainsFunc(h.steps, func(p period) bool { return p.succeeded == 7 }))
}
