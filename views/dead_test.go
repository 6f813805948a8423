package views

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
)

func someDead() Dead {
	hours := make([]int, 24)
	hours[3], hours[23] = 7, 1
	group := DeadGroup{
		ErrorGroup: models.ErrorGroup{Type: "mail.send", Fingerprint: "00112233445566aa", Kind: "error", Message: "no route to <ip> " + hostile, N: 11, FirstAt: noon - 3600e6, LastAt: noon},
		New:        true, Hours: hours, Known: 20, Recent: 8, AtLeast: true, Attempts: "attempt 4 of 4",
		Common: []CommonValue{{Path: "customer.id", Value: hostile, N: 9, Of: 11, URL: "/reax/tasks?param=customer.id%3D4417"}},
	}
	one := DeadGroup{ErrorGroup: models.ErrorGroup{Type: hostile, Fingerprint: "ffffffffffffffff", Kind: "permanent", N: 1, FirstAt: noon, LastAt: noon}, Grown: true, Hours: make([]int, 24), Known: 24, ForGood: true}
	return Dead{
		Tabs:   []Tab{{Text: "By error", URL: "/reax/dead", Current: true}, {Text: "By type", URL: "/reax/dead?view=types"}},
		Fields: []Field{{ID: "f-type", Name: "type", Kind: "text", Label: "Type", Value: hostile, List: "types"}}, Types: []string{"mail.send"},
		Filtered: true, Capped: 1000, Groups: 2, Tasks: 12, Rows: []DeadGroup{group, one}, Newest: "/reax/dead", Older: "/reax/dead?page=3", Back: "/reax/dead?page=2",
	}
}

func TestPagesOfDeadLettersAndBulkActions(t *testing.T) {
	chinese := func(v *Viewer) { v.Locale, v.NewDead = Chinese, true }
	rows := someTasks().Rows
	group := DeadDetail{DeadGroup: someDead().Rows[0], Rows: rows[:1], Query: "fingerprint=00112233445566aa&type=mail.send", Back: "/reax/dead/mail.send/00112233445566aa", Older: "/reax/dead/mail.send/00112233445566aa?cursor=MQ"}
	saved := group
	saved.Canary = &Canary{TaskRow: TaskRow{Task: models.Task{ID: 12, Type: "mail.send", State: models.StateSuccess}}}
	lost := group
	lost.N, lost.Rows = 0, nil
	lost.Canary = &Canary{TaskRow: TaskRow{Task: models.Task{ID: 12, Type: "mail.send", State: models.StateDead, Error: hostile, Failures: 4}}, SameError: true}
	ask := Bulk{
		BulkRun: models.BulkRun{ID: 7, Action: models.ActionDiscard, State: models.BulkPlanned, Matched: 300, PlannedAt: noon},
		Rows:    rows, Back: "/reax/tasks?state=dead", BackURL: "/reax/tasks?state=dead",
		Fields: []Field{{ID: "reason", Name: "reason", Kind: "textarea", Label: "Reason", Required: true, Error: "needed"}},
	}
	replace := Bulk{
		BulkRun: models.BulkRun{ID: 7, Action: models.ActionReplace, State: models.BulkPlanned, Matched: 2, PlannedAt: noon, Type: hostile},
		Patch:   hostile, Tried: []PatchTry{{ID: 3, Why: hostile}, {ID: 2, Params: hostile}}, Unfit: 1, BackURL: "/reax/dead",
	}
	run := Bulk{
		BulkRun: models.BulkRun{ID: 7, Action: models.ActionRetry, State: models.BulkRunning, Matched: 300, Done: 100, Skipped: 60, Actor: hostile, Reason: hostile,
			StartedAt: noon, SpreadUS: 900e6},
		BackURL: "/reax/tasks", Rows: rows[:1], Older: "/reax/bulk/7?cursor=MQ",
		Why: []BulkWhy{{Text: "it runs", N: 60}}, Listed: []BulkSkip{{ID: 3, Text: hostile}},
	}
	done := run
	done.State, done.Done, done.Skipped, done.Why, done.FinishedAt = models.BulkDone, 300, 0, nil, noon
	stopped := run
	stopped.State, stopped.StoppedBy, stopped.FinishedAt = models.BulkStopped, hostile, noon
	quiet := someDead()
	muted := quiet.Rows[1]
	muted.Quiet, muted.Grown = true, false
	muted.Mark = models.GroupMark{Name: hostile, Note: hostile, Link: "https://example.org/?q=" + hostile, Muted: true, MutedUntil: noon}
	quiet.Groups, quiet.Rows, quiet.Muted, quiet.MutedAll, quiet.Older = 1, quiet.Rows[:1], []DeadGroup{muted}, 3, ""
	named := group
	named.DeadGroup = muted
	named.Marks = []Field{{ID: "mark-name", Name: "name", Kind: "text", Label: "Name", Value: hostile, Error: "too long"}}
	edit := DeadEdit{DeadGroup: muted, Example: hostile, Fields: []Field{{ID: "patch", Name: "patch", Kind: "json", Label: "Changes", Value: hostile}}}
	for name, c := range map[string]struct {
		change func(*Viewer)
		page   templ.Component
	}{
		"page-dead":         {nil, DeadPage(someDead())},
		"page-dead-none":    {chinese, DeadPage(Dead{})},
		"page-dead-types":   {nil, DeadPage(Dead{ByType: &Matrix{Windows: []string{"last hour", "last 3 h"}, Rows: []MatrixRow{{Type: hostile, URL: "/reax/dead?type=x", Cells: []MatrixCell{{N: 0}, {N: 1234, URL: "/reax/tasks?state=failed%2Cdead"}}}}}})},
		"page-group":        {nil, DeadGroupPage(group)},
		"page-group-saved":  {nil, DeadGroupPage(saved)},
		"page-group-lost":   {chinese, DeadGroupPage(lost)},
		"page-dead-muted":   {nil, DeadPage(quiet)},
		"page-group-named":  {nil, DeadGroupPage(named)},
		"page-dead-edit":    {chinese, DeadEditPage(edit)},
		"page-bulk-ask":     {nil, BulkPage(ask)},
		"page-bulk-viewer":  {func(v *Viewer) { v.Role = models.RoleViewer }, BulkPage(ask)},
		"page-bulk-replace": {nil, BulkPage(replace)},
		"page-bulk-stopped": {nil, BulkPage(stopped)},
		"page-bulk-list":    {chinese, BulkListPage(BulkList{Rows: []models.BulkRun{run.BulkRun, stopped.BulkRun}, Older: "/reax/bulk?cursor=MQ"})},
		"page-bulk-empty":   {nil, BulkListPage(BulkList{})},
		"page-bulk-nothing": {chinese, BulkPage(Bulk{BulkRun: models.BulkRun{Action: models.ActionRetry, State: models.BulkPlanned}, BackURL: "/reax/tasks"})},
		"page-bulk-run":     {nil, BulkPage(run)},
		"page-bulk-done":    {chinese, BulkPage(done)},
		"page-bulk-gone":    {nil, BulkGonePage()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := render(viewer(t, c.change), t, c.page)
			requireTame(t, html)
			require.Equal(t, 1, strings.Count(html, "<h1"))
			golden(t, name, html)
		})
	}
}

func TestSmallBarsAreSeenHoweverSmallTheyAre(t *testing.T) {
	require.Empty(t, barsPath(nil))
	require.Empty(t, barsPath(make([]int, 24)))
	require.Equal(t, "M0 24v-23h4v23zM10 24v-2h4v2z", barsPath([]int{100000, 0, 1}))
}
