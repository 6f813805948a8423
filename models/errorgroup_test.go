package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorGroupsCountWhatIsFailedAndDeadNow(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	write := func(f func(tx *Tx) error) {
		t.Helper()
		require.NoError(t, w.Write(f))
	}
	var rows []*NewTask
	for range 4 {
		rows = append(rows, &NewTask{Task: Task{Type: "a", Priority: 5, Params: `{"customer":{"id":7}}`, TraceID: "t"}})
	}
	var done []*Completion
	write(func(tx *Tx) error {
		if err := tx.Insert(rows, func(string) bool { return true }); err != nil {
			return err
		}
		for i, message := range []string{"no route to host 10.0.0.1", "no route to host 10.0.0.2", "no route to host 10.0.0.3", "boom"} {
			done = append(done, &Completion{ID: rows[i].ID, Type: "a", Attempt: 1, State: []State{StateDead, StateFailed, StateDead, StateDead}[i],
				Outcome: OutcomeDead, ErrorKind: "error", Error: message, Failures: 1})
		}
		return nil
	})
	write(func(tx *Tx) error { _, err := tx.Finish(done); return err })
	groups, err := s.ErrorGroups(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, groups, 2)
	byN := map[int64]ErrorGroup{}
	for _, g := range groups {
		byN[g.N] = g
	}
	three := byN[3]
	require.Equal(t, "a", three.Type)
	require.Contains(t, three.Message, "no route to host")
	require.NotContains(t, three.Message, "10.0.0.1")

	page, err := s.List(t.Context(), Filter{Types: []string{"a"}, Fingerprint: three.Fingerprint}, 10)
	require.NoError(t, err)
	require.Equal(t, []int64{rows[2].ID, rows[1].ID, rows[0].ID}, taskIDsOf(page.Tasks))

	write(func(tx *Tx) error {
		_, err := tx.Change(ActionRetry, []int64{rows[0].ID}, Actor{Name: "p"})
		return err
	})
	write(func(tx *Tx) error {
		_, err := tx.Change(ActionDiscard, []int64{rows[1].ID}, Actor{Name: "p"})
		return err
	})
	write(func(tx *Tx) error { _, err := tx.Purge([]int64{rows[2].ID, rows[3].ID}); return err })
	groups, err = s.ErrorGroups(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, groups)
	left, err := s.ErrorGroup(t.Context(), "a", three.Fingerprint)
	require.NoError(t, err)
	require.Zero(t, left.N)
	_, err = s.ErrorGroup(t.Context(), "a", "none")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestTasksAreFoundByAParameter(t *testing.T) {
	s := openStore(t)
	ids := seedTasks(t, s,
		row{"params": `{"customer":{"id":7,"name":"x\"y"},"list":[1,{"a":true}]}`},
		row{"params": `{"customer":{"id":"7"}}`},
		row{"params": `{"customer.id":7}`},
		row{"params": `{"customer":7}`},
	)
	for _, c := range []struct {
		path, value string
		want        []int64
	}{
		{"customer.id", "7", []int64{ids[1], ids[0]}},
		{"customer.name", `x"y`, []int64{ids[0]}},
		{"customer", "7", []int64{ids[3]}},
		{"list.0", "1", []int64{ids[0]}},
		{"list.1.a", "true", []int64{ids[0]}},
		{"none", "7", []int64{}},
		{`"`, "7", []int64{}},
		{"", "7", []int64{}},
		{"a]b[", "7", []int64{}},
	} {
		page, err := s.List(t.Context(), Filter{Param: &Param{c.path, c.value}}, 10)
		require.NoError(t, err, c.path)
		require.Equal(t, c.want, taskIDsOf(page.Tasks), c.path)
	}
}
