package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must happen, on a machine that is busy with other things.
const patience = 60 * time.Second

// until waits until missing returns "", and fails with its last word when that takes longer than limit.
func until(t *testing.T, limit time.Duration, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		why := missing()
		if why == "" {
			return
		}
		select {
		case <-deadline.C:
			require.FailNow(t, "it did not happen within "+limit.String(), why)
		case <-tick.C:
		}
	}
}
