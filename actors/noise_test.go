package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// noise is how many lines a noisy task logs before anybody looks; it goes on after them until it is stopped. REAX_E2E_LONG=1
// makes it a million.
func noise() int {
	if os.Getenv("REAX_E2E_LONG") != "" {
		return 1_000_000
	}
	return 50_000
}

// noisyLogger logs n lines, says so, and logs on until it is stopped. With n = 0 it is quiet.
func noisyLogger(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
	run := tasks.RunOf(ctx)
	n := number(p)
	for i := range n {
		run.Logger.Info("one of many lines", "i", i)
	}
	if n == 0 {
		run.Logger.Info("heard")
		return nil, nil
	}
	run.Progress(50, 100, "")
	for ctx.Err() == nil {
		run.Logger.Info("and on")
	}
	return nil, context.Cause(ctx)
}

// noisyProgram does the same as a program.
const noisyProgram = `if [ "$REAX_PARAM_N" = 0 ]; then echo heard; exit; fi
seq "$REAX_PARAM_N"; echo "::progress 50"; exec yes "and on"`

// liveBytes is what the heap holds.
func liveBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestATaskThatLogsWithoutEndDelaysNoOther(t *testing.T) {
	for name, add := range map[string]func(r *tasks.Registry) error{
		"a logger": func(r *tasks.Registry) error {
			return r.Add(tasks.Definition{Name: "noisy", Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: quick(), Handler: noisyLogger})
		},
		"a program": func(r *tasks.Registry) error {
			return tasks.AddCommand(r, tasks.External{Name: "noisy", Policy: quick()}, tasks.Command{Argv: []string{"/bin/sh", "-c", noisyProgram}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := registryOf(t, quick(), map[string]handler{"other": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				tasks.RunOf(ctx).Logger.Info("heard")
				return nil, nil
			}})
			require.NoError(t, add(registry))
			var log logOf
			var loud, lines, messages atomic.Int64
			f := start(t, registry, Options{Logger: log.logger(slog.LevelInfo), fault: func(kind string, message any) {
				if m, ok := message.(*SaveLogs); ok && kind == "journal" && m.Lines[0].TaskID == loud.Load() {
					messages.Add(1)
					lines.Add(int64(len(m.Lines)))
				}
			}})
			before := liveBytes()
			loud.Store(1)
			require.EqualValues(t, 1, f.enqueue("noisy", numbered(noise())).ID)
			f.waitFor(1, func(row models.Task) bool { return row.Progress == 50 })

			require.Less(t, liveBytes()-before, int64(8<<20), "so many lines are not kept")
			for _, typ := range []string{"other", "noisy", "other", "noisy", "other"} {
				still := f.enqueue(typ, numbered(0))
				f.waitState(still.ID, models.StateSuccess) // or the test never ends
				heard, err := f.store.Logs(t.Context(), still.ID, 1, 0, 10)
				require.NoError(t, err)
				require.Len(t, heard, 1)
			}
			require.Equal(t, models.StateRunning, f.task(1).State)
			require.LessOrEqual(t, lines.Load(), int64(tasks.MaxLogLines/2), "the journal gets the head and, at the end, the tail")

			_, err := f.Cancel(t.Context(), 1, Change{By: "test"})
			require.NoError(t, err)
			f.waitState(1, models.StateCancelled)
			kept, err := f.store.Logs(t.Context(), 1, 1, 0, 2*tasks.MaxLogLines)
			require.NoError(t, err)
			require.Len(t, kept, tasks.MaxLogLines)
			require.Contains(t, kept[tasks.MaxLogLines/2].Text, "bytes left out")
			require.Contains(t, kept[tasks.MaxLogLines-2].Text, "and on", "one before the last, which a killed program may not have finished")
			require.EqualValues(t, tasks.MaxLogLines, lines.Load())
			require.LessOrEqual(t, messages.Load(), int64(tasks.MaxLogLines/2+1))
			f.end()

			said := 0
			for _, line := range log.lines(t) {
				if line["task_id"] == 1.0 && line["action"] == nil {
					said++
				}
			}
			require.LessOrEqual(t, said, tasks.MaxProgramLines+1, "the log of the server is no place for all of it")
		})
	}
}

func TestAHandlerLogsOnWhileNothingCanBeStored(t *testing.T) {
	hangs, free, logged := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	f := start(t, registryOf(t, quick(), map[string]handler{"noisy": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		for i := range 10 * tasks.MaxLogLines {
			tasks.RunOf(ctx).Output("stdout", fmt.Sprint(i+1))
			if i == tasks.MaxLogLines {
				<-hangs
			}
		}
		close(logged)
		return nil, nil
	}}), Options{fault: func(kind string, message any) {
		if _, ok := message.(*SaveLogs); ok && kind == "journal" && once.CompareAndSwap(false, true) {
			close(hangs)
			<-free
		}
	}})
	task := f.enqueue("noisy")
	<-logged // or the test never ends
	close(free)
	f.waitState(task.ID, models.StateSuccess)
	lines, err := f.store.Logs(t.Context(), task.ID, 1, 0, 2*tasks.MaxLogLines)
	require.NoError(t, err)
	require.Len(t, lines, tasks.MaxLogLines)
	require.Equal(t, fmt.Sprint(10*tasks.MaxLogLines), lines[tasks.MaxLogLines-1].Text)
}
