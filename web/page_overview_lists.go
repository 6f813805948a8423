package web

import (
	"cmp"
	"context"
	"slices"

	"github.com/a-h/templ"

	"reax/models"
	"reax/views"
)

// groupNotices is how many errors are listed beside the rest.
const groupNotices = 5

// noticesView is what needs a person, what is worst first.
func noticesView(ctx context.Context, v *snapshot) []views.Notice {
	var all []views.Notice
	add := func(tone, icon, word string, n views.Notice) {
		n.Tone, n.Icon, n.Word = tone, icon, views.T(ctx, "overview.note."+word)
		all = append(all, n)
	}
	typeURL := func(name string) templ.SafeURL { return views.URL(ctx, "/types/"+views.Segment(name)) }
	for i := range v.types {
		f := &v.types[i]
		if f.pool.Stuck > 0 {
			add("stuck", "stuck", "stuck", views.Notice{Name: f.name, Text: views.T(ctx, "overview.note.stuck_text"), N: int64(f.pool.Stuck), URL: typeURL(f.name)})
		}
		if !f.known && f.waiting > 0 {
			add("failed", "alert", "no_handler", views.Notice{
				Name: f.name, Text: views.T(ctx, "overview.note.no_handler_text"), N: f.waiting,
				URL: views.URL(ctx, "/tasks", "type", f.name, "state", string(models.StatePending)),
			})
		}
	}
	for i := range v.plans {
		if p := &v.plans[i]; p.Error != "" {
			add("failed", "alert", "broken", views.Notice{Name: p.Name, Text: views.T(ctx, "overview.note.broken_text"), Detail: p.Error, URL: planURL(ctx, p.Name)})
		}
	}
	loud := slices.DeleteFunc(slices.Clone(v.groups), func(g models.ErrorGroup) bool { return g.Mark.IsMuted(models.At(v.at)) })
	for _, g := range loud[:min(len(loud), groupNotices)] {
		add("dead", "dead", "error", views.Notice{Name: g.Type, Detail: cmp.Or(g.Mark.Name, g.Message, g.Kind), N: g.N, At: g.LastAt, URL: templ.SafeURL(groupURL(ctx, &g))})
	}
	if n := len(v.suspect); n > 0 {
		add("suspected", "suspected", "suspected", views.Notice{
			Text: views.T(ctx, "overview.note.suspected_text"), N: int64(n), Least: n == maxSuspected, At: v.suspect[0].UpdatedAt,
			URL: views.URL(ctx, "/tasks", "suspected", "1"),
		})
	}
	for _, m := range v.missed {
		add("retry_wait", "clock", "missed", views.Notice{Name: m.name, Text: views.T(ctx, "overview.note.missed_text", "n", m.n), At: m.last, URL: planURL(ctx, m.name)})
	}
	for i := range v.types {
		f := &v.types[i]
		if f.pool.Paused && f.pool.Stuck == 0 {
			n := views.Notice{Name: f.name, Detail: f.pool.PauseReason, N: f.pool.Ready, URL: typeURL(f.name)}
			if f.pool.PausedBy != "" {
				n.Text = views.T(ctx, "overview.note.paused_by", "by", views.OneLine(views.ActorName(ctx, f.pool.PausedBy)))
			}
			add("paused", "pause", "paused", n)
		}
		if f.promoted > 0 {
			add("quiet", "clock", "lifted", views.Notice{Name: f.name, Text: views.T(ctx, "overview.note.lifted_text"), N: f.promoted, URL: typeURL(f.name)})
		}
	}
	return all
}

func planURL(ctx context.Context, name string) templ.SafeURL {
	return views.URL(ctx, "/schedules/"+views.Segment(name))
}

// typeRows is the busiest types that are registered, by name, so that they keep their places.
func typeRows(ctx context.Context, v *snapshot) (rows []views.BusyType, all int) {
	var known []*typeFigures
	for i := range v.types {
		if v.types[i].known {
			known = append(known, &v.types[i])
		}
	}
	all = len(known)
	work := func(f *typeFigures) int64 { return f.succeeded + f.failed + f.pool.Ready + int64(f.pool.Busy) }
	slices.SortStableFunc(known, func(a, b *typeFigures) int { return cmp.Compare(work(b), work(a)) })
	known = known[:min(len(known), maxTypes)]
	slices.SortFunc(known, func(a, b *typeFigures) int { return cmp.Compare(a.name, b.name) })
	for _, f := range known {
		runs := f.succeeded + f.failed
		r := views.BusyType{
			Name: f.name, URL: views.URL(ctx, "/types/"+views.Segment(f.name)), Paused: f.pool.Paused, Busy: int64(f.pool.Busy),
			Workers: int64(f.pool.Concurrency), Ready: f.pool.Ready, Runs: runs, P95: f.run.Quantile(.95),
		}
		if runs >= enoughRuns {
			share := float64(f.succeeded) / float64(runs)
			r.Success, r.Bad = percent(share), share < 1-tooManyFail
		}
		for i := 1; i+1 < len(f.minutes)-1; i += 2 { // without the minute that is not over
			a, b := f.minutes[i], f.minutes[i+1]
			r.Spark = append(r.Spark, float64(a.succeeded+a.failed+b.succeeded+b.failed))
		}
		rows = append(rows, r)
	}
	return rows, all
}

// nextRuns is the schedules that run next.
func nextRuns(ctx context.Context, plans []models.Schedule) []views.NextRun {
	var ahead []*models.Schedule
	for i := range plans {
		if !plans[i].Paused && !plans[i].NextAt.IsZero() {
			ahead = append(ahead, &plans[i])
		}
	}
	slices.SortFunc(ahead, func(a, b *models.Schedule) int {
		return cmp.Or(cmp.Compare(a.NextAt, b.NextAt), cmp.Compare(a.Name, b.Name))
	})
	var runs []views.NextRun
	for _, p := range ahead[:min(len(ahead), maxNext)] {
		r := views.NextRun{Name: p.Name, URL: planURL(ctx, p.Name), At: p.NextAt}
		if t := timetableOf(p); t != nil {
			r.When = t.Describe(string(views.ViewerOf(ctx).Locale))
		}
		runs = append(runs, r)
	}
	return runs
}
