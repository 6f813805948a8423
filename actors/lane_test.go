package actors

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"reax/models"
)

func compareReady(a, b models.Ready) int {
	return cmp.Or(cmp.Compare(a.ReadyAt, b.ReadyAt), cmp.Compare(a.ID, b.ID))
}

func TestAHeapGivesItsTasksInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h readyHeap
		var want []models.Ready
		for id := range rapid.Int64Range(0, 200).Draw(t, "n") {
			r := models.Ready{ID: id, ReadyAt: models.Instant(rapid.IntRange(0, 50).Draw(t, "at"))}
			h.push(r)
			want = append(want, r)
			if rapid.IntRange(0, 3).Draw(t, "pop") == 0 {
				slices.SortFunc(want, compareReady)
				require.Equal(t, want[0], h.pop())
				want = want[1:]
			}
		}
		slices.SortFunc(want, compareReady)
		for _, r := range want {
			require.Equal(t, r, h.pop())
		}
		require.Empty(t, h)
	})
}

// laneWorld is a ledger of ready tasks, and a window on it as the queue keeps it.
type laneWorld struct {
	rule    promotion
	now     models.Instant
	ledger  map[int64]models.Ready // ready by the ledger's word: held ones too, until their claim is committed
	told    []models.Ready         // on its way to the queue
	lanes   *lanes
	holding map[int64]bool
	taken   map[int64]bool
	nextID  int64
}

// readAfter is what the store gives.
func (w *laneWorld) readAfter(priority int, after models.Ready, limit int) []models.Ready {
	var all []models.Ready
	for _, r := range w.ledger {
		if r.Priority == priority && compareReady(r, after) > 0 {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, compareReady)
	return all[:min(len(all), limit)]
}

func (w *laneWorld) refill() {
	for p := 1; p <= 10; p++ {
		for n := w.lanes.lane(p); n.wantsRefill(); {
			next := w.readAfter(p, n.last, w.lanes.window)
			w.lanes.refill(p, next, len(next) == w.lanes.window, func(r models.Ready) bool { return w.holding[r.ID] })
		}
	}
}

// best is the task that runs next by the rules, found by looking at all of them.
func (w *laneWorld) best() (best models.Ready, lifted, ok bool) {
	for _, r := range w.ledger {
		if w.holding[r.ID] {
			continue
		}
		up := w.rule.liftAt(r) <= w.now
		better := !ok || up && !lifted
		if ok && up == lifted {
			better = compareReady(r, best) < 0
			if !up {
				better = cmp.Or(cmp.Compare(r.Priority, best.Priority), compareReady(r, best)) < 0
			}
		}
		if better {
			best, lifted, ok = r, up, true
		}
	}
	return best, lifted, ok
}

func (w *laneWorld) take(t *rapid.T) bool {
	w.refill()
	n, lifted := w.lanes.next(w.now, w.rule)
	want, wantLifted, ok := w.best()
	if n == nil {
		require.True(t, !ok || len(w.told) > 0, "task %d waits and is not seen", want.ID)
		return false
	}
	got := w.lanes.pop(n)
	require.Contains(t, w.ledger, got.ID)
	require.False(t, w.taken[got.ID], "task %d is given out twice", got.ID)
	if len(w.told) == 0 {
		require.Equal(t, want, got)
		require.Equal(t, wantLifted, lifted)
	}
	w.taken[got.ID], w.holding[got.ID] = true, true
	return true
}

func (w *laneWorld) tell() {
	r := w.told[0]
	w.told = w.told[1:]
	if !w.holding[r.ID] && !w.taken[r.ID] {
		w.lanes.push(r)
	}
}

// TestLanesGiveWhatAWalkOverAllTasksWouldGive, however small the window, and each task once.
func TestLanesGiveWhatAWalkOverAllTasksWouldGive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &laneWorld{
			rule: promotion{20 * time.Microsecond, 3 * time.Microsecond}, now: 1_000, ledger: map[int64]models.Ready{},
			lanes: newLanes(rapid.IntRange(1, 12).Draw(t, "window")), holding: map[int64]bool{}, taken: map[int64]bool{},
		}
		few := rapid.Bool().Draw(t, "few priorities")
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "n") {
					w.nextID++
					p := rapid.IntRange(1, 10).Draw(t, "priority")
					if few {
						p = 1 + p%2
					}
					// Mostly now; a released task is ready since its time, which may be before that of others.
					at := w.now - models.Instant(max(0, rapid.IntRange(-20, 30).Draw(t, "before")))
					r := models.Ready{ID: w.nextID, Priority: p, ReadyAt: at}
					w.ledger[r.ID] = r
					w.told = append(w.told, r)
				}
			},
			"tell": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "n") {
					if len(w.told) > 0 {
						w.tell()
					}
				}
			},
			"take": func(t *rapid.T) { w.take(t) },
			"settle": func(t *rapid.T) {
				for id := range w.holding {
					delete(w.ledger, id)
					delete(w.holding, id)
				}
			},
			"clock": func(t *rapid.T) { w.now += models.Instant(rapid.IntRange(1, 15).Draw(t, "us")) },
			"": func(t *rapid.T) {
				held := 0
				for i := range w.lanes.byPriority {
					held += len(w.lanes.byPriority[i].heap)
				}
				require.Equal(t, held, w.lanes.held())
				for i := range w.lanes.byPriority {
					require.LessOrEqual(t, len(w.lanes.byPriority[i].heap), w.lanes.window+w.lanes.window/5)
				}
			},
		})
		for len(w.told) > 0 {
			w.tell()
		}
		for w.take(t) {
		}
		require.Len(t, w.taken, int(w.nextID), "every task is given out")
	})
}

// TestALaneOfMoreThanTheWindowRunsInOrder: the rest is read from the ledger as the window drains.
func TestALaneOfMoreThanTheWindowRunsInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const n, workers = laneWindow + laneWindow/5 + 100, 20
		policy := quick()
		policy.Concurrency = workers
		f := start(t, registryOf(t, policy, map[string]handler{"work": waits(time.Millisecond)}), Options{})
		require.NoError(t, f.Pause(t.Context(), "work", Change{}))
		f.enqueueMany(several("work", n))
		require.NoError(t, f.Resume(t.Context(), "work", Change{}))
		pass(time.Minute)
		require.Equal(t, map[models.State]int{models.StateSuccess: n}, f.states("work"))
		var began []models.Instant
		require.NoError(t, f.store.Reader().Raw("SELECT started_at FROM tasks ORDER BY id").Scan(&began).Error)
		require.IsNonDecreasing(t, began)
		require.Greater(t, began[n-1], began[0])
		f.checkCounts()
	})
}

// TestATaskRunsThatComesWhileTheQueueReadsTheLedgerAnew, though all slots are lent to the journal: they are recalled to look.
func TestATaskRunsThatComesWhileTheQueueReadsTheLedgerAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{fault: func(_ string, message any) {
			if _, ok := message.(*IdleQuery); ok {
				takes(time.Second)
			}
		}})
		task := f.enqueue("work", func(r *EnqueueRequest) { r.RunAt = time.Now().Add(time.Hour) })
		_, err := f.Cancel(t.Context(), task.ID, Change{})
		require.NoError(t, err)
		pass(time.Second)
		f.sys.Root.Send(f.queue, &IdleQuery{}) // it is busy, and then looks for what it may have missed
		f.sys.Root.Send(f.queue, &audit{})
		_, err = f.Retry(t.Context(), task.ID, Change{}) // its word comes after that
		require.NoError(t, err)
		pass(10 * time.Second)
		require.Equal(t, models.StateSuccess, f.task(task.ID).State)
	})
}
