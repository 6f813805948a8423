package views

import (
	"context"
	"strconv"

	"github.com/a-h/templ"

	"reax/models"
)

// Incidents is the page on which operators write for the readers of the status page.
type Incidents struct {
	Open    []models.Incident // those that are planned included
	Past    []models.Incident
	Trouble IncidentForm
	Planned IncidentForm
	Public  templ.SafeURL // the status page; empty when there is none
	Link    bool          // strangers need its key
}

// IncidentForm is a form for an incident.
type IncidentForm struct {
	ID     string // unique on the page
	Kind   string // one of the kinds of models.Incident
	Fields []Field
	Groups []GroupChoice // none leaves the choice out
	Open   bool          // it has something to say
}

// GroupChoice is a group of the status page, to be chosen or not.
type GroupChoice struct {
	Name string
	On   bool
}

// IncidentPage is one incident as an operator sees it.
type IncidentPage struct {
	models.Incident
	Update IncidentForm
	Edit   IncidentForm
	Audit  []models.Audit
}

func incidentURL(ctx context.Context, i *models.Incident) templ.SafeURL {
	return URL(ctx, "/incidents/"+strconv.FormatInt(i.ID, 10))
}

func (f IncidentForm) title(ctx context.Context) string { return T(ctx, "incidents.new."+f.Kind) }
