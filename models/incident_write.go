package models

import (
	"fmt"
	"strconv"
)

// OpenIncident stores an incident and its first update. It refuses with ErrTooMany.
func (tx *Tx) OpenIncident(i Incident, text string, by Actor) (Incident, error) {
	n, err := tx.one("counting the open incidents", `SELECT (SELECT count(*) FROM incidents WHERE ends_at IS NULL)
 + (SELECT count(*) FROM incidents WHERE ends_at > ?)`, int64(tx.now))
	if err != nil {
		return i, err
	}
	if n >= MaxOpenIncidents {
		return i, Refuse(fmt.Errorf("%w: there can be %d open incidents", ErrTooMany, MaxOpenIncidents))
	}
	i.CreatedAt, i.ChangedAt, i.CreatedBy = tx.now, tx.now, by.Name
	if i.BeginsAt == 0 {
		i.BeginsAt = tx.now
	}
	res, err := tx.exec("storing an incident", `INSERT INTO incidents
 (kind, title, severity, state, affected, begins_at, ends_at, created_at, created_by, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		i.Kind, i.Title, textOrNull(i.Severity), i.State, textOrNull(string(i.Affected)), int64(i.BeginsAt), i.EndsAt.orNull(),
		int64(i.CreatedAt), i.CreatedBy, int64(i.ChangedAt))
	if err != nil {
		return i, err
	}
	if i.ID, err = res.LastInsertId(); err != nil {
		return i, fmt.Errorf("storing an incident: %w", err)
	}
	if err := tx.addUpdate(&i, text, by); err != nil {
		return i, err
	}
	return i, tx.auditIncident("create", nil, &i, text, by)
}

// UpdateIncident adds an update to an incident, which takes its state. Resolved ends it now, if it has not ended yet; any
// other state opens it again, but planned work keeps its end. It refuses with ErrNotFound or ErrTooMany.
func (tx *Tx) UpdateIncident(id int64, state, text string, by Actor) (Incident, error) {
	i, err := tx.incident(id)
	if err != nil {
		return i, err
	}
	n, err := tx.one("counting the updates of an incident", "SELECT count(*) FROM incident_updates WHERE incident_id = ?", id)
	if err != nil {
		return i, err
	}
	if n >= MaxIncidentUpdates {
		return i, Refuse(fmt.Errorf("%w: an incident can have %d updates", ErrTooMany, MaxIncidentUpdates))
	}
	before, action := i, "post"
	i.State, i.ChangedAt = state, tx.now
	switch {
	case state == IncidentResolved:
		action = "resolve"
		if i.EndsAt == 0 || i.EndsAt > tx.now {
			i.EndsAt = tx.now
		}
		i.BeginsAt = min(i.BeginsAt, i.EndsAt)
	case i.Kind == IncidentTrouble:
		i.EndsAt = 0
	}
	if err := tx.saveIncident(&i); err != nil {
		return i, err
	}
	if err := tx.addUpdate(&i, text, by); err != nil {
		return i, err
	}
	return i, tx.auditIncident(action, &before, &i, text, by)
}

// EditIncident stores what an incident is called, how bad it is, what it affects and when it begins; of planned work also
// when it ends, unless it has been resolved. It refuses with ErrNotFound.
func (tx *Tx) EditIncident(to Incident, by Actor) (Incident, error) {
	i, err := tx.incident(to.ID)
	if err != nil {
		return i, err
	}
	before := i
	i.Title, i.Severity, i.Affected, i.BeginsAt, i.ChangedAt = to.Title, to.Severity, to.Affected, to.BeginsAt, tx.now
	if i.Kind == IncidentMaintenance && i.State != IncidentResolved {
		i.EndsAt = to.EndsAt
	}
	if err := tx.saveIncident(&i); err != nil {
		return i, err
	}
	return i, tx.auditIncident("update", &before, &i, "", by)
}

// incident reads an incident without its updates, or refuses with ErrNotFound.
func (tx *Tx) incident(id int64) (Incident, error) {
	var found []Incident
	if err := tx.db.Raw("SELECT * FROM incidents WHERE id = ?", id).Scan(&found).Error; err != nil {
		return Incident{}, fmt.Errorf("reading an incident: %w", err)
	}
	if len(found) == 0 {
		return Incident{}, ErrNotFound
	}
	return found[0], nil
}

func (tx *Tx) saveIncident(i *Incident) error {
	_, err := tx.exec("storing an incident", `UPDATE incidents SET title = ?, severity = ?, state = ?, affected = ?, begins_at = ?, ends_at = ?,
 changed_at = ? WHERE id = ?`, i.Title, textOrNull(i.Severity), i.State, textOrNull(string(i.Affected)), int64(i.BeginsAt), i.EndsAt.orNull(),
		int64(i.ChangedAt), i.ID)
	return err
}

func (tx *Tx) addUpdate(i *Incident, text string, by Actor) error {
	_, err := tx.exec("storing an update of an incident", "INSERT INTO incident_updates (incident_id, at, state, text, actor) VALUES (?, ?, ?, ?, ?)",
		i.ID, int64(tx.now), i.State, textOrNull(text), by.Name)
	return err
}

func (tx *Tx) auditIncident(action string, from, to *Incident, text string, by Actor) error {
	before, after := incidentDiff(from, to, text)
	return tx.audit(by, []Audit{{Action: action, Target: "incident", TargetID: strconv.FormatInt(to.ID, 10), Before: before, After: after}})
}
