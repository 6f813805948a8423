package actors

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/models"
	"reax/tasks"
)

// glance is what a rule sees at one moment of a story.
type glance struct {
	after time.Duration
	sees  string // bad, near or good
	muted bool
	want  string // what is told; "-" is that what may have become an alert is forgotten
}

// told plays a story for one alert and gives what would be told.
func told(t require.TestingT, rule AlertRule, story []glance) {
	rule.Kind, rule.Name = models.AlertBacklog, "pile"
	now := models.At(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	var a models.Alert
	for i, l := range story {
		now = now.Add(l.after)
		var f *finding
		if l.sees != "good" {
			f = &finding{holds: l.sees == "bad"}
		}
		next, event, forget := nextAlert(&rule, a, f, now, l.muted)
		if event != "" {
			next.ToldAt, next.ToldTo = now, models.NewTypeNames([]string{"ops"})
		}
		if forget {
			event = "-"
		}
		require.Equal(t, l.want, event, "step %d of %v", i, story)
		if a = next; forget || a.EndedAt != 0 {
			a = models.Alert{}
		} else if a.Rule != "" {
			a.ID = 1
		}
	}
}

func TestAnAlertIsToldWhenItBeginsAndWhenItEnds(t *testing.T) {
	const s, m = time.Second, time.Minute
	begin, repeat, end := tasks.NoticeBegin, tasks.NoticeRepeat, tasks.NoticeEnd
	rule := func(wait, quiet, again time.Duration) AlertRule {
		return AlertRule{AlertSpec: models.AlertSpec{For: wait, ClearAfter: quiet, Repeat: again}}
	}
	for name, test := range map[string]struct {
		rule  AlertRule
		story []glance
	}{
		"once each":                     {rule(0, 0, 0), []glance{{0, "bad", false, ""}, {0, "bad", false, begin}, {s, "bad", false, ""}, {m, "bad", false, ""}, {s, "good", false, end}, {s, "good", false, ""}}},
		"only after it held for long":   {rule(5*m, 0, 0), []glance{{0, "bad", false, ""}, {4 * m, "bad", false, ""}, {m, "bad", false, begin}, {s, "good", false, end}}},
		"what passes soon is forgotten": {rule(5*m, 0, 0), []glance{{0, "bad", false, ""}, {4 * m, "good", false, "-"}, {s, "bad", false, ""}, {4 * m, "bad", false, ""}, {m, "bad", false, begin}}},
		"near the limit does not begin": {rule(5*m, 0, 0), []glance{{0, "near", false, ""}, {m, "bad", false, ""}, {m, "near", false, "-"}}},
		"near the limit does not end":   {rule(0, 0, 0), []glance{{0, "bad", false, ""}, {0, "bad", false, begin}, {m, "near", false, ""}, {m, "near", false, ""}, {m, "good", false, end}}},
		"a short relief does not end":   {rule(0, 5*m, 0), []glance{{0, "bad", false, ""}, {0, "bad", false, begin}, {m, "good", false, ""}, {4 * m, "bad", false, ""}, {m, "good", false, ""}, {4 * m, "good", false, ""}, {m, "good", false, end}}},
		"again only when asked for":     {rule(0, 0, 10*m), []glance{{0, "bad", false, ""}, {0, "bad", false, begin}, {9 * m, "bad", false, ""}, {m, "bad", false, repeat}, {9 * m, "bad", false, ""}, {m, "near", false, repeat}, {s, "good", false, end}}},
		"nothing while muted":           {rule(0, 0, m), []glance{{0, "bad", true, ""}, {0, "bad", true, ""}, {5 * m, "bad", true, ""}, {s, "good", true, ""}}},
		"told when the mute is over":    {rule(0, 0, 0), []glance{{0, "bad", true, ""}, {m, "bad", true, ""}, {m, "bad", false, begin}, {m, "good", false, end}}},
		"the end of what is known":      {rule(0, 0, m), []glance{{0, "bad", false, ""}, {0, "bad", false, begin}, {5 * m, "bad", true, ""}, {s, "good", true, end}}},
		"nobody hears of an end alone":  {rule(0, 0, 0), []glance{{0, "bad", true, ""}, {0, "bad", true, ""}, {m, "good", false, ""}, {m, "good", false, ""}}},
		"a clock that is set back":      {rule(5*m, 5*m, 0), []glance{{0, "bad", false, ""}, {-time.Hour, "bad", false, ""}, {65 * m, "bad", false, begin}, {-time.Hour, "good", false, ""}, {-m, "good", false, ""}, {6 * m, "good", false, end}}},
	} {
		t.Run(name, func(t *testing.T) { told(t, test.rule, test.story) })
	}
}

func TestBeginningsAndEndsTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(label string) time.Duration {
			return time.Duration(rapid.IntRange(0, 5).Draw(t, label)) * time.Minute
		}
		rule := AlertRule{Name: "r", AlertSpec: models.AlertSpec{Kind: models.AlertBacklog, For: span("for"), ClearAfter: span("clear")}}
		now := models.At(time.Unix(1_800_000_000, 0))
		var a models.Alert
		known := false
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(span("pause"))
			var f *finding
			if sees := rapid.IntRange(0, 2).Draw(t, "sees"); sees > 0 {
				f = &finding{holds: sees == 2}
			}
			next, event, forget := nextAlert(&rule, a, f, now, rapid.Bool().Draw(t, "muted"))
			switch event {
			case tasks.NoticeBegin:
				require.False(t, known)
				require.GreaterOrEqual(t, now.Sub(next.Since), rule.For)
				known, next.ToldAt = true, now
			case tasks.NoticeEnd:
				require.True(t, known)
				require.Nil(t, f)
				known = false
			case tasks.NoticeRepeat:
				t.Fatalf("it is not to be told again")
			}
			if next.EndedAt != 0 {
				require.False(t, known, "an end that was not told")
			}
			if a = next; forget || a.EndedAt != 0 {
				a = models.Alert{}
			} else if a.Rule != "" {
				a.ID = 1
			}
		}
	})
}

func TestARuleIsAboutTheTypesThatItNames(t *testing.T) {
	for _, test := range []struct {
		types string
		typ   string
		want  bool
	}{
		{"", "report", true}, {"report", "report", true}, {"report", "report.x", false}, {"report.*", "report.x", true},
		{"report.*", "report", false}, {"a b", "b", true}, {"*", "x", true},
		{"", tasks.NoticeType, false}, {"*", tasks.NoticeType, false}, {tasks.NoticeType, tasks.NoticeType, false},
	} {
		require.Equal(t, test.want, matches(&models.AlertSpec{Types: strings.Fields(test.types)}, test.typ), "%q %s", test.types, test.typ)
	}
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	for _, test := range []struct{ kind, text, want string }{
		{models.AlertSuccess, "90", "90%"}, {models.AlertSuccess, "95 %", "95%"}, {models.AlertWait, "10m", "10m"}, {models.AlertWait, "1h30m", "1h30m"},
		{models.AlertWait, "2d", "2d"}, {models.AlertBacklog, "1000", "1000"}, {models.AlertDisk, "5GiB", "5GiB"}, {models.AlertDisk, "1536 MiB", "1536MiB"},
		{models.AlertDisk, "5", "!"}, {models.AlertWait, "10", "!"}, {models.AlertBacklog, "-1", "!"}, {models.AlertDead, "1", "!"}, {models.AlertSuccess, "many", "!"},
		{models.AlertDisk, "999999999999999TiB", "!"},
	} {
		n, err := ParseAlertLimit(test.kind, test.text)
		got := FormatAlertLimit(test.kind, n)
		if err != nil {
			got = "!"
		}
		require.Equal(t, test.want, got, "%s %q", test.kind, test.text)
	}
}

func TestAFaultyRuleIsRefusedAndEachDefaultIsGood(t *testing.T) {
	receivers := []AlertReceiver{{Name: "ops"}}
	for _, kind := range models.AlertKinds {
		require.Empty(t, CheckAlertRule(AlertRule{Name: "r", AlertSpec: models.AlertSpec{Kind: kind, Receivers: []string{"ops"}}}.WithDefaults(), receivers), kind)
	}
	for name, change := range map[string]func(*AlertRule){
		"/name":        func(r *AlertRule) { r.Name = "a b" },
		"/kind":        func(r *AlertRule) { r.Kind = "mood" },
		"/types/1":     func(r *AlertRule) { r.Types = []string{"a.*", "*a"} },
		"/limit":       func(r *AlertRule) { r.Limit = 101 },
		"/clear":       func(r *AlertRule) { r.Clear = 89 },
		"/samples":     func(r *AlertRule) { r.Samples = -1 },
		"/for":         func(r *AlertRule) { r.For = 8 * 24 * time.Hour },
		"/clear_after": func(r *AlertRule) { r.ClearAfter = time.Millisecond },
		"/repeat":      func(r *AlertRule) { r.Repeat = time.Second },
		"/receivers/0": func(r *AlertRule) { r.Receivers = []string{"nobody"} },
	} {
		rule := AlertRule{Name: "r", AlertSpec: models.AlertSpec{Kind: models.AlertSuccess}}.WithDefaults()
		change(&rule)
		bad := CheckAlertRule(rule, receivers)
		require.Len(t, bad, 1, name)
		require.Equal(t, name, bad[0].Location)
	}
	window := AlertRule{Name: "r", AlertSpec: models.AlertSpec{Kind: models.AlertCrashes, Window: time.Second}}.WithDefaults()
	require.Equal(t, "/window", CheckAlertRule(window, nil)[0].Location)
}

func TestAStormIsFoldedAndWhatIsOpenStays(t *testing.T) {
	var found []finding
	for i := range 100 {
		found = append(found, finding{key: string(rune('a' + i)), holds: true, facts: models.AlertFacts{Count: 2}})
	}
	last := found[99].key
	folded := fold(found, map[string]*models.Alert{last: {}})
	require.Len(t, folded, alertKeys+1)
	require.Equal(t, last, folded[0].key)
	require.Equal(t, finding{key: alertKeyRest, holds: true, facts: models.AlertFacts{Count: 160}}, folded[alertKeys])
}
