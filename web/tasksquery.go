package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reax/models"
)

// windows are the time windows that a list offers, by how an address names them.
var windows = []struct {
	name string
	span time.Duration
}{
	{"15m", 15 * time.Minute}, {"1h", time.Hour}, {"3h", 3 * time.Hour}, {"24h", 24 * time.Hour}, {"3d", 3 * 24 * time.Hour},
	{"7d", 7 * 24 * time.Hour},
}

// priorities are the groups that a list offers beside each priority alone.
var priorities = []string{"1-3", "4-7", "8-10"}

// paramStart begins the name of a parameter of the address that is a filter on a parameter of the tasks:
// params.customer.id=4417 is what the form field writes as param=customer.id=4417.
const paramStart = "params."

// tasksQuery is the query of the list of tasks, as the address has it. faults has the key of a message for each
// parameter that is wrong.
type tasksQuery struct {
	state, typ, q, priority, window, from, to, trace, tag string
	param, fingerprint, schedule                          string
	ended                                                 string // such as 20260131T0930Z-30m: a start and how long from then
	suspected                                             bool
	sort, cursor                                          string
	filter                                                models.Filter
	faults                                                map[string]string
}

// oneState is the state that the list is of; empty when it is of all or of several.
func (t *tasksQuery) oneState() models.State {
	if strings.Contains(t.state, ",") {
		return ""
	}
	return models.State(t.state)
}

// narrows reports whether the list is of less than all tasks of a state and a type, for which no figures are kept.
func (t *tasksQuery) narrows() bool {
	return t.q+t.priority+t.window+t.from+t.to+t.trace+t.tag+t.param+t.fingerprint+t.schedule+t.ended != "" || t.suspected
}

// values is the query without its cursor, as an address has it.
func (t *tasksQuery) values() url.Values {
	v := url.Values{}
	for _, pair := range [][2]string{
		{"state", t.state}, {"type", t.typ}, {"q", t.q}, {"priority", t.priority}, {"window", t.window}, {"from", t.from},
		{"to", t.to}, {"trace_id", t.trace}, {"tag", t.tag}, {"param", t.param}, {"fingerprint", t.fingerprint}, {"schedule", t.schedule},
		{"ended", t.ended}, {"sort", t.sort},
	} {
		if pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	if t.suspected {
		v.Set("suspected", "1")
	}
	return v
}

// readTasksQuery reads the query of a list. Local times are those of zone.
func readTasksQuery(v url.Values, zone *time.Location, now time.Time) *tasksQuery {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	t := &tasksQuery{
		state: get("state"), typ: get("type"), q: get("q"), priority: get("priority"), window: get("window"), from: get("from"),
		to: get("to"), trace: strings.ToLower(get("trace_id")), tag: get("tag"),
		param: get("param"), fingerprint: strings.ToLower(get("fingerprint")), schedule: get("schedule"), ended: get("ended"),
		suspected: get("suspected") == "1" || get("suspected") == "true", sort: get("sort"), cursor: get("cursor"), faults: map[string]string{},
	}
	f := &t.filter
	f.Text, f.Tag, f.TraceID, f.Suspected = t.q, t.tag, t.trace, t.suspected
	f.Schedule = t.schedule
	names := list([]string{t.state})
	t.state = strings.Join(names, ",")
	for _, name := range names {
		f.States = append(f.States, models.State(name))
		if !models.State(name).IsKnown() || len(f.States) > len(models.States) {
			t.faults["state"] = "tasks.bad_state"
		}
	}
	if t.typ != "" {
		f.Types = []string{t.typ}
	}
	for name, text := range map[string]string{"type": t.typ, "q": t.q, "tag": t.tag, "schedule": t.schedule} {
		if len(text) > maxSearchBytes || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.faults[name] = "tasks.bad_text"
		}
	}
	if t.trace != "" && !isTraceID(t.trace) {
		t.faults["trace_id"] = "tasks.bad_trace"
	}
	if t.priority != "" && !readPriority(t.priority, f) {
		t.faults["priority"] = "tasks.bad_priority"
	}
	t.readParam(v)
	if f.Fingerprint = t.fingerprint; t.fingerprint != "" && !isFingerprint(t.fingerprint) {
		t.faults["fingerprint"] = "tasks.bad_fingerprint"
	}
	t.readTimes(zone, now)
	t.readEnded()
	if f.Order = models.Order(t.sort); !f.Order.IsKnown() {
		t.faults["sort"] = "tasks.bad_sort"
		f.Order = models.NewestFirst
	}
	if t.cursor != "" && readCursor(t.cursor, f) != nil {
		t.faults["cursor"] = "tasks.bad_cursor"
	}
	return t
}

// readParam reads the filter on a parameter of the tasks in either spelling.
func (t *tasksQuery) readParam(v url.Values) {
	if t.param == "" {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if path, ok := strings.CutPrefix(name, paramStart); ok {
				t.param = strings.TrimSpace(path + "=" + v.Get(name))
				break
			}
		}
	}
	if t.param == "" {
		return
	}
	path, value, ok := strings.Cut(t.param, "=")
	path, value = strings.TrimSpace(path), strings.TrimSpace(value)
	if !ok || path == "" || len(t.param) > maxSearchBytes || !utf8.ValidString(t.param) || strings.ContainsRune(t.param, 0) {
		t.faults["param"] = "tasks.bad_param"
		return
	}
	t.filter.Param = &models.Param{Path: strings.TrimPrefix(path, paramStart), Value: value}
}

func isFingerprint(text string) bool {
	return len(text) == 16 && strings.Trim(text, "0123456789abcdef") == ""
}

// readPriority reads "3" and "1-3".
func readPriority(text string, f *models.Filter) bool {
	low, high, ok := strings.Cut(text, "-")
	if !ok {
		high = low
	}
	for _, end := range []struct {
		text string
		to   *int
	}{{low, &f.PriorityMin}, {high, &f.PriorityMax}} {
		if _, err := fmt.Sscanf(end.text, "%d", end.to); err != nil || fmt.Sprint(*end.to) != end.text || *end.to < 1 || *end.to > 10 {
			return false
		}
	}
	return f.PriorityMin <= f.PriorityMax
}

func (t *tasksQuery) readTimes(zone *time.Location, now time.Time) {
	for _, w := range windows {
		if t.window == w.name {
			t.filter.CreatedFrom = models.At(now.Add(-w.span))
		}
	}
	if t.window != "" && t.filter.CreatedFrom == 0 {
		t.faults["window"] = "tasks.bad_window"
	}
	for name, end := range map[string]struct {
		text string
		to   *models.Instant
	}{"from": {t.from, &t.filter.CreatedFrom}, "to": {t.to, &t.filter.CreatedTo}} {
		if end.text == "" {
			continue
		}
		at, err := parseClock(end.text, zone)
		if err != nil {
			t.faults[name] = "tasks.bad_time"
		}
		*end.to = models.At(at)
	}
}

// endedLayout is the start in the filter ended. It has no letter that an address writes as three.
const endedLayout = "20060102T1504Z"

// readEnded reads when the tasks of the list ended.
func (t *tasksQuery) readEnded() {
	if t.ended == "" {
		return
	}
	start, span, _ := strings.Cut(t.ended, "-")
	from, err := time.Parse(endedLayout, start)
	long, wrong := time.ParseDuration(span)
	if err != nil || wrong != nil || long < time.Minute || long > maxStatsSpan {
		t.faults["ended"] = "tasks.bad_time"
		return
	}
	t.filter.EndedFrom, t.filter.EndedTo = models.At(from), models.At(from.Add(long))
}

// parseClock reads an instant: RFC 3339 as links have it, or the time on a clock of zone as a form field has it.
func parseClock(text string, zone *time.Location) (at time.Time, err error) {
	if at, err = time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err = time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, err
}
