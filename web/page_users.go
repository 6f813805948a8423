package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// usersPage lists the accounts.
func (s *Server) usersPage(c echo.Context) error {
	return s.renderUsers(c, http.StatusOK, url.Values{}, nil)
}

func (s *Server) renderUsers(c echo.Context, status int, form url.Values, err error) error {
	ctx := c.Request().Context()
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	users, readErr := s.ledger.Users(ctx)
	if readErr != nil {
		return readErr
	}
	return s.render(c, status, views.UsersPage(views.Users{Rows: users, Form: userFields(ctx, len(users) == 0, form, err)}))
}

// userFields is the form for a new account.
func userFields(ctx context.Context, first bool, form url.Values, err error) []views.Field {
	say := func(key string) string { return views.T(ctx, key) }
	role := form.Get("role")
	if role == "" {
		role = string(models.RoleViewer)
		if first {
			role = string(models.RoleAdmin)
		}
	}
	fields := []views.Field{
		{ID: "user-name", Name: "name", Kind: "text", Label: say("users.name"), Hint: say("users.name_hint"), Value: form.Get("name"), Required: true, MaxLen: "64"},
		{ID: "user-role", Name: "role", Kind: "select", Label: say("users.role"), Value: role, Options: views.RoleOptions(ctx, admin)},
		passwordField(ctx, "new", "users.password"),
	}
	if text := accessFault(ctx, err); text != "" {
		at := map[string]int{"/role": 1, "/password": 2}[faultPlace(err)]
		if errors.Is(err, models.ErrFirstAdmin) {
			at = 1
		}
		fields[at].Error = text
	}
	return fields
}

// createUser makes an account.
func (s *Server) createUser(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	ctx := c.Request().Context()
	user, err := s.accounts.CreateUser(ctx, form.Get("name"), models.Role(form.Get("role")), form.Get("new_password"), changeOf(ctx, ""))
	if accessFault(ctx, err) != "" {
		return s.renderUsers(c, http.StatusUnprocessableEntity, form, err)
	}
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "users.did.create", Args: []any{"name", user.Name}})
	return seeOther(c, string(views.URL(ctx, "/admin/users")))
}

// userOf is the account that the address names.
func (s *Server) userOf(c echo.Context) (models.User, error) {
	if s.accounts == nil || s.auth != nil {
		return models.User{}, echo.ErrNotFound
	}
	user, err := s.ledger.User(c.Request().Context(), actors.NameKey(c.Param("name")))
	if errors.Is(err, models.ErrNotFound) {
		return user, newProblem(http.StatusNotFound, "not_found", "there is no such account")
	}
	return user, err
}

// userPage is one account as an admin sees it.
func (s *Server) userPage(c echo.Context) error {
	return s.renderUser(c, http.StatusOK, func(*views.UserPage) {})
}

func (s *Server) renderUser(c echo.Context, status int, change func(*views.UserPage)) error {
	ctx := c.Request().Context()
	user, err := s.userOf(c)
	if err != nil {
		return err
	}
	who := callerOf(ctx)
	page := views.UserPage{
		User: user, Self: who.user != nil && who.user.ID == user.ID,
		Role: views.Field{ID: "user-role", Name: "role", Kind: "select", Label: views.T(ctx, "users.role"), Value: string(user.Role),
			Options: views.RoleOptions(ctx, admin)},
		Password: passwordField(ctx, "new", "account.new_password"),
	}
	if page.Sessions, err = s.sessionRows(ctx, user.ID, who.session); err != nil {
		return err
	}
	change(&page)
	return s.render(c, status, views.UserDetailPage(page))
}

// changeUser does to an account what the last part of the address says.
func (s *Server) changeUser(c echo.Context) error {
	user, err := s.userOf(c)
	if err != nil {
		return err
	}
	ctx, action := c.Request().Context(), c.Param("action")
	who := callerOf(ctx)
	path := "/admin/users/" + views.Segment(user.NameKey)
	if action == "sessions" {
		return s.endSessions(c, user.Name, 0, path)
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	args := []any{"name", user.Name}
	switch action {
	case "role":
		role := models.Role(form.Get("role"))
		_, err = s.accounts.SetRole(ctx, user.Name, role, changeOf(ctx, ""))
		args = append(args, "role", views.T(ctx, "role."+string(role)))
	case "disable", "enable":
		_, err = s.accounts.SetDisabled(ctx, user.Name, action == "disable", changeOf(ctx, ""))
	case "password":
		keep := int64(0)
		if who.user != nil && who.user.ID == user.ID {
			keep = who.session
		}
		_, err = s.accounts.SetPassword(ctx, user.Name, form.Get("new_password"), keep, changeOf(ctx, ""))
	case "delete":
		err = s.accounts.DeleteUser(ctx, user.Name, changeOf(ctx, ""))
		path = "/admin/users"
	default:
		return echo.ErrNotFound
	}
	if errors.Is(err, models.ErrLastAdmin) {
		s.say(c, message{Tone: flashBad, Key: "users.last_admin"})
		return seeOther(c, string(views.URL(ctx, "/admin/users/"+views.Segment(user.NameKey))))
	}
	if text := accessFault(ctx, err); text != "" {
		return s.renderUser(c, http.StatusUnprocessableEntity, func(p *views.UserPage) {
			if action == "role" {
				p.Role.Error = text
			} else {
				p.Password.Error = text
			}
		})
	}
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "users.did." + action, Args: args})
	return seeOther(c, string(views.URL(ctx, path)))
}
