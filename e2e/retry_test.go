package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRunsAreTheFirstOneAndSoManyRetries(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_BACKOFF=100ms,400ms", "PROBE_WORKERS=8")
	s := p.start(t)
	var ids []int64
	for _, retries := range []int{0, 1, 3} {
		id := s.enqueue(t, "P.fail", fields{"n": -1}, fields{"max_retries": retries}).ID
		ids = append(ids, id)
		v := s.awaitState(t, id, "dead")
		require.Len(t, p.startsOf(t, id), retries+1)
		require.Equal(t, retries+1, v.Attempt)
		require.Equal(t, retries+1, v.Failures)
		require.Len(t, v.Attempts, retries+1)
	}
	perm := s.enqueue(t, "P.perm", fields{}, fields{"max_retries": 3}).ID
	require.Equal(t, "permanent", s.awaitState(t, perm, "failed").ErrorKind)
	require.Len(t, p.startsOf(t, perm), 1)

	// The wait counts from the failure, so a run that works for longer than the wait is not repeated at once.
	slow := s.enqueue(t, "P.fail", fields{"n": -1, "ms": 150}, fields{"max_retries": 5}).ID
	v := s.awaitState(t, slow, "dead")
	starts := p.startsOf(t, slow)
	require.Len(t, starts, 6)
	for i, ms := range []int{100, 200, 400, 400, 400} {
		plain := time.Duration(ms) * time.Millisecond
		planned := v.Attempts[i].RetryAt.Sub(*v.Attempts[i].FinishedAt)
		require.GreaterOrEqual(t, planned, plain, "retry %d", i+1)
		require.LessOrEqual(t, planned, plain+plain/10+time.Microsecond, "retry %d: jitter is at most a tenth", i+1)
		require.GreaterOrEqual(t, starts[i+1].UnixUS, v.Attempts[i].RetryAt.UnixMicro(), "run %d started before its time", i+2)
	}
	s.stop(t)
	p.requireBooks(t, append(ids, perm, slow))
}

func TestTasksOfATypeThatIsGoneWaitForItsReturn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	var ids []int64
	for range 10 {
		ids = append(ids, s.enqueue(t, "P.perm", fields{}, fields{"delay": "3s"}).ID)
	}
	require.Equal(t, http.StatusNotFound, s.post(t, "P.never", fields{}, nil).status)
	s.stop(t)

	without := *p
	without.env = append(without.env, "PROBE_WITHOUT=P.perm")
	s = without.start(t)
	requireProblem(t, s.post(t, "P.perm", fields{}, nil), http.StatusNotFound, "unknown_type")
	until(t, patience, func() string {
		if h := s.health(t); h.Status != "degraded" || h.code != http.StatusOK || len(h.Reasons) == 0 {
			return fmt.Sprintf("health does not warn: %+v", h)
		}
		return ""
	})
	late := s.enqueue(t, "P.log", fields{}, fields{"delay": "3500ms"}).ID
	s.awaitState(t, late, "success") // so the time of the others has come
	for range 100 {
		ids = append(ids, s.enqueue(t, "P.log", fields{}, nil).ID)
	}
	for _, id := range ids[10:] {
		s.awaitState(t, id, "success")
	}
	for _, id := range ids[:10] {
		v := s.task(t, id)
		require.Equal(t, "pending", v.State)
		require.Zero(t, v.Attempt)
		require.Zero(t, v.Failures)
	}
	require.Contains(t, without.ok(t, "types"), "no handler")
	s.stop(t)

	p.starts = without.starts
	s = p.start(t)
	for _, id := range ids[:10] {
		require.Equal(t, 1, s.awaitState(t, id, "failed").Attempt)
	}
	require.Equal(t, "ok", s.health(t).Status)
	s.stop(t)
	p.requireBooks(t, append(ids, late))
}

func TestPanicsCostNoWorker(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_WORKERS=4")
	s := p.start(t)
	var ids []int64
	crash := func(kind, stack string, params fields) {
		id := s.enqueue(t, "P.mixed", params, fields{"max_retries": 0}).ID
		ids = append(ids, id)
		v := s.awaitState(t, id, "dead")
		require.Equal(t, kind, v.ErrorKind)
		require.LessOrEqual(t, len(v.Error), 16<<10)
		require.Len(t, v.Attempts, 1)
		require.Contains(t, v.Attempts[0].Stack, stack)
		require.LessOrEqual(t, len(v.Attempts[0].Stack), 16<<10)
	}
	for range 8 {
		crash("panic", "probe", fields{"do": "panic"})
	}
	for range 4 {
		crash("goexit", "", fields{"do": "goexit"})
	}
	crash("panic", "probe", fields{"do": "panic", "text": "nil"})
	crash("panic", "probe", fields{"do": "panic", "text": "huge"})

	var sleepers []int64
	for range 8 {
		sleepers = append(sleepers, s.enqueue(t, "P.mixed", fields{"do": "sleep", "ms": 1_000}, nil).ID)
	}
	for _, id := range sleepers {
		s.awaitState(t, id, "success")
	}
	running, most := 0, 0
	for _, l := range p.lines(t) {
		switch {
		case l.TaskID < sleepers[0]:
		case l.Event == "start":
			running++
			most = max(most, running)
		default:
			running--
		}
	}
	require.Equal(t, 4, most, "how many ran at one time")
	var tree struct {
		Actors []struct {
			ID   string `json:"id"`
			Kind string `json:"kind"`
		} `json:"actors"`
	}
	s.get(t, "/api/v1/actors", &tree)
	workers := 0
	for _, a := range tree.Actors {
		if a.Kind == "worker" {
			workers++
		}
	}
	var types struct {
		Types []struct {
			Policy struct {
				Concurrency int `json:"concurrency"`
			} `json:"policy"`
		} `json:"types"`
	}
	s.get(t, "/api/v1/types", &types)
	want := 0
	for _, typ := range types.Types {
		want += typ.Policy.Concurrency
	}
	require.Positive(t, want)
	require.Equal(t, want, workers, "workers of all types")
	s.stop(t)
	p.requireBooks(t, append(ids, sleepers...))
}
