package web

import (
	"cmp"
	"slices"
	"time"

	"reax/actors"
	"reax/models"
)

const (
	healthyMinutes = 5
	enoughRuns     = 20  // under that many a rate says nothing
	tooManyFail    = 0.1 // share of the runs of healthyMinutes
)

// typeFigures is a task type as the overview tells of it.
type typeFigures struct {
	name      string
	known     bool // this process has a handler for it
	pool      actors.PoolStatus
	waiting   int64 // pending or waiting to retry
	minutes   [hourMinutes]typeMinute
	succeeded int64 // runs of the hour
	failed    int64
	promoted  int64 // tasks that waiting lifted in the hour
	run       models.Histogram
	trouble   trouble
}

type typeMinute struct{ succeeded, failed int64 }

func (m typeMinute) fails() bool {
	return m.failed > 0 && float64(m.failed) >= tooManyFail*float64(m.succeeded+m.failed)
}

// trouble is that too many runs of a type fail now.
type trouble struct {
	percent int            // of the runs of the last minutes; 0 when there is no trouble
	since   models.Instant // the first minute of it
	longer  bool           // it began before the hour that is known
}

// typesNow gathers the types that are registered or have tasks, by name.
func (s *Server) typesNow(counts map[string]map[models.State]int64, rows []models.MinuteStat, made *snapshot) []typeFigures {
	index := map[string]int{}
	var all []typeFigures
	of := func(name string) *typeFigures {
		i, ok := index[name]
		if !ok {
			i = len(all)
			index[name] = i
			all = append(all, typeFigures{name: name})
			all[i].pool, all[i].known = s.runtime.Pool(name)
		}
		return &all[i]
	}
	for _, d := range s.runtime.Registry().All() {
		of(d.Name)
	}
	for name, states := range counts {
		of(name).waiting = states[models.StatePending] + states[models.StateRetryWait]
	}
	first := made.minutes[0].at
	for i := range rows {
		m := &rows[i]
		minute := int(m.Minute.Sub(first) / time.Minute)
		if minute < 0 || minute >= hourMinutes {
			continue
		}
		f := of(m.Type)
		f.minutes[minute] = typeMinute{m.Succeeded, failedRuns(m)}
		f.succeeded += m.Succeeded
		f.failed += failedRuns(m)
		f.promoted += m.Promoted
		f.run.Merge(m.RunHist)
	}
	for i := range all {
		all[i].trouble = all[i].troubleNow(first)
	}
	slices.SortFunc(all, func(a, b typeFigures) int { return cmp.Compare(a.name, b.name) })
	return all
}

// troubleNow looks at the last minutes, and then back to where it began: a minute without runs does not end it.
func (f *typeFigures) troubleNow(first models.Instant) trouble {
	var good, bad int64
	last := -1
	for i := hourMinutes - healthyMinutes; i < hourMinutes; i++ {
		good, bad = good+f.minutes[i].succeeded, bad+f.minutes[i].failed
		if f.minutes[i].fails() {
			last = i
		}
	}
	if all := good + bad; last < 0 || all < enoughRuns || float64(bad) < tooManyFail*float64(all) {
		return trouble{}
	}
	began := last
	for i := last; i >= 0; i-- {
		if m := f.minutes[i]; m.fails() {
			began = i
		} else if m.succeeded > 0 {
			break
		}
	}
	return trouble{
		percent: int((100*bad + (good+bad)/2) / (good + bad)), longer: began == 0,
		since: first.Add(time.Duration(began) * time.Minute),
	}
}
