package sizes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestAFilledFileGrowsToEachSize(t *testing.T) {
	j := job{ctx: t.Context(), dir: t.TempDir()}
	for _, size := range []int{10, 25} {
		j.size = size
		require.NoError(t, fillPending(j))
		store, err := openStore(j.ctx, j.dir)
		require.NoError(t, err)
		counts, err := store.Counts(j.ctx)
		require.NoError(t, err)
		require.Contains(t, counts, models.Count{Type: massType, State: models.StatePending, N: int64(size)})
		require.NoError(t, store.Close())
	}
}

func TestNewsMarksTheRegionsThatShowIt(t *testing.T) {
	page := `<div class="a" data-live="tiles" data-topics="tasks,stats"></div><div data-live="tree" data-topics="actors"></div>`
	dirty := map[string]bool{}
	mark(dirty, page, "health,stats")
	require.Equal(t, map[string]bool{"tiles": true}, dirty)
}
