package web

import (
	"context"
	"maps"
	"slices"
	"time"

	"reax/models"
)

const (
	statsSpan    = time.Hour
	maxStatsSpan = 24 * time.Hour
)

type statsInput struct {
	From string `query:"from" doc:"Start (RFC 3339); default an hour before to"`
	To   string `query:"to" doc:"End (RFC 3339), at most 24 hours after from; default now"`
}

// statsJSON is what the overview shows.
type statsJSON struct {
	From    moment                 `json:"from"`
	To      moment                 `json:"to"`
	Health  healthJSON             `json:"health"`
	Counts  map[models.State]int64 `json:"counts" doc:"Tasks by state, now"`
	Types   []typeCountsJSON       `json:"types" nullable:"false" doc:"Tasks by type and state, now"`
	Minutes []minuteJSON           `json:"minutes" nullable:"false" doc:"What happened in each minute in which something did"`
	Wait    timesJSON              `json:"wait" doc:"From ready to start"`
	Run     timesJSON              `json:"run" doc:"From start to end"`
}

// typeCountsJSON is the tasks of one type by state.
type typeCountsJSON struct {
	Type   string                 `json:"type"`
	Counts map[models.State]int64 `json:"counts"`
}

// minuteJSON is what happened in one minute.
type minuteJSON struct {
	At        moment `json:"at"`
	Enqueued  int64  `json:"enqueued"`
	Started   int64  `json:"started"`
	Succeeded int64  `json:"succeeded"`
	Retried   int64  `json:"retried"`
	Failed    int64  `json:"failed"`
	Dead      int64  `json:"dead"`
	Cancelled int64  `json:"cancelled"`
	Promoted  int64  `json:"promoted"`
}

// timesJSON is how long something took.
type timesJSON struct {
	N     int64   `json:"n" doc:"How many were counted; the others are 0 when none was"`
	P50MS float64 `json:"p50_ms"`
	P95MS float64 `json:"p95_ms"`
	P99MS float64 `json:"p99_ms"`
}

type statsOutput struct{ Body statsJSON }

func (s *Server) getStats(ctx context.Context, in *statsInput) (*statsOutput, error) {
	from, to, faults := in.span(time.Now())
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	byType, err := s.countsByType(ctx)
	if err != nil {
		return nil, err
	}
	minutes, err := s.ledger.MinuteStats(ctx, from, to)
	if err != nil {
		return nil, err
	}
	v := statsJSON{
		From: moment(from), To: moment(to), Health: healthView(s.runtime.Health()),
		Counts: map[models.State]int64{}, Types: []typeCountsJSON{},
	}
	for _, state := range models.States {
		v.Counts[state] = 0
	}
	for _, typ := range slices.Sorted(maps.Keys(byType)) {
		v.Types = append(v.Types, typeCountsJSON{typ, byType[typ]})
		for state, n := range byType[typ] {
			v.Counts[state] += n
		}
	}
	v.addMinutes(minutes)
	return &statsOutput{Body: v}, nil
}

// span reads the two ends. A minute counts when its start is in the span, so the default begins at a full minute.
func (in *statsInput) span(now time.Time) (from, to models.Instant, faults []fieldError) {
	read := func(name, text string, otherwise func() time.Time) time.Time {
		if text == "" {
			return otherwise()
		}
		t, err := parseMoment(text)
		if err != nil {
			faults = append(faults, wrongBy("query."+name, err))
		}
		return t
	}
	end := read("to", in.To, func() time.Time { return now })
	start := read("from", in.From, func() time.Time { return end.Add(-statsSpan).Truncate(time.Minute) })
	if len(faults) == 0 && (end.Before(start) || end.Sub(start) > maxStatsSpan+time.Minute) {
		faults = append(faults, wrong("query.to", "span", *durationText(maxStatsSpan)))
	}
	return models.At(start), models.At(end), faults
}

// addMinutes adds the rows of all types up, a minute at a time; they come in the order of the minutes.
func (v *statsJSON) addMinutes(rows []models.MinuteStat) {
	var wait, run models.Histogram
	v.Minutes = []minuteJSON{}
	for i := range rows {
		row := &rows[i]
		if n := len(v.Minutes); n == 0 || v.Minutes[n-1].At != moment(row.Minute) {
			v.Minutes = append(v.Minutes, minuteJSON{At: moment(row.Minute)})
		}
		m := &v.Minutes[len(v.Minutes)-1]
		m.Enqueued += row.Enqueued
		m.Started += row.Started
		m.Succeeded += row.Succeeded
		m.Retried += row.Retried
		m.Failed += row.Failed
		m.Dead += row.Dead
		m.Cancelled += row.Cancelled
		m.Promoted += row.Promoted
		wait.Merge(row.WaitHist)
		run.Merge(row.RunHist)
	}
	v.Wait, v.Run = timesOf(&wait), timesOf(&run)
}

func timesOf(h *models.Histogram) timesJSON {
	ms := func(q float64) float64 { return float64(h.Quantile(q).Microseconds()) / 1000 }
	return timesJSON{N: h.Total(), P50MS: ms(0.50), P95MS: ms(0.95), P99MS: ms(0.99)}
}
