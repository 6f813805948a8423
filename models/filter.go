package models

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
)

// Filter says which tasks a list shows. Zero fields do not filter.
type Filter struct {
	States      []State
	Types       []string
	PriorityMin int
	PriorityMax int
	TraceID     string
	UniqueKey   string
	Tag         string
	Text        string // found in the error text, or a task id, or the start of a trace id
	CreatedFrom Instant
	CreatedTo   Instant // exclusive
	// EndedFrom and EndedTo are about tasks that ended for good, at or after the one and before the other. No index serves
	// them: of what was created before EndedTo the latest tasks are looked at.
	EndedFrom, EndedTo Instant
	Fingerprint        string // of failed and dead tasks; needs exactly one type
	Schedule           string
	Param              *Param
	Suspected          bool
	Before             int64 // keyset: only ids below this; 0 starts at the newest
	// Order sorts the newest of them, as many as SortLimit; After is its keyset, and its zero value starts at the first.
	Order Order
	After Place
}

// Param names tasks by one of their parameters.
type Param struct {
	Path  string // dotted: customer.id; a part of digits is an index of a list
	Value string // as it stands in the parameters; a text may leave out its quotes
}

// textLimit is how many bytes of Filter.Text count.
const textLimit = 200

// traceStart is a text that may be meant as the start of a trace id. Shorter ones are looked for in errors alone.
var traceStart = regexp.MustCompile(`^[0-9a-f]{6,32}$`)

// likeEscaper takes the special meaning from the letters of a LIKE pattern.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// condition is a part of a WHERE clause.
type condition struct {
	sql  string
	args []any
}

// everyRow is the source that walks the table.
const everyRow = "true"

// sources splits a filter into conditions whose rows an index gives in the order of their ids, which together hold all
// of its tasks, and the conditions that each of those rows has to be looked at for.
func (f *Filter) sources(db *gorm.DB) (sources, rest []condition, err error) {
	others := *f
	switch {
	case f.TraceID != "":
		others.TraceID = ""
		sources = []condition{{"trace_id = ?", []any{f.TraceID}}}
	case f.UniqueKey != "":
		others.UniqueKey = ""
		sources = []condition{{"unique_key = ? AND unique_key IS NOT NULL", []any{f.UniqueKey}}}
	case f.Schedule != "":
		others.Schedule = ""
		sources = []condition{{"schedule = ? AND schedule IS NOT NULL", []any{f.Schedule}}}
	case f.Fingerprint != "" && len(f.Types) == 1:
		others.Fingerprint, others.Types = "", nil
		sources = []condition{{"type = ? AND fingerprint = ? AND fingerprint IS NOT NULL AND state IN ('failed', 'dead')", []any{f.Types[0], f.Fingerprint}}}
	case f.Suspected:
		others.Suspected = false
		sources = []condition{{"suspected IS NOT NULL", nil}}
	case len(f.states()) == 0 && len(f.Types) == 0 && !f.errorsAlone():
		sources = []condition{{everyRow, nil}}
	default:
		others.States, others.Types = nil, nil
		sources, err = f.stateSources(db)
	}
	return sources, others.conditions(), err
}

// stateSources gives one source for each state and type, as the indexes on them need.
func (f *Filter) stateSources(db *gorm.DB) (sources []condition, err error) {
	states := f.states()
	if len(states) == 0 {
		states = States
	}
	for _, state := range states {
		if state == StateSuccess && f.errorsAlone() {
			continue
		}
		is := condition{"state = ? AND " + unlessSuccess, []any{state}}
		if state == StateSuccess {
			is = condition{"state = 'success'", nil}
		}
		types := sorted(f.Types)
		if len(types) == 0 {
			next := jump("SELECT type FROM tasks WHERE " + is.sql + " AND type > found.type ORDER BY type LIMIT 1")
			if types, err = collect(db, scanOne[string], next, is.args...); err != nil {
				return nil, err
			}
		}
		for _, typ := range types {
			sources = append(sources, condition{is.sql + " AND type = ?", append(slices.Clone(is.args), typ)})
		}
	}
	return sources, nil
}

// conditions gives every field but the times of creation and Before as a condition on a row. The unary plus keeps SQLite from
// choosing an index for them: for a state it would take the one on the state, and read all of that.
func (f *Filter) conditions() []condition {
	var all []condition
	add := func(wanted bool, sql string, args ...any) {
		if wanted {
			all = append(all, condition{sql, args})
		}
	}
	states := f.states()
	add(len(states) > 0, "+state IN ?", states)
	add(!f.EndedFrom.IsZero(), "+finished_at >= ?", int64(f.EndedFrom))
	add(!f.EndedTo.IsZero(), "+finished_at < ?", int64(f.EndedTo))
	add(len(f.Types) > 0, "+type IN ?", sorted(f.Types))
	add(f.PriorityMin != 0, "+priority >= ?", f.PriorityMin)
	add(f.PriorityMax != 0, "+priority <= ?", f.PriorityMax)
	add(f.TraceID != "", "+trace_id = ?", f.TraceID)
	add(f.UniqueKey != "", "+unique_key = ?", f.UniqueKey)
	add(f.Suspected, "+suspected IS NOT NULL")
	add(f.Tag != "", tagged, f.Tag)
	add(f.Fingerprint != "", "+fingerprint = ?", f.Fingerprint)
	add(f.Schedule != "", "+schedule = ?", f.Schedule)
	if f.Param != nil {
		add(true, "(params -> ?) IN (?, json_quote(?))", f.Param.jsonPath(), f.Param.Value, f.Param.Value)
	}
	if f.Text != "" {
		all = append(all, f.textual())
	}
	return all
}

// textual is the condition that Text puts on a row.
func (f *Filter) textual() condition {
	text, _ := cleanHead(f.Text, textLimit)
	c := condition{`(error LIKE ? ESCAPE '\'`, []any{"%" + likeEscaper.Replace(text) + "%"}}
	if id, ok := f.textID(); ok {
		c.sql, c.args = c.sql+" OR +id = ?", append(c.args, id)
	}
	if start, end, ok := f.textTrace(); ok {
		c.sql, c.args = c.sql+" OR (+trace_id >= ? AND +trace_id < ?)", append(c.args, start, end)
	}
	c.sql += ")"
	return c
}

// errorsAlone reports whether Text can only be found in errors, but for the task that it names by its id. A success keeps
// no error, so that most tasks need not be looked at.
func (f *Filter) errorsAlone() bool {
	_, _, trace := f.textTrace()
	return f.Text != "" && !trace
}

// textID is the task id that Text may mean.
func (f *Filter) textID() (int64, bool) {
	id, err := strconv.ParseInt(f.Text, 10, 64)
	return id, err == nil && id > 0
}

// textTrace is the range of trace ids that Text may be the start of.
func (f *Filter) textTrace() (start, end string, ok bool) {
	start = strings.ToLower(f.Text)
	return start, start + "g", traceStart.MatchString(start) // g comes after every hex digit
}

// states gives the states to look for, none when every one of them is asked for.
func (f *Filter) states() []State {
	states := sorted(f.States)
	for _, state := range States {
		if !slices.Contains(states, state) {
			return states
		}
	}
	return nil
}

func sorted[T ~string](all []T) []T { return slices.Compact(slices.Sorted(slices.Values(all))) }

// jsonPath is the path as SQLite writes it, each part quoted so that no letter of it has a meaning.
func (p *Param) jsonPath() string {
	var b strings.Builder
	b.WriteByte('$')
	for part := range strings.SplitSeq(p.Path, ".") {
		if _, err := strconv.ParseUint(part, 10, 31); err == nil {
			b.WriteString("[" + part + "]")
			continue
		}
		b.WriteString(`."` + strings.ReplaceAll(part, `"`, ``) + `"`)
	}
	return b.String()
}
