package timetable

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustParse(t testing.TB, s Spec) *Timetable {
	t.Helper()
	tt, err := Parse(s)
	require.NoError(t, err, "%+v", s)
	return tt
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at
}

// upcoming writes the next n runs with their offsets.
func upcoming(tt *Timetable, from time.Time, n int) (list []string) {
	for range n {
		from = tt.Next(from)
		if from.IsZero() {
			break
		}
		list = append(list, from.Format("2006-01-02 15:04 -07:00"))
	}
	return list
}

func TestPatternsRunAsTheClockChanges(t *testing.T) {
	t.Parallel()
	const newYork, london, berlin = "America/New_York", "Europe/London", "Europe/Berlin"
	for _, c := range []struct{ name, cron, zone, from, want string }{
		{"a time in the gap runs at its end", "30 2 * * *", newYork, "2027-03-13T03:00:00-05:00",
			"2027-03-14 03:00 -04:00, 2027-03-15 02:30 -04:00"},
		{"a time in the gap, London", "30 1 * * *", london, "2027-03-27T02:00:00Z",
			"2027-03-28 02:00 +01:00, 2027-03-29 01:30 +01:00"},
		{"a time in the gap, Berlin", "30 2 * * *", berlin, "2027-03-27T12:00:00Z",
			"2027-03-28 03:00 +02:00, 2027-03-29 02:30 +02:00"},
		{"all times of one gap are one run", "*/30 2 * * *", newYork, "2027-03-13T03:00:00-05:00",
			"2027-03-14 03:00 -04:00, 2027-03-15 02:00 -04:00, 2027-03-15 02:30 -04:00"},
		{"the run after the gap may be one that is due anyway", "0 2-3 * * *", newYork, "2027-03-13T23:00:00-05:00",
			"2027-03-14 03:00 -04:00, 2027-03-15 02:00 -04:00, 2027-03-15 03:00 -04:00"},
		{"hours of a step are times of day, gap", "0 */2 * * *", newYork, "2027-03-13T23:00:00-05:00",
			"2027-03-14 00:00 -05:00, 2027-03-14 03:00 -04:00, 2027-03-14 04:00 -04:00"},
		{"hours of a step are times of day, overlap", "0 */2 * * *", newYork, "2027-11-06T23:00:00-04:00",
			"2027-11-07 00:00 -04:00, 2027-11-07 02:00 -05:00, 2027-11-07 04:00 -05:00"},
		{"every hour runs on through the gap", "0 * * * *", newYork, "2027-03-14T00:30:00-05:00",
			"2027-03-14 01:00 -05:00, 2027-03-14 03:00 -04:00, 2027-03-14 04:00 -04:00"},
		{"every quarter runs on through the gap", "*/15 * * * *", newYork, "2027-03-14T01:30:00-05:00",
			"2027-03-14 01:45 -05:00, 2027-03-14 03:00 -04:00, 2027-03-14 03:15 -04:00"},
		{"a repeated time runs at the first", "30 1 * * *", newYork, "2026-11-01T00:00:00-04:00",
			"2026-11-01 01:30 -04:00, 2026-11-02 01:30 -05:00"},
		{"a repeated time, London", "30 1 * * *", london, "2027-10-30T12:00:00Z",
			"2027-10-31 01:30 +01:00, 2027-11-01 01:30 +00:00"},
		{"a repeated time, Berlin", "30 2 * * *", berlin, "2026-10-24T12:00:00Z",
			"2026-10-25 02:30 +02:00, 2026-10-26 02:30 +01:00"},
		{"quarters of one repeated hour run at the first", "*/15 1 * * *", london, "2027-10-30T12:00:00Z",
			"2027-10-31 01:00 +01:00, 2027-10-31 01:15 +01:00, 2027-10-31 01:30 +01:00, 2027-10-31 01:45 +01:00, 2027-11-01 01:00 +00:00"},
		{"a list of hours over the repeated one", "30 1,2,3 * * *", newYork, "2027-11-06T12:00:00-04:00",
			"2027-11-07 01:30 -04:00, 2027-11-07 02:30 -05:00, 2027-11-07 03:30 -05:00, 2027-11-08 01:30 -05:00"},
		{"a list of hours over the gap", "30 1,2,3 * * *", newYork, "2027-03-13T12:00:00-05:00",
			"2027-03-14 01:30 -05:00, 2027-03-14 03:00 -04:00, 2027-03-14 03:30 -04:00, 2027-03-15 01:30 -04:00"},
		{"every hour runs in both repeated hours", "0 * * * *", newYork, "2027-11-07T00:30:00-04:00",
			"2027-11-07 01:00 -04:00, 2027-11-07 01:00 -05:00, 2027-11-07 02:00 -05:00"},
		{"all hours written out are every hour", "0 0-23 * * *", newYork, "2027-11-07T00:30:00-04:00",
			"2027-11-07 01:00 -04:00, 2027-11-07 01:00 -05:00"},
		{"every half hour runs on", "*/30 * * * *", newYork, "2027-11-07T01:15:00-04:00",
			"2027-11-07 01:30 -04:00, 2027-11-07 01:00 -05:00, 2027-11-07 01:30 -05:00"},
		{"three times a day are not touched", "0 */8 * * *", newYork, "2027-11-06T23:00:00-04:00",
			"2027-11-07 00:00 -04:00, 2027-11-07 08:00 -05:00, 2027-11-07 16:00 -05:00"},
		{"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			"2026-10-04 02:30 +11:00, 2026-10-05 02:15 +11:00"},
		{"half an hour that repeats", "45 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00:00+11:00",
			"2027-04-04 01:45 +11:00, 2027-04-05 01:45 +10:30"},
		{"no hour loses its run to a gap of half an hour", "0 * * * *", "Australia/Lord_Howe", "2026-10-04T00:30:00+10:30",
			"2026-10-04 01:00 +10:30, 2026-10-04 02:30 +11:00, 2026-10-04 03:00 +11:00"},
		{"every ten minutes run on through half an hour", "*/10 * * * *", "Australia/Lord_Howe", "2026-10-04T01:40:00+10:30",
			"2026-10-04 01:50 +10:30, 2026-10-04 02:30 +11:00, 2026-10-04 02:40 +11:00"},
		{"a midnight that does not exist, Cairo", "0 0 * * *", "Africa/Cairo", "2027-04-29T12:00:00+02:00",
			"2027-04-30 01:00 +03:00, 2027-05-01 00:00 +03:00"},
		{"a midnight that does not exist, Santiago, on its weekday", "0 0 * * 0", "America/Santiago", "2027-09-01T12:00:00-04:00",
			"2027-09-05 01:00 -03:00, 2027-09-12 00:00 -03:00"},
		{"a late evening that repeats", "30 23 * * *", "America/Santiago", "2027-04-03T12:00:00-03:00",
			"2027-04-03 23:30 -03:00, 2027-04-04 23:30 -04:00"},
		{"midnight after a late evening that repeats", "0 0 * * *", "America/Santiago", "2027-04-03T12:00:00-03:00",
			"2027-04-04 00:00 -04:00, 2027-04-05 00:00 -04:00"},
		{"a date that a zone leaves out", "0 9 * * *", "Pacific/Apia", "2011-12-28T12:00:00-10:00",
			"2011-12-29 09:00 -10:00, 2011-12-31 09:00 +14:00"},
		{"every hour over a date left out", "0 * * * *", "Pacific/Apia", "2011-12-29T22:30:00-10:00",
			"2011-12-29 23:00 -10:00, 2011-12-31 00:00 +14:00"},
		{"a change of the base offset", "0 0 * * *", "Asia/Pyongyang", "2018-05-04T12:00:00+08:30",
			"2018-05-05 00:00 +09:00, 2018-05-06 00:00 +09:00"},
		{"a gap up to midnight", "45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00:00+08:30",
			"2018-05-05 00:00 +09:00, 2018-05-05 23:45 +09:00"},
		{"no change at all", "0 9 * * 1-5", "Asia/Shanghai", "2027-01-01T10:00:00+08:00",
			"2027-01-04 09:00 +08:00, 2027-01-05 09:00 +08:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := strings.Split(c.want, ", ")
			require.Equal(t, want, upcoming(mustParse(t, Spec{Cron: c.cron, Timezone: c.zone}), instant(t, c.from), len(want)))
		})
	}
}

func TestEveryQuarterHasEightRunsInTheRepeatedHour(t *testing.T) {
	t.Parallel()
	tt := mustParse(t, Spec{Cron: "*/15 * * * *", Timezone: "America/New_York"})
	runs, more := tt.Between(instant(t, "2026-11-01T00:59:00-04:00"), instant(t, "2026-11-01T01:59:00-05:00"), 100)
	require.Zero(t, more)
	require.Len(t, runs, 8)
	for i := 1; i < len(runs); i++ {
		require.Equal(t, 15*time.Minute, runs[i].Sub(runs[i-1]))
	}
}

func TestPatternsMeanWhatCronMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, cron, from, want string }{
		{"7 is Sunday", "0 0 * * 7", "2027-01-01", "2027-01-03, 2027-01-10"},
		{"0 is Sunday", "0 0 * * 0", "2027-01-01", "2027-01-03, 2027-01-10"},
		{"SUN is Sunday", "0 0 * * SUN", "2027-01-01", "2027-01-03, 2027-01-10"},
		{"5-7 is Friday to Sunday", "0 0 * * 5-7", "2027-01-03", "2027-01-08, 2027-01-09, 2027-01-10, 2027-01-15"},
		{"a range passes Sunday", "0 0 * * FRI-MON", "2027-01-07", "2027-01-08, 2027-01-09, 2027-01-10, 2027-01-11, 2027-01-15"},
		{"a range passes December", "0 0 1 nov-FEB *", "2027-01-05", "2027-02-01, 2027-11-01, 2027-12-01, 2028-01-01"},
		{"day of month or weekday", "0 0 13 * 5", "2027-01-01", "2027-01-08, 2027-01-13, 2027-01-15"},
		{"a step restricts, so or", "0 0 */10 * 1", "2027-01-01", "2027-01-04, 2027-01-11, 2027-01-18, 2027-01-21, 2027-01-25, 2027-01-31"},
		{"a star beside a value does not restrict", "0 0 *,13 * 5", "2027-01-01", "2027-01-08, 2027-01-15"},
		{"29 February", "0 0 29 2 *", "2027-01-01", "2028-02-29, 2032-02-29"},
		{"29 February around 2100", "0 0 29 2 *", "2096-03-01", "2104-02-29, 2108-02-29"},
		{"a fifth Friday in February around 2100", "0 0 * 2 5#5", "2065-01-01", "2092-02-29, 2104-02-29, 2132-02-29"},
		{"a fifth Monday in February, the rarest date", "0 0 * 2 1#5", "2072-03-01", "2112-02-29"},
		{"the last day", "0 0 L 2 *", "2027-01-01", "2027-02-28, 2028-02-29"},
		{"three days before the last", "0 0 L-3 2 *", "2027-01-01", "2027-02-25, 2028-02-26"},
		{"the last working day", "0 0 LW 1 *", "2027-01-01", "2027-01-29, 2028-01-31"},
		{"the working day nearest, not over the month's edge", "0 0 1W * *", "2027-04-15", "2027-05-03, 2027-06-01, 2027-07-01, 2027-08-02"},
		{"the third Friday", "0 0 * * 5#3", "2027-01-01", "2027-01-15, 2027-02-19"},
		{"the last Friday", "0 0 * * FRI#L", "2027-01-01", "2027-01-29, 2027-02-26"},
		{"@yearly", "@yearly", "2027-01-01", "2028-01-01"},
		{"@annually", "@annually", "2027-01-01", "2028-01-01"},
		{"@monthly", "@Monthly", "2027-01-01", "2027-02-01"},
		{"@weekly", "@weekly", "2027-01-01", "2027-01-03"},
		{"@daily", " @daily ", "2027-01-01", "2027-01-02"},
		{"@midnight", "@midnight", "2027-01-01", "2027-01-02"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.DateOnly, c.from)
			require.NoError(t, err)
			want := strings.Split(c.want, ", ")
			for i := range want {
				want[i] += " 00:00 +00:00"
			}
			require.Equal(t, want, upcoming(mustParse(t, Spec{Cron: c.cron}), from, len(want)))
		})
	}
}

func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"*/45 * * * *":      "00:00 00:45 01:00",
		"*/7 23 * * *":      "23:00 23:07 23:14 23:21 23:28 23:35 23:42 23:49 23:56 23:00",
		"5/20 4 * * *":      "04:05 04:25 04:45 04:05",
		"0-30/10 4 * * *":   "04:00 04:10 04:20 04:30 04:00",
		"0 22-2 * * *":      "00:00 01:00 02:00 22:00 23:00 00:00",
		"58-1 3 * * *":      "03:00 03:01 03:58 03:59 03:00",
		"0,30 9-17/4 * * *": "09:00 09:30 13:00 13:30 17:00 17:30 09:00",
		"@hourly":           "00:00 01:00",
		"? 0 ? ? ?":         "00:00 00:01",
	} {
		tt := mustParse(t, Spec{Cron: cron})
		at, got := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), []string(nil)
		for range len(strings.Fields(want)) {
			at = tt.Next(at)
			got = append(got, at.Format("15:04"))
		}
		require.Equal(t, want, strings.Join(got, " "), cron)
	}
}

func TestThe13thOrFridayHas64RunsIn2027(t *testing.T) {
	t.Parallel()
	runs, more := mustParse(t, Spec{Cron: "0 9 13 * 5"}).Between(instant(t, "2026-12-31T23:59:59Z"), instant(t, "2027-12-31T23:59:59Z"), 10)
	require.Equal(t, 64, len(runs)+more)
}

func TestNextIsAWholeSecondStrictlyLater(t *testing.T) {
	t.Parallel()
	at := instant(t, "2027-01-01T12:00:00Z")
	for _, s := range []Spec{{Cron: "0 12 * * *"}, {Every: 24 * time.Hour, Anchor: at}, {At: at.Add(time.Millisecond)}} {
		tt := mustParse(t, s)
		require.Equal(t, at, tt.Next(at.Add(-time.Nanosecond)), "%+v", s)
		require.Equal(t, at, tt.Next(at.Add(-time.Second)), "%+v", s)
		require.NotEqual(t, at, tt.Next(at), "%+v", s)
		require.NotEqual(t, at, tt.Next(at.Add(time.Nanosecond)), "%+v", s)
	}
}

func TestAnIntervalKeepsRealTimeFromItsAnchor(t *testing.T) {
	t.Parallel()
	anchor := instant(t, "2027-03-12T09:00:00-05:00")
	tt := mustParse(t, Spec{Every: 24 * time.Hour, Timezone: "America/New_York", Anchor: anchor})
	require.Equal(t, []string{"2027-03-13 09:00 -05:00", "2027-03-14 10:00 -04:00", "2027-03-15 10:00 -04:00"}, upcoming(tt, anchor, 3))
	require.Equal(t, []string{"2027-03-12 09:00 -05:00"}, upcoming(tt, anchor.AddDate(-1, 0, 0), 1), "the anchor is the first run")

	tt = mustParse(t, Spec{Every: 90 * time.Minute, Anchor: anchor})
	require.Equal(t, anchor.Add(1_000_000*90*time.Minute).UTC(), tt.Next(anchor.Add(1_000_000*90*time.Minute-time.Second)),
		"no error adds up")
}

func TestAOneOffRunsOnce(t *testing.T) {
	t.Parallel()
	at := instant(t, "2027-11-07T01:30:00-05:00") // the second 01:30 of that day
	tt := mustParse(t, Spec{At: at, Timezone: "America/New_York"})
	require.Equal(t, []string{"2027-11-07 01:30 -05:00"}, upcoming(tt, at.AddDate(-3, 0, 0), 2))
	require.Zero(t, tt.Next(at))
}

func TestEndlessYearsEnd(t *testing.T) {
	t.Parallel()
	far := time.Unix(1<<60, 0)
	for _, s := range []Spec{{Cron: "* * * * *", Timezone: "America/New_York"}, {Every: time.Second}, {At: instant(t, "2027-01-01T00:00:00Z")}} {
		tt := mustParse(t, s)
		require.Zero(t, tt.Next(far), "%+v", s)
		require.False(t, tt.Next(time.Time{}).IsZero(), "%+v", s)
		require.False(t, tt.Next(time.Unix(-1<<60, 0)).IsZero(), "%+v", s)
		require.Empty(t, tt.Preview(far, 5), "%+v", s)
	}
}
