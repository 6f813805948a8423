package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

const (
	incidentsPast = 90 * 24 * time.Hour
	incidentsMost = 50
)

// incidentsPage lists what was written for the status page.
func (s *Server) incidentsPage(c echo.Context) error {
	return s.renderIncidents(c, http.StatusOK, "", url.Values{}, nil)
}

// renderIncidents shows the list; the form of a kind as it was sent, with what is wrong with it.
func (s *Server) renderIncidents(c echo.Context, status int, kind string, form url.Values, faults map[string]string) error {
	ctx := c.Request().Context()
	now := models.At(time.Now())
	open, err := s.ledger.OpenIncidents(ctx, now)
	if err != nil {
		return err
	}
	past, err := s.ledger.PastIncidents(ctx, now.Add(-incidentsPast), now, incidentsMost)
	if err != nil {
		return err
	}
	page := views.Incidents{Open: open, Past: past, Link: s.status.cfg.Access == StatusLink}
	if s.seesStatus(c) {
		page.Public = views.URL(ctx, "/status")
	}
	for _, one := range []struct {
		kind string
		form *views.IncidentForm
	}{{models.IncidentTrouble, &page.Trouble}, {models.IncidentMaintenance, &page.Planned}} {
		sent, wrong := url.Values{}, map[string]string(nil)
		if one.kind == kind {
			sent, wrong = form, faults
		}
		*one.form = views.IncidentForm{ID: "new-" + one.kind, Kind: one.kind, Fields: incidentFields(ctx, one.kind, sent, wrong, true),
			Groups: s.groupChoices(sent["group"]), Open: one.kind == kind}
	}
	return s.render(c, status, views.IncidentsPage(page))
}

// incidentFields are the inputs of an incident. text says that there is one for what is known as well.
func incidentFields(ctx context.Context, kind string, form url.Values, faults map[string]string, text bool) []views.Field {
	field := func(name, input, label string) views.Field {
		f := views.Field{ID: kind + "-" + name, Name: name, Kind: input, Label: views.T(ctx, "incidents."+label), Value: form.Get(name), Error: faults[name]}
		if input == "datetime-local" {
			f.Help = views.T(ctx, "incidents.zone", "zone", views.ViewerOf(ctx).Zone.String())
		}
		return f
	}
	title := field("title", "text", "name")
	title.Required, title.MaxLen = true, strconv.Itoa(actors.MaxIncidentTitleBytes)
	fields := []views.Field{title}
	begins := field("begins", "datetime-local", "begins")
	if text {
		begins.Hint = views.T(ctx, "incidents.begins_now")
	}
	if kind == models.IncidentMaintenance {
		ends := field("ends", "datetime-local", "ends")
		ends.Required = true
		fields = append(fields, begins, ends)
	} else {
		severity := field("severity", "select", "severity")
		severity.Options = incidentOptions(ctx, "severity", models.Severities)
		fields = append(fields, severity)
		if text {
			state := field("state", "select", "state")
			state.Options = incidentOptions(ctx, "state", models.IncidentStates[:len(models.IncidentStates)-1])
			fields = append(fields, state)
		}
		fields = append(fields, begins)
	}
	if text {
		fields = append(fields, incidentText(ctx, kind, form, faults))
	}
	return fields
}

func incidentText(ctx context.Context, id string, form url.Values, faults map[string]string) views.Field {
	return views.Field{ID: id + "-text", Name: "text", Kind: "textarea", Label: views.T(ctx, "incidents.text"), Help: views.T(ctx, "incidents.text_help"),
		Value: form.Get("text"), Error: faults["text"], Rows: "5", MaxLen: strconv.Itoa(actors.MaxIncidentTextBytes)}
}

func incidentOptions(ctx context.Context, what string, words []string) (options []views.Option) {
	for _, word := range words {
		options = append(options, views.Option{Value: word, Text: views.T(ctx, "incidents."+what+"."+word)})
	}
	return options
}

// groupChoices are the groups of the status page that have a name.
func (s *Server) groupChoices(chosen []string) (all []views.GroupChoice) {
	for i := range s.status.cfg.Groups {
		if name := s.status.cfg.Groups[i].Name; name != "" {
			all = append(all, views.GroupChoice{Name: name, On: slices.Contains(chosen, name)})
		}
	}
	return all
}

// readIncident reads the form of an incident. faults has what is wrong by the name of the input.
func (s *Server) readIncident(ctx context.Context, form url.Values) (n actors.NewIncident, faults map[string]string) {
	n = actors.NewIncident{Kind: form.Get("kind"), Title: strings.TrimSpace(form.Get("title")), Severity: form.Get("severity"), State: form.Get("state"),
		Text: strings.TrimSpace(lines(form.Get("text")))}
	for _, g := range s.groupChoices(form["group"]) {
		if g.On {
			n.Affected = append(n.Affected, g.Name)
		}
	}
	faults = map[string]string{}
	for name, to := range map[string]*time.Time{"begins": &n.Begins, "ends": &n.Ends} {
		if text := strings.TrimSpace(form.Get(name)); text != "" {
			at, err := parseClock(text, views.ViewerOf(ctx).Zone)
			if err != nil {
				faults[name] = views.T(ctx, "incidents.bad_time")
			}
			*to = at
		}
	}
	return n, faults
}

// incidentFaults is what is wrong by the name of the input; nil when err is about none.
func incidentFaults(ctx context.Context, err error) map[string]string {
	if errors.Is(err, models.ErrTooMany) {
		return map[string]string{"title": views.T(ctx, "incidents.many"), "text": views.T(ctx, "incidents.many")}
	}
	bad, ok := errors.AsType[*tasks.InvalidError](err)
	if !ok {
		return nil
	}
	faults := map[string]string{}
	for _, f := range fieldErrors("", bad) {
		faults[strings.TrimPrefix(f.Location, "/")] = faultText(ctx, f)
	}
	return faults
}

// openIncident publishes an incident, or maintenance.
func (s *Server) openIncident(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, faults := s.readIncident(ctx, form)
	if n.Kind != models.IncidentMaintenance {
		n.Kind = models.IncidentTrouble
	}
	if len(faults) == 0 {
		made, err := s.runtime.OpenIncident(ctx, n, changeOf(ctx, ""))
		if err == nil {
			return s.incidentDone(c, "create", &made)
		}
		if faults = incidentFaults(ctx, err); faults == nil {
			return err
		}
	}
	return s.renderIncidents(c, http.StatusUnprocessableEntity, n.Kind, form, faults)
}

// incidentDone goes on to an incident that was changed, which strangers see from now on.
func (s *Server) incidentDone(c echo.Context, did string, i *models.Incident) error {
	s.status.data.changed.Store(true)
	s.say(c, message{Tone: flashOK, Key: "incidents.did." + did, Args: []any{"title", i.Title}})
	return seeOther(c, string(views.URL(c.Request().Context(), "/incidents/"+strconv.FormatInt(i.ID, 10))))
}

// incidentOf is the incident that the address names.
func (s *Server) incidentOf(c echo.Context) (models.Incident, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return models.Incident{}, echo.ErrNotFound
	}
	i, err := s.ledger.Incident(c.Request().Context(), id)
	if errors.Is(err, models.ErrNotFound) {
		return i, echo.ErrNotFound
	}
	return i, err
}

// incidentPage is one incident.
func (s *Server) incidentPage(c echo.Context) error {
	i, err := s.incidentOf(c)
	if err != nil {
		return err
	}
	return s.renderIncident(c, http.StatusOK, &i, nil, nil, nil)
}

// renderIncident shows an incident; one of its forms, update or edit, as it was sent, with what is wrong with it.
func (s *Server) renderIncident(c echo.Context, status int, i *models.Incident, update, edit url.Values, faults map[string]string) error {
	ctx := c.Request().Context()
	page := views.IncidentPage{Incident: *i}
	var updateFaults map[string]string
	if update == nil {
		update = url.Values{"state": {i.State}}
	} else {
		updateFaults = faults
	}
	states := models.IncidentStates
	if i.Kind == models.IncidentMaintenance {
		states = []string{models.IncidentPlanned, models.IncidentResolved}
	}
	page.Update.Fields = []views.Field{
		{ID: "update-state", Name: "state", Kind: "select", Label: views.T(ctx, "incidents.state"), Value: update.Get("state"), Error: updateFaults["state"],
			Options: incidentOptions(ctx, "state", states)},
		incidentText(ctx, "update", update, updateFaults),
	}
	var editFaults map[string]string
	if edit == nil {
		edit = url.Values{"title": {i.Title}, "severity": {i.Severity}, "group": i.Affected.Names()}
		zone := views.ViewerOf(ctx).Zone
		edit.Set("begins", clockField(zone, i.BeginsAt))
		edit.Set("ends", clockField(zone, i.EndsAt))
	} else {
		editFaults, page.Edit.Open = faults, true
	}
	page.Edit.Fields, page.Edit.Groups = incidentFields(ctx, i.Kind, edit, editFaults, false), s.groupChoices(edit["group"])
	var err error
	if page.Audit, err = s.ledger.AuditOf(ctx, "incident", strconv.FormatInt(i.ID, 10), auditShown); err != nil {
		return err
	}
	return s.render(c, status, views.IncidentDetailPage(page))
}

// clockField is an instant as an input of a date and a time takes it; empty for none.
func clockField(zone *time.Location, at models.Instant) string {
	if at == 0 {
		return ""
	}
	return at.Time().In(zone).Format("2006-01-02T15:04")
}

// updateIncident publishes what has become known of an incident.
func (s *Server) updateIncident(c echo.Context) error {
	i, err := s.incidentOf(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	state := form.Get("state")
	made, err := s.runtime.UpdateIncident(ctx, i.ID, state, strings.TrimSpace(lines(form.Get("text"))), changeOf(ctx, ""))
	if faults := incidentFaults(ctx, err); faults != nil {
		return s.renderIncident(c, http.StatusUnprocessableEntity, &i, form, nil, faults)
	}
	if err != nil {
		return err
	}
	did := "update"
	if state == models.IncidentResolved {
		did = "resolve"
	}
	return s.incidentDone(c, did, &made)
}

// editIncident changes what an incident is called, how bad it is and when it is.
func (s *Server) editIncident(c echo.Context) error {
	i, err := s.incidentOf(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	to, faults := s.readIncident(ctx, form)
	// A clock without seconds that is as it was shown has not been changed.
	zone := views.ViewerOf(ctx).Zone
	if form.Get("begins") == clockField(zone, i.BeginsAt) {
		to.Begins = i.BeginsAt.Time()
	}
	if form.Get("ends") == clockField(zone, i.EndsAt) {
		to.Ends = i.EndsAt.Time()
	}
	// Groups that the configuration no longer has stay with an incident that named them.
	for _, name := range i.Affected.Names() {
		if !slices.ContainsFunc(s.groupChoices(nil), func(g views.GroupChoice) bool { return g.Name == name }) {
			to.Affected = append(to.Affected, name)
		}
	}
	if len(faults) == 0 {
		made, err := s.runtime.EditIncident(ctx, i.ID, to, changeOf(ctx, ""))
		if err == nil {
			return s.incidentDone(c, "edit", &made)
		}
		if faults = incidentFaults(ctx, err); faults == nil {
			return err
		}
	}
	return s.renderIncident(c, http.StatusUnprocessableEntity, &i, nil, form, faults)
}
