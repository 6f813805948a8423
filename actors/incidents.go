package actors

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reax/models"
	"reax/tasks"
)

// Limits on what an operator writes for the status page.
const (
	MaxIncidentTitleBytes = 200
	MaxIncidentTextBytes  = 8 << 10
	MaxIncidentGroups     = 50
	maxGroupNameBytes     = 200
	maxPlannedAhead       = 366 * 24 * time.Hour
)

// topicIncidents is what subscribers hear when an incident has changed.
const topicIncidents = "incidents"

// NewIncident is an incident to be told of.
type NewIncident struct {
	Kind     string // models.IncidentTrouble or models.IncidentMaintenance
	Title    string
	Severity string    // one of models.Severities; of planned work it is not looked at
	State    string    // one of models.IncidentStates but resolved; of planned work it is not looked at
	Affected []string  // groups of the status page; none is all of them
	Begins   time.Time // zero is now
	Ends     time.Time // of planned work
	Text     string    // Markdown; may be empty
}

// OpenIncident tells the readers of the status page of an incident, or of work that is planned. It fails with
// *tasks.InvalidError, models.ErrTooMany or ErrUnavailable.
func (r *Runtime) OpenIncident(ctx context.Context, n NewIncident, c Change) (models.Incident, error) {
	i, err := n.row(time.Now())
	if err == nil {
		err = c.check(false)
	}
	if err == nil {
		err = checkIncidentText(n.Text)
	}
	if err != nil {
		return models.Incident{}, err
	}
	return record(ctx, r, []string{topicIncidents}, func(tx *models.Tx) (models.Incident, error) { return tx.OpenIncident(i, n.Text, c.actor()) })
}

// UpdateIncident adds what has become known of an incident. Its state is one of models.IncidentStates; of planned work it is
// models.IncidentPlanned or models.IncidentResolved. It fails as OpenIncident does, and with models.ErrNotFound.
func (r *Runtime) UpdateIncident(ctx context.Context, id int64, state, text string, c Change) (models.Incident, error) {
	was, err := r.store.Incident(ctx, id)
	if err != nil {
		return models.Incident{}, err
	}
	switch {
	case !slices.Contains(incidentStates(was.Kind), state):
		err = tasks.Invalid("/state", "one_of", strings.Join(incidentStates(was.Kind), ", "))
	case text == "" && state == was.State:
		err = tasks.Invalid("/text", "required")
	default:
		err = checkIncidentText(text)
	}
	if err == nil {
		err = c.check(false)
	}
	if err != nil {
		return models.Incident{}, err
	}
	return record(ctx, r, []string{topicIncidents}, func(tx *models.Tx) (models.Incident, error) { return tx.UpdateIncident(id, state, text, c.actor()) })
}

// EditIncident changes what an incident is called, how bad it is, what it affects, and when it begins; of planned work also
// when it ends. It fails as UpdateIncident does.
func (r *Runtime) EditIncident(ctx context.Context, id int64, to NewIncident, c Change) (models.Incident, error) {
	was, err := r.store.Incident(ctx, id)
	if err != nil {
		return models.Incident{}, err
	}
	now := time.Now()
	to.Kind, to.State = was.Kind, was.State
	if was.State == models.IncidentResolved {
		to.State = models.IncidentMonitoring // which is not looked at
		to.Ends = was.EndsAt.Time()
		now = was.CreatedAt.Time() // planned work that is over need not be ahead
	}
	if to.Begins.IsZero() {
		to.Begins = was.BeginsAt.Time()
	}
	i, err := to.row(now)
	if err == nil {
		err = c.check(false)
	}
	if err == nil && was.EndsAt != 0 && was.Kind == models.IncidentTrouble && i.BeginsAt > was.EndsAt {
		err = tasks.Invalid("/begins", "other", "must be before it ended")
	}
	if err != nil {
		return models.Incident{}, err
	}
	i.ID = id
	return record(ctx, r, []string{topicIncidents}, func(tx *models.Tx) (models.Incident, error) { return tx.EditIncident(i, c.actor()) })
}

// row checks what was asked for.
func (n *NewIncident) row(now time.Time) (models.Incident, error) {
	i := models.Incident{Kind: n.Kind, Title: n.Title, Severity: n.Severity, State: n.State, Affected: models.NewGroupNames(n.Affected),
		BeginsAt: models.At(n.Begins), EndsAt: models.At(n.Ends)}
	switch {
	case n.Kind != models.IncidentTrouble && n.Kind != models.IncidentMaintenance:
		return i, tasks.Invalid("/kind", "one_of", models.IncidentTrouble+", "+models.IncidentMaintenance)
	case strings.TrimSpace(n.Title) == "":
		return i, tasks.Invalid("/title", "required")
	case len(n.Title) > MaxIncidentTitleBytes:
		return i, tasks.Invalid("/title", "bytes", MaxIncidentTitleBytes)
	case !isPlainText(n.Title):
		return i, tasks.Invalid("/title", "control")
	case len(n.Affected) > MaxIncidentGroups:
		return i, tasks.Invalid("/groups", "max_items", MaxIncidentGroups)
	case n.Begins.After(now.Add(maxPlannedAhead)):
		return i, tasks.Invalid("/begins", "other", "must be within the next year")
	}
	for _, name := range n.Affected {
		if name == "" || len(name) > maxGroupNameBytes || !isPlainText(name) {
			return i, tasks.Invalid("/groups", "other", "is not the name of a group")
		}
	}
	if n.Kind == models.IncidentMaintenance {
		i.Severity, i.State = "", models.IncidentPlanned
		begins := n.Begins
		if begins.IsZero() {
			begins = now
		}
		switch {
		case n.Ends.IsZero():
			return i, tasks.Invalid("/ends", "required")
		case !n.Ends.After(begins):
			return i, tasks.Invalid("/ends", "other", "must be after the beginning")
		case !n.Ends.After(now):
			return i, tasks.Invalid("/ends", "other", "must be in the future")
		case n.Ends.After(now.Add(maxPlannedAhead)):
			return i, tasks.Invalid("/ends", "other", "must be within the next year")
		}
		return i, nil
	}
	i.EndsAt = 0
	switch {
	case !slices.Contains(models.Severities, n.Severity):
		return i, tasks.Invalid("/severity", "one_of", strings.Join(models.Severities, ", "))
	case !slices.Contains(models.IncidentStates, n.State) || n.State == models.IncidentResolved:
		return i, tasks.Invalid("/state", "one_of", strings.Join(models.IncidentStates[:len(models.IncidentStates)-1], ", "))
	case n.Begins.After(now):
		return i, tasks.Invalid("/begins", "other", "must not be in the future; what is planned is maintenance")
	}
	return i, nil
}

// incidentStates are the states that an update of a kind can give.
func incidentStates(kind string) []string {
	if kind == models.IncidentMaintenance {
		return []string{models.IncidentPlanned, models.IncidentResolved}
	}
	return models.IncidentStates
}

// checkIncidentText refuses what may not stand in an update, which may have several lines.
func checkIncidentText(text string) error {
	switch {
	case len(text) > MaxIncidentTextBytes:
		return tasks.Invalid("/text", "bytes", MaxIncidentTextBytes)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }):
		return tasks.Invalid("/text", "control")
	}
	return nil
}
