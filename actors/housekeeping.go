package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"reax/actors/kit"
)

// housekeeping supervises what may be late or broken without stopping any task.
type housekeeping struct {
	*core
	opened    bool
	restarter kit.Restarter
}

func newHousekeeping(c *core) actor.Producer {
	return func() actor.Actor { return &housekeeping{core: c, restarter: c.restarter()} }
}

func (h *housekeeping) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *begin:
		if h.mayOpen(m, &h.opened) {
			h.open(c)
		}
	case *kit.Respawn:
		h.restarter.Resume(c.(actor.Supervisor), m)
	}
}

func (h *housekeeping) open(c actor.Context) {
	spawn(h.core, c, "reconciler", "reconciler", newReconciler(h.core))
	spawn(h.core, c, "statistics", "statistics", newStatistics(h.core))
	spawn(h.core, c, "retention", "retention", newRetention(h.core))
	h.bulk.Store(spawn(h.core, c, "bulk", "bulk", newBulk(h.core)))
	if h.opts.Days.Zone != nil {
		spawn(h.core, c, "days", "days", newDaystats(h.core))
	}
	h.alerts.Store(spawn(h.core, c, "alerts", "alerts", newAlerts(h.core)))
}

// HandleFailure restarts whatever fails.
func (h *housekeeping) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	h.restarter.Fail(sys, sup, sup.(actor.Context).Self(), child, reason, message)
}
