package web

import (
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// finishedView is the runs that ended; a bar leads to the tasks that ended then.
func finishedView(ctx context.Context, all []period, step time.Duration, span string) views.Chart {
	c := views.Chart{Good: views.T(ctx, "overview.succeeded"), Bad: views.T(ctx, "overview.failed"), Numbers: true}
	var good, bad int64
	for i := range all {
		p := &all[i]
		good, bad = good+p.succeeded, bad+p.failed
		b := views.Bar{At: p.at, Good: p.succeeded, Bad: p.failed}
		if b.Good+b.Bad > 0 {
			b.URL = endedURL(ctx, p.at, step)
		}
		c.Bars = append(c.Bars, b)
	}
	c.Label = views.T(ctx, "overview.finished.label", "span", span, "good", good, "bad", bad)
	return c
}

// endedURL is the list of the tasks that ended within a step.
func endedURL(ctx context.Context, at models.Instant, step time.Duration, more ...string) templ.SafeURL {
	return views.URL(ctx, "/tasks", append(more, "ended", at.Time().Format(endedLayout)+"-"+*durationText(step))...)
}

// timesView is the median and the 95th percentile of a histogram of each period.
func timesView(ctx context.Context, all []period, title, span string, of func(*period) *models.Histogram) views.Times {
	t := views.Times{
		Title: title, From: all[0].at, To: all[len(all)-1].at,
		Lines: []views.Line{{Name: views.T(ctx, "overview.median"), Class: "a"}, {Name: views.T(ctx, "overview.p95_line"), Class: "b"}},
	}
	var sum models.Histogram
	for i := range all {
		h := of(&all[i])
		p50, p95 := -1.0, -1.0
		if h.Total() > 0 {
			p50, p95 = h.Quantile(.5).Seconds(), h.Quantile(.95).Seconds()
			t.Top = max(t.Top, h.Quantile(.95))
		}
		t.Lines[0].Values, t.Lines[1].Values = append(t.Lines[0].Values, p50), append(t.Lines[1].Values, p95)
		sum.Merge(*h)
	}
	t.N, t.P50, t.P95 = sum.Total(), sum.Quantile(.5), sum.Quantile(.95)
	t.Label = views.T(ctx, "overview.times_label", "what", title, "span", span, "p50", views.Duration(ctx, t.P50), "p95", views.Duration(ctx, t.P95))
	return t
}

// tilesView is the six figures.
func tilesView(ctx context.Context, v *snapshot) []views.Tile {
	h := v.health
	ready := views.Tile{
		Label: views.T(ctx, "overview.tile.ready"), Value: views.Number(h.Backlog), Note: views.T(ctx, "overview.tile.ready_none"),
		URL: views.URL(ctx, "/tasks", "state", string(models.StatePending)), Spark: v.gauge(func(g *actors.Gauge) int64 { return g.Ready }),
	}
	if h.Backlog > 0 {
		ready.Note = views.T(ctx, "overview.tile.ready_note", "wait", views.Duration(ctx, h.OldestWait.Truncate(time.Millisecond)))
	}
	running := views.Tile{
		Label: views.T(ctx, "overview.tile.running"), Value: views.Number(int64(h.WorkersBusy)),
		Unit: views.T(ctx, "overview.tile.running_of", "all", h.WorkersTotal),
		Note: views.T(ctx, "overview.tile.running_note", "percent", 100*h.WorkersBusy/max(h.WorkersTotal, 1)),
		URL:  views.URL(ctx, "/tasks", "state", string(models.StateRunning)), Spark: v.gauge(func(g *actors.Gauge) int64 { return g.Running }),
	}
	retry := views.Tile{
		Label: views.T(ctx, "overview.tile.retry"), Value: views.Number(v.total[models.StateRetryWait]), Note: views.T(ctx, "overview.tile.retry_none"),
		URL: views.URL(ctx, "/tasks", "state", string(models.StateRetryWait)), Spark: v.gauge(func(g *actors.Gauge) int64 { return g.RetryWait }),
	}
	if v.total[models.StateRetryWait] > 0 {
		retry.Note = views.T(ctx, "overview.tile.retry_now")
		if in := v.retryAt.Time().Sub(v.at); !v.retryAt.IsZero() && in > time.Second {
			retry.Note = views.T(ctx, "overview.tile.retry_next", "wait", views.Duration(ctx, in.Truncate(time.Second)))
		}
	}
	return []views.Tile{ready, running, v.success(ctx), v.throughput(ctx), retry, v.dead(ctx)}
}

// success is of the last five minutes, as health counts them; too few runs say nothing.
func (v *snapshot) success(ctx context.Context) views.Tile {
	n := v.health.Finished5m
	t := views.Tile{
		Label: views.T(ctx, "overview.tile.success"), Value: "–", Note: views.T(ctx, "overview.tile.success_few", "n", n),
		URL: views.URL(ctx, "/tasks", "state", string(models.StateSuccess)),
	}
	if n >= enoughRuns {
		t.Value, t.Note = percent(v.health.SuccessRate5m), views.T(ctx, "overview.tile.success_note", "n", n)
		if v.health.SuccessRate5m < 1-tooManyFail {
			t.Tone = string(models.StateFailed)
		}
	}
	for i := range v.minutes {
		share := -1.0
		if p := &v.minutes[i]; p.succeeded+p.failed > 0 {
			share = float64(p.succeeded) / float64(p.succeeded+p.failed)
		}
		t.Spark = append(t.Spark, share)
	}
	return t
}

// throughput is that of the last whole minute.
func (v *snapshot) throughput(ctx context.Context) views.Tile {
	ended := func(i int) int64 { return v.minutes[i].succeeded + v.minutes[i].failed }
	t := views.Tile{
		Label: views.T(ctx, "overview.tile.throughput"), Value: views.Number(ended(len(v.minutes) - 2)), Unit: views.T(ctx, "overview.tile.per_minute"),
		Note: views.T(ctx, "overview.tile.throughput_none"), URL: views.URL(ctx, "/tasks", "window", "1h"),
	}
	peak := 0
	for i := range v.minutes {
		if ended(i) > ended(peak) {
			peak = i
		}
		if i < len(v.minutes)-1 { // the minute that is not over would always look like a fall
			t.Spark = append(t.Spark, float64(ended(i)))
		}
	}
	if n := ended(peak); n > 0 {
		t.Note = views.T(ctx, "overview.tile.throughput_note", "peak", n, "time", views.ShortClock(ctx, v.minutes[peak].at))
	}
	return t
}

func (v *snapshot) dead(ctx context.Context) views.Tile {
	n, failed := v.total[models.StateDead], v.total[models.StateFailed]
	t := views.Tile{
		Label: views.T(ctx, "overview.tile.dead"), Value: views.Number(n), Note: views.T(ctx, "overview.tile.dead_none"),
		URL: views.URL(ctx, "/dead"), Spark: v.gauge(func(g *actors.Gauge) int64 { return g.Dead }),
	}
	if n > 0 {
		t.Tone = string(models.StateDead)
	}
	switch {
	case n+failed == 0:
	case len(v.groups) > maxGroups:
		t.Note = views.T(ctx, "overview.tile.dead_many", "n", maxGroups, "failed", failed)
	default:
		t.Note = views.T(ctx, "overview.tile.dead_note", "n", len(v.groups), "failed", failed)
	}
	return t
}

// gauge draws a figure of the last hour. Minutes of which nothing is known are left out.
func (v *snapshot) gauge(of func(*actors.Gauge) int64) []float64 {
	values := make([]float64, len(v.minutes))
	for i := range values {
		values[i] = -1
	}
	for i := range v.gauges {
		g := &v.gauges[i]
		if at := int(g.Minute.Sub(v.minutes[0].at) / time.Minute); at >= 0 && at < len(values) {
			values[at] = float64(of(g))
		}
	}
	return values
}

// percent shows 100 % only when nothing failed, and 0 % only when nothing succeeded.
func percent(share float64) string {
	tenths := int(share*1000 + .5)
	if share < 1 {
		tenths = min(tenths, 999)
	}
	if share > 0 {
		tenths = max(tenths, 1)
	}
	if tenths == 1000 || tenths == 0 {
		return fmt.Sprintf("%d %%", tenths/10)
	}
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}
