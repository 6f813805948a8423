package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// idOf is the id in an answer, or 0.
func idOf(got answer) int64 {
	var v task
	if json.Unmarshal(got.body, &v) != nil {
		return 0
	}
	return v.ID
}

func TestManyClientsAndReadersNeverMeetALock(t *testing.T) {
	t.Parallel()
	const clients, each = 64, 60
	p := newPlace(t, "PROBE_WORKERS=8")
	s := p.start(t)
	var mu sync.Mutex
	var ids []int64
	var wrong []string
	note := func(got answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case got.status == http.StatusCreated:
			ids = append(ids, idOf(got))
		case got.status != http.StatusOK:
			wrong = append(wrong, fmt.Sprintf("%d %s", got.status, got.body))
		}
	}
	var callers, readers sync.WaitGroup
	for range clients {
		callers.Go(func() {
			for range each {
				note(s.call(http.MethodPost, "/api/v1/tasks", body("P.log", fields{}, nil)))
			}
		})
	}
	done := make(chan struct{})
	for range 5 {
		readers.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for {
				for _, path := range []string{"/", "/healthz", "/api/v1/tasks?limit=50", "/api/v1/stats", "/api/v1/types", "/api/v1/actors"} {
					note(s.call(http.MethodGet, path, nil))
				}
				select {
				case <-done:
					return
				case <-tick.C:
				}
			}
		})
	}
	callers.Wait()
	close(done)
	readers.Wait()
	require.Empty(t, wrong)
	require.Len(t, ids, clients*each)
	s.awaitQuiet(t)
	require.NotContains(t, strings.ToLower(s.log(t)), "locked")
	require.Empty(t, s.logged(t, "cannot"), "%s", s.log(t))
	s.stop(t)
	rows := p.requireBooks(t, ids)
	require.Len(t, rows, clients*each)
	for _, r := range rows {
		require.Equal(t, "success", r.state)
		require.Equal(t, 1, r.attempt)
	}
}
