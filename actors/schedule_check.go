package actors

import (
	"reax/models"
	"reax/tasks"
)

// CheckSchedules says what SyncSchedules would refuse of a file's schedules, with the same locations, but for names that
// the API has taken. It needs no runtime.
func CheckSchedules(registry *tasks.Registry, specs []ScheduleSpec) error {
	r := &Runtime{core: &core{registry: registry}}
	var bad []tasks.FieldError
	for i := range specs {
		if _, err := r.newSchedule(&specs[i], models.OwnerFile); err != nil {
			bad = append(bad, within("/schedules/"+specs[i].Name, err)...)
		}
	}
	if len(bad) > 0 {
		return &tasks.InvalidError{Fields: bad}
	}
	return nil
}
