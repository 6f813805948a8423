package actors

import (
	"context"
	"encoding/json"
	"testing"

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
