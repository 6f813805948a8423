package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

const benchSchedules = 10_000

// storeOfSchedules makes a ledger of ten thousand schedules in a dozen zones, due as next says.
func storeOfSchedules(b *testing.B, next func(i int) time.Time) (string, []ScheduleSpec) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "reax.db")
	store, err := models.Open(b.Context(), models.Config{Path: path, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	zones := []string{"UTC", "America/New_York", "Europe/London", "Asia/Shanghai", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Kolkata"}
	saves := make([]models.ScheduleSave, benchSchedules)
	specs := make([]ScheduleSpec, benchSchedules)
	for i := range saves {
		at := next(i)
		saves[i].Row = models.Schedule{Name: fmt.Sprintf("team-%d/report-%d", i%50, i), Owner: models.OwnerFile, Task: "work", Cron: fmt.Sprintf("%d %d * * 1-5", i%60, i/60%24),
			Timezone: zones[i%len(zones)], Missed: models.MissedRunOnce, Overlap: models.OverlapSkip, Params: `{"day":"{{ .ScheduledFor.Format \"2006-01-02\" }}"}`,
			CursorAt: models.At(at.Add(-7 * 24 * time.Hour)), NextAt: models.At(at)}
		row := &saves[i].Row
		specs[i] = ScheduleSpec{Name: row.Name, Task: row.Task, Cron: row.Cron, Timezone: row.Timezone, Params: json.RawMessage(row.Params)}
	}
	require.NoError(b, models.NewWriter(store, "seed").Write(func(tx *models.Tx) error {
		_, err := tx.SaveSchedules(saves, nil, models.Actor{Name: "seed"})
		return err
	}))
	require.NoError(b, store.Close())
	return path, specs
}

// BenchmarkNextDueOfTenThousandSchedules is what the scheduler reads at each look.
func BenchmarkNextDueOfTenThousandSchedules(b *testing.B) {
	path, _ := storeOfSchedules(b, func(i int) time.Time { return time.Now().Add(time.Hour + time.Duration(i)*time.Second) })
	store, err := models.Open(b.Context(), models.Config{Path: path, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer store.Close()
	for b.Loop() {
		due, err := store.DueSchedules(b.Context(), models.At(time.Now()), scheduleBatch)
		require.NoError(b, err)
		require.Empty(b, due)
		next, err := store.NextScheduled(b.Context())
		require.NoError(b, err)
		require.NotZero(b, next)
	}
}

// BenchmarkStartWithTenThousandSchedules is from opening the database, with the file's schedules compared to the stored
// ones, to the first task of the one schedule that is due; all-checked-ms is until every stored definition was looked at.
func BenchmarkStartWithTenThousandSchedules(b *testing.B) {
	var checked time.Duration
	for b.Loop() {
		b.StopTimer()
		path, specs := storeOfSchedules(b, func(i int) time.Time { return time.Now().Add(time.Duration(i) * time.Minute) })
		done := make(chan struct{})
		last := int64(benchSchedules)
		opts := Options{Logger: slog.New(slog.DiscardHandler), fault: func(_ string, message any) {
			if m, ok := message.(*verify); ok && m.after == last {
				close(done)
			}
		}}
		b.StartTimer()
		begun := time.Now()
		store, err := models.Open(b.Context(), models.Config{Path: path, Logger: opts.Logger})
		require.NoError(b, err)
		r, err := Start(b.Context(), store, instantly(b), opts)
		require.NoError(b, err)
		require.NoError(b, r.SyncSchedules(b.Context(), specs))
		f := &fixture{Runtime: r, t: b, store: store}
		waitUntil(f, func() (int, bool) { n := f.states("work")[models.StateSuccess]; return n, n == 1 })
		b.StopTimer()
		<-done
		checked += time.Since(begun)
		f.end()
		b.StartTimer()
	}
	b.ReportMetric(float64(checked.Milliseconds())/float64(b.N), "all-checked-ms")
}

// BenchmarkTenThousandSchedulesDueAtOnce is from the start to ten thousand durable tasks.
func BenchmarkTenThousandSchedulesDueAtOnce(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		path, _ := storeOfSchedules(b, func(int) time.Time { return time.Now().Add(-time.Second) })
		b.StartTimer()
		f := startOn(b, path, instantly(b), Options{})
		waitUntil(f, func() (int64, bool) {
			var n int64
			err := f.store.Reader().WithContext(context.Background()).Raw("SELECT count(*) FROM occurrences").Scan(&n).Error
			return n, err == nil && n >= benchSchedules
		})
		b.StopTimer()
		f.end()
		b.StartTimer()
	}
}
