package actors

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// TestARestartOfTheSupervisorItselfLosesNoTask: the whole tree is built anew under the same names, so whoever holds a PID
// reaches the new actors. What was on its way in a mailbox may have to run again, and then says so.
func TestARestartOfTheSupervisorItselfLosesNoTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		runs := newTally()
		policy := quick()
		policy.Concurrency = 8
		f := start(t, registryOf(t, policy, map[string]handler{
			"work": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				runs.add(ctx)
				takes(20 * time.Millisecond)
				return nil, nil
			},
		}), Options{fault: func(kind string, m any) {
			if _, ok := m.(*tasks.Run); ok && kind == "supervisor" {
				panic("injected")
			}
		}})
		var ids []int64
		for range 3 {
			for _, task := range f.enqueueMany(several("work", 50)) {
				ids = append(ids, task.ID)
			}
			pass(30 * time.Millisecond)
			f.sys.Root.Send(f.root, &tasks.Run{})
			pass(30 * time.Millisecond)
		}
		ids = append(ids, f.enqueue("work").ID)
		pass(time.Minute)
		for _, id := range ids {
			row := f.task(id)
			require.Equal(t, models.StateSuccess, row.State)
			if runs.of(id) > 1 {
				require.NotEmpty(t, row.Suspected)
			}
		}
		f.checkCounts()
	})
}
