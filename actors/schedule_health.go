package actors

import (
	"cmp"
	"fmt"
	"slices"

	"reax/models"
)

// healthFaulty is how many schedules with an error health names; more would bury its other reasons.
const healthFaulty = 3

// scheduleFaults is what health says of schedules that cannot run.
func (r *Runtime) scheduleFaults() []string {
	faulty := r.faulty.Values(func(models.Schedule) bool { return true })
	slices.SortFunc(faulty, func(a, b models.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	var sentences []string
	for i := range faulty {
		if i == healthFaulty {
			return append(sentences, fmt.Sprintf("%d more schedules cannot run.", len(faulty)-i))
		}
		sentences = append(sentences, fmt.Sprintf("Schedule %s cannot run: %s.", faulty[i].Name, models.CutText(faulty[i].Error, 300)))
	}
	return sentences
}
