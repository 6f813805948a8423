package actors

import (
	"cmp"
	"slices"
	"time"

	"reax/models"
)

// scheduleHealth names the schedules that did not run: those that cannot, those of which nothing came though their time
// has, and those that missed runs lately.
func (r *Runtime) scheduleHealth(h *Health, now time.Time) {
	faulty := r.faulty.Values(func(models.Schedule) bool { return true })
	slices.SortFunc(faulty, func(a, b models.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	for i := range faulty {
		if i == healthNamed {
			h.degraded(cause(CauseSchedules, "n", len(faulty)-i), "%d more schedules cannot run.", len(faulty)-i)
			break
		}
		text := models.CutText(faulty[i].Error, 300)
		h.degraded(cause(CauseSchedule, "name", faulty[i].Name, "error", text), "Schedule %s cannot run: %s.", faulty[i].Name, text)
	}
	for i, s := range r.overdue() {
		if i == healthNamed {
			break
		}
		h.degraded(cause(CauseOverdue, "name", s.name).from(s.due), "Schedule %s was due at %s and has not run.", s.name, s.due.UTC().Format(time.RFC3339))
	}
	recent := func(m missedLately) bool { return now.Sub(m.at) < healthMissedWindow }
	missed := r.meter.missed.Values(recent)
	slices.SortFunc(missed, func(a, b missedLately) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name)) })
	for i, m := range missed {
		if i == healthNamed {
			h.degraded(cause(CauseMissedMore, "n", len(missed)-i), "%d more schedules missed runs.", len(missed)-i)
			break
		}
		h.degraded(cause(CauseMissed, "name", m.name, "n", m.n).from(m.at), "Schedule %s missed %d runs.", m.name, m.n)
	}
}
