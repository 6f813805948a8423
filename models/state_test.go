package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed is the table of states of the design, written a second time: a change has to be made in both.
var allowed = map[State]string{
	StatePending:   "running cancelled",
	StateRunning:   "success retry_wait failed dead cancelled pending",
	StateRetryWait: "running cancelled pending",
	StateSuccess:   "",
	StateFailed:    "pending cancelled",
	StateDead:      "pending cancelled",
	StateCancelled: "pending",
}

func TestEveryPairOfStates(t *testing.T) {
	require.Len(t, States, 7)
	for _, from := range States {
		for _, to := range States {
			want := slices.Contains(strings.Fields(allowed[from]), string(to))
			require.Equal(t, want, from.CanBecome(to), "%s -> %s", from, to)
			require.Equal(t, want, slices.Contains(sourcesOf(to), from), "sources of %s", to)
		}
	}
}

func TestUnknownStateBecomesNothing(t *testing.T) {
	for _, odd := range []State{"", "PENDING", "done", "success "} {
		require.False(t, odd.IsKnown())
		require.False(t, odd.IsFinal())
		require.False(t, odd.IsWaiting())
		require.Empty(t, sourcesOf(odd))
		for _, state := range States {
			require.False(t, odd.CanBecome(state))
			require.False(t, state.CanBecome(odd))
		}
	}
}

func TestStateIsWaitingRunningOrFinal(t *testing.T) {
	for _, state := range States {
		require.True(t, state.IsKnown())
		kinds := 0
		for _, is := range []bool{state.IsWaiting(), state.IsFinal(), state == StateRunning} {
			if is {
				kinds++
			}
		}
		require.Equal(t, 1, kinds, state)
		if state.IsFinal() {
			require.False(t, state.CanBecome(StateRunning), "a finished task is put back before it runs")
		}
	}
	require.Empty(t, transitions[StateSuccess], "what is done stays done")
}

func TestStateErrorNamesTaskStateAndAction(t *testing.T) {
	require.EqualError(t, &StateError{ID: 7, State: StateSuccess, Action: "retry"}, "task 7 is success: retry does not apply")
}
