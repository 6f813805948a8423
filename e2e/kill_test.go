package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killRounds is how often the server is killed; killRate is how many tasks a second it is asked to take meanwhile.
const (
	killRounds = 20
	killRate   = 500
)

// seed is REAX_E2E_SEED, or a new one; the log of a failed test names it.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv("REAX_E2E_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("REAX_E2E_SEED=%d", n)
	return rand.New(rand.NewPCG(n, n))
}

func TestNothingAcceptedIsLostWhenTheServerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	random := seed(t)
	p := newPlace(t, "PROBE_WORKERS=8", "PROBE_BACKOFF=100ms,200ms")
	requests := [][]byte{
		body("P.log", fields{}, nil),
		body("P.sleep", fields{"ms": 10}, fields{"priority": 1}),
		body("P.log", fields{}, fields{"delay": "1s"}),
		body("P.fail", fields{"n": 1}, nil),
		body("P.perm", fields{}, nil),
	}
	load := startLoad(t, killRate, func(n int64) []byte { return requests[n%int64(len(requests))] })
	for round := range killRounds {
		s := p.start(t)
		before := load.count()
		load.target.Store(s.api)
		pause := time.Duration(100+random.IntN(900)) * time.Millisecond
		select {
		case <-s.ended:
			require.FailNow(t, "the server ended by itself", "round %d\n%s", round, s.log(t))
		case <-time.After(pause):
		}
		s.kill(t)
		t.Logf("round %d: killed after %s and %d tasks", round, pause, load.count()-before)
	}
	load.end()
	require.Empty(t, load.other, "answers that are neither 2xx nor 503, by status")
	require.Greater(t, len(load.accepted), killRounds, "the load has to be one")

	s := p.start(t)
	s.awaitQuiet(t)
	requireSameCounts(t, s, p)
	s.stop(t)
	rows := p.requireBooks(t, load.accepted)
	suspected := 0
	for _, r := range rows {
		if r.suspected != "" {
			suspected++
		}
		if r.typ != "P.fail" && r.state != "dead" && r.attempt > 1 {
			require.NotEmpty(t, r.suspected, "a task ran twice and does not say so: %+v", r)
		}
	}
	t.Logf("%d tasks accepted, %d in the books, %d suspected", len(load.accepted), len(rows), suspected)
}

// requireSameCounts compares what the server says with the books while it is idle.
func requireSameCounts(t *testing.T, s *server, p *place) {
	t.Helper()
	byState := map[string]int64{}
	for _, r := range rowsOf(t, p.database(t)) {
		byState[r.state]++
	}
	said := s.counts(t)
	for state, n := range said {
		require.Equal(t, byState[state], n, state)
	}
	require.Len(t, said, 7)
}

func TestRunsThatDiedWithTheProcessAreMarkedAndRunAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_WORKERS=4")
	s := p.start(t)
	var ids []int64
	for i := range 20 {
		more := fields{}
		if i < 4 {
			more["max_retries"] = 0
		}
		ids = append(ids, s.enqueue(t, "P.sleep", fields{"ms": 700}, more).ID)
	}
	until(t, patience, func() string {
		if n := len(p.lines(t)); n < 4 {
			return fmt.Sprintf("%d runs have started", n)
		}
		return ""
	})
	s.kill(t)
	interrupted := map[int64]bool{}
	for id, r := range rowsOf(t, p.database(t)) {
		interrupted[id] = r.state == "running"
	}

	s = p.start(t)
	until(t, 10*time.Second, func() string {
		for _, v := range s.list(t, map[string][]string{"state": {"running"}}) {
			if !slices.ContainsFunc(p.startsOf(t, v.ID), func(l line) bool { return l.PID == s.pid() }) {
				return fmt.Sprintf("task %d is running and nobody runs it", v.ID)
			}
		}
		return ""
	})
	s.awaitQuiet(t)
	require.True(t, interrupted[ids[0]], "a task that may not be retried was interrupted")
	for _, id := range ids {
		v := s.task(t, id)
		require.Equal(t, "success", v.State, "%+v", v)
		if !interrupted[id] {
			require.Empty(t, v.Suspected)
			require.Equal(t, 1, v.Attempt)
			continue
		}
		require.Equal(t, 2, v.Attempt, "a run that died with the process costs no retry: %+v", v)
		require.Contains(t, v.Suspected, "the process died during run 1")
		require.Equal(t, "crashed", v.Attempts[0].Outcome)
	}
	s.stop(t)
	p.requireBooks(t, ids)
}

func TestTheThirdDeathOfTheProcessParksTheTaskThatWasThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var id int64
	for death := range 3 {
		s := p.start(t)
		if death == 0 {
			id = s.enqueue(t, "P.sleep", fields{"ms": 600_000}, nil).ID
		}
		until(t, patience, func() string {
			if n := len(p.startsOf(t, id)); n <= death {
				return fmt.Sprintf("run %d has not started", death+1)
			}
			return ""
		})
		s.kill(t)
	}
	s := p.start(t)
	v := s.awaitState(t, id, "dead")
	require.Contains(t, v.Error, "the process died 3 times")
	require.Equal(t, 3, v.Attempt)
	s.stop(t)
	p.requireBooks(t, []int64{id})
}

func TestALongTaskRunsOnceWhateverLooksForLostRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	// The server looks for lost runs every two seconds.
	ids := []int64{
		s.enqueue(t, "P.sleep", fields{"ms": 7_000}, fields{"timeout": 0}).ID,
		s.enqueue(t, "P.sleep", fields{"ms": 7_000}, fields{"timeout": "60s"}).ID,
	}
	for _, id := range ids {
		v := s.awaitTask(t, id, "final", (*task).isFinal)
		require.Equal(t, "success", v.State)
		require.Equal(t, 1, v.Attempt)
		require.Len(t, p.startsOf(t, id), 1)
	}
	s.stop(t)
	p.requireBooks(t, ids)
}
