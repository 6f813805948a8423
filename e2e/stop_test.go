package e2e

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// busy fills a pool of four with one stubborn run and three short ones, with twenty tasks that wait behind them.
func busy(t *testing.T, p *place, s *server, shortMS int) (stubborn int64, short, waiting []int64) {
	t.Helper()
	stubborn = s.enqueue(t, "P.mixed", fields{"do": "stubborn", "ms": 600_000}, fields{"priority": 1}).ID
	for range 3 {
		short = append(short, s.enqueue(t, "P.mixed", fields{"do": "sleep", "ms": shortMS}, fields{"priority": 1}).ID)
	}
	until(t, patience, func() string {
		if n := len(p.lines(t)); n < 4 {
			return fmt.Sprintf("%d runs have started", n)
		}
		return ""
	})
	for range 20 {
		waiting = append(waiting, s.enqueue(t, "P.mixed", fields{"do": "log"}, nil).ID)
	}
	require.Len(t, p.lines(t), 4, "the machine is too slow for this test: a short run has ended already")
	return stubborn, short, waiting
}

func TestStoppingLetsShortRunsEndAndLeavesAStubbornOneBehind(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_WORKERS=4")
	p.config(t, "shutdown_grace: 4s\n")
	s := p.start(t)
	stubborn, short, waiting := busy(t, p, s, 3_000)

	s.signal(t, syscall.SIGTERM)
	until(t, patience, func() string {
		if h := s.health(t); h.Status != "draining" || h.code != http.StatusServiceUnavailable {
			return fmt.Sprintf("health does not say that the server is draining: %+v", h)
		}
		return ""
	})
	s.end(t)
	left := s.logged(t, "left behind")
	require.Len(t, left, 1, "%s", s.log(t))
	require.EqualValues(t, stubborn, left[0]["task_id"])
	ended := map[int64]bool{}
	for _, l := range p.lines(t) {
		require.NotContains(t, waiting, l.TaskID, "a run was started after the signal")
		ended[l.TaskID] = ended[l.TaskID] || l.Event == "end"
	}
	for _, id := range short {
		require.True(t, ended[id], "a short run was cut off")
	}

	s = p.start(t)
	for _, id := range waiting {
		require.Equal(t, 1, s.awaitState(t, id, "success").Attempt)
	}
	for _, id := range short {
		require.Equal(t, 1, s.awaitState(t, id, "success").Attempt)
	}
	v := s.task(t, stubborn)
	require.NotEmpty(t, v.Suspected, "%+v", v)
	require.Equal(t, 0, v.Failures)
	s.kill(t)
	rows := p.requireBooks(t, append(append(short, waiting...), stubborn))
	require.Equal(t, "running", rows[stubborn].state)
}

func TestARunThatIsCutOffByStoppingGoesOnLaterAndCostsNoRetry(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.config(t, "shutdown_grace: 300ms\n")
	s := p.start(t)
	id := s.enqueue(t, "P.sleep", fields{"ms": 2_000}, fields{"max_retries": 0}).ID
	until(t, patience, func() string {
		if len(p.startsOf(t, id)) == 0 {
			return "the run has not started"
		}
		return ""
	})
	s.stop(t)
	s = p.start(t)
	v := s.awaitState(t, id, "success")
	require.Equal(t, 2, v.Attempt)
	require.Zero(t, v.Failures)
	require.Empty(t, v.Suspected, "nothing was lost: the run ended in good order")
	require.Equal(t, "interrupted", v.Attempts[0].Outcome)
	s.stop(t)
	p.requireBooks(t, []int64{id})
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "PROBE_WORKERS=4")
	p.config(t, "shutdown_grace: 10m\n")
	s := p.start(t)
	stubborn, short, waiting := busy(t, p, s, 600_000)
	s.signal(t, syscall.SIGTERM)
	until(t, patience, func() string {
		if h := s.health(t); h.Status != "draining" {
			return fmt.Sprintf("%+v", h)
		}
		return ""
	})
	s.signal(t, syscall.SIGTERM)
	require.Equal(t, 1, s.end(t))
	require.Contains(t, s.log(t), "4 tasks were still running and will be recovered at the next start")
	p.requireBooks(t, append(append(short, waiting...), stubborn))

	s = p.start(t)
	for _, id := range append(short, stubborn) {
		v := s.awaitTask(t, id, "running again", func(v *task) bool { return v.Attempt == 2 })
		require.NotEmpty(t, v.Suspected)
	}
}
