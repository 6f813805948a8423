package actors

import (
	"cmp"
	"slices"

	"reax/models"
)

// healthFaulty is how many schedules with an error health names; more would bury its other reasons.
const healthFaulty = 3

// scheduleFaults tells degraded of the schedules that cannot run.
func (r *Runtime) scheduleFaults(degraded func(c Cause, format string, args ...any)) {
	faulty := r.faulty.Values(func(models.Schedule) bool { return true })
	slices.SortFunc(faulty, func(a, b models.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	for i := range faulty {
		if i == healthFaulty {
			degraded(cause(CauseSchedules, "n", len(faulty)-i), "%d more schedules cannot run.", len(faulty)-i)
			return
		}
		text := models.CutText(faulty[i].Error, 300)
		degraded(cause(CauseSchedule, "name", faulty[i].Name, "error", text), "Schedule %s cannot run: %s.", faulty[i].Name, text)
	}
}
