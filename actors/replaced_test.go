package actors

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// TestADatabaseThatIsReplacedIsNoticedAndNothingIsLost: nothing is accepted into a file that the next start would not find, and
// once the file is back all goes on.
func TestADatabaseThatIsReplacedIsNoticedAndNothingIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(5 * time.Second)}), Options{})
		running := f.enqueue("work")
		pass(time.Second)
		require.NoError(t, os.Rename(f.path, f.path+".away"))
		require.NoError(t, os.WriteFile(f.path, nil, 0o600))
		_, err := f.Enqueue(withDeadline(t, 12*time.Second), EnqueueRequest{Type: "work"})
		require.ErrorIs(t, err, ErrUnavailable)
		h := f.Health()
		require.Equal(t, StatusDown, h.Status)
		require.Contains(t, h.DatabaseReason, "the database file was moved away, deleted or replaced")
		info, err := os.Stat(f.path)
		require.NoError(t, err)
		require.Zero(t, info.Size(), "the other file is left alone")

		require.NoError(t, os.Rename(f.path+".away", f.path))
		pass(10 * time.Second)
		require.Equal(t, StatusOK, f.Health().Status, "%v", f.Health().Reasons)
		row := f.task(running.ID)
		require.Equal(t, models.StateSuccess, row.State, "the end of a run is kept for as long as it takes")
		require.Equal(t, 1, row.Attempt)
		f.checkCounts()
	})
}
