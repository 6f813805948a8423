package views

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/a-h/templ"

	"reax/models"
)

// AuditTrail is the page of what people did. Its texts are in the viewer's language.
type AuditTrail struct {
	Fields   []Field // of the filter
	More     []Field // those that are folded away
	MoreOpen bool
	Chips    []Chip
	Clear    templ.SafeURL
	Fault    string // what is wrong with the address
	Rows     []AuditRow
	Filtered bool
	Short    bool           // the search stopped early, and older entries may match too
	Since    models.Instant // what is older was deleted by age; none when all is kept
	Newest   templ.SafeURL
	Older    templ.SafeURL
	CSV      templ.SafeURL
}

// AuditRow is one entry with where its target is.
type AuditRow struct {
	models.Audit
	URL templ.SafeURL // of the target; empty when it has no page
}

// auditKinds are the kinds of target that have a word of their own.
var auditKinds = []string{"task", "type", "schedule", "bulk", "group", "user", "token", "incident", "alert"}

// AuditKinds are the kinds of target that a filter offers.
func AuditKinds() []string { return slices.Clone(auditKinds) }

// AuditKind is the word for a kind of target.
func AuditKind(ctx context.Context, kind string) string {
	if text, ok := ViewerOf(ctx).Locale.Lookup("audit.kind." + kind); ok {
		return text
	}
	return kind
}

// ActorName is who it was: an account, or words for what else it can be. It fits into a sentence of the language, some of
// which set names of Latin letters apart.
func ActorName(ctx context.Context, name string) string {
	if name == "" {
		return T(ctx, "task.somebody")
	}
	if text, ok := ViewerOf(ctx).Locale.Lookup("task.by." + name); ok {
		return text
	}
	return T(ctx, "task.by_name", "name", name)
}

// difference is one part of a target, before and after.
type difference struct{ name, before, after string }

// differences are what the entry changed. What is one value and no set of parts has no name.
func differences(e *models.Audit) []difference {
	before, ok := partsOf(e.Before)
	after, also := partsOf(e.After)
	if !ok || !also {
		if e.Before == "" && e.After == "" {
			return nil
		}
		return []difference{{before: e.Before, after: e.After}}
	}
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, difference{name, before[name], after[name]})
	}
	return all
}

// partsOf reads what is an object, or nothing at all.
func partsOf(text string) (map[string]string, bool) {
	if text == "" {
		return nil, true
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil, false
	}
	parts := map[string]string{}
	for name, value := range raw {
		var word string
		if json.Unmarshal(value, &word) != nil {
			word = string(value)
		}
		parts[name] = word
	}
	return parts, true
}

// auditPart is the word for a part of a target.
func auditPart(ctx context.Context, name string) string {
	for _, key := range []string{"audit.part.", "schedule_form.field."} {
		if text, ok := ViewerOf(ctx).Locale.Lookup(key + name); ok {
			return text
		}
	}
	return name
}

// auditValue is a value of a part: a state or a role as the pages call it, else what it is.
func auditValue(ctx context.Context, value string) string {
	switch {
	case models.State(value).IsKnown():
		return T(ctx, "state."+value)
	case models.Role(value).IsRole():
		return T(ctx, "role."+value)
	}
	return preview(value)
}

// uncut is the title of a value that is cut where it stands.
func uncut(value string) templ.Attributes {
	if preview(value) == value {
		return nil
	}
	return templ.Attributes{"title": line(value, 1000)}
}

// auditNote says how much of the audit the page is.
func auditNote(ctx context.Context, p AuditTrail) string {
	note := T(ctx, "audit.shown", "n", len(p.Rows))
	if p.Short {
		note += " · " + T(ctx, "audit.short")
	}
	if !p.Since.IsZero() {
		note += " · " + T(ctx, "audit.since", "at", Clock(ctx, p.Since))
	}
	return note
}
