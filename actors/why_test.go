package actors

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestWhyNamesTheOneGate(t *testing.T) {
	release := make(chan struct{})
	policy := quick()
	policy.Concurrency = 1
	f := start(t, registryOf(t, policy, map[string]handler{
		"block": func(context.Context, json.RawMessage) (json.RawMessage, error) { <-release; return nil, nil },
	}), Options{})
	why := func(id int64) Why {
		t.Helper()
		row := f.task(id)
		w, err := f.Why(t.Context(), &row)
		require.NoError(t, err)
		return w
	}
	running := f.enqueue("block")
	f.waitState(running.ID, models.StateRunning)
	require.Equal(t, GateNone, why(running.ID).Gate)

	second := f.enqueue("block", func(r *EnqueueRequest) { r.Priority = 7 })
	urgent := f.enqueue("block", func(r *EnqueueRequest) { r.Priority = 1 })
	later := f.enqueue("block", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Hour) })
	waitUntil(f, func() (Why, bool) { w := why(second.ID); return w, w.InWindow && w.Position == 1 })
	require.Equal(t, GatePool, why(second.ID).Gate)
	require.Equal(t, 0, why(urgent.ID).Position)
	require.False(t, why(urgent.ID).Lifted)
	require.Equal(t, GateTime, why(later.ID).Gate)
	require.Equal(t, f.task(later.ID).RunAt.Time(), why(later.ID).Until)

	require.NoError(t, f.Pause(t.Context(), "block", Change{By: "ann", Reason: "migration"}))
	w := why(second.ID)
	require.Equal(t, Gate("paused"), w.Gate)
	require.Equal(t, "ann", w.By)
	require.Equal(t, "migration", w.Reason)
	require.NoError(t, f.Resume(t.Context(), "block", Change{By: "ann"}))
	close(release)
	f.waitState(second.ID, models.StateSuccess)
}
