package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reax/models"
	"reax/tasks"
	"reax/views"
)

// auditPageSize is how many entries a page shows to who has not chosen. Each tells of before and after.
const auditPageSize = 40

// auditPage is what people and tokens did, newest first.
func (s *Server) auditPage(c echo.Context) error {
	ctx := c.Request().Context()
	viewer := views.ViewerOf(ctx)
	q := readAuditQuery(c.QueryParams(), viewer.Zone, viewer.Now)
	page := views.AuditTrail{Chips: q.chips(ctx), Clear: views.URL(ctx, "/audit"), Filtered: len(q.values()) > 0}
	page.Fields, page.More = q.fields(ctx)
	page.MoreOpen = q.id+q.from+q.to+q.faults["id"] != ""
	if q.cursor != "" {
		page.Newest = auditURL(ctx, "/audit", q)
	}
	if len(q.faults) > 0 {
		page.Fault = views.T(ctx, cmp.Or(q.faults["cursor"], "audit.bad_filter"))
		return s.render(c, http.StatusUnprocessableEntity, views.AuditPage(page))
	}
	found, err := s.ledger.AuditPage(ctx, q.filter, cmp.Or(views.ViewerOf(ctx).Rows, auditPageSize))
	if err != nil {
		return err
	}
	page.Short, page.CSV = found.Short, auditURL(ctx, "/audit/export.csv", q)
	if found.Next.ID != 0 {
		values := q.values()
		values.Set("cursor", encodeAuditCursor(found.Next))
		page.Older = views.URL(ctx, "/audit") + query(values)
	} else if page.Since, err = s.ledger.AuditKept(ctx); err != nil {
		return err
	}
	for _, e := range s.shownAudit(ctx, found.Entries) {
		page.Rows = append(page.Rows, views.AuditRow{Audit: e, URL: auditTarget(ctx, &e)})
	}
	return s.render(c, http.StatusOK, views.AuditPage(page))
}

func auditURL(ctx context.Context, path string, q *auditQuery) templ.SafeURL {
	return views.URL(ctx, path) + query(q.values())
}

// auditTarget is the page of what an entry is about; empty when there is none.
func auditTarget(ctx context.Context, e *models.Audit) templ.SafeURL {
	number := func(path string) templ.SafeURL {
		if id, err := strconv.ParseInt(e.TargetID, 10, 64); err != nil || id < 1 {
			return ""
		}
		return views.URL(ctx, path+views.Segment(e.TargetID))
	}
	switch e.Target {
	case "task":
		return number("/tasks/")
	case "bulk":
		return number("/bulk/")
	case "incident":
		return number("/incidents/")
	case "type":
		return views.URL(ctx, "/types/"+views.Segment(e.TargetID))
	case "group":
		if typ, fingerprint, ok := cutLast(e.TargetID, "/"); ok {
			return views.URL(ctx, "/dead/"+views.Segment(typ)+"/"+views.Segment(fingerprint))
		}
	case "alert":
		return views.URL(ctx, "/alerts/"+views.Segment(e.TargetID))
	case "schedule":
		return views.URL(ctx, "/schedules/"+views.Segment(e.TargetID))
	}
	return ""
}

// cutLast is strings.Cut at the last sep.
func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// shownAudit are entries as anybody may see them. New ones hold nothing secret; those of former versions of reax may have
// the parameters of a schedule as they were.
func (s *Server) shownAudit(ctx context.Context, entries []models.Audit) []models.Audit {
	shown := slices.Clone(entries)
	for i := range shown {
		e := &shown[i]
		if e.Target == "schedule" {
			e.Before, e.After = s.shownDefinition(ctx, e, e.Before), s.shownDefinition(ctx, e, e.After)
		}
	}
	return shown
}

func (s *Server) shownDefinition(ctx context.Context, e *models.Audit, text string) string {
	var parts map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &parts) != nil || parts["params"] == nil {
		return text
	}
	var typ, params string
	if json.Unmarshal(parts["params"], &params) != nil {
		return text
	}
	if json.Unmarshal(parts["task"], &typ) != nil { // it did not change
		if row, err := s.ledger.Schedule(ctx, e.TargetID); err == nil {
			typ = row.Task
		}
	}
	shown := tasks.MaskAll(params)
	if schema := s.schemaOf(typ); schema != nil {
		shown = schema.Mask(params)
	}
	parts["params"] = quote(shown)
	clean, err := json.Marshal(parts)
	if err != nil {
		return hidden
	}
	return string(clean)
}

// chips are the filters in force, each with the address that takes it away.
func (q *auditQuery) chips(ctx context.Context) []views.Chip {
	var chips []views.Chip
	add := func(name, label, value string) {
		if value == "" || q.faults[name] != "" {
			return
		}
		values := q.values()
		values.Del(name)
		if name == "target" {
			values.Del("id")
		}
		chips = append(chips, views.Chip{Label: views.T(ctx, label), Value: value, Remove: views.URL(ctx, "/audit") + query(values)})
	}
	add("actor", "audit.who", q.actor)
	add("action", "audit.action", q.action)
	add("target", "audit.kind", views.AuditKind(ctx, q.target))
	add("id", "audit.target", q.id)
	if q.window != "" {
		add("window", "audit.window", views.T(ctx, "window."+q.window))
	}
	add("from", "audit.after", clockChip(ctx, q.from, q.filter.From))
	add("to", "audit.before", clockChip(ctx, q.to, q.filter.To))
	return chips
}

// fields are the inputs of the filter: those that are always there, and the rest.
func (q *auditQuery) fields(ctx context.Context) (first, more []views.Field) {
	field := func(name, kind, label, value string) views.Field {
		return filterField(ctx, q.faults, name, kind, label, value)
	}
	target := field("target", "select", "audit.kind", q.target)
	target.Options = []views.Option{{Text: views.T(ctx, "audit.any")}}
	kinds := views.AuditKinds()
	if q.target != "" && !slices.Contains(kinds, q.target) {
		kinds = append(kinds, q.target)
	}
	for _, kind := range kinds {
		target.Options = append(target.Options, views.Option{Value: kind, Text: views.AuditKind(ctx, kind)})
	}
	window := field("window", "select", "audit.window", q.window)
	window.Options = []views.Option{{Text: views.T(ctx, "window.any")}}
	for _, w := range windows {
		window.Options = append(window.Options, views.Option{Value: w.name, Text: views.T(ctx, "window."+w.name)})
	}
	id := field("id", "text", "audit.target", q.id)
	id.Hint = views.T(ctx, "audit.target_hint")
	first = []views.Field{field("actor", "text", "audit.who", q.actor), target, window}
	more = []views.Field{id, field("action", "text", "audit.action", q.action),
		field("from", "datetime-local", "audit.after", q.from), field("to", "datetime-local", "audit.before", q.to)}
	return first, more
}
