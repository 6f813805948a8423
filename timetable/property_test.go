package timetable

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var someZones = []string{
	"", "America/New_York", "Europe/London", "Asia/Shanghai", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Africa/Casablanca",
	"Asia/Kathmandu", "America/St_Johns", "Antarctica/Troll", "Atlantic/Azores", "Pacific/Apia", "America/Nuuk",
}

// drawField draws a field that is nearly always sound.
func drawField(t *rapid.T, low, high int) string {
	value := rapid.IntRange(low, high)
	item := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return fmt.Sprintf("*/%d", rapid.IntRange(1, high-low).Draw(t, "step"))
		case 1:
			return fmt.Sprintf("%d-%d", value.Draw(t, "from"), value.Draw(t, "to"))
		}
		return fmt.Sprint(value.Draw(t, "value"))
	})
	if rapid.Bool().Draw(t, "any") {
		return "*"
	}
	return strings.Join(rapid.SliceOfN(item, 1, 3).Draw(t, "items"), ",")
}

func drawTimetable(t *rapid.T) *Timetable {
	spec := Spec{Timezone: rapid.SampledFrom(someZones).Draw(t, "zone")}
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		spec.Every = time.Duration(rapid.IntRange(60, 400_000).Draw(t, "every")) * time.Second
		spec.Anchor = drawInstant(t)
	} else {
		spec.Cron = strings.Join([]string{
			drawField(t, 0, 59), drawField(t, 0, 23),
			rapid.OneOf(rapid.Just("L"), rapid.Just("L-3"), rapid.Just("15W"), rapid.Just("LW"), rapid.Custom(func(t *rapid.T) string { return drawField(t, 1, 31) })).Draw(t, "day"),
			drawField(t, 1, 12),
			rapid.OneOf(rapid.Just("5#3"), rapid.Just("0#L,2"), rapid.Custom(func(t *rapid.T) string { return drawField(t, 0, 7) })).Draw(t, "weekday"),
		}, " ")
	}
	tt, err := Parse(spec)
	if err != nil {
		t.Skip("not sound")
	}
	return tt
}

func drawInstant(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(1_767_225_600, 4_102_444_800).Draw(t, "instant"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
}

func TestNextStrictlyIncreasesAndBetweenAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tt, from := drawTimetable(t), drawInstant(t)
		to := from.Add(time.Duration(rapid.Int64Range(0, 40*24*int64(time.Hour)).Draw(t, "width")))
		var want []time.Time
		for at := from; len(want) < 3000; {
			next := tt.Next(at)
			if next.IsZero() {
				break
			}
			if !next.After(at) || next.Nanosecond() != 0 || !tt.Next(next.Add(-time.Nanosecond)).Equal(next) {
				t.Fatalf("Next(%s) is %s", at, next)
			}
			if next.After(to) {
				break
			}
			want, at = append(want, next), next
		}
		if len(want) == 3000 {
			to = want[2999]
		}
		limit := rapid.IntRange(-1, 200).Draw(t, "limit")
		runs, more := tt.Between(from, to, limit)
		require.Equal(t, len(want), len(runs)+more)
		require.True(t, slices.Equal(want[:min(max(limit, 0), len(want))], runs))
		last := tt.Last(from, to)
		if len(want) == 0 {
			require.Zero(t, last)
		} else {
			require.Equal(t, want[len(want)-1], last)
		}
	})
}

func TestAFixedTimeRunsOnceOnEachDateThatExists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(someZones).Draw(t, "zone")
		tt, err := Parse(Spec{Timezone: zone, Cron: fmt.Sprintf("%d %d * * *", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour"))})
		require.NoError(t, err)
		at := time.Date(rapid.IntRange(2009, 2060).Draw(t, "year"), 1, 1, 0, 0, 0, 0, tt.zone).Add(-time.Second)
		date := at
		for range 365 {
			// Noon is never skipped, except with the whole date; time.Date then gives another one.
			for want := date.Day(); date.Day() == want; {
				date = time.Date(date.Year(), date.Month(), date.Day()+1, 12, 0, 0, 0, tt.zone)
			}
			at = tt.Next(at)
			// A time skipped at the end of a date runs on the first moment of the next.
			if at.Format(time.DateOnly) != date.Format(time.DateOnly) && at.Add(-time.Second).Format(time.DateOnly) != date.Format(time.DateOnly) {
				t.Fatalf("%s: expected a run on %s, not at %s", tt.Describe("en"), date.Format(time.DateOnly), at)
			}
		}
	})
}

func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{
		"*/5 * * * *", "0 0 L-3,15W,LW 2 5#5,1#L", "@daily", "70-5 * * * *", "0 22-2/3 25-5 NOV-FEB FRI-MON", "?,5/15 * * * *", "TZ=x", "\x00", "*/90 1 1 1 1",
		"0 0 30W 2 *", "* * * 2 5#5", "1,,2 * * * *", "0 0 * * 6-2/2", "L L L L L",
	} {
		f.Add(seed, "America/New_York", int64(0), int64(1_800_000_000))
		f.Add(seed, "Local", int64(time.Hour), int64(-1<<62))
	}
	f.Fuzz(func(t *testing.T, text, zone string, every, from int64) {
		for _, spec := range []Spec{{Cron: text, Timezone: zone}, {Cron: text}, {Every: time.Duration(every), Anchor: time.Unix(from, 0)}, {At: time.Unix(from, every)}} {
			tt, err := Parse(spec)
			if err != nil {
				require.IsType(t, &FieldError{}, err)
				if !strings.Contains(text+zone, "%") {
					require.NotContains(t, err.Error(), "%!", "a message that was not formatted")
				}
				continue
			}
			at := time.Unix(from, 0)
			for _, next := range tt.Preview(at, 3) {
				require.Less(t, at.Unix(), next.At.Unix())
				at = next.At
				require.NotContains(t, next.NoteText("zh")+next.NoteText("en"), "%!")
			}
			for _, lang := range []string{"en", "zh"} {
				said := tt.Describe(lang)
				require.NotEmpty(t, said)
				require.Less(t, len(said), 700)
				require.NotContains(t, said, "%!")
				require.NotContains(t, said, "\n")
			}
			_, more := tt.Between(time.Unix(from, 0), time.Unix(from, 0).AddDate(1, 0, 0), 2)
			require.LessOrEqual(t, more, CountLimit)
		}
	})
}
