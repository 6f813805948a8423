package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

func TestAGroupIsAsItsTypesAre(t *testing.T) {
	now := time.Date(2026, 5, 5, 12, 0, 30, 0, time.UTC)
	ran := func(typ string, ago time.Duration, good, bad int64) models.MinuteStat {
		m := models.MinuteStat{Minute: models.At(now.Add(-ago).Truncate(time.Minute)), Type: typ, Succeeded: good, Retried: bad}
		for range good + bad {
			m.WaitHist.Add(10 * time.Millisecond)
		}
		return m
	}
	paused := actors.PoolStatus{Paused: true, PausedBy: "ann"}
	for name, c := range map[string]struct {
		types   []statusType
		minutes []models.MinuteStat
		want    views.StatusGroup
	}{
		"nothing ran":                 {want: views.StatusGroup{Word: views.StatusOK}},
		"all is well":                 {minutes: []models.MinuteStat{ran("a", time.Minute, 19, 1), ran("b", time.Minute, 1, 0)}, want: views.StatusGroup{Word: views.StatusOK, Good: 20, All: 21, Enough: true}},
		"just enough succeeds":        {minutes: []models.MinuteStat{ran("a", time.Minute, 18, 2)}, want: views.StatusGroup{Word: views.StatusOK, Good: 18, All: 20, Enough: true}},
		"too much fails":              {minutes: []models.MinuteStat{ran("a", time.Minute, 17, 3)}, want: views.StatusGroup{Word: views.StatusFailing, Good: 17, All: 20, Enough: true}},
		"too little to say":           {minutes: []models.MinuteStat{ran("a", time.Minute, 0, 19)}, want: views.StatusGroup{Word: views.StatusOK, All: 19}},
		"what failed long ago":        {minutes: []models.MinuteStat{ran("a", time.Hour, 0, 99)}, want: views.StatusGroup{Word: views.StatusOK}},
		"what others do":              {minutes: []models.MinuteStat{ran("other", time.Minute, 0, 99)}, want: views.StatusGroup{Word: views.StatusOK}},
		"one waits too long":          {types: []statusType{{name: "a", oldest: 6 * time.Minute}, {name: "b"}}, want: views.StatusGroup{Word: views.StatusSlow, Oldest: 6 * time.Minute}},
		"one waits":                   {types: []statusType{{name: "a", oldest: 5 * time.Minute}}, want: views.StatusGroup{Word: views.StatusOK, Oldest: 5 * time.Minute}},
		"another waits":               {types: []statusType{{name: "other", oldest: time.Hour}}, want: views.StatusGroup{Word: views.StatusOK}},
		"all of it is paused":         {types: []statusType{{name: "a", pool: paused, oldest: time.Hour}}, want: views.StatusGroup{Word: views.StatusPaused}},
		"a part is paused":            {types: []statusType{{name: "a", pool: paused}, {name: "b"}}, want: views.StatusGroup{Word: views.StatusPaused, Partly: true}},
		"its handlers hang":           {types: []statusType{{name: "a", pool: actors.PoolStatus{Paused: true}}}, want: views.StatusGroup{Word: views.StatusFailing}},
		"what fails is said of first": {types: []statusType{{name: "a", pool: paused}}, minutes: []models.MinuteStat{ran("a", time.Minute, 0, 20)}, want: views.StatusGroup{Word: views.StatusFailing, All: 20, Enough: true}},
	} {
		g := withStatusDefaults([]StatusGroup{{Name: "g", Types: []string{"a", "b*"}}})[0]
		var got views.StatusGroup
		g.fillNow(&got, c.types, c.minutes, now)
		if got.All > 0 {
			require.Positive(t, got.Usual, name)
			got.Usual = 0
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestMessagesAboutAlertsAreInNoGroupThatDoesNotNameThem(t *testing.T) {
	for pattern, want := range map[string]bool{"*": false, "reax*": false, tasks.NoticeType: true} {
		g := StatusGroup{Types: []string{pattern}}
		require.Equal(t, want, g.Holds(tasks.NoticeType), pattern)
		require.Equal(t, pattern == "*", g.Holds("mail"), pattern)
	}
}

func TestDaysAreBarsAlsoWhenNothingRan(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	now := time.Date(2026, 5, 5, 1, 0, 0, 0, time.UTC)
	day := func(n int) models.Instant { return models.At(actors.DayStart(now, zone, n)) }
	g := withStatusDefaults([]StatusGroup{{Name: "g", Types: []string{"a", "b"}}})[0]
	bars := g.days([]models.DayStat{
		{Day: day(0), Type: "a", Succeeded: 9, Failed: 1}, {Day: day(0), Type: "b", Succeeded: 90, Slow: 3}, {Day: day(0), Type: "c", Failed: 500},
		{Day: day(-1), Type: "a", Succeeded: 5, Failed: 5},
		{Day: day(-2), Type: "a", Succeeded: 5, Slow: slowDay},
		{Day: day(-3) + 1, Type: "a", Succeeded: 5}, // of another zone
		{Day: day(-89), Type: "a", Succeeded: 1},
	}, zone, now)
	require.Len(t, bars, 90)
	require.Equal(t, views.StatusDay{Date: "2026-05-05", Word: views.StatusOK, Good: 99, All: 100, Slow: 3}, bars[89])
	require.Equal(t, []views.StatusWord{views.StatusNone, views.StatusSlow, views.StatusFailing}, []views.StatusWord{bars[86].Word, bars[87].Word, bars[88].Word})
	require.Equal(t, views.StatusDay{Date: "2026-02-05", Word: views.StatusOK, Good: 1, All: 1}, bars[0])
}
