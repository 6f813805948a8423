package timetable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThePreviewMarksWhatTheClockMovesOrDoubles(t *testing.T) {
	t.Parallel()
	const zone = "America/New_York"
	anchor := time.Date(2027, 1, 1, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, from string
		spec       Spec
		want       []Occurrence // At is compared by its clock, below
		at         []string
	}{
		{
			name: "gap", from: "2027-03-13T03:00:00-05:00", spec: Spec{Cron: "30 2 * * *", Timezone: zone},
			want: []Occurrence{{Note: NoteGap, Wall: "2027-03-14 02:30"}, {Wall: "2027-03-15 02:30"}},
			at:   []string{"2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00"},
		},
		{
			name: "gap that meets another run", from: "2027-03-13T03:00:00-05:00", spec: Spec{Cron: "0 2-3 * * *", Timezone: zone},
			want: []Occurrence{{Note: NoteGap, Wall: "2027-03-14 02:00"}},
			at:   []string{"2027-03-14T03:00:00-04:00"},
		},
		{
			name: "repeated", from: "2026-11-01T00:00:00-04:00", spec: Spec{Cron: "30 1 * * *", Timezone: zone},
			want: []Occurrence{{Note: NoteRepeated, Wall: "2026-11-01 01:30"}, {Wall: "2026-11-02 01:30"}},
			at:   []string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		},
		{
			name: "doubled", from: "2026-11-01T00:30:00-04:00", spec: Spec{Cron: "0 * * * *", Timezone: zone},
			want: []Occurrence{{Wall: "2026-11-01 01:00"}, {Note: NoteDoubled, Wall: "2026-11-01 01:00"}, {Wall: "2026-11-01 02:00"}},
			at:   []string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"},
		},
		{
			name: "no note where a pattern just runs on", from: "2027-03-14T01:30:00-05:00", spec: Spec{Cron: "*/15 * * * *", Timezone: zone},
			want: []Occurrence{{Wall: "2027-03-14 01:45"}, {Wall: "2027-03-14 03:00"}},
			at:   []string{"2027-03-14T01:45:00-05:00", "2027-03-14T03:00:00-04:00"},
		},
		{
			name: "an interval moves on the clock", from: "2027-03-13T00:00:00Z", spec: Spec{Every: 24 * time.Hour, Anchor: anchor, Timezone: zone},
			want: []Occurrence{{Wall: "2027-03-13 09:00"}, {Note: NoteZoneChange, Wall: "2027-03-14 10:00"}, {Wall: "2027-03-15 10:00"}},
			at:   []string{"2027-03-13T09:00:00-05:00", "2027-03-14T10:00:00-04:00", "2027-03-15T10:00:00-04:00"},
		},
		{
			name: "nothing comes before an anchor", from: "2027-03-14T06:00:00Z",
			spec: Spec{Every: 24 * time.Hour, Anchor: anchor.AddDate(0, 0, 72), Timezone: zone},
			want: []Occurrence{{Wall: "2027-03-14 10:00"}},
			at:   []string{"2027-03-14T10:00:00-04:00"},
		},
		{
			name: "one-off", from: "2027-01-01T00:00:00Z", spec: Spec{At: anchor.Add(5 * time.Second), Timezone: zone},
			want: []Occurrence{{Wall: "2027-01-01 09:00:05"}},
			at:   []string{"2027-01-01T09:00:05-05:00"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := mustParse(t, c.spec).Preview(instant(t, c.from), len(c.want))
			require.Len(t, got, len(c.want))
			for i := range got {
				require.Equal(t, c.at[i], got[i].At.Format(time.RFC3339))
				got[i].At = time.Time{}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestAPreviewIsBounded(t *testing.T) {
	t.Parallel()
	tt := mustParse(t, Spec{Cron: "* * * * *"})
	require.Len(t, tt.Preview(time.Unix(0, 0), -5), 1)
	require.Len(t, tt.Preview(time.Unix(0, 0), 1<<40), MaxPreview)
}

func TestNotesAreSentencesInBothLanguages(t *testing.T) {
	t.Parallel()
	o := Occurrence{At: instant(t, "2027-03-14T03:00:00-04:00"), Wall: "2027-03-14 02:30"}
	for note, want := range map[string][2]string{
		NoteGap:        {"The clock goes forward and skips 02:30; the run is at 03:00, the first moment after the gap.", "时钟拨快，跳过了 02:30；改在跳过之后的第一刻 03:00 运行。"},
		NoteRepeated:   {"The clock goes back and shows 02:30 twice; the run is at the first.", "时钟拨慢，02:30 会出现两次；只在第一次运行。"},
		NoteDoubled:    {"The clock went back and shows 02:30 for the second time; a pattern for every hour runs both times.", "时钟已拨慢，这是第二次出现 02:30；每小时都运行的计划两次都会运行。"},
		NoteZoneChange: {"The clock was changed since the run before; an interval keeps real time, so that the time of day is now 02:30.", "自上次运行以来时钟有过调整；固定间隔按实际经过的时间计算，因此现在是 02:30。"},
		"":             {},
		"unheard of":   {},
	} {
		o.Note = note
		require.Equal(t, want[0], o.NoteText("en"))
		require.Equal(t, want[0], o.NoteText("fr"))
		require.Equal(t, want[1], o.NoteText("zh-CN"))
	}
}

func TestBetweenCountsWhatItDoesNotList(t *testing.T) {
	t.Parallel()
	from, to := instant(t, "2027-01-01T00:00:00Z"), instant(t, "2028-01-01T00:00:00Z")
	for _, c := range []struct {
		spec  Spec
		total int
	}{
		{Spec{Cron: "* * * * *"}, 365 * 1440},
		{Spec{Cron: "* * * * *", Timezone: "America/New_York"}, 365 * 1440},
		{Spec{Cron: "30 2 * * *", Timezone: "Europe/London"}, 365},
		{Spec{Every: time.Minute, Anchor: from}, 365 * 1440},
		{Spec{Every: time.Second}, CountLimit + 3},
		{Spec{At: to}, 1},
		{Spec{At: from}, 0},
		{Spec{At: to.Add(time.Second)}, 0},
	} {
		runs, more := mustParse(t, c.spec).Between(from, to, 3)
		require.Equal(t, c.total, len(runs)+more, "%+v", c.spec)
		require.Len(t, runs, min(3, c.total), "%+v", c.spec)
	}
	for _, s := range []Spec{{Cron: "* * * * *"}, {Every: time.Second}, {At: from}} {
		runs, more := mustParse(t, s).Between(to, from, 3)
		require.Empty(t, runs, "a window that ends before it starts")
		require.Zero(t, more)
		require.Zero(t, mustParse(t, s).Last(to, from))
	}
}

func TestLastIsTheLatestRunOfAWindow(t *testing.T) {
	t.Parallel()
	from, to := instant(t, "2027-01-01T00:00:30Z"), instant(t, "2028-01-01T00:00:00Z")
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Cron: "* * * * *"}, "2028-01-01T00:00:00Z"},
		{Spec{Cron: "0 9 13 3 *"}, "2027-03-13T09:00:00Z"},
		{Spec{Cron: "1 0 1 1 *"}, "2027-01-01T00:01:00Z"},
		{Spec{Every: 300 * 24 * time.Hour, Anchor: from}, "2027-10-28T00:00:30Z"},
	} {
		require.Equal(t, instant(t, c.want), mustParse(t, c.spec).Last(from, to), "%+v", c.spec)
	}
	require.Zero(t, mustParse(t, Spec{Cron: "0 0 1 1 *"}).Last(from, to.Add(-time.Second)))
}
