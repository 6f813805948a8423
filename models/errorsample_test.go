package models

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASampleOfAGroupOfErrorsIsItsLatestTasks(t *testing.T) {
	s := openStore(t)
	of := func(more row) row {
		all := row{"type": "a", "state": StateDead, "fingerprint": "f1", "failures": 4, "max_retries": 3}
		maps.Copy(all, more)
		return all
	}
	ids := seedTasks(t, s,
		of(row{"finished_at": 10, "params": `{"n":1}`}),
		of(row{"finished_at": 30, "state": StateFailed, "failures": 1, "params": `{"text":"` + strings.Repeat("错", 1000) + `"}`}),
		of(row{"finished_at": 20, "params": `{"n":3}`}),
		of(row{"finished_at": 99, "fingerprint": "f2"}),
		of(row{"finished_at": 99, "type": "b"}),
		of(row{"finished_at": 99, "state": StatePending}), // was retried, and left the group
	)
	sample, err := s.ErrorSample(t.Context(), "a", "f1", 10)
	require.NoError(t, err)
	require.Equal(t, []Task{
		{Type: "a", State: StateDead, Failures: 4, MaxRetries: 3, Params: `{"n":3}`},
		{Type: "a", State: StateFailed, Failures: 1, MaxRetries: 3},
		{Type: "a", State: StateDead, Failures: 4, MaxRetries: 3, Params: `{"n":1}`},
	}, sample)
	sample, err = s.ErrorSample(t.Context(), "a", "f1", 1)
	require.NoError(t, err)
	require.Equal(t, `{"n":3}`, sample[0].Params)

	times, err := s.ErrorTimes(t.Context(), "a", "f1", 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []Instant{10, 20, 30}, times)
	times, err = s.ErrorTimes(t.Context(), "a", "f1", 2)
	require.NoError(t, err)
	require.ElementsMatch(t, []Instant{30, 20}, times, "the latest by their id")

	some, err := s.Previews(t.Context(), []int64{ids[0], ids[1], 999})
	require.NoError(t, err)
	require.Equal(t, []int64{ids[1], ids[0]}, taskIDsOf(some))
	require.True(t, some[0].Cut)
	some, err = s.Previews(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, some)
}

func TestFailuresAreSummedByTypeAndWindow(t *testing.T) {
	s := openStore(t)
	for _, m := range []MinuteStat{
		{Minute: 60e6, Type: "a", Failed: 1, Dead: 2}, {Minute: 120e6, Type: "a", Dead: 4}, {Minute: 120e6, Type: "b", Failed: 8},
		{Minute: 120e6, Type: "fine", Succeeded: 100, Retried: 5}, {Minute: 0, Type: "a", Dead: 100},
	} {
		require.NoError(t, s.Writer().Create(&m).Error)
	}
	sums, err := s.Failures(t.Context(), []Instant{60e6, 120e6, 180e6})
	require.NoError(t, err)
	require.Equal(t, map[string][]int64{"a": {7, 4, 0}, "b": {8, 8, 0}}, sums)
	sums, err = s.Failures(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, sums)
}

func TestReadsOfErrorsUseTheirIndexAndNeverSort(t *testing.T) {
	s := openStore(t)
	seedTasks(t, s, row{"type": "a", "state": StateDead, "fingerprint": "f1"})
	statements := recordReads(t, s)
	ctx := t.Context()
	const inGroup = "INDEX tasks_error (type=? AND fingerprint=?)"
	for name, c := range map[string]struct {
		read  func() error
		index string
	}{
		"groups":       {func() error { _, err := s.ErrorGroups(ctx, 10); return err }, "INDEX error_groups_open"},
		"group":        {func() error { _, _ = s.ErrorGroup(ctx, "a", "f1"); return nil }, "PRIMARY KEY (type=? AND fingerprint=?)"},
		"sample":       {func() error { _, err := s.ErrorSample(ctx, "a", "f1", 10); return err }, inGroup},
		"times":        {func() error { _, err := s.ErrorTimes(ctx, "a", "f1", 10); return err }, inGroup},
		"failures":     {func() error { _, err := s.Failures(ctx, []Instant{60e6, 120e6}); return err }, "PRIMARY KEY (minute>?)"},
		"previews":     {func() error { _, err := s.Previews(ctx, []int64{1, 2}); return err }, "INTEGER PRIMARY KEY (rowid=?)"},
		"tasks of one": {func() error { _, err := s.List(ctx, Filter{Types: []string{"a"}, Fingerprint: "f1"}, 10); return err }, "INDEX tasks_error (type=? AND fingerprint=? AND rowid>? AND rowid<?)"},
	} {
		t.Run(name, func(t *testing.T) {
			*statements = nil
			require.NoError(t, c.read())
			require.NotEmpty(t, *statements)
			requirePlan(t, s, *statements, c.index)
		})
	}
}
