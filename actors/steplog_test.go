package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// logOf is a log as a server writes it.
type logOf struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logOf) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logOf) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// steps are the lines of one trace id: level, action and state, and the attempt of those that have one.
func (l *logOf) steps(t *testing.T, trace string) (steps []string) {
	t.Helper()
	for _, line := range l.lines(t) {
		if line["trace_id"] != trace || line["action"] == nil {
			continue
		}
		step := fmt.Sprint(line["level"], " ", line["action"])
		if line["action"] == "enqueue" || line["action"] == "duplicate" {
			require.Contains(t, []any{"pending", "running"}, line["state"], "as the pool had a slot to lend or not")
		} else {
			step += fmt.Sprint(" ", line["state"])
		}
		if n := line["attempt"]; n != nil {
			step += fmt.Sprint(" ", n)
		}
		require.GreaterOrEqual(t, line["cost_ms"], 0.0)
		require.NotEmpty(t, line["time"])
		require.NotEmpty(t, line["type"])
		require.NotZero(t, line["task_id"])
		steps = append(steps, step)
	}
	return steps
}

func (l *logOf) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range strings.Lines(l.text.String()) {
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		all = append(all, line)
	}
	return all
}

func TestOneLineIsLoggedForEachStepOfATask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.MaxRetries = 1
		var log logOf
		f := start(t, registryOf(t, policy, map[string]handler{
			"ok": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				takes(1500 * time.Millisecond)
				return nil, nil
			},
			"dies": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("a\n{\"level\":\"INFO\"}")
			},
			"bad": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, tasks.Permanent(errors.New("never"))
			},
			"hangs": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				takes(time.Minute)
				return nil, nil
			},
		}), Options{Logger: log.logger(slog.LevelDebug), HandlerGrace: time.Second})
		ok := f.enqueue("ok", func(r *EnqueueRequest) { r.UniqueKey = "k"; r.Priority = 2 })
		pass(time.Second)
		held, err := f.Enqueue(t.Context(), EnqueueRequest{Type: "ok", UniqueKey: "k", By: "other"})
		require.NoError(t, err)
		require.True(t, held.Duplicate)
		dead, bad := f.enqueue("dies"), f.enqueue("bad")
		later := f.enqueue("ok", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Hour) })
		hangs := f.enqueue("hangs", func(r *EnqueueRequest) { d := time.Second; r.Timeout = &d; r.MaxRetries = new(int) })
		pass(5 * time.Second)
		_, err = f.Cancel(t.Context(), later.ID, Change{By: "ana", Reason: "not needed"})
		require.NoError(t, err)
		_, err = f.Retry(t.Context(), bad.ID, Change{By: "ana"})
		require.NoError(t, err)
		pass(2 * time.Minute)
		f.end()

		require.Equal(t, []string{"INFO enqueue", "DEBUG start running 1", "INFO duplicate", "INFO finish success 1"}, log.steps(t, ok.TraceID))
		require.Equal(t, []string{"INFO enqueue", "DEBUG start running 1", "WARN fail retry_wait 1", "DEBUG start running 2", "ERROR fail dead 2"}, log.steps(t, dead.TraceID))
		require.Equal(t, []string{"INFO enqueue", "DEBUG start running 1", "WARN fail failed 1", "INFO retry pending", "DEBUG start running 2", "WARN fail failed 2"}, log.steps(t, bad.TraceID))
		require.Equal(t, []string{"INFO enqueue", "INFO cancel cancelled"}, log.steps(t, later.TraceID))
		require.Equal(t, []string{"INFO enqueue", "DEBUG start running 1", "WARN stuck running 1", "INFO finish success 1"}, log.steps(t, hangs.TraceID))
		for _, line := range log.lines(t) {
			switch {
			case line["action"] == "finish" && line["trace_id"] == ok.TraceID:
				require.EqualValues(t, 1500, line["cost_ms"])
			case line["action"] == "cancel":
				require.Equal(t, "ana", line["by"])
				require.Equal(t, "not needed", line["reason"])
			case line["action"] == "fail" && line["trace_id"] == dead.TraceID:
				require.Equal(t, "a\n{\"level\":\"INFO\"}", line["error"], "one line whatever an error says")
			}
		}
	})
}

func TestParametersAreLoggedOnlyForDebuggingAndMasked(t *testing.T) {
	schema, err := tasks.CompileSchema(json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"token":{"type":"string","writeOnly":true}}}`))
	require.NoError(t, err)
	for level, says := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		r := tasks.NewRegistry()
		require.NoError(t, r.Add(tasks.Definition{Name: "secret", Kind: tasks.KindGo, Schema: schema, Policy: quick(),
			Handler: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}))
		var log logOf
		f := start(t, r, Options{Logger: log.logger(level)})
		task := f.enqueue("secret", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"user":"ana","token":"hunter2"}`) })
		f.waitState(task.ID, models.StateSuccess)
		f.end()
		require.NotEmpty(t, log.steps(t, task.TraceID))
		require.NotContains(t, log.text.String(), "hunter2")
		require.Equal(t, says, strings.Contains(log.text.String(), "ana"))
	}
}

func TestRunsThatACrashCutOffAreLogged(t *testing.T) {
	d := newDied(t)
	d.write(func(tx *models.Tx) { d.add(tx, "work", "a"); d.run(tx, "a") })
	var log logOf
	f := startOn(t, d.path, registryOf(t, quick(), map[string]handler{
		"work": func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}), Options{Logger: log.logger(slog.LevelInfo)})
	row := f.waitState(d.ids["a"], models.StateSuccess)
	f.end()
	require.Equal(t, []string{"WARN crash pending 1", "INFO finish success 2"}, log.steps(t, row.TraceID))
	require.Contains(t, log.text.String(), `"suspected":"the process died during run 1`)
}

// slowWriter is a log that nobody reads.
type slowWriter struct{ open chan struct{} }

func (w slowWriter) Write(p []byte) (int, error) { <-w.open; return len(p), nil }

func TestALogThatCannotBeWrittenStopsNoTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := slowWriter{make(chan struct{})}
		log := &logOf{}
		l := newStepLog(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(blocked, nil), log.logger(slog.LevelInfo).Handler())))
		c := &core{logger: l.logger, stepLog: l}
		one := func() *batch {
			return &batch{core: c, inserts: []*models.NewTask{{Task: models.Task{Type: "a"}}}}
		}
		for range cap(l.batches) + 100 {
			l.take(one())
			synctest.Wait()
		}
		require.EqualValues(t, 99, l.missing.Load(), "one is being written, the others wait or are left out")
		close(blocked.open)
		l.end()
		all := log.lines(t)
		require.Len(t, all, cap(l.batches)+2)
		require.Zero(t, l.behind.Load())
		said := 0
		for _, line := range all {
			if line["level"] == "WARN" {
				said += int(line["steps"].(float64))
			}
		}
		require.Equal(t, 99, said)
	})
}
