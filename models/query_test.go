package models

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTaskThatIsNotThere(t *testing.T) {
	s := openStore(t)
	_, err := s.Task(t.Context(), 1)
	require.ErrorIs(t, err, ErrNotFound)
	attempts, err := s.Attempts(t.Context(), 1)
	require.NoError(t, err)
	require.Empty(t, attempts)
}

func TestParametersComeBackByteForByte(t *testing.T) {
	s := openStore(t)
	for _, params := range []string{`{"n":12345678901234567890.10}`, "{ \"a\" : 1 }", `{"a":1,"a":2}`, `"\u0000\ud83d"`, "\"\u202e日本👍\"", "null"} {
		ids := seedTasks(t, s, row{"params": params})
		task, err := s.Task(t.Context(), ids[0])
		require.NoError(t, err)
		require.Equal(t, params, task.Params)
	}
}

func TestAttemptsComeOldestFirst(t *testing.T) {
	s := openStore(t)
	for _, attempt := range []Attempt{
		{TaskID: 1, Attempt: 2, Outcome: OutcomeDead, Error: "two"}, {TaskID: 2, Attempt: 1, Outcome: OutcomeRetry},
		{TaskID: 1, Attempt: 1, Outcome: OutcomeRetry, RetryAt: 5, Stack: "here"},
	} {
		require.NoError(t, s.Writer().Create(&attempt).Error)
	}
	attempts, err := s.Attempts(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.Equal(t, Attempt{ID: 3, TaskID: 1, Attempt: 1, Outcome: OutcomeRetry, RetryAt: 5, Stack: "here"}, attempts[0])
	require.Equal(t, "two", attempts[1].Error)
}

func TestLogsAreReadByRunAndFromALineOn(t *testing.T) {
	s := openStore(t)
	for _, line := range []LogLine{{1, 1, 1, 1, "info", "a"}, {1, 1, 2, 1, "info", "b"}, {1, 2, 1, 1, "info", "c"}, {2, 1, 1, 1, "info", "other"}} {
		require.NoError(t, s.Writer().Create(&line).Error)
	}
	for _, c := range []struct {
		attempt, after, limit int
		want                  string
	}{{0, 0, 10, "abc"}, {0, 1, 10, "abc"}, {1, 0, 10, "ab"}, {1, 1, 10, "b"}, {1, 2, 10, ""}, {2, 0, 10, "c"}, {0, 0, 2, "ab"}, {0, 0, 0, ""}} {
		lines, err := s.Logs(t.Context(), 1, c.attempt, c.after, c.limit)
		require.NoError(t, err)
		var got string
		for _, line := range lines {
			got += line.Text
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestSmallTablesAreReadInOrder(t *testing.T) {
	s := openStore(t)
	w := s.Writer()
	require.NoError(t, w.Create([]Count{{"b", StateDead, 2}, {"a", StateSuccess, 1}, {"a", StateDead, 3}}).Error)
	counts, err := s.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Count{{"a", StateDead, 3}, {"a", StateSuccess, 1}, {"b", StateDead, 2}}, counts)

	require.NoError(t, w.Create([]TypeSetting{{Type: "b", ChangedAt: 1}, {Type: "a", Paused: true, Concurrency: 3, Reason: "r", ChangedBy: "me", ChangedAt: 2}}).Error)
	settings, err := s.TypeSettings(t.Context())
	require.NoError(t, err)
	require.Equal(t, []TypeSetting{{Type: "a", Paused: true, Concurrency: 3, Reason: "r", ChangedBy: "me", ChangedAt: 2}, {Type: "b", ChangedAt: 1}}, settings)

	for _, action := range []string{"retry", "cancel", "retry"} {
		require.NoError(t, w.Create(&Audit{At: 1, Actor: "me", Action: action, Target: "task", TargetID: "7"}).Error)
	}
	require.NoError(t, w.Create(&Audit{At: 1, Actor: "me", Action: "pause", Target: "type", TargetID: "7"}).Error)
	entries, err := s.AuditOf(t.Context(), "task", "7", 2)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, int64(3), entries[0].ID)
	require.Equal(t, "cancel", entries[1].Action)
}

func TestTheStartsOfTheProcessComeOldestFirst(t *testing.T) {
	s := openStore(t)
	require.NoError(t, s.Writer().Create([]Boot{
		{ID: "01", StartedAt: 10, StoppedAt: 12, Version: "a"}, {ID: "03", StartedAt: 30, Host: "h", PID: 7, Version: "b"}, {ID: "02", StartedAt: 20},
	}).Error)
	boots, err := s.Boots(t.Context(), 20)
	require.NoError(t, err)
	require.Equal(t, []Boot{{ID: "02", StartedAt: 20}, {ID: "03", StartedAt: 30, Host: "h", PID: 7, Version: "b"}}, boots)

	for i := range maxBoots + 5 {
		require.NoError(t, s.Writer().Create(&Boot{ID: fmt.Sprintf("1%04d", i), StartedAt: Instant(100 + i)}).Error)
	}
	boots, err = s.Boots(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, boots, maxBoots)
	require.Equal(t, Instant(100+maxBoots+4), boots[maxBoots-1].StartedAt)
}

func TestTheNextRetryIsNotAnyTaskThatIsDue(t *testing.T) {
	s := openStore(t)
	next, err := s.NextRetry(t.Context())
	require.NoError(t, err)
	require.Zero(t, next)
	seedTasks(t, s, row{"run_at": 5}, row{"state": StateRetryWait, "run_at": 9}, row{"state": StateRetryWait, "run_at": 7}, row{"state": StateDead, "run_at": 1})
	next, err = s.NextRetry(t.Context())
	require.NoError(t, err)
	require.Equal(t, Instant(7), next)
}
