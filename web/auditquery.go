package web

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reax/models"
)

// auditQuery is the query of the audit, as an address has it. faults has the key of a message for each parameter that is
// wrong.
type auditQuery struct {
	actor, action, target, id, window, from, to, cursor string
	filter                                              models.AuditFilter
	faults                                              map[string]string
}

// readAuditQuery reads the query of the audit. Local times are those of zone.
func readAuditQuery(v url.Values, zone *time.Location, now time.Time) *auditQuery {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	q := &auditQuery{
		actor: get("actor"), action: get("action"), target: get("target"), id: get("id"), window: get("window"), from: get("from"), to: get("to"),
		cursor: get("cursor"), faults: map[string]string{},
	}
	f := &q.filter
	f.Actor, f.Action, f.Target, f.TargetID = q.actor, q.action, q.target, q.id
	for name, text := range map[string]string{"actor": q.actor, "action": q.action, "target": q.target, "id": q.id} {
		if len(text) > maxSearchBytes || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			q.faults[name] = "tasks.bad_text"
		}
	}
	if q.id != "" && q.target == "" {
		q.faults["id"] = "audit.bad_target"
	}
	times := tasksQuery{window: q.window, from: q.from, to: q.to, faults: q.faults}
	times.readTimes(zone, now)
	f.From, f.To = times.filter.CreatedFrom, times.filter.CreatedTo
	if q.cursor != "" {
		var err error
		if f.After, err = decodeAuditCursor(q.cursor); err != nil {
			q.faults["cursor"] = "audit.bad_cursor"
		}
	}
	return q
}

// values is the query without its cursor, as an address has it.
func (q *auditQuery) values() url.Values {
	v := url.Values{}
	for _, pair := range [][2]string{
		{"actor", q.actor}, {"action", q.action}, {"target", q.target}, {"id", q.id}, {"window", q.window}, {"from", q.from}, {"to", q.to},
	} {
		if pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return v
}

// A cursor of the audit is the time and the id of an entry, encoded as other cursors are.
func encodeAuditCursor(p models.AuditPlace) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", p.At, p.ID))
}

func decodeAuditCursor(text string) (models.AuditPlace, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	at, id, ok := strings.Cut(string(raw), ".")
	var p models.AuditPlace
	if err == nil && ok {
		n, bad := strconv.ParseInt(at, 10, 64)
		p.At, err = models.Instant(n), bad
		if err == nil {
			p.ID, err = strconv.ParseInt(id, 10, 64)
		}
	}
	if err != nil || p.ID < 1 || encodeAuditCursor(p) != text {
		return models.AuditPlace{}, errCursor
	}
	return p, nil
}
