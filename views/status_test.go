package views

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func someStatus() Status {
	days := make([]StatusDay, 6)
	for i := range days {
		days[i] = StatusDay{Date: "2025-12-2" + string(rune('7'+i%3)), Word: StatusOK, Good: 100, All: 100}
	}
	days[0] = StatusDay{Date: "2025-12-26", Word: StatusNone}
	days[2].Word, days[2].Good = StatusFailing, 40
	days[3].Word, days[3].Slow, days[3].Good = StatusSlow, 75, 99
	return Status{
		Title: "Team " + hostile, Word: StatusFailing, UpdatedAt: noon, Age: 90 * time.Second,
		Groups: []StatusGroup{
			{Name: "Reports " + hostile, Word: StatusFailing, Good: 899, All: 1000, Enough: true, Window: 15 * time.Minute, Usual: 20 * time.Second, Days: days, PausedUntil: noon.Add(time.Hour)},
			{Name: "Mail", Word: StatusOK, Good: 30, All: 30, Enough: true, Window: 15 * time.Minute, Usual: time.Millisecond},
			{Name: "Sync", Word: StatusSlow, Good: 3, All: 4, Window: time.Hour, Usual: time.Second, Oldest: 7 * time.Minute},
			{Name: "Text", Word: StatusPaused, Partly: true, Window: time.Hour},
			{Name: "Archive", Word: StatusPaused, Window: time.Hour},
		},
		Open: []models.Incident{{ID: 3, Kind: models.IncidentTrouble, Title: hostile, Severity: models.SeverityMajor, State: models.IncidentIdentified, BeginsAt: noon,
			Affected: models.NewGroupNames([]string{"Mail", hostile}), CreatedBy: "SECRET-PERSON",
			Updates: []models.IncidentUpdate{{At: noon, State: models.IncidentIdentified, Text: "It is **" + hostile + "**", Actor: "SECRET-PERSON"}}}},
		Planned: []models.Incident{{ID: 4, Kind: models.IncidentMaintenance, Title: "New disk", State: models.IncidentPlanned, BeginsAt: noon.Add(24 * time.Hour), EndsAt: noon.Add(25 * time.Hour)}},
		Past:    []models.Incident{{ID: 1, Kind: models.IncidentTrouble, Title: "Gone", Severity: models.SeverityMinor, State: models.IncidentResolved, BeginsAt: noon.Add(-72 * time.Hour), EndsAt: noon.Add(-71 * time.Hour)}},

		Languages: []StatusLanguage{{English, "/reax/status?lang=en"}, {Chinese, "/reax/status?lang=zh-CN"}},
	}
}

func TestStatusPages(t *testing.T) {
	chinese := func(v *Viewer) { v.Locale, v.Theme = Chinese, "dark" }
	whole, embedded, compact, fresh := someStatus(), someStatus(), someStatus(), Status{Word: StatusOK, UpdatedAt: noon, Groups: []StatusGroup{{Word: StatusOK, Window: time.Minute}}}
	embedded.Embedded, embedded.Languages = true, nil
	compact.Embedded, compact.Compact, compact.Languages = true, true, nil
	for name, html := range map[string]string{
		"status-page":     render(viewer(t, nil), t, StatusPage(whole)),
		"status-page-zh":  render(viewer(t, chinese), t, StatusPage(whole)),
		"status-embed":    render(viewer(t, nil), t, StatusPage(embedded)),
		"status-compact":  render(viewer(t, chinese), t, StatusPage(compact)),
		"status-fresh":    render(viewer(t, nil), t, StatusPage(fresh)),
		"status-badge":    render(viewer(t, nil), t, StatusBadge(Badge{Label: hostile, Word: StatusSlow, Text: "Slow"})),
		"status-badge-zh": render(viewer(t, nil), t, StatusBadge(Badge{Label: strings.Repeat("状", 60), Word: StatusOK, Text: "正常"})),
	} {
		require.NotContains(t, html, "<img", name)
		require.NotContains(t, html, "SECRET-PERSON", name)
		golden(t, name, html)
	}
}

func TestIncidentPages(t *testing.T) {
	s := someStatus()
	form := IncidentForm{ID: "new-incident", Kind: models.IncidentTrouble, Fields: []Field{{ID: "a", Name: "title", Kind: "text", Label: "Title", Error: hostile}}, Groups: []GroupChoice{{hostile, true}, {"Mail", false}}, Open: true}
	plan := IncidentForm{ID: "new-maintenance", Kind: models.IncidentMaintenance}
	golden(t, "page-incidents", render(viewer(t, nil), t, IncidentsPage(Incidents{Open: append(s.Open, s.Planned...), Past: s.Past, Trouble: form, Planned: plan, Public: "/reax/status"})))
	golden(t, "page-incidents-off", render(viewer(t, func(v *Viewer) { v.Locale = Chinese }), t, IncidentsPage(Incidents{Trouble: form, Planned: plan})))
	golden(t, "page-incident", render(viewer(t, nil), t, IncidentDetailPage(IncidentPage{Incident: s.Open[0], Update: plan, Edit: form})))
}

func TestTheTextOfAnOperatorIsTame(t *testing.T) {
	for source, want := range map[string]string{
		"a **b** `c`":                                         "<p>a <strong>b</strong> <code>c</code></p>",
		"# One\n\n###### Six":                                 "<h4>One</h4>\n<h6>Six</h6>",
		"<script>alert(1)</script> <b>x</b>":                  "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;x&lt;/b&gt;</p>",
		"<img src=x onerror=alert(1)>":                        "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
		"[a](javascript:alert(1)) b":                          "<p>a b</p>",
		"[a](JaVaScRiPt:alert(1))":                            "<p>a</p>",
		"[a](data:text/html,x)":                               "<p>a</p>",
		"[a](//evil.example/)":                                "<p>a</p>",
		"[a](/tasks)":                                         "<p>a</p>",
		"[a][b]\n\n[b]: javascript:alert(1)":                  "<p>a</p>",
		"<javascript:alert(1)>":                               "<p>javascript:alert(1)</p>",
		"<mailto:a@b.example>":                                "<p>mailto:a@b.example</p>",
		"<a@b.example>":                                       "<p>a@b.example</p>",
		"![pic *x*](https://evil.example/p.png)":              "<p>pic <em>x</em></p>",
		"[![p](https://e.example/p.png)](https://a.example/)": `<p><a href="https://a.example/" rel="noopener noreferrer nofollow" target="_blank">p</a></p>`,
		`[a](https://a.example/?x=1&y="2")`:                   `<p><a href="https://a.example/?x=1&amp;y=%222%22" rel="noopener noreferrer nofollow" target="_blank">a</a></p>`,
		"<https://a.example/>":                                `<p><a href="https://a.example/" rel="noopener noreferrer nofollow" target="_blank">https://a.example/</a></p>`,
	} {
		require.Equal(t, want, strings.TrimSpace(render(viewer(t, nil), t, Markdown(source))), source)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"a [b](c) <d>", "![a](b)[c][d]\n\n[d]: e", "- a\n  > b\n```c", "<javascript:x>", "[a](https://b)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		html := render(viewer(t, nil), t, Markdown(source))
		for _, bad := range []string{"<script", "<img", "<iframe", "<style", "<svg", "<!--", "href=\"j", "href=\"J", "href=\"d", "href=\"/", "onerror=\""} {
			require.NotContains(t, html, bad, source)
		}
	})
}

func TestAShareIsNeverSaidToBeMoreThanItIs(t *testing.T) {
	require.Equal(t, []string{"100", "99.9", "0", "", "66.6"},
		[]string{SharePercent(5, 5), SharePercent(999_999, 1_000_000), SharePercent(0, 3), SharePercent(0, 0), SharePercent(2, 3)})
}

func TestEveryWordOfTheStatusIsSaidInBothLanguages(t *testing.T) {
	for _, l := range Locales {
		for _, w := range StatusWords {
			require.NotContains(t, w.Text(l), "status.", w)
			require.NotContains(t, w.Sentence(l), "status.", w)
			require.NotEmpty(t, badgeColours[w.tone()], w)
		}
	}
}
