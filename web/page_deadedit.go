package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/tasks"
	"reax/views"
)

// deadEditPage asks how the parameters of the tasks of a group are to be corrected.
func (s *Server) deadEditPage(c echo.Context) error {
	g, err := s.deadGroupOf(c)
	if err != nil {
		return err
	}
	return s.showDeadEdit(c, http.StatusOK, &g, url.Values{}, "")
}

func (s *Server) showDeadEdit(c echo.Context, status int, g *models.ErrorGroup, form url.Values, fault string) error {
	ctx := c.Request().Context()
	group, err := s.deadGroup(ctx, *g, 0)
	if err != nil {
		return err
	}
	page := views.DeadEdit{DeadGroup: group, Back: groupURL(ctx, g)}
	list, err := s.ledger.List(ctx, groupFilter(g), 1)
	if err != nil {
		return err
	}
	if len(list.Tasks) > 0 && !list.Tasks[0].Cut {
		page.Example = indented(s.shownParams(&list.Tasks[0]))
	}
	patch := form.Get("patch")
	if patch == "" {
		patch = "{\n  \n}"
	}
	page.Fields = []views.Field{{ID: "patch", Name: "patch", Kind: "json", Label: views.T(ctx, "dead.edit_patch"), Help: views.T(ctx, "dead.edit_patch_help"),
		Value: patch, Rows: "8", Required: true, Error: fault}}
	return s.render(c, status, views.DeadEditPage(page))
}

// editDeadGroup plans to run the tasks of a group again with other parameters, and goes on to the question about it.
func (s *Server) editDeadGroup(c echo.Context) error {
	ctx := c.Request().Context()
	form, err := readForm(c)
	if err != nil {
		return err
	}
	g, err := s.deadGroupOf(c)
	if err != nil {
		return err
	}
	patch := json.RawMessage(strings.TrimSpace(lines(form.Get("patch"))))
	if _, faults := s.unmask(g.Type, patch, "", ""); len(faults) > 0 {
		return s.showDeadEdit(c, http.StatusUnprocessableEntity, &g, form, views.T(ctx, "dead.edit_hidden"))
	}
	f := groupFilter(&g)
	plan, err := s.runtime.PlanBulk(ctx, actors.BulkRequest{Action: actors.ActionReplace, Filter: &f, Patch: patch, Change: changeOf(ctx, "")})
	if fault := patchFault(ctx, err); fault != "" {
		return s.showDeadEdit(c, http.StatusUnprocessableEntity, &g, form, fault)
	}
	if errors.Is(err, actors.ErrUnknownType) {
		s.say(c, message{Tone: flashBad, Key: "dead.edit_no_type"})
		return seeOther(c, groupURL(ctx, &g))
	}
	if err != nil {
		return err
	}
	return seeOther(c, bulkURL(c, plan.ID, groupURL(ctx, &g)))
}

// patchFault says what is wrong with a patch; empty when nothing is.
func patchFault(ctx context.Context, err error) string {
	if large := (*actors.TooLargeError)(nil); errors.As(err, &large) {
		return tooLargeText(ctx, large)
	}
	invalid := (*tasks.InvalidError)(nil)
	if !errors.As(err, &invalid) {
		return ""
	}
	var texts []string
	for _, f := range fieldErrors("", invalid) {
		texts = append(texts, faultText(ctx, f))
	}
	return strings.Join(texts, "\n")
}

// groupFilter names the tasks of a group.
func groupFilter(g *models.ErrorGroup) models.Filter {
	return models.Filter{Types: []string{g.Type}, Fingerprint: g.Fingerprint}
}
