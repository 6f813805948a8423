package models

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The kinds of Incident.
const (
	IncidentTrouble     = "incident"    // something is wrong
	IncidentMaintenance = "maintenance" // work that is planned, with a beginning and an end
)

// How bad an incident is, the least first. Planned work has no severity.
const (
	SeverityMinor    = "minor"
	SeverityMajor    = "major"
	SeverityCritical = "critical"
)

// What becomes of an incident.
const (
	IncidentInvestigating = "investigating"
	IncidentIdentified    = "identified"
	IncidentMonitoring    = "monitoring"
	IncidentPlanned       = "planned" // of planned work
	IncidentResolved      = "resolved"
)

// Severities are all severities, and IncidentStates are the states of an incident that is no planned work.
var (
	Severities     = []string{SeverityMinor, SeverityMajor, SeverityCritical}
	IncidentStates = []string{IncidentInvestigating, IncidentIdentified, IncidentMonitoring, IncidentResolved}
)

// Limits on incidents.
const (
	MaxOpenIncidents   = 50
	MaxIncidentUpdates = 200
)

// Incident is one row of incidents: what an operator tells the readers of the status page.
type Incident struct {
	ID        int64  `gorm:"primaryKey"`
	Kind      string // IncidentTrouble or IncidentMaintenance
	Title     string
	Severity  string // one of Severities; empty for planned work
	State     string
	Affected  GroupNames // groups of the status page; none is all of them
	BeginsAt  Instant
	EndsAt    Instant // when it ended, or is planned to; none while nobody knows
	CreatedAt Instant
	CreatedBy string
	ChangedAt Instant

	Updates []IncidentUpdate `gorm:"-"` // the latest first
}

// IncidentUpdate is one row of incident_updates: what was known at a moment.
type IncidentUpdate struct {
	ID         int64 `gorm:"primaryKey"`
	IncidentID int64
	At         Instant
	State      string
	Text       string // Markdown
	Actor      string
}

// GroupNames are names as a column keeps them: a JSON array, or NULL for none.
type GroupNames string

// NewGroupNames makes the column of names.
func NewGroupNames(names []string) GroupNames {
	if len(names) == 0 {
		return ""
	}
	return GroupNames(list(names))
}

// Names gives the names; none when the column cannot be read.
func (g GroupNames) Names() []string {
	var names []string
	if g == "" || json.Unmarshal([]byte(g), &names) != nil {
		return nil
	}
	return names
}

// IsOver reports whether the incident has ended at a moment.
func (i *Incident) IsOver(at Instant) bool { return i.EndsAt != 0 && i.EndsAt <= at }

// HasBegun reports whether the incident has begun at a moment.
func (i *Incident) HasBegun(at Instant) bool { return i.BeginsAt <= at }

// parts are what the audit keeps of an incident, by name.
func (i *Incident) parts() map[string]any {
	clock := func(at Instant) any {
		if at == 0 {
			return nil
		}
		return at.Time().Format(time.RFC3339)
	}
	return map[string]any{"title": i.Title, "severity": i.Severity, "state": i.State, "groups": strings.Join(i.Affected.Names(), ", "),
		"begins": clock(i.BeginsAt), "ends": clock(i.EndsAt)}
}

// incidentDiff is what the audit keeps of a change: the parts that differ, and a text that is new.
func incidentDiff(from, to *Incident, text string) (before, after string) {
	old, now := map[string]any{}, to.parts()
	if from != nil {
		old = from.parts()
	}
	for name, value := range now {
		switch {
		case from != nil && old[name] == value:
			delete(old, name)
			delete(now, name)
		case from == nil && (value == nil || value == ""):
			delete(now, name)
		}
	}
	if text != "" {
		now["text"] = text
	}
	if from != nil {
		before = jsonOf(old)
	}
	return before, jsonOf(now)
}

func jsonOf(parts map[string]any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		panic(err) // texts alone come here
	}
	return string(b)
}

// OpenIncidents gives the incidents that have not ended at a moment and the work that is planned, each with its updates:
// first those of which nobody knows when they end, the newest first, then the others by their end.
func (s *Store) OpenIncidents(ctx context.Context, at Instant) ([]Incident, error) {
	var open, ending []Incident
	db := s.reader.WithContext(ctx)
	if err := db.Raw("SELECT * FROM incidents WHERE ends_at IS NULL ORDER BY id DESC LIMIT ?", MaxOpenIncidents).Scan(&open).Error; err != nil {
		return nil, fmt.Errorf("reading the incidents: %w", err)
	}
	if err := db.Raw("SELECT * FROM incidents WHERE ends_at > ? ORDER BY ends_at LIMIT ?", int64(at), MaxOpenIncidents).Scan(&ending).Error; err != nil {
		return nil, fmt.Errorf("reading the incidents that are to end: %w", err)
	}
	all := append(open, ending...)
	return all, s.addUpdates(ctx, all)
}

// PastIncidents gives up to limit incidents that ended in [from, to), the latest first, each with its updates.
func (s *Store) PastIncidents(ctx context.Context, from, to Instant, limit int) ([]Incident, error) {
	var past []Incident
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM incidents WHERE ends_at >= ? AND ends_at < ? ORDER BY ends_at DESC LIMIT ?",
		int64(from), int64(to), limit).Scan(&past).Error
	if err != nil {
		return nil, fmt.Errorf("reading past incidents: %w", err)
	}
	return past, s.addUpdates(ctx, past)
}

// Incident gives one incident with its updates, or ErrNotFound.
func (s *Store) Incident(ctx context.Context, id int64) (Incident, error) {
	var found []Incident
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM incidents WHERE id = ?", id).Scan(&found).Error; err != nil {
		return Incident{}, fmt.Errorf("reading an incident: %w", err)
	}
	if len(found) == 0 {
		return Incident{}, ErrNotFound
	}
	return found[0], s.addUpdates(ctx, found)
}

// addUpdates sets the Updates of each incident.
func (s *Store) addUpdates(ctx context.Context, incidents []Incident) error {
	for i := range incidents {
		err := s.reader.WithContext(ctx).Raw("SELECT * FROM incident_updates WHERE incident_id = ? ORDER BY id DESC LIMIT ?",
			incidents[i].ID, MaxIncidentUpdates).Scan(&incidents[i].Updates).Error
		if err != nil {
			return fmt.Errorf("reading the updates of an incident: %w", err)
		}
	}
	return nil
}
