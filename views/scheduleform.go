package views

import (
	"context"

	"github.com/a-h/templ"
)

// ScheduleForm makes or edits a schedule. Its texts are in the viewer's language.
type ScheduleForm struct {
	Name     string // of the schedule that is edited; empty for a new one
	Version  int64  // that the edit is made for
	What     []Field
	Kind     Field
	Kinds    []Field // the input of each kind of plan: cron, every, at
	Zone     Field
	Params   Field
	Policies []Field
	Reason   Field
	Fault    string // what is wrong with no field
	Conflict *ScheduleConflict
	Preview  PlanPreview
}

// ScheduleConflict says that somebody was faster.
type ScheduleConflict struct {
	By      string
	Version int64
}

// PlanPreview is what a plan would do.
type PlanPreview struct {
	Description string
	Zone        string
	Runs        []Upcoming
	Faults      []string // why there is nothing to show
	Task        string   // the chosen type, when there is a handler for it
	Example     string   // parameters that fit it
}

func (f ScheduleForm) fields() []Field {
	all := append([]Field{}, f.What...)
	all = append(append(all, f.Kind), f.Kinds...)
	all = append(all, f.Zone, f.Params)
	return append(append(all, f.Policies...), f.Reason)
}

func (f ScheduleForm) title(ctx context.Context) string {
	if f.Name == "" {
		return T(ctx, "schedule_form.new")
	}
	return T(ctx, "schedule_form.edit", "name", f.Name)
}

func (f ScheduleForm) action(ctx context.Context) templ.SafeURL {
	if f.Name == "" {
		return URL(ctx, "/schedules/new")
	}
	return URL(ctx, "/schedules/"+Segment(f.Name)+"/edit")
}

func (f ScheduleForm) back(ctx context.Context) templ.SafeURL {
	if f.Name == "" {
		return URL(ctx, "/schedules")
	}
	return URL(ctx, "/schedules/"+Segment(f.Name))
}
