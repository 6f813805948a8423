package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneTaskHoldsAUniqueKeyWhoeverRacesForIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	var all []int64
	for round := range 20 {
		request := body("P.log", fields{}, fields{"unique_key": fmt.Sprintf("race-%d", round), "delay": "1h"})
		var mu sync.Mutex
		ids, made, others := map[int64]bool{}, 0, []string{}
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				got, err := s.call(http.MethodPost, "/api/v1/tasks", request)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					others = append(others, err.Error())
				case got.status == http.StatusCreated:
					made++
					ids[idOf(got)] = true
				case got.status == http.StatusOK:
					ids[idOf(got)] = true
				default:
					others = append(others, string(got.body))
				}
			})
		}
		callers.Wait()
		require.Empty(t, others)
		require.Equal(t, 1, made, "tasks made")
		require.Len(t, ids, 1)
		for id := range ids {
			require.NotZero(t, id)
			all = append(all, id)
		}
	}
	require.Len(t, s.list(t, nil), 20)
	s.stop(t)
	p.requireBooks(t, all)
}

func TestAUniqueKeyIsHeldWhileItsTaskWaitsOrRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_BACKOFF=1h,1h")
	s := p.start(t)
	cases := []struct {
		state, typ string
		params     fields
		more       fields
		held       bool
	}{
		{"pending", "P.log", fields{}, fields{"delay": "1h"}, true},
		{"running", "P.sleep", fields{"ms": 600_000}, nil, true},
		{"retry_wait", "P.fail", fields{"n": -1}, nil, true},
		{"success", "P.log", fields{}, nil, false},
		{"failed", "P.perm", fields{}, nil, false},
		{"dead", "P.fail", fields{"n": -1}, fields{"max_retries": 0}, false},
		{"cancelled", "P.log", fields{}, fields{"delay": "1h"}, false},
	}
	var ids []int64
	for _, c := range cases {
		key := fields{"unique_key": c.state}
		maps.Copy(key, c.more)
		holder := s.enqueue(t, c.typ, c.params, key)
		require.False(t, holder.Duplicate)
		if c.state == "cancelled" {
			require.Equal(t, http.StatusOK, s.act(t, holder.ID, "cancel").status)
		}
		s.awaitState(t, holder.ID, c.state)
		second := s.enqueue(t, c.typ, c.params, key)
		require.Equal(t, c.held, second.Duplicate, c.state)
		require.Equal(t, c.held, second.ID == holder.ID, c.state)
		ids = append(ids, holder.ID, second.ID)
	}
	s.kill(t)
	p.requireBooks(t, ids)
}

func TestAUniqueKeyFollowsItsTaskThroughACrash(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	holder := s.enqueue(t, "P.sleep", fields{"ms": 1_000}, fields{"unique_key": "key"}).ID
	until(t, patience, func() string {
		if len(p.startsOf(t, holder)) == 0 {
			return "the holder has not started"
		}
		return ""
	})
	s.kill(t)
	s = p.start(t)
	second := s.enqueue(t, "P.log", fields{}, fields{"unique_key": "key"})
	require.True(t, second.Duplicate)
	require.Equal(t, holder, second.ID)
	require.NotEmpty(t, s.awaitState(t, holder, "success").Suspected)
	third := s.enqueue(t, "P.log", fields{}, fields{"unique_key": "key"})
	require.False(t, third.Duplicate)
	require.NotEqual(t, holder, third.ID)
	s.awaitQuiet(t)
	s.stop(t)
	p.requireBooks(t, []int64{holder, third.ID})
}
