package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLatestAttemptsComeOldestFirst(t *testing.T) {
	s := openStore(t)
	for n := 1; n <= 5; n++ {
		require.NoError(t, s.Writer().Create(&Attempt{TaskID: 1, Attempt: n, Outcome: OutcomeRetry}).Error)
	}
	require.NoError(t, s.Writer().Create(&Attempt{TaskID: 2, Attempt: 9, Outcome: OutcomeRetry}).Error)
	for _, c := range []struct {
		before, limit int
		want          []int
	}{{0, 3, []int{3, 4, 5}}, {0, 9, []int{1, 2, 3, 4, 5}}, {3, 3, []int{1, 2}}, {1, 3, nil}, {0, 0, nil}} {
		attempts, err := s.LatestAttempts(t.Context(), 1, c.before, c.limit)
		require.NoError(t, err)
		var got []int
		for _, a := range attempts {
			got = append(got, a.Attempt)
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestTheEndOfALogComesInOrder(t *testing.T) {
	s := openStore(t)
	for _, line := range []LogLine{{1, 1, 1, 1, "info", "a"}, {1, 1, 2, 1, "info", "b"}, {1, 1, 5, 1, "info", "c"}, {1, 2, 1, 1, "info", "d"}, {2, 1, 1, 1, "info", "other"}} {
		require.NoError(t, s.Writer().Create(&line).Error)
	}
	for _, c := range []struct {
		attempt, before, limit int
		want                   string
	}{{1, 0, 2, "bc"}, {1, 0, 9, "abc"}, {1, 5, 9, "ab"}, {1, 1, 9, ""}, {2, 0, 9, "d"}, {3, 0, 9, ""}, {1, 0, 0, ""}} {
		lines, err := s.LogTail(t.Context(), 1, c.attempt, c.before, c.limit)
		require.NoError(t, err)
		var got string
		for _, line := range lines {
			got += line.Text
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
}
