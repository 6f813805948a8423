package actors

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/actors/kit"
	"reax/models"
	"reax/timetable"
)

func TestEveryOccurrenceIsRunOrMissedAndNoneBoth(t *testing.T) {
	policies := []string{models.MissedSkip, models.MissedRunOnce, models.MissedRunAll}
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1, 5_000).Draw(t, "every")) * time.Second
		table, err := timetable.Parse(timetable.Spec{Every: every})
		require.NoError(t, err)
		policy := rapid.SampledFrom(policies).Draw(t, "policy")
		after := time.Unix(rapid.Int64Range(0, 1e6).Draw(t, "after"), 0)
		now := after.Add(time.Duration(rapid.Int64Range(0, 900_000).Draw(t, "down")) * time.Second)
		d := dueBetween(table, policy, after, now)
		all, more := table.Between(after, now, 1_000_000)
		require.Zero(t, more)
		require.Equal(t, len(all), len(d.run)+len(d.missed)+d.more)
		require.Equal(t, all[d.more:], append(append([]time.Time(nil), d.missed...), d.run...), "the latest, in their order")
		require.LessOrEqual(t, len(d.missed), missedRows)
		switch policy {
		case models.MissedRunAll:
			require.Len(t, d.run, min(len(all), MaxCatchUp))
		case models.MissedRunOnce:
			require.Len(t, d.run, min(len(all), 1))
		case models.MissedSkip:
			require.LessOrEqual(t, len(d.run), 1)
			if len(all) > 0 {
				require.Equal(t, !isLate(all[len(all)-1], now), len(d.run) == 1)
			}
		}
	})
}

// TestAnyOrderOfEventsKeepsTheBooks fires schedules of all policies on a real ledger, with the clock going forward, back
// and in leaps, tasks ending or not, pauses, and firings that are lost, late or sent twice.
func TestAnyOrderOfEventsKeepsTheBooks(t *testing.T) {
	t.Parallel()
	round := 0
	registry := instantly(t)
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		round++
		path := filepath.Join(folder, fmt.Sprintf("%d.db", round))
		store, err := models.Open(t.Context(), models.Config{Path: path, Durability: models.DurabilityNormal, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(rt, err)
		defer func() {
			require.NoError(rt, store.Close())
			require.NoError(rt, os.Remove(path))
		}()
		b := &books{T: rt, store: store, writer: models.NewWriter(store, "boot"), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		b.sched = &scheduler{core: &core{registry: registry, store: store, faulty: kit.NewTable[int64, models.Schedule]()},
			schedules: schedules{tables: map[int64]versioned{}}}
		b.begin()
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			b.step()
		}
		b.check()
	})
}

// books is one run of TestAnyOrderOfEventsKeepsTheBooks.
type books struct {
	*rapid.T
	store     *models.Store
	writer    *models.Writer
	sched     *scheduler
	clock     time.Time
	began     time.Time
	irregular bool // the clock went back or there was a pause: then not every instant is in the books once
	old       []*models.Firing
}

func (b *books) write(f func(tx *models.Tx) error) { require.NoError(b, b.writer.Write(f)) }

func (b *books) row() models.Schedule {
	row, err := b.store.Schedule(b.Context(), "s")
	require.NoError(b, err)
	return row
}

func (b *books) begin() {
	b.began = b.clock
	row := models.Schedule{Name: "s", Owner: models.OwnerAPI, Task: "work", EveryUS: (90 * time.Second).Microseconds(), Timezone: "UTC", Params: "{}",
		Anchor: models.At(b.clock), CursorAt: models.At(b.clock), NextAt: models.At(b.clock.Add(90 * time.Second)),
		Missed:  rapid.SampledFrom([]string{models.MissedSkip, models.MissedRunOnce, models.MissedRunAll}).Draw(b.T, "missed"),
		Overlap: rapid.SampledFrom([]string{models.OverlapSkip, models.OverlapAllow, models.OverlapQueueOne}).Draw(b.T, "overlap")}
	b.write(func(tx *models.Tx) error {
		saved, err := tx.SaveSchedules([]models.ScheduleSave{{Row: row}}, nil, models.Actor{})
		require.NoError(b, saved.Refused)
		return err
	})
}

func (b *books) step() {
	switch rapid.SampledFrom([]string{"time", "time", "leap", "back", "look", "look", "look", "ends", "resend", "pause", "lost"}).Draw(b.T, "event") {
	case "time":
		b.clock = b.clock.Add(time.Duration(rapid.IntRange(1, 300).Draw(b.T, "seconds")) * time.Second)
	case "leap":
		b.clock = b.clock.Add(time.Duration(rapid.IntRange(1, 30).Draw(b.T, "hours")) * time.Hour)
	case "back":
		b.clock, b.irregular = b.clock.Add(-time.Duration(rapid.IntRange(1, 7200).Draw(b.T, "back"))*time.Second), true
		row := b.row()
		if !row.Paused && row.CursorAt > models.At(b.clock) {
			f := firingFor(&row)
			table, err := b.sched.table(&row)
			require.NoError(b, err)
			f.Cursor, f.Next = models.At(b.clock), models.At(table.Next(b.clock))
			b.fire(f)
		}
	case "look":
		b.look(true)
	case "lost":
		b.look(false)
	case "ends":
		require.NoError(b, b.store.Writer().Exec("UPDATE tasks SET state = 'success', ready_at = NULL").Error)
	case "resend":
		if len(b.old) > 0 {
			b.fire(rapid.SampledFrom(b.old).Draw(b.T, "old"))
		}
	case "pause":
		b.irregular = true
		row := b.row()
		table, err := b.sched.table(&row)
		require.NoError(b, err)
		b.write(func(tx *models.Tx) error {
			_, err := tx.SwitchSchedule(models.ScheduleSwitch{ID: row.ID, Version: row.Version, Pause: !row.Paused,
				Cursor: models.At(b.clock), Next: models.At(table.Next(b.clock))}, models.Actor{})
			return err
		})
	}
}

// look is a look of the scheduler; what it finds is lost when it is not sent.
func (b *books) look(sent bool) {
	free, _, err := b.store.QueuedOccurrences(b.Context(), 10)
	require.NoError(b, err)
	rows, err := b.store.DueSchedules(b.Context(), models.At(b.clock), 10)
	require.NoError(b, err)
	var firings []*models.Firing
	for i := range free {
		firings = append(firings, b.sched.queuedFiring(&free[i]))
	}
	for i := range rows {
		firings = append(firings, b.sched.firingOf(&rows[i], b.clock))
	}
	b.old = append(b.old, firings...)
	if sent && len(firings) > 0 {
		b.fire(firings...)
	}
}

func (b *books) fire(firings ...*models.Firing) {
	b.write(func(tx *models.Tx) error {
		_, err := tx.Fire(firings, func(string) bool { return false })
		return err
	})
}

func (b *books) check() {
	row := b.row()
	var doubled, tasks, unfinished int64
	reader := b.store.Reader()
	require.NoError(b, reader.Raw("SELECT count(*) FROM (SELECT 1 FROM tasks GROUP BY scheduled_for HAVING count(*) > 1)").Scan(&doubled).Error)
	require.NoError(b, reader.Raw("SELECT count(*) FROM tasks").Scan(&tasks).Error)
	require.NoError(b, reader.Raw("SELECT count(*) FROM tasks WHERE state <> 'success'").Scan(&unfinished).Error)
	require.Zero(b, doubled, "two tasks of one instant")
	require.Equal(b, tasks, row.Runs)
	if row.Overlap != models.OverlapAllow {
		require.LessOrEqual(b, unfinished, int64(1), "they never overlap")
	}
	all, err := b.store.Occurrences(b.Context(), row.ID, 5_000)
	require.NoError(b, err)
	count := map[string]int64{}
	for _, o := range all {
		count[o.Outcome]++
	}
	require.LessOrEqual(b, count[models.OccurrenceQueued], int64(1))
	require.LessOrEqual(b, count[models.OccurrenceMissed], row.MissedCount)
	require.LessOrEqual(b, count[models.OccurrenceEnqueued], row.Runs)
	if b.irregular {
		return
	}
	passed := int64(row.CursorAt.Time().Sub(b.began) / (90 * time.Second))
	require.Equal(b, passed, row.Runs+row.MissedCount+row.OverlapCount+count[models.OccurrenceQueued], "every instant is accounted for")
	if len(all) < models.KeptOccurrences { // none was dropped
		require.Equal(b, count[models.OccurrenceEnqueued], row.Runs)
		require.Equal(b, count[models.OccurrenceOverlap], row.OverlapCount)
	}
}
