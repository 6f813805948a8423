package views

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	"reax/models"
)

// Schedules is the list of schedules. Its texts are in the viewer's language.
type Schedules struct {
	Query string // what is looked for
	Rows  []PlanRow
	First templ.SafeURL // set on every page but the first
	More  templ.SafeURL
}

// PlanRow is a schedule with what its row shows.
type PlanRow struct {
	models.Schedule
	Description string         // empty when the plan is broken
	Zone        *time.Location // of the schedule
	Next        models.Instant // with the end of a pause in mind
	Past        []PastRun      // oldest first
}

// PastRun is what became of one occurrence.
type PastRun struct {
	models.Occurrence
	State models.State // of its task now; empty when there is none, or it is no longer kept
}

func (r PlanRow) path(more ...string) string {
	return "/schedules/" + Segment(r.Name) + strings.Join(more, "")
}

// file reports whether the schedule is edited in the configuration file.
func (r PlanRow) file() bool { return r.Owner == models.OwnerFile }

// expression is when it runs as it was written.
func (r PlanRow) expression(ctx context.Context) string {
	switch {
	case r.Cron != "":
		return r.Cron
	case r.EveryUS != 0:
		return T(ctx, "schedules.every", "span", Duration(ctx, r.Every()))
	}
	return wall(r.At, r.Zone)
}

// mark is the tone, icon and word of how the schedule is.
func (r PlanRow) mark(ctx context.Context) (tone, icon, word string) {
	switch {
	case r.Error != "":
		return "failed", "alert", T(ctx, "schedules.mark.error")
	case r.Paused:
		return "paused", "pause", T(ctx, "schedules.mark.paused")
	case r.Next.IsZero():
		return "quiet", "check", T(ctx, "schedules.mark.ended")
	}
	return "quiet", "clock", T(ctx, "schedules.mark.on")
}

// why is the cause of that in one line; empty when all is well.
func (r PlanRow) why(ctx context.Context) string {
	switch {
	case r.Error != "":
		return preview(r.Error)
	case r.Paused && r.PauseReason != "":
		return preview(r.PauseReason)
	case r.Paused && r.PausedBy != "":
		return T(ctx, "schedules.paused_by", "name", preview(ActorName(ctx, r.PausedBy)))
	}
	return ""
}

// elsewhere is the next run on the clock of the schedule; empty when the viewer's shows the same.
func (r PlanRow) elsewhere(ctx context.Context) string {
	at, viewer := r.Next.Time(), ViewerOf(ctx)
	if wallClock(at.In(r.Zone)) == wallClock(at.In(viewer.Zone)) {
		return ""
	}
	text := wallNear(r.Next, r.Zone, viewer.now())
	if at.In(r.Zone).Format(time.DateOnly) == at.In(viewer.Zone).Format(time.DateOnly) {
		text = text[strings.LastIndexByte(text, ' ')+1:]
	}
	return text + " " + r.Zone.String()
}

// passed says how often no task was made.
func (r PlanRow) passed(ctx context.Context) string {
	var parts []string
	if r.MissedCount > 0 {
		parts = append(parts, T(ctx, "schedules.missed", "n", r.MissedCount))
	}
	if r.OverlapCount > 0 {
		parts = append(parts, T(ctx, "schedules.overlapped", "n", r.OverlapCount))
	}
	return strings.Join(parts, " · ")
}

func wallClock(t time.Time) string { return t.Format(time.DateTime) }

// wall is an instant on the clock of a zone.
func wall(at models.Instant, zone *time.Location) string { return wallClock(at.Time().In(zone)) }

// wallNear is wall without what is plain: the seconds when there are none, the date when it is that of now, else the year.
func wallNear(at models.Instant, zone *time.Location, now time.Time) string {
	t, now := at.Time().In(zone), now.In(zone)
	clock := "15:04"
	if t.Second() != 0 {
		clock = time.TimeOnly
	}
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(clock)
	case t.Year() == now.Year():
		return t.Format("01-02 " + clock)
	}
	return t.Format("2006-01-02 " + clock)
}

// tone of an occurrence: that of its task, where there is one.
func (p PastRun) tone() string {
	switch p.Outcome {
	case models.OccurrenceMissed:
		return "stuck"
	case models.OccurrenceOverlap:
		return "cancelled"
	case models.OccurrenceQueued:
		return "pending"
	case models.OccurrenceError:
		return "failed"
	}
	return cmp.Or(string(p.State), "quiet")
}

func (p PastRun) icon() string {
	switch p.Outcome {
	case models.OccurrenceMissed:
		return "clock"
	case models.OccurrenceOverlap:
		return "ban"
	case models.OccurrenceQueued:
		return "stuck"
	case models.OccurrenceError:
		return "alert"
	}
	return cmp.Or(string(p.State), "check")
}

func (p PastRun) word(ctx context.Context) string {
	if p.Outcome == models.OccurrenceEnqueued && p.State != "" {
		return T(ctx, "state."+string(p.State))
	}
	return T(ctx, "schedules.outcome."+p.Outcome)
}

func (p PastRun) url(ctx context.Context) templ.SafeURL {
	switch {
	case p.TaskID != 0:
		return URL(ctx, fmt.Sprintf("/tasks/%d", p.TaskID))
	case p.BlockedBy != 0:
		return URL(ctx, fmt.Sprintf("/tasks/%d", p.BlockedBy))
	}
	return ""
}

// last is the latest occurrence.
func (r PlanRow) last() (PastRun, bool) {
	if len(r.Past) == 0 {
		return PastRun{}, false
	}
	return r.Past[len(r.Past)-1], true
}

// summary says in words what the strip shows.
func (r PlanRow) summary(ctx context.Context) string {
	var words []string
	counts := map[string]int{}
	for _, p := range r.Past {
		word := p.word(ctx)
		if counts[word]++; counts[word] == 1 {
			words = append(words, word)
		}
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", counts[word], word)
	}
	return T(ctx, "schedules.strip", "n", len(r.Past), "list", strings.Join(words, ", "))
}

// stroke is a part of a small strip: neighbours of one tone.
type stroke struct{ tone, d string }

// The size of a cell of a strip.
const cellStep, stripHeight = 6, 18

// strokes draws the strip with one line for all cells of a tone, since a list has thousands of cells. The dashes of a
// line are its cells.
func (r PlanRow) strokes() []stroke {
	var all []stroke
	at := map[string]int{}
	for i := 0; i < len(r.Past); {
		tone, n := r.Past[i].tone(), 1
		for i+n < len(r.Past) && r.Past[i+n].tone() == tone {
			n++
		}
		if _, ok := at[tone]; !ok {
			at[tone] = len(all)
			all = append(all, stroke{tone: tone})
		}
		var height int
		_, _ = fmt.Sscan(cellHeight(tone), &height)
		all[at[tone]].d += fmt.Sprintf("M%d %dh%d", i*cellStep, stripHeight-height/2, n*cellStep-2)
		i += n
	}
	return all
}

func (r PlanRow) stripWidth() int { return len(r.Past) * cellStep }
