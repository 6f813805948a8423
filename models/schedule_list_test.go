package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchedulesArePagedByName(t *testing.T) {
	l := newPlanner(t)
	for _, name := range []string{"b", "a_1", "ab1", "c"} {
		l.save(daily(name))
	}
	names := func(text, after string, limit int) (all []string) {
		t.Helper()
		rows, err := l.SchedulePage(t.Context(), text, after, limit)
		require.NoError(t, err)
		for _, r := range rows {
			all = append(all, r.Name)
		}
		return all
	}
	require.Equal(t, []string{"a_1", "ab1", "b"}, names("", "", 3))
	require.Equal(t, []string{"c"}, names("", "b", 3))
	require.Empty(t, names("", "c", 3))
	require.Equal(t, []string{"a_1"}, names("A_", "", 9), "the letters of a pattern mean themselves")
	require.Empty(t, names("%", "", 9))
	require.Empty(t, names("", "", -1))

	reads := recordReads(t, l.Store)
	names("", "b", 3)
	for _, line := range planOf(t, l.Store, (*reads)[0]) {
		require.NotContains(t, line, "TEMP B-TREE")
		require.Contains(t, line, "INDEX schedules_name (name>?)")
	}
}

func TestStatesAreReadByIDAndNotByScan(t *testing.T) {
	l := newPlanner(t)
	l.save(daily("a"))
	l.fire(firing(l.schedule("a"), 120, 200, 100))
	states, err := l.TaskStates(t.Context(), []int64{1, 99, 1})
	require.NoError(t, err)
	require.Equal(t, map[int64]State{1: StatePending}, states)
	states, err = l.TaskStates(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, states)

	reads := recordReads(t, l.Store)
	_, err = l.TaskStates(t.Context(), []int64{1})
	require.NoError(t, err)
	plan := ""
	for _, line := range planOf(t, l.Store, (*reads)[0]) {
		plan += line + "\n"
	}
	require.Contains(t, plan, "SEARCH t USING INTEGER PRIMARY KEY")
}
