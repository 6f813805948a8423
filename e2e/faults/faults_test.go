package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFewRoundsOfFaults is the short form of the suite: one round for each fault, with the clock left alone.
func TestAFewRoundsOfFaults(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	probe := filepath.Join(folder, "probe")
	require.NoError(t, build(t.Context(), probe, false))
	s := &suite{probe: probe, out: os.Stderr}
	seeds := seedsOfEachFault(6)
	for _, seed := range seeds {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			one := s.round(context.Background(), folder, seed)
			require.Zero(t, one.failed, "what failed is printed above")
			require.NotZero(t, one.tasks)
			require.Equal(t, 1, one.rounds)
		})
	}
}

// seedsOfEachFault looks for rounds that between them meet every fault.
func seedsOfEachFault(most int) (seeds []uint64) {
	met := map[string]bool{}
	for seed := uint64(1); len(met) < len(faults())-1 && len(seeds) < most; seed++ {
		random := rand.New(rand.NewPCG(seed, seed))
		draw(random, 60+random.IntN(60))
		for range 1 + random.IntN(3) {
			name := pickFault(random, false).name
			if !met[name] && (len(seeds) == 0 || seeds[len(seeds)-1] != seed) {
				seeds = append(seeds, seed)
			}
			met[name] = true
			random.Uint64()
			random.IntN(280)
			random.IntN(450)
		}
	}
	return seeds
}

func TestWhatASeedDrawsIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	of := func(seed uint64) []request {
		random := rand.New(rand.NewPCG(seed, seed))
		return draw(random, 100)
	}
	require.Equal(t, of(7), of(7))
	require.NotEqual(t, of(7), of(8))
}

func TestTheBooksAreFoundWrong(t *testing.T) {
	t.Parallel()
	lines := func(l ...line) []line { return l }
	for name, c := range map[string]struct {
		lines    []line
		tasks    []row
		outcomes map[run]string
		accepted []int64
		lost     int
		unmarked int
		marked   int
		wrong    string
		stopped  []int64 // by people
	}{
		"all is well": {lines: lines(line{"start", 1, "P.log", 1, 5}, line{"end", 1, "P.log", 1, 5}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 1}}, accepted: []int64{1}},
		"an accepted task is missing": {accepted: []int64{1}, lost: 1, wrong: "is lost"},
		"a task that has not ended":   {accepted: []int64{1}, tasks: []row{{id: 1, typ: "P.log", state: "pending"}}, lost: 1, wrong: "is lost"},
		"a run that is not in the books": {lines: lines(line{"start", 1, "P.log", 2, 5}),
			tasks: []row{{id: 1, typ: "P.log", state: "failed", attempt: 1}}, outcomes: map[run]string{{1, 1}: "failed"}, wrong: "not in the books"},
		"a run started twice": {lines: lines(line{"start", 1, "P.log", 1, 5}, line{"end", 1, "P.log", 1, 5}, line{"start", 1, "P.log", 1, 5}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 1}}, unmarked: 1, wrong: "started twice"},
		"a second run with its mark": {lines: lines(line{"start", 1, "P.log", 1, 5}, line{"start", 1, "P.log", 2, 6}, line{"end", 1, "P.log", 2, 6}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 2, suspected: "yes"}}, outcomes: map[run]string{{1, 1}: "crashed", {1, 2}: "success"}, marked: 1},
		"a second run without a mark": {lines: lines(line{"start", 1, "P.log", 1, 5}, line{"start", 1, "P.log", 2, 6}, line{"end", 1, "P.log", 2, 6}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 2}}, outcomes: map[run]string{{1, 1}: "crashed", {1, 2}: "success"}, unmarked: 1, wrong: "without a mark"},
		"two runs at the same time": {lines: lines(line{"start", 1, "P.log", 1, 5}, line{"start", 1, "P.log", 2, 5}, line{"end", 1, "P.log", 2, 5}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 2}}, outcomes: map[run]string{{1, 1}: "retry", {1, 2}: "success"}, wrong: "at the same time"},
		"a success that nobody saw": {tasks: []row{{id: 1, typ: "H.ok", state: "success", attempt: 1}}, wrong: "nobody saw"},
		"a run that never was":      {tasks: []row{{id: 1, typ: "P.log", state: "dead", attempt: 1}}, outcomes: map[run]string{{1, 1}: "dead"}, wrong: "never was"},
		"a run that is not told":    {lines: lines(line{"start", 1, "P.log", 1, 5}), tasks: []row{{id: 1, typ: "P.log", state: "dead", attempt: 1}}, wrong: "not told"},
		"a cancelled task that goes on": {stopped: []int64{1}, lines: lines(line{"start", 1, "P.log", 1, 5}, line{"end", 1, "P.log", 1, 5}),
			tasks: []row{{id: 1, typ: "P.log", state: "success", attempt: 1}}, wrong: "was cancelled and is not"},
		"a task that still runs": {tasks: []row{{id: 1, typ: "C.log", state: "running"}}, wrong: "no server is"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{load: &load{accepted: map[int64]bool{}, cancelled: map[int64]bool{}}}
			for _, id := range c.stopped {
				r.load.cancelled[id] = true
			}
			b := &books{r: r, tasks: map[int64]row{}, outcomes: c.outcomes, lines: c.lines}
			for _, id := range c.accepted {
				r.load.accepted[id] = true
			}
			for _, task := range c.tasks {
				b.tasks[task.id] = task
			}
			b.states()
			b.runs()
			b.attempts()
			require.Equal(t, []int{c.lost, c.unmarked, c.marked}, []int{r.sum.lost, r.sum.unmarked, r.sum.marked}, "lost, unmarked, marked")
			if c.wrong == "" {
				require.Empty(t, b.wrong)
				return
			}
			require.NotEmpty(t, b.wrong)
			require.Contains(t, b.wrong[0], c.wrong)
		})
	}
}
