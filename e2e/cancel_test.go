package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func awaitStart(t *testing.T, p *place, id int64) {
	t.Helper()
	until(t, patience, func() string {
		if len(p.startsOf(t, id)) == 0 {
			return fmt.Sprintf("task %d has not started", id)
		}
		return ""
	})
}

func TestACancelledTaskNeverStarts(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_BACKOFF=1h,1h", "PROBE_WORKERS=1")
	s := p.start(t)
	holder := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
	awaitStart(t, p, holder)
	waiting := s.enqueue(t, "P.sleep", fields{"ms": 1}, nil).ID
	delayed := s.enqueue(t, "P.log", fields{}, fields{"delay": "1s"}).ID
	retrying := s.enqueue(t, "P.fail", fields{"n": -1}, nil).ID
	s.awaitState(t, retrying, "retry_wait")
	for _, id := range []int64{waiting, delayed, retrying} {
		got := s.act(t, id, "cancel")
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		require.Equal(t, "cancelled", taskOf(t, got).State)
		requireProblem(t, s.act(t, id, "cancel"), http.StatusConflict, "wrong_state")
	}

	// A running one stops, and what was behind it starts, but not what was cancelled there.
	begun := time.Now()
	require.Equal(t, http.StatusOK, s.act(t, holder, "cancel").status)
	v := s.awaitState(t, holder, "cancelled")
	require.Less(t, time.Since(begun), 10*time.Second, "the run was told to stop and not waited for")
	require.Equal(t, 1, v.Attempt, "no retry")
	after := s.enqueue(t, "P.sleep", fields{"ms": 1}, nil).ID
	s.awaitState(t, after, "success")
	late := s.enqueue(t, "P.log", fields{}, fields{"delay": "1500ms"}).ID
	s.awaitState(t, late, "success")
	require.Empty(t, p.startsOf(t, waiting))
	require.Empty(t, p.startsOf(t, delayed))
	require.Len(t, p.startsOf(t, retrying), 1)
	s.stop(t)
	p.requireBooks(t, []int64{holder, waiting, delayed, retrying, after, late})
}

func TestCancellingAStubbornRunSaysThatItStillRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	id := s.enqueue(t, "P.stubborn", fields{"ms": 8_500}, nil).ID
	awaitStart(t, p, id)
	got := s.act(t, id, "cancel")
	require.Equal(t, http.StatusOK, got.status)
	v := s.task(t, id)
	require.Equal(t, "running", v.State)
	require.NotNil(t, v.CancelRequestedAt)
	s.awaitTask(t, id, "stuck", func(v *task) bool { return v.Stuck || v.isFinal() })
	v = s.task(t, id)
	require.Equal(t, "running", v.State, "the old code runs, so the task does")
	require.True(t, v.Stuck)
	v = s.awaitState(t, id, "cancelled")
	require.False(t, v.Stuck)
	require.Equal(t, 1, v.Attempt)
	s.stop(t)
	p.requireBooks(t, []int64{id})
}

func TestACancelThatMeetsTheEndOfTheRunGivesOneFinalState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	var ids []int64
	states := map[string]int{}
	for range 60 {
		id := s.enqueue(t, "P.sleep", fields{"ms": 5}, nil).ID
		ids = append(ids, id)
		awaitStart(t, p, id)
		got := s.act(t, id, "cancel")
		require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.status, "%s", got.body)
		v := s.awaitTask(t, id, "final", (*task).isFinal)
		require.Contains(t, []string{"success", "cancelled"}, v.State)
		if got.status == http.StatusConflict {
			require.Equal(t, "success", v.State, "the cancel was refused")
		}
		states[v.State]++
	}
	t.Log(states)
	for _, id := range ids {
		require.Len(t, p.startsOf(t, id), 1)
	}
	s.stop(t)
	p.requireBooks(t, ids)
}

func TestATaskWhoseProcessDiedCanBeCancelled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	id := s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
	asked := s.enqueue(t, "P.stubborn", fields{"ms": 600_000}, nil).ID
	awaitStart(t, p, id)
	awaitStart(t, p, asked)
	require.Equal(t, http.StatusOK, s.act(t, asked, "cancel").status)
	s.kill(t)
	s = p.start(t)
	// The wish was written before the crash and holds after it.
	s.awaitState(t, asked, "cancelled")
	require.Len(t, p.startsOf(t, asked), 1)
	require.Equal(t, http.StatusOK, s.act(t, id, "cancel").status)
	s.awaitState(t, id, "cancelled")
	s.stop(t)
	p.requireBooks(t, []int64{id, asked})
}
