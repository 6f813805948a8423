package actors

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// A record that is refused leaves those that share its transaction alone, whether it refuses or fails.
func TestARecordIsWrittenOrRefusedAlone(t *testing.T) {
	t.Parallel()
	f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
	paused := true
	pause := func(name string) func(tx *models.Tx) (string, error) {
		return func(tx *models.Tx) (string, error) {
			s, err := tx.SetType(models.TypeChange{Type: name, Paused: &paused}, models.Actor{Name: "ann"})
			return s.Type, err
		}
	}
	taken, broken := errors.New("the name is taken"), errors.New("no such table")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			written, err := record(t.Context(), f.Runtime, []string{"marks"}, pause("work"))
			require.NoError(t, err)
			require.Equal(t, "work", written)
		})
		all.Go(func() {
			_, err := record(t.Context(), f.Runtime, nil, func(*models.Tx) (int, error) { return 0, models.Refuse(taken) })
			require.ErrorIs(t, err, taken)
			require.NotErrorIs(t, err, ErrRefused, "it is an answer, and no fault")
		})
		all.Go(func() {
			_, err := record(t.Context(), f.Runtime, nil, func(*models.Tx) (int, error) { return 0, broken })
			require.ErrorIs(t, err, ErrRefused)
		})
	}
	all.Wait()
	settings, err := f.store.TypeSettings(t.Context())
	require.NoError(t, err)
	require.Len(t, settings, 1)
	require.True(t, settings[0].Paused)
}

func TestSubscribersHearOfRecordsByTheirTopicsOnly(t *testing.T) {
	t.Parallel()
	f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{})
	heard := make(chan []string, 10)
	defer f.Subscribe(func(topics []string) { heard <- topics })()
	_, err := record(t.Context(), f.Runtime, []string{"marks"}, func(*models.Tx) (int, error) { return 1, nil })
	require.NoError(t, err)
	for topics := range heard { // what changes at the same moment is told in one call
		require.NotContains(t, topics, "tasks", "no list of tasks has changed")
		if slices.Contains(topics, "marks") {
			return
		}
	}
}
