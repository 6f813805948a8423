package actors

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// shiftedClock is a wall clock that can be set, forward and back, while the steady clock goes on.
type shiftedClock struct{ by atomic.Int64 }

func (c *shiftedClock) now() time.Time         { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *shiftedClock) shift(by time.Duration) { c.by.Add(int64(by)) }
func (c *shiftedClock) set(t time.Time)        { c.by.Store(int64(time.Until(t))) }

// instantly is a type "work" whose tasks end at once, and a type "slow" whose tasks take ten minutes.
func instantly(t testing.TB) *tasks.Registry {
	t.Helper()
	policy := quick()
	policy.Concurrency = 16
	return registryOf(t, policy, map[string]handler{
		"work": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		"slow": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			select {
			case <-time.After(10 * time.Minute):
				return nil, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	})
}

// plan stores a schedule named s of type work.
func (f *fixture) plan(change func(*ScheduleSpec)) models.Schedule {
	f.t.Helper()
	spec := ScheduleSpec{Name: "s", Task: "work"}
	change(&spec)
	row, err := f.CreateSchedule(f.t.Context(), spec, Change{By: "ann"})
	require.NoError(f.t, err)
	return row
}

func (f *fixture) schedule(name string) models.Schedule {
	f.t.Helper()
	row, err := f.store.Schedule(context.Background(), name)
	require.NoError(f.t, err)
	return row
}

// occurrences is what became of the instants of a schedule, oldest first.
func (f *fixture) occurrences(name string) []models.Occurrence {
	f.t.Helper()
	all, err := f.store.Occurrences(context.Background(), f.schedule(name).ID, 5_000)
	require.NoError(f.t, err)
	slices.Reverse(all)
	return all
}

// became counts the occurrences of a schedule by outcome.
func (f *fixture) became(name string) map[string]int {
	f.t.Helper()
	n := map[string]int{}
	for _, o := range f.occurrences(name) {
		n[o.Outcome]++
	}
	return n
}

// instants lists for which moments a schedule has tasks, in the order in which they were made.
func (f *fixture) instants(name string) []time.Time {
	f.t.Helper()
	var all []models.Instant
	require.NoError(f.t, f.store.Reader().Raw("SELECT coalesce(scheduled_for, 0) FROM tasks WHERE schedule = ? ORDER BY id", name).Scan(&all).Error)
	times := make([]time.Time, len(all))
	for i, at := range all {
		times[i] = at.Time()
	}
	return times
}

// checkOnce holds the tasks of a schedule against its occurrences: each instant has one task at most, and each task is
// in the books.
func (f *fixture) checkOnce(name string) {
	f.t.Helper()
	made := map[time.Time]int{}
	for _, at := range f.instants(name) {
		made[at]++
		require.Equal(f.t, 1, made[at], "tasks of %s at %s", name, at)
	}
	enqueued := 0
	for _, o := range f.occurrences(name) {
		if o.Outcome == models.OccurrenceEnqueued {
			enqueued++
			require.Equal(f.t, 1, made[o.At.Time()], "an enqueued occurrence has its task")
			require.Equal(f.t, o.At, f.task(o.TaskID).ScheduledFor)
		}
	}
	require.Len(f.t, made, enqueued)
	require.Equal(f.t, int64(enqueued), f.schedule(name).Runs)
}

// at is a moment on the day on which every bubble begins: 1 January 2000, UTC.
func at(hour, minute, second int) time.Time {
	return time.Date(2000, 1, 1, hour, minute, second, 0, time.UTC)
}

// until lets time pass up to a moment of the bubble.
func until(moment time.Time) { pass(time.Until(moment)) }
