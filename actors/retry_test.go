package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// between checks that d is at least least, and not more than a tenth (and a moment) over it.
func between(t *testing.T, least, d time.Duration, what string, args ...any) {
	t.Helper()
	require.GreaterOrEqual(t, d, least, what, args)
	require.LessOrEqual(t, d, least+least/10+50*time.Millisecond, what, args)
}

func TestRetriesComeAfter10_20_40_80_120_120SecondsFromTheFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		policy := tasks.DefaultPolicy()
		policy.MaxRetries = 6
		var mu sync.Mutex
		var begun, ended []time.Time
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, time.Now())
			takes(15 * time.Second)
			ended = append(ended, time.Now())
			return nil, errPlain
		}}), Options{})
		task := f.enqueue("work")
		pass(15 * time.Minute)
		require.Equal(t, models.StateDead, f.task(task.ID).State)
		require.Len(t, begun, 7)
		history := f.attempts(task.ID)
		require.Len(t, history, 7)
		for i, seconds := range []int{10, 20, 40, 80, 120, 120} {
			wait := time.Duration(seconds) * time.Second
			between(t, wait, begun[i+1].Sub(ended[i]), "before retry %d", i+1)
			between(t, wait, history[i].RetryAt.Sub(history[i].FinishedAt), "as planned before retry %d", i+1)
			require.NotEmpty(t, history[i].RetryRule)
		}
		require.Zero(t, history[6].RetryAt)
		f.checkCounts()
	})
}

func TestMaxRetriesIsRunsAfterTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, errPlain
		}}), Options{})
		for _, retries := range []int{0, 1, 3} {
			task := f.enqueue("work", func(r *EnqueueRequest) { r.MaxRetries = &retries })
			pass(time.Minute)
			row := f.task(task.ID)
			require.Equal(t, models.StateDead, row.State)
			require.Equal(t, retries+1, row.Attempt)
			require.Equal(t, retries+1, row.Failures)
			require.Len(t, f.attempts(task.ID), retries+1)
		}
		// A person's retry starts the count again.
		task := f.enqueue("work", func(r *EnqueueRequest) { r.MaxRetries = new(1) })
		pass(time.Second)
		_, err := f.Retry(t.Context(), task.ID, Change{})
		require.NoError(t, err)
		pass(time.Second)
		row := f.task(task.ID)
		require.Equal(t, 4, row.Attempt)
		require.Equal(t, 2, row.Failures)
		require.Equal(t, []string{models.OutcomeRetry, models.OutcomeDead, models.OutcomeRetry, models.OutcomeDead}, f.outcomes(task.ID))
	})
}

func TestWhatAnErrorSaysAboutRetrying(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		marked bool // only what is marked is retried
		state  models.State
		kind   string
		wait   time.Duration
	}{
		"permanent":                    {tasks.Permanent(errPlain), false, models.StateFailed, tasks.KindPermanent, 0},
		"retry after":                  {tasks.RetryAfter(errPlain, 3*time.Minute), false, models.StateRetryWait, tasks.KindError, 3 * time.Minute},
		"retry at once":                {tasks.RetryAfter(errPlain, -time.Hour), false, models.StateDead, tasks.KindError, 0},
		"retry after an age":           {tasks.RetryAfter(errPlain, math.MaxInt64), false, models.StateRetryWait, tasks.KindError, tasks.MaxBackoff},
		"plain where marks are wanted": {errPlain, true, models.StateFailed, tasks.KindError, 0},
		"marked":                       {tasks.Retryable(errPlain), true, models.StateRetryWait, tasks.KindError, 10 * time.Second},
		"permanent wins":               {tasks.Permanent(tasks.Retryable(errPlain)), true, models.StateFailed, tasks.KindPermanent, 0},
		"hostile":                      {hostile{}, false, models.StateRetryWait, tasks.KindError, 10 * time.Second},
		"a nil pointer":                {(*hostilePointer)(nil), false, models.StateRetryWait, tasks.KindError, 10 * time.Second},
		"goexit said by a handler":     {fmt.Errorf("we: %w", tasks.ErrGoexit), false, models.StateRetryWait, tasks.KindGoexit, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := tasks.DefaultPolicy()
				policy.RetryOnlyMarked = c.marked
				f := start(t, registryOf(t, policy, map[string]handler{"work": func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return nil, c.err
				}}), Options{})
				task := f.enqueue("work")
				pass(time.Second)
				row := f.task(task.ID)
				require.Equal(t, c.state, row.State)
				require.Equal(t, c.kind, row.ErrorKind)
				require.NotEmpty(t, row.Error)
				if c.state == models.StateRetryWait {
					between(t, c.wait, row.RunAt.Sub(row.FinishedAt), "the wait")
				}
				require.Empty(t, f.Health().Reasons, "no actor crashed over it")
				f.checkWorkers("work", policy.Concurrency)
			})
		})
	}
}

// hostile is an error whose every method panics.
type hostile struct{}

func (hostile) Error() string  { panic("error") }
func (hostile) Unwrap() error  { panic("unwrap") }
func (hostile) Is(error) bool  { panic("is") }
func (hostile) As(any) bool    { panic("as") }
func (hostile) String() string { panic("string") }

type hostilePointer struct{ text string }

func (p *hostilePointer) Error() string { return p.text }

// TestTasksThatFailTogetherDoNotComeBackTogether: the spread grows with the wait, and nothing comes too early.
func TestTasksThatFailTogetherDoNotComeBackTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const n = 500
		policy := tasks.DefaultPolicy()
		policy.Concurrency = 50
		policy.BackoffBase, policy.BackoffMax = 100*time.Second, 1000*time.Second
		var mu sync.Mutex
		begun := map[int][]time.Time{} // by attempt
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			attempt := tasks.RunOf(ctx).Attempt
			begun[attempt] = append(begun[attempt], time.Now())
			mu.Unlock()
			if attempt < 3 {
				return nil, errPlain
			}
			return nil, nil
		}}), Options{})
		f.enqueueMany(several("work", n))
		pass(10 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: n}, f.states("work"))
		first := begun[1][0]
		for attempt, wait := range map[int]time.Duration{2: 100 * time.Second, 3: 300 * time.Second} {
			bySecond := map[int]int{}
			for _, at := range begun[attempt] {
				require.GreaterOrEqual(t, at.Sub(first), wait)
				bySecond[int(at.Sub(first)/time.Second)]++
			}
			for second, k := range bySecond {
				require.LessOrEqual(t, k, n/5, "starts in second %d", second)
			}
		}
		f.checkCounts()
	})
}
