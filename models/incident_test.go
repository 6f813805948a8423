package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnIncidentIsOpenUntilItIsResolved(t *testing.T) {
	l := newLedger(t)
	ctx := t.Context()
	update := func(id int64, state, text string) (i Incident, err error) {
		err = l.w.Write(func(tx *Tx) error { i, err = tx.UpdateIncident(id, state, text, ann); return err })
		return i, err
	}
	open := func(i Incident) Incident {
		require.NoError(t, l.w.Write(func(tx *Tx) (err error) { i, err = tx.OpenIncident(i, "first", ann); return err }))
		return i
	}
	now := At(time.Now())
	trouble := open(Incident{Kind: IncidentTrouble, Title: "slow", Severity: SeverityMinor, State: IncidentInvestigating, Affected: NewGroupNames([]string{"Mail"})})
	require.NotZero(t, trouble.BeginsAt)
	planned := open(Incident{Kind: IncidentMaintenance, Title: "new disk", State: IncidentPlanned, BeginsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour)})
	require.False(t, planned.HasBegun(now))

	all, err := l.OpenIncidents(ctx, now)
	require.NoError(t, err)
	require.Equal(t, []int64{trouble.ID, planned.ID}, []int64{all[0].ID, all[1].ID})
	require.Equal(t, []string{"Mail"}, all[0].Affected.Names())
	require.Empty(t, all[1].Affected.Names())
	require.Equal(t, "first", all[0].Updates[0].Text)

	_, err = update(trouble.ID, IncidentIdentified, "it is the network")
	require.NoError(t, err)
	resolved, err := update(trouble.ID, IncidentResolved, "")
	require.NoError(t, err)
	require.True(t, resolved.IsOver(At(time.Now())))
	all, err = l.OpenIncidents(ctx, At(time.Now()))
	require.NoError(t, err)
	require.Len(t, all, 1)
	past, err := l.PastIncidents(ctx, now.Add(-time.Hour), At(time.Now()).Add(time.Second), 5)
	require.NoError(t, err)
	require.Len(t, past, 1)
	require.Equal(t, []string{"", "it is the network", "first"}, []string{past[0].Updates[0].Text, past[0].Updates[1].Text, past[0].Updates[2].Text})

	again, err := update(trouble.ID, IncidentMonitoring, "it is back")
	require.NoError(t, err)
	require.Zero(t, again.EndsAt, "whatever is not resolved is open")
	after, err := l.PastIncidents(ctx, now, now.Add(3*time.Hour), 5)
	require.NoError(t, err)
	require.Equal(t, planned.ID, after[0].ID, "planned work ends by itself")

	cancelled, err := update(planned.ID, IncidentResolved, "not today")
	require.NoError(t, err)
	require.LessOrEqual(t, cancelled.BeginsAt, cancelled.EndsAt)
	var edited Incident
	require.NoError(t, l.w.Write(func(tx *Tx) (err error) {
		edited, err = tx.EditIncident(Incident{ID: planned.ID, Title: "newer disk", BeginsAt: now, EndsAt: now.Add(9 * time.Hour)}, ann)
		return err
	}))
	require.Equal(t, cancelled.EndsAt, edited.EndsAt, "what is over stays so")

	entries, err := l.AuditOf(ctx, "incident", "1", 10)
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"post", "resolve", "post", "create"}, actions)
	require.JSONEq(t, `{"state":"monitoring","ends":null,"text":"it is back"}`, entries[0].After, "no more than what has changed")
	require.JSONEq(t, `{"title":"slow","severity":"minor","state":"investigating","groups":"Mail","begins":"`+trouble.BeginsAt.Time().Format(time.RFC3339)+`","text":"first"}`, entries[3].After)

	_, err = update(99, IncidentResolved, "")
	require.ErrorIs(t, err, ErrNotFound)
	require.True(t, IsRefusal(err))
	_, err = l.Incident(ctx, 99)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestOpenIncidentsAndUpdatesAreBounded(t *testing.T) {
	l := newLedger(t)
	one := Incident{Kind: IncidentTrouble, Title: "x", Severity: SeverityMinor, State: IncidentInvestigating}
	require.NoError(t, l.w.Write(func(tx *Tx) error {
		for range MaxOpenIncidents {
			if _, err := tx.OpenIncident(one, "", ann); err != nil {
				return err
			}
		}
		_, err := tx.OpenIncident(one, "", ann)
		require.ErrorIs(t, err, ErrTooMany)
		require.True(t, IsRefusal(err))
		for range MaxIncidentUpdates - 1 {
			if _, err := tx.UpdateIncident(1, IncidentMonitoring, "x", ann); err != nil {
				return err
			}
		}
		_, err = tx.UpdateIncident(1, IncidentMonitoring, "x", ann)
		require.ErrorIs(t, err, ErrTooMany)
		return nil
	}))
}

func TestReadsOfTheStatusPageUseTheirIndex(t *testing.T) {
	l := newLedger(t)
	require.NoError(t, l.w.Write(func(tx *Tx) error {
		_, err := tx.OpenIncident(Incident{Kind: IncidentTrouble, Title: "x", State: IncidentInvestigating, Severity: SeverityMajor}, "", ann)
		return err
	}))
	statements := recordReads(t, l.Store)
	ctx := t.Context()
	for name, c := range map[string]struct {
		read    func() error
		indexes []string
	}{
		"open":    {func() error { _, err := l.OpenIncidents(ctx, 5); return err }, []string{"incidents_ends (ends_at=?)", "incidents_ends (ends_at>?)", "incident_updates_of (incident_id=?)"}},
		"past":    {func() error { _, err := l.PastIncidents(ctx, 5, 9, 3); return err }, []string{"incidents_ends (ends_at>? AND ends_at<?)"}},
		"one":     {func() error { _, err := l.Incident(ctx, 1); return err }, []string{"INTEGER PRIMARY KEY", "incident_updates_of (incident_id=?)"}},
		"days":    {func() error { _, err := l.DayStats(ctx, 5, 9); return err }, []string{"PRIMARY KEY (day>? AND day<?)"}},
		"minutes": {func() error { _, err := l.DayMinutes(ctx, 5, 9); return err }, []string{"PRIMARY KEY (minute>? AND minute<?)"}},
		"pauses":  {func() error { _, err := l.PausesAhead(ctx, 5, 9); return err }, []string{"schedules_paused_until (paused_until>?)"}},
	} {
		*statements = nil
		require.NoError(t, c.read(), name)
		requirePlan(t, l.Store, *statements, c.indexes...)
	}
}

func TestDaysAreStoredInPlaceOfThemselves(t *testing.T) {
	l := newLedger(t)
	id := l.add(1)[0]
	l.claim(id)
	l.finish(&Completion{ID: id, Type: "a", Attempt: 1, State: StateSuccess, Outcome: OutcomeSuccess, FinishedAt: At(time.Now())})
	minutes, err := l.DayMinutes(t.Context(), 0, At(time.Now())+1)
	require.NoError(t, err)
	require.NotEmpty(t, minutes)
	var done int64
	for _, m := range minutes {
		done += m.Succeeded
		require.Less(t, m.Waited, time.Minute)
	}
	require.EqualValues(t, 1, done)
	const day = Instant(24 * 3600e6)
	for _, rows := range [][]DayStat{
		{{Day: day, Type: "a", Succeeded: 1, CountedTo: day + 5}, {Day: 9 * day, Type: "a", Succeeded: 1, CountedTo: 9 * day}},
		{{Day: 9 * day, Type: "a", Succeeded: 3, Failed: 2, Slow: 4, CountedTo: 10 * day}},
	} {
		require.NoError(t, l.w.Write(func(tx *Tx) error { return tx.SaveDays(rows, 2*day) }))
	}
	days, err := l.DayStats(t.Context(), 0, 99*day)
	require.NoError(t, err)
	require.Equal(t, []DayStat{{Day: 9 * day, Type: "a", Succeeded: 3, Failed: 2, Slow: 4, CountedTo: 10 * day}}, days)
}
