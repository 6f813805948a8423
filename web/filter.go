package web

import (
	"strings"
	"unicode/utf8"

	"reax/models"
)

const (
	maxSearchBytes = 200
	maxFilterTypes = 20
)

// FilterJSON says which tasks are meant, in the query of a list and in the body of a bulk action. Empty fields do not
// filter. It is exported because huma passes over embedded types that are not.
type FilterJSON struct {
	State   []string `json:"state,omitempty" query:"state,explode" doc:"Any of these states" maxItems:"20"`
	Type    []string `json:"type,omitempty" query:"type,explode" doc:"Any of these types" maxItems:"20"`
	Q       string   `json:"q,omitempty" query:"q" doc:"Found in the error, or a task id, or the start of a trace id"`
	Tag     string   `json:"tag,omitempty" query:"tag" doc:"Has this tag"`
	TraceID string   `json:"trace_id,omitempty" query:"trace_id" doc:"Has this trace id"`
	From    string   `json:"from,omitempty" query:"from" doc:"Accepted at or after this instant (RFC 3339)"`
	To      string   `json:"to,omitempty" query:"to" doc:"Accepted before this instant (RFC 3339)"`
}

// filter reads f. at gives the location of a field by its name. Lists may also be given as one text with commas, as
// people write them into an address.
func (f *FilterJSON) filter(at func(field string) string) (models.Filter, []fieldError) {
	var faults []fieldError
	fault := func(field, code string, args ...any) { faults = append(faults, wrong(at(field), code, args...)) }
	out := models.Filter{Text: strings.TrimSpace(f.Q), Tag: f.Tag, TraceID: f.TraceID}
	for _, name := range list(f.State) {
		if state := models.State(name); state.IsKnown() {
			out.States = append(out.States, state)
		} else {
			fault("state", "no_state", clip(name), stateNames())
		}
	}
	out.Types = list(f.Type)
	if len(out.Types) > maxFilterTypes {
		fault("type", "max_items", maxFilterTypes)
	}
	for _, name := range out.Types {
		if len(name) > maxSearchBytes || !utf8.ValidString(name) {
			fault("type", "type_name")
		}
	}
	for field, text := range map[string]string{"q": f.Q, "tag": f.Tag} {
		switch {
		case len(text) > maxSearchBytes:
			fault(field, "bytes", maxSearchBytes)
		case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			fault(field, "text")
		}
	}
	if f.TraceID != "" && !isTraceID(f.TraceID) {
		fault("trace_id", "trace")
	}
	for field, place := range map[string]struct {
		text string
		to   *models.Instant
	}{"from": {f.From, &out.CreatedFrom}, "to": {f.To, &out.CreatedTo}} {
		if place.text == "" {
			continue
		}
		moment, err := parseMoment(place.text)
		if err != nil {
			faults = append(faults, wrongBy(at(field), err))
		}
		*place.to = models.At(moment)
	}
	return out, faults
}

// list splits values at commas and drops what is empty.
func list(values []string) []string {
	var names []string
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

func stateNames() string {
	var names []string
	for _, state := range models.States {
		names = append(names, string(state))
	}
	return strings.Join(names, ", ")
}
