package actors

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func TestWhatIsWrongWithAnIncidentIsSaid(t *testing.T) {
	t.Parallel()
	f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
	ctx, by, now := t.Context(), Change{By: "ann"}, time.Now()
	trouble := NewIncident{Kind: models.IncidentTrouble, Title: "slow", Severity: models.SeverityMajor, State: models.IncidentInvestigating, Text: "two\nlines"}
	planned := NewIncident{Kind: models.IncidentMaintenance, Title: "disk", Begins: now.Add(time.Hour), Ends: now.Add(2 * time.Hour)}
	for name, c := range map[string]struct {
		of     NewIncident
		change func(*NewIncident)
	}{
		"/kind":             {trouble, func(n *NewIncident) { n.Kind = "party" }},
		"/title":            {trouble, func(n *NewIncident) { n.Title = " " }},
		"/title long":       {trouble, func(n *NewIncident) { n.Title = strings.Repeat("x", MaxIncidentTitleBytes+1) }},
		"/title control":    {trouble, func(n *NewIncident) { n.Title = "a\nb" }},
		"/severity":         {trouble, func(n *NewIncident) { n.Severity = "" }},
		"/state":            {trouble, func(n *NewIncident) { n.State = models.IncidentResolved }},
		"/begins":           {trouble, func(n *NewIncident) { n.Begins = now.Add(time.Hour) }},
		"/text":             {trouble, func(n *NewIncident) { n.Text = strings.Repeat("x", MaxIncidentTextBytes+1) }},
		"/text control":     {trouble, func(n *NewIncident) { n.Text = "a\x00b" }},
		"/groups":           {trouble, func(n *NewIncident) { n.Affected = []string{""} }},
		"/groups many":      {trouble, func(n *NewIncident) { n.Affected = make([]string, MaxIncidentGroups+1) }},
		"/ends":             {planned, func(n *NewIncident) { n.Ends = time.Time{} }},
		"/ends before":      {planned, func(n *NewIncident) { n.Ends = n.Begins }},
		"/ends over":        {planned, func(n *NewIncident) { n.Begins, n.Ends = now.Add(-time.Hour), now.Add(-time.Minute) }},
		"/ends far":         {planned, func(n *NewIncident) { n.Ends = now.Add(2 * maxPlannedAhead) }},
		"/begins far ahead": {planned, func(n *NewIncident) { n.Begins = now.Add(2 * maxPlannedAhead) }},
	} {
		n := c.of
		c.change(&n)
		_, err := f.OpenIncident(ctx, n, by)
		location, _, _ := strings.Cut(name, " ")
		require.Equal(t, location, locationOf(t, err), name)
	}
	made, err := f.OpenIncident(ctx, trouble, by)
	require.NoError(t, err)
	_, err = f.UpdateIncident(ctx, made.ID, models.IncidentPlanned, "x", by)
	require.Equal(t, "/state", locationOf(t, err))
	_, err = f.UpdateIncident(ctx, made.ID, models.IncidentInvestigating, "", by)
	require.Equal(t, "/text", locationOf(t, err), "an update says something")
	_, err = f.UpdateIncident(ctx, 99, models.IncidentResolved, "", by)
	require.ErrorIs(t, err, models.ErrNotFound)

	heard := make(chan []string, 20)
	defer f.Subscribe(func(topics []string) { heard <- topics })()
	done, err := f.UpdateIncident(ctx, made.ID, models.IncidentResolved, "", by)
	require.NoError(t, err)
	require.NotZero(t, done.EndsAt)
	for topics := range heard { // what changes at the same moment is told in one call
		if slices.Contains(topics, topicIncidents) {
			break
		}
	}
	edited, err := f.EditIncident(ctx, made.ID, NewIncident{Title: "slower", Severity: models.SeverityMinor, Affected: []string{"Mail"}}, by)
	require.NoError(t, err)
	require.Equal(t, []any{"slower", made.BeginsAt, done.EndsAt, models.IncidentResolved}, []any{edited.Title, edited.BeginsAt, edited.EndsAt, edited.State})

	plan, err := f.OpenIncident(ctx, planned, by)
	require.NoError(t, err)
	_, err = f.UpdateIncident(ctx, plan.ID, models.IncidentMonitoring, "x", by)
	require.Equal(t, "/state", locationOf(t, err))
	later, err := f.EditIncident(ctx, plan.ID, NewIncident{Title: "disk", Begins: planned.Begins, Ends: now.Add(3 * time.Hour)}, by)
	require.NoError(t, err)
	require.Equal(t, models.At(now.Add(3*time.Hour)), later.EndsAt)
}

func locationOf(t *testing.T, err error) string {
	t.Helper()
	bad, ok := errors.AsType[*tasks.InvalidError](err)
	require.True(t, ok, "%v", err)
	return bad.Fields[0].Location
}
