package actors

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"reax/models"
	"reax/tasks"
)

const (
	alertKeys       = 20 // alerts that one rule has open at one time; the others share one more
	alertKeyRest    = "…"
	alertGroups     = 1_000 // of errors, that are looked at
	alertSlowLeast  = 10 * time.Second
	alertSlowWindow = 6 * time.Hour // of runs, whose 95th percentile counts
	alertSlowEvery  = 5 * time.Minute
)

// finding is one thing that a rule finds: bad, or no longer bad enough to begin but not yet good.
type finding struct {
	key   string
	holds bool
	facts models.AlertFacts
}

// runtimes are the run times of types, as far as they are known.
type runtimes struct {
	at    time.Time
	types map[string]*models.Histogram
}

// finder reads what rules look at, each figure once for all of them.
type finder struct {
	*core
	ctx     context.Context
	now     time.Time
	minutes []models.MinuteStat
	slow    *runtimes
	read    bool // minutes are
}

// matches reports whether a rule is about a type. What reax sends itself is never looked at: a message that fails must not
// make more of them.
func matches(spec *models.AlertSpec, typ string) bool {
	if typ == tasks.NoticeType {
		return false
	}
	return len(spec.Types) == 0 || slices.ContainsFunc(spec.Types, func(want string) bool {
		begin, many := strings.CutSuffix(want, "*")
		return typ == want || many && strings.HasPrefix(typ, begin)
	})
}

// over compares a figure with the limit of a rule. ok is false when it is on the good side of both limits.
func over(spec *models.AlertSpec, value int64, facts models.AlertFacts) (f finding, ok bool) {
	facts.Value, facts.Limit = value, spec.Limit
	end := cmp.Or(spec.Clear, spec.Limit)
	f = finding{facts: facts, holds: value > spec.Limit}
	near := value > end
	if alertKinds[spec.Kind].below {
		f.holds, near = value < spec.Limit, value < end
	}
	return f, f.holds || near
}

// find gives what a rule finds now. An error means that nobody knows.
func (f *finder) find(spec *models.AlertSpec) ([]finding, error) {
	switch spec.Kind {
	case models.AlertDead:
		return f.dead(spec)
	case models.AlertSuccess:
		return f.success(spec)
	case models.AlertWait:
		return f.waits(spec)
	case models.AlertBacklog:
		var n int64
		for _, typ := range f.waiting(spec) {
			n += f.ready(typ)
		}
		return only(over(spec, n, models.AlertFacts{}))
	case models.AlertMissed:
		return f.missed(spec)
	case models.AlertSlow:
		return f.slowRuns(spec)
	case models.AlertCrashes:
		n, _ := f.figures.crashes.since(f.now.Add(-spec.Window))
		return only(over(spec, int64(n), models.AlertFacts{Window: int64(spec.Window / time.Second)}))
	case models.AlertDisk:
		if f.figures.diskTotal.Load() == 0 {
			return nil, nil
		}
		return only(over(spec, f.figures.diskFree.Load(), models.AlertFacts{}))
	}
	return nil, nil
}

func only(f finding, ok bool) ([]finding, error) {
	if !ok {
		return nil, nil
	}
	return []finding{f}, nil
}

func (f *finder) ready(typ string) int64 {
	n, _ := f.counts.Get(countKey{typ, models.CountReady})
	return n
}

// waiting are the types of a rule that have tasks which wait for a worker.
func (f *finder) waiting(spec *models.AlertSpec) (types []string) {
	for _, k := range f.counts.Keys() {
		if k.state == models.CountReady && f.ready(k.typ) > 0 && matches(spec, k.typ) {
			types = append(types, k.typ)
		}
	}
	slices.Sort(types)
	return types
}

// dead finds the groups of errors that a task joined lately.
func (f *finder) dead(spec *models.AlertSpec) ([]finding, error) {
	groups, err := f.store.FreshGroups(f.ctx, models.At(f.now.Add(-spec.ClearAfter)), models.At(f.now), alertGroups)
	if err != nil {
		return nil, err
	}
	var found []finding
	for i := range groups {
		g := &groups[i]
		if !matches(spec, g.Type) {
			continue
		}
		found = append(found, finding{key: g.Type + "/" + g.Fingerprint, holds: true, facts: models.AlertFacts{
			Name: g.Type, Error: g.Message, Fingerprint: g.Fingerprint, Count: g.N,
		}})
	}
	return found, nil
}

func (f *finder) success(spec *models.AlertSpec) ([]finding, error) {
	if !f.read {
		minutes, err := f.store.MinuteStats(f.ctx, models.At(f.now.Add(-healthWindow)), models.At(f.now.Add(time.Minute)))
		if err != nil {
			return nil, err
		}
		f.minutes, f.read = minutes, true
	}
	var good, all int64
	for i := range f.minutes {
		if m := &f.minutes[i]; matches(spec, m.Type) {
			good += m.Succeeded
			all += m.Succeeded + m.Retried + m.Failed + m.Dead
		}
	}
	if all == 0 || all < spec.Samples {
		return nil, nil
	}
	return only(over(spec, good*100/all, models.AlertFacts{Count: all}))
}

func (f *finder) waits(spec *models.AlertSpec) ([]finding, error) {
	var oldest models.Instant
	var name string
	for _, typ := range f.waiting(spec) {
		first, err := f.store.OldestReady(f.ctx, typ)
		if err != nil {
			return nil, err
		}
		if first != 0 && (oldest == 0 || first < oldest) {
			oldest, name = first, typ
		}
	}
	if oldest == 0 {
		return nil, nil
	}
	return only(over(spec, int64(f.now.Sub(oldest.Time())), models.AlertFacts{Name: name}))
}

// missed finds the schedules that health names, and all others that missed runs lately.
func (f *finder) missed(spec *models.AlertSpec) ([]finding, error) {
	counts := map[string]int64{}
	for _, s := range f.faulty.Values(func(models.Schedule) bool { return true }) {
		counts[s.Name] = 0
	}
	if all := f.figures.overdue.Load(); all != nil {
		for _, s := range *all {
			counts[s.name] = 0
		}
	}
	for _, m := range f.meter.missed.Values(func(m missedLately) bool { return f.now.Sub(m.at) < healthMissedWindow }) {
		counts[m.name] = m.n
	}
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if len(spec.Types) > 0 {
			s, err := f.store.Schedule(f.ctx, name)
			if err != nil || !matches(spec, s.Task) {
				continue // it is gone, or about something else
			}
		}
		found = append(found, finding{key: name, holds: true, facts: models.AlertFacts{Name: name, Count: counts[name]}})
	}
	return found, nil
}

// slowRuns finds the types of which a run takes some times as long as nearly all do.
func (f *finder) slowRuns(spec *models.AlertSpec) ([]finding, error) {
	if err := f.readRuntimes(); err != nil {
		return nil, err
	}
	byType := map[string]*finding{}
	for _, x := range f.runs.Values(func(x *run) bool { return x.started.Load() }) {
		times := f.slow.types[x.Type]
		if times == nil || times.Total() < spec.Samples || !matches(spec, x.Type) {
			continue
		}
		took := f.now.Sub(x.StartedAt.Time())
		if took < alertSlowLeast || took <= time.Duration(spec.Limit)*times.Quantile(0.95) {
			continue
		}
		s := byType[x.Type]
		if s == nil {
			s = &finding{key: x.Type, holds: true, facts: models.AlertFacts{Name: x.Type, Limit: spec.Limit}}
			byType[x.Type] = s
		}
		s.facts.Count++
		if int64(took) > s.facts.Value {
			s.facts.Value, s.facts.Task = int64(took), x.ID
		}
	}
	var found []finding
	for _, typ := range slices.Sorted(maps.Keys(byType)) {
		found = append(found, *byType[typ])
	}
	return found, nil
}

// readRuntimes reads how long runs take, now and then.
func (f *finder) readRuntimes() error {
	if f.slow.types != nil && f.now.Sub(f.slow.at) < alertSlowEvery {
		return nil
	}
	minutes, err := f.store.MinuteStats(f.ctx, models.At(f.now.Add(-alertSlowWindow)), models.At(f.now.Add(time.Minute)))
	if err != nil {
		return err
	}
	types := map[string]*models.Histogram{}
	for i := range minutes {
		m := &minutes[i]
		if types[m.Type] == nil {
			types[m.Type] = &models.Histogram{}
		}
		types[m.Type].Merge(m.RunHist)
	}
	f.slow.at, f.slow.types = f.now, types
	return nil
}

// fold keeps a storm from becoming as many messages: of what a rule finds, what is open already and some others stay, and
// the rest is one finding.
func fold(found []finding, open map[string]*models.Alert) []finding {
	if len(found) <= alertKeys {
		return found
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Compare(boolInt(open[a.key] == nil), boolInt(open[b.key] == nil))
	})
	rest := finding{key: alertKeyRest, holds: true}
	for _, f := range found[alertKeys:] {
		rest.facts.Count += max(f.facts.Count, 1)
		rest.facts.Limit = f.facts.Limit
	}
	return append(found[:alertKeys:alertKeys], rest)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
