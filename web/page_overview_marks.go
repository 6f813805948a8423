package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reax/models"
	"reax/views"
)

// maxMarks is how many changes a chart is marked with.
const maxMarks = 50

// marksView are the starts of the process and what people changed about what runs: as marks at the bars of a chart, and
// as a list of the latest first.
func marksView(ctx context.Context, v *snapshot, from models.Instant, step time.Duration, steps int) ([]views.Mark, []views.ChartEvent) {
	var all []views.ChartEvent
	for i := range v.boots {
		b, key := &v.boots[i], "overview.mark.start"
		if i > 0 && v.boots[i-1].StoppedAt.IsZero() {
			key = "overview.mark.crash"
		}
		all = append(all, views.ChartEvent{At: b.StartedAt, Text: views.T(ctx, key, "version", views.OneLine(b.Version))})
	}
	for _, m := range v.marks {
		e := views.ChartEvent{At: m.At, URL: views.URL(ctx, "/types/"+views.Segment(m.TargetID))}
		key := "overview.mark.type." + m.Action
		if m.Target == "schedule" {
			key, e.URL = "overview.mark.schedule."+m.Action, planURL(ctx, m.TargetID)
		}
		if m.Action == "delete" {
			e.URL = ""
		}
		text, ok := views.ViewerOf(ctx).Locale.Lookup(key, "name", views.OneLine(m.TargetID), "by", views.OneLine(views.ActorName(ctx, m.Actor)))
		if ok {
			e.Text = text
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b views.ChartEvent) int { return cmp.Compare(a.At, b.At) })
	var marks []views.Mark
	var events []views.ChartEvent
	for _, e := range all {
		at := int(e.At.Sub(from) / step)
		if e.At < from || at >= steps {
			continue
		}
		events = append(events, e)
		text := views.Clock(ctx, e.At) + " " + e.Text
		if n := len(marks); n > 0 && marks[n-1].Index == at {
			marks[n-1].Text += "\n" + text
			continue
		}
		marks = append(marks, views.Mark{Index: at, Text: text})
	}
	slices.Reverse(events)
	return marks, events
}
