package views

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

func aPlan() PlanRow {
	shanghai, _ := time.LoadLocation("Asia/Shanghai")
	past := func(outcome string, state models.State, change func(*models.Occurrence)) PastRun {
		o := models.Occurrence{At: noon, Outcome: outcome, CreatedAt: noon.Add(2 * time.Minute)}
		if change != nil {
			change(&o)
		}
		return PastRun{Occurrence: o, State: state}
	}
	return PlanRow{
		Schedule: models.Schedule{
			Name: "team/nightly", Task: "mail.send", Cron: "30 2 * * *", Timezone: "Asia/Shanghai", Missed: models.MissedRunOnce, Overlap: models.OverlapSkip,
			Version: 3, Runs: 4321, MissedCount: 1, OverlapCount: 2, UpdatedAt: noon, UpdatedBy: hostile,
		},
		Description: "At 02:30 every day, Asia/Shanghai", Zone: shanghai, Next: noon.Add(time.Hour),
		Past: []PastRun{
			past(models.OccurrenceEnqueued, models.StateSuccess, func(o *models.Occurrence) { o.TaskID = 1 }),
			past(models.OccurrenceEnqueued, models.StateSuccess, func(o *models.Occurrence) { o.TaskID, o.Late = 2, true }),
			past(models.OccurrenceEnqueued, "", func(o *models.Occurrence) { o.TaskID = 3 }),
			past(models.OccurrenceMissed, "", nil),
			past(models.OccurrenceOverlap, "", func(o *models.Occurrence) { o.BlockedBy = 4 }),
			past(models.OccurrenceError, "", func(o *models.Occurrence) { o.Note = hostile }),
		},
	}
}

func aSchedule() Schedule {
	return Schedule{
		PlanRow: aPlan(), Upcoming: []Upcoming{{At: noon, Wall: "2026-01-01 20:00:00 +08:00", Note: hostile}}, Params: `{"a": "` + hostile + `"}`,
		Tags: []string{"a", hostile}, Known: true, Token: "T", Audit: []models.Audit{{At: noon, Actor: hostile, Action: "pause", Reason: hostile}, {At: noon, Action: hostile}},
	}
}

func aForm() ScheduleForm {
	return ScheduleForm{
		Name: "team/nightly", Version: 3, What: []Field{{ID: "s-name", Name: "name", Kind: "text", Label: "Name", Value: hostile, Error: hostile}},
		Kind:  Field{ID: "s-kind", Name: "kind", Kind: "radio", Label: "Kind", Value: "cron", Options: []Option{{"cron", "Cron"}, {"at", "Once"}}},
		Kinds: []Field{{ID: "s-cron", Name: "cron", Kind: "text", Label: "Cron"}}, Zone: Field{ID: "s-timezone", Name: "timezone", Kind: "text", Label: "Zone"},
		Params: Field{ID: "s-params", Name: "params", Kind: "json", Label: "Parameters", Value: hostile}, Fault: hostile,
		Conflict: &ScheduleConflict{By: hostile, Version: 4},
		Preview:  PlanPreview{Description: "At 02:30", Zone: "UTC", Runs: []Upcoming{{At: noon, Wall: "x"}}, Faults: []string{hostile}, Task: hostile, Example: hostile},
	}
}

func aType() TypePage {
	return TypePage{
		TypeRow: TypeRow{
			Name: hostile, Description: hostile, Registered: true, Pool: PoolFigures{Concurrency: 4, Busy: 2, Stuck: 1, Ready: 9, Paused: true, Reason: hostile, By: hostile},
			Counts: map[models.State]int64{models.StateDead: 7}, Finished: []float64{1, 2}, Succeeded: 9999, Ended: 10_000, RunP95: time.Second,
		},
		Kind: tasks.KindGo, Policy: tasks.Policy{MaxRetries: 10, BackoffBase: time.Second, BackoffMax: time.Minute, Priority: 5, Concurrency: 2, OnCrash: tasks.Requeue},
		Schema: hostile, Example: hostile, Bars: Chart{Bars: []Bar{{At: noon, Good: 1}}}, Times: []Line{{Name: "p95", Values: []float64{1}}}, TimesTop: "1 s",
		Errors: []models.ErrorGroup{{Type: hostile, Fingerprint: "aa", Kind: hostile, Message: hostile, N: 3, LastAt: noon}},
	}
}

func someActors() Actors {
	worker := func(id string, busy time.Duration) Actor {
		a := Actor{ID: "reax/pools/a|b/" + id, Kind: "worker", Processed: 1, Busy: busy}
		if busy > 0 {
			a.Doing, a.TaskID = "task 42, run 1", 42
		}
		return a
	}
	pool := Actor{ID: "reax/pools/a|b", Kind: "pool", Children: []Actor{worker("w$1", time.Hour), worker("w$2", 0), worker("w$3", 0), worker("w$4", 0), worker("w$5", 0)}}
	journal := Actor{ID: "reax/journal", Kind: "journal", Doing: hostile, Busy: 3 * time.Second, Stuck: true, Mailbox: 12, Restarts: 2, Panic: hostile, Stack: hostile, PanicAt: noon}
	return Actors{
		Roots: []Actor{{ID: "reax", Kind: "supervisor", Children: []Actor{journal, {ID: "reax/pools", Kind: "pools", Children: []Actor{pool}}}}},
		Node:  journal.ID, Chosen: &journal, Total: 9, Busy: 2, Stuck: []string{journal.ID},
	}
}

func TestControlPages(t *testing.T) {
	chinese := func(v *Viewer) { v.Locale = Chinese }
	pause := SwitchForm{Name: "team/nightly", Reason: Field{ID: "pause-reason", Name: "reason", Kind: "text", Label: "Reason", Value: hostile}, Until: Field{ID: "pause-until", Name: "until", Kind: "datetime-local", Label: "Until", Error: hostile}}
	owned := aSchedule()
	owned.Owner, owned.Paused, owned.PauseReason, owned.Error, owned.Known, owned.Upcoming = models.OwnerFile, true, hostile, hostile, false, nil
	orphan := aType()
	orphan.Registered = false
	for name, c := range map[string]struct {
		change func(*Viewer)
		page   templ.Component
	}{
		"page-schedules":      {nil, SchedulesPage(Schedules{Rows: []PlanRow{aPlan()}, Query: hostile, First: "/reax/schedules", More: "/reax/schedules?after=x"})},
		"page-schedules-zh":   {chinese, SchedulesPage(Schedules{})},
		"page-schedule":       {nil, SchedulePage(aSchedule(), pause)},
		"page-schedule-file":  {chinese, SchedulePage(owned, pause)},
		"page-schedule-pause": {nil, PauseSchedulePage(pause)},
		"page-schedule-form":  {nil, ScheduleFormPage(aForm(), []string{hostile})},
		"page-types":          {nil, TypesPage(Types{Rows: []TypeRow{aType().TypeRow, orphan.TypeRow}})},
		"page-type":           {nil, TypeDetailPage(aType(), []TypeAction{{Name: hostile, Action: "resize", Size: Field{ID: "resize-size", Name: "concurrency", Kind: "number", Error: hostile}}})},
		"page-type-orphan":    {chinese, TypeDetailPage(orphan, nil)},
		"page-actors":         {nil, ActorsPage(someActors())},
		"page-actors-gone":    {chinese, ActorsPage(Actors{Node: hostile})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := render(viewer(t, c.change), t, c.page)
			requireTame(t, html)
			golden(t, name, html)
		})
	}
}

func TestASmallStripDrawsNeighboursOfOneToneTogether(t *testing.T) {
	strokes := aPlan().strokes()
	require.Equal(t, []stroke{
		{"success", "M0 13h10"}, {"quiet", "M12 15h4"}, {"stuck", "M18 15h4"}, {"cancelled", "M24 15h4"}, {"failed", "M30 9h4"},
	}, strokes)
}

func TestTheTableOfDelaysEndsWhereItSaysNothingNew(t *testing.T) {
	page := aType()
	rows, more := page.delays()
	require.Len(t, rows, shownDelays)
	require.Equal(t, 2, more)
	require.Equal(t, delay{"7", time.Minute, 123 * time.Second}, rows[6])
	page.Policy.MaxRetries = 0
	rows, more = page.delays()
	require.Empty(t, rows)
	require.Zero(t, more)
	require.Equal(t, "99.9 %", page.success(), "one failure of many is not 100 %")
}

func TestAClockOfAnotherZoneLeavesOutWhatIsPlain(t *testing.T) {
	now := noon.Time()
	require.Equal(t, "13:00", wallNear(noon.Add(-123456*time.Microsecond).Add(time.Hour), time.UTC, now))
	require.Equal(t, "2025-12-31 12:00", wallNear(noon.Add(-24*time.Hour), time.UTC, now))
	require.Equal(t, "01-02 12:00", wallNear(noon.Add(24*time.Hour), time.UTC, now))
	require.Equal(t, "12:00:30", wallNear(noon.Add(30*time.Second), time.UTC, now))
	r := aPlan()
	require.Equal(t, "21:00 Asia/Shanghai", r.elsewhere(viewer(t, nil)))
	r.Zone = ViewerOf(viewer(t, nil)).Zone
	require.Empty(t, r.elsewhere(viewer(t, nil)))
}
