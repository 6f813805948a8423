package actors

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestRunsATaskAndKeepsItsResult(t *testing.T) {
	f := start(t, registryOf(t, quick(), map[string]handler{
		"echo": func(_ context.Context, p json.RawMessage) (json.RawMessage, error) { return p, nil },
	}), Options{})
	task := f.enqueue("echo", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 9007199254740993}`) })
	done := f.waitState(task.ID, models.StateSuccess)
	require.Equal(t, `{"n": 9007199254740993}`, done.Result)
	require.Equal(t, 1, done.Attempt)
}

// TestASuccessIsTold: pages follow what is told, and a success at the first try is the commonest news of all.
func TestASuccessIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(time.Minute)}), Options{})
		f.enqueue("work")
		pass(30 * time.Second)
		var told atomic.Int64
		defer f.Subscribe(func(topics []string) {
			if slices.Contains(topics, "tasks") {
				told.Add(1)
			}
		})()
		pass(10 * time.Second)
		require.Zero(t, told.Load(), "nothing happens to a task while it runs")
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 1}, f.states("work"))
		require.Positive(t, told.Load())
	})
}
