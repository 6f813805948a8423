package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// starts notes which tasks began, in order and when.
type starts struct {
	mu  sync.Mutex
	ids []int64
	at  map[int64]time.Time
}

func (s *starts) add(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int64]time.Time{}
	}
	id := tasks.RunOf(ctx).TaskID
	s.ids = append(s.ids, id)
	s.at[id] = time.Now()
}

func (s *starts) of(id int64) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[id]
	return at, ok
}

// TestEveryPriorityRunsWithinItsLimitUnderAStreamOfUrgentTasks: the pool is always full of priority 1, twice over.
func TestEveryPriorityRunsWithinItsLimitUnderAStreamOfUrgentTasks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const (
			base, step = 30 * time.Second, 3 * time.Second
			work       = time.Second
		)
		policy := quick()
		policy.Concurrency = 2
		var s starts
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			s.add(ctx)
			takes(work)
			return nil, nil
		}}), Options{PromoteBase: base, PromoteStep: step})
		pass(time.Second) // the queue has read the ledger, a lane after the other: what it finds there is of one moment
		begun := time.Now()
		urgent := func(n int) []models.Task {
			return f.enqueueMany(several("work", n, func(r *EnqueueRequest) { r.Priority = 1 }))
		}
		urgent(10)
		waiting := map[int][]models.Task{}
		for _, p := range []int{10, 7, 5, 3} {
			waiting[p] = f.enqueueMany(several("work", 3, func(r *EnqueueRequest) { r.Priority = p }))
		}
		for range 80 {
			urgent(2)
			pass(time.Second)
		}
		s.mu.Lock()
		order := slices.Clone(s.ids)
		s.mu.Unlock()
		var low []int64
		lifted := 0
		for p, group := range waiting {
			limit := base + time.Duration(p-1)*step
			for _, task := range group {
				at, ok := s.of(task.ID)
				require.True(t, ok, "a task of priority %d never began", p)
				wait := at.Sub(begun)
				// Lifted tasks wait for each other, two at a time: all in all 12 of them, and urgent ones that waited as long.
				require.GreaterOrEqual(t, wait, limit, "priority %d is not lifted before its time", p)
				require.LessOrEqual(t, wait, limit+20*time.Second, "priority %d", p)
				row := f.task(task.ID)
				require.Equal(t, row.ReadyAt.Add(limit), row.PromotedAt, "the moment at which waiting lifted it")
				lifted++
			}
		}
		for _, id := range order {
			if row := f.task(id); row.Priority > 1 {
				low = append(low, id)
			}
		}
		slices.SortFunc(low, func(a, b int64) int { // two begin in the same moment
			atA, _ := s.of(a)
			atB, _ := s.of(b)
			return cmp.Or(atA.Compare(atB), cmp.Compare(a, b))
		})
		var want []int64 // those that are lifted first come first; among equals the order of their coming
		for _, p := range []int{3, 5, 7, 10} {
			for _, task := range waiting[p] {
				want = append(want, task.ID)
			}
		}
		require.Equal(t, want, low)
		require.Equal(t, 12, lifted)
		minutes, err := f.store.MinuteStats(t.Context(), 0, models.At(time.Now().Add(time.Hour)))
		require.NoError(t, err)
		var promoted int64
		for i := range minutes {
			promoted += minutes[i].Promoted
		}
		require.GreaterOrEqual(t, promoted, int64(12))
		require.Greater(t, len(order)-len(low), 5*len(low), "urgent tasks still get most of the slots")
	})
}

func TestMoreUrgentTasksGoFirstAndEqualOnesInTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.Concurrency = 1
		var s starts
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			s.add(ctx)
			takes(time.Second)
			return nil, nil
		}}), Options{})
		first := f.enqueue("work")
		pass(100 * time.Millisecond)
		var reqs []EnqueueRequest
		for i := range 30 {
			reqs = append(reqs, EnqueueRequest{Type: "work", Priority: 10 - i%10})
		}
		got := f.enqueueMany(reqs)
		pass(time.Minute)
		slices.SortStableFunc(got, func(a, b models.Task) int { return a.Priority - b.Priority })
		want := []int64{first.ID}
		for _, task := range got {
			want = append(want, task.ID)
		}
		require.Equal(t, want, s.ids)
	})
}

// TestLongTasksOfOneTypeNeverDelayAnother: each type has workers of its own.
func TestLongTasksOfOneTypeNeverDelayAnother(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"a": waits(time.Minute), "b": waits(0)}), Options{})
		f.enqueueMany(several("a", 50, func(r *EnqueueRequest) { r.Priority = 10 }))
		pass(time.Second)
		b := f.enqueueMany(several("b", 20, func(r *EnqueueRequest) { r.Priority = 1 }))
		pass(time.Second)
		for _, task := range b {
			require.Equal(t, models.StateSuccess, f.task(task.ID).State)
		}
		pass(15 * time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: 50}, f.states("a"))
	})
}

// TestATaskThatAlwaysFailsHoldsNobodyUp: with no back-off at all it is ready again at once, 200 times.
func TestATaskThatAlwaysFailsHoldsNobodyUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		policy := quick()
		policy.BackoffBase, policy.BackoffMax, policy.Concurrency = 0, 0, 1
		policy.MaxRetries = 200
		var s starts
		var bad int64
		f := start(t, registryOf(t, policy, map[string]handler{"work": func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
			s.add(ctx)
			takes(time.Millisecond)
			if number(p) == 1_000 {
				return nil, errPlain
			}
			return nil, nil
		}}), Options{})
		bad = f.enqueue("work", func(r *EnqueueRequest) { r.Params = json.RawMessage(`{"n": 1000}`) }).ID
		f.enqueueMany(several("work", 100))
		pass(time.Minute)
		require.Equal(t, models.StateDead, f.task(bad).State)
		require.Equal(t, 201, f.task(bad).Attempt)
		require.Equal(t, 100, f.states("work")[models.StateSuccess])
		between := 0 // runs of the bad one before the last good one
		last := len(s.ids) - 1
		for last > 0 && s.ids[last] == bad {
			last--
		}
		for _, id := range s.ids[:last] {
			if id == bad {
				between++
			}
		}
		require.LessOrEqual(t, between, 101, "it takes at most every second turn")
		f.checkCounts()
	})
}
