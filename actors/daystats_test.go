package actors

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/models"
)

func TestMinutesAddUpToTheirDay(t *testing.T) {
	day := models.At(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	minute := func(n int, typ string, good, bad int64, waited time.Duration) models.DayMinute {
		return models.DayMinute{Minute: day.Add(time.Duration(n) * time.Minute), Type: typ, Succeeded: good, Failed: bad, Waited: waited}
	}
	end := day.Add(24 * time.Hour)
	slow := func(typ string) time.Duration { return map[string]time.Duration{"a": 5 * time.Minute}[typ] }
	rows := sumDay(day, end, []models.DayMinute{
		minute(2, "b", 1, 0, time.Hour), // waited since the day before
		minute(60, "a", 3, 1, 4*time.Minute),
		minute(100, "a", 2, 0, 35*time.Minute),
		minute(101, "a", 1, 0, 35*time.Minute), // for the same reason
		minute(103, "a", 1, 0, time.Second),
		minute(110, "a", 0, 1, 6*time.Minute),
	}, func(typ string) time.Duration { return DayOptions{Slow: slow}.slow(typ) })
	require.Equal(t, []models.DayStat{
		{Day: day, Type: "a", Succeeded: 7, Failed: 2, Slow: 31 + 1 + 2, CountedTo: end},
		{Day: day, Type: "b", Succeeded: 1, Slow: 3, CountedTo: end},
	}, rows)
	require.Empty(t, sumDay(day, end, nil, slow))
}

func TestADayBeginsWhereTheOneBeforeEnds(t *testing.T) {
	zones := []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/Santiago", "Africa/Cairo", "Pacific/Apia", "Asia/Beirut", "America/New_York"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		require.NoError(t, err)
		at := time.Unix(rapid.Int64Range(1_600_000_000, 1_900_000_000).Draw(t, "at"), 0)
		start, next := DayStart(at, zone, 0), DayStart(at, zone, 1)
		require.False(t, start.After(at))
		require.True(t, next.After(at))
		require.Equal(t, next, DayStart(next, zone, 0))
		require.Equal(t, start, DayStart(next, zone, -1))
		require.Equal(t, at.In(zone).Format(time.DateOnly), start.Format(time.DateOnly))
		require.NotEqual(t, start.Format(time.DateOnly), start.Add(-time.Second).Format(time.DateOnly))
	})
}

// A process that was away fills in the days that it has missed, and goes on with today.
func TestDaysThatAreMissingAreFilledIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() + "/reax.db"
		store, err := models.Open(t.Context(), models.Config{Path: path, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		zone := time.FixedZone("west", -3600) // in a bubble it is midnight in UTC, so that the day ends in an hour
		today := DayStart(time.Now(), zone, 0)
		insert := func(at time.Time, good int64) {
			require.NoError(t, store.Writer().Exec(`INSERT INTO minute_stats (minute, type, enqueued, started, succeeded, retried, failed, dead, cancelled, promoted, wait_hist, run_hist)
				VALUES (?, 'work', 0, 0, ?, 0, 1, 0, 0, 0, '[1]', '[]')`, int64(models.At(at)), good).Error)
		}
		insert(today.Add(-time.Minute), 5)
		insert(today.Add(-3*24*time.Hour), 7)
		insert(DayStart(today, zone, -StatusDays).Add(time.Hour), 9) // too long ago
		require.NoError(t, store.Writer().Exec("INSERT INTO day_stats VALUES (?, 'work', 4, 0, 0, ?)", int64(models.At(DayStart(today, zone, -2))), int64(models.At(DayStart(today, zone, -1)))).Error)
		insert(DayStart(today, zone, -2), 99) // of a day that is whole

		r, err := Start(t.Context(), store, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{Logger: slog.New(slog.DiscardHandler), Days: DayOptions{Zone: zone}})
		require.NoError(t, err)
		defer func() {
			require.NoError(t, r.Stop(t.Context()))
			require.NoError(t, store.Close())
		}()
		days := func() map[int]int64 {
			rows, err := store.DayStats(t.Context(), 0, models.At(today.Add(240*time.Hour)))
			require.NoError(t, err)
			found := map[int]int64{}
			for _, row := range rows {
				found[int(row.Day.Time().Sub(today)/(24*time.Hour))] = row.Succeeded
			}
			return found
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, map[int]int64{-1: 5, -2: 4, -3: 7}, days())

		_, err = r.Enqueue(t.Context(), EnqueueRequest{Type: "work", Params: []byte("{}")})
		require.NoError(t, err)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		require.EqualValues(t, 1, days()[0], "today is counted again and again")

		time.Sleep(time.Hour)
		synctest.Wait()
		rows, err := store.DayStats(t.Context(), models.At(today), models.At(today)+1)
		require.NoError(t, err)
		require.Equal(t, models.At(today.Add(24*time.Hour)), rows[0].CountedTo, "what is over is whole")
	})
}
