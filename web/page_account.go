package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reax/actors"
	"reax/models"
	"reax/views"
)

// accountPage is the page of who is signed in.
func (s *Server) accountPage(c echo.Context) error {
	return s.renderAccount(c, http.StatusOK, func(*views.Account) {})
}

// renderAccount shows the account with what change adds to it.
func (s *Server) renderAccount(c echo.Context, status int, change func(*views.Account)) error {
	ctx := c.Request().Context()
	who := callerOf(ctx)
	if who.user == nil {
		if who.open {
			return seeOther(c, string(views.URL(ctx, "/admin/users")))
		}
		return echo.ErrNotFound
	}
	page := views.Account{
		User:     *who.user,
		Password: []views.Field{passwordField(ctx, "current", "account.current_password"), passwordField(ctx, "new", "account.new_password")},
		Token:    views.TokenForm{Fields: tokenFields(ctx, who.role, url.Values{}, nil)},
	}
	var err error
	if page.Sessions, err = s.sessionRows(ctx, who.user.ID, who.session); err != nil {
		return err
	}
	tokens, err := s.ledger.TokensOf(ctx, who.user.ID)
	if err != nil {
		return err
	}
	page.Tokens = tokenRows(tokens, nil)
	change(&page)
	return s.render(c, status, views.AccountPage(page))
}

// passwordField is a field for a password; the word before its name is what a password manager goes by.
func passwordField(ctx context.Context, name, label string) views.Field {
	f := views.Field{ID: name + "-password", Name: name + "_password", Label: views.T(ctx, label), Kind: "password", List: "new-password"}
	if name == "current" {
		f.List = "current-password"
	}
	return f
}

// sessionRows are the sessions of an account that hold.
func (s *Server) sessionRows(ctx context.Context, userID, current int64) ([]views.SessionRow, error) {
	found, err := s.ledger.SessionsOf(ctx, userID)
	if err != nil {
		return nil, err
	}
	var rows []views.SessionRow
	now := models.At(time.Now())
	for i := range found {
		if s.accounts.Holds(&found[i], now) {
			rows = append(rows, views.SessionRow{Session: found[i], Current: found[i].ID == current})
		}
	}
	return rows, nil
}

// setOwnPassword changes the password of who is signed in, who must know the one it was.
func (s *Server) setOwnPassword(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	who := callerOf(ctx)
	if who.user == nil {
		return echo.ErrNotFound
	}
	refuse := func(status, field int, text string) error {
		return s.renderAccount(c, status, func(a *views.Account) { a.Password[field].Error = text })
	}
	wait, err := s.try(who, who.user.Name, func() error {
		_, err := s.accounts.CheckPassword(ctx, who.user.Name, form.Get("current_password"))
		return err
	})
	switch {
	case wait > 0:
		return refuse(http.StatusTooManyRequests, 0, views.T(ctx, "login.wait", "n", int(wait.Seconds())+1))
	case errors.Is(err, actors.ErrWrongPassword):
		return refuse(http.StatusUnprocessableEntity, 0, views.T(ctx, "account.wrong_password"))
	case err != nil:
		return err
	}
	_, err = s.accounts.SetPassword(ctx, who.user.Name, form.Get("new_password"), who.session, changeOf(ctx, ""))
	if text := accessFault(ctx, err); text != "" {
		return refuse(http.StatusUnprocessableEntity, 1, text)
	}
	if err != nil {
		return err
	}
	s.say(c, message{Tone: flashOK, Key: "account.password_set"})
	return seeOther(c, string(views.URL(ctx, "/account")))
}

// endOwnSessions ends one session of who is signed in, or all but this one.
func (s *Server) endOwnSessions(c echo.Context) error {
	who := callerOf(c.Request().Context())
	if who.user == nil {
		return echo.ErrNotFound
	}
	return s.endSessions(c, who.user.Name, who.session, "/account")
}

// endSessions ends the sessions that a form names: one by its id, or all but keep.
func (s *Server) endSessions(c echo.Context, name string, keep int64, back string) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var n int64
	if id, parseErr := strconv.ParseInt(form.Get("end"), 10, 64); parseErr == nil {
		err, n = s.accounts.EndSession(ctx, name, id, changeOf(ctx, "")), 1
	} else {
		n, err = s.accounts.EndSessions(ctx, name, keep, changeOf(ctx, ""))
	}
	switch {
	case errors.Is(err, models.ErrNotFound):
		s.say(c, message{Tone: flashWarn, Key: "account.not_ended"})
	case err != nil:
		return err
	default:
		s.say(c, message{Tone: flashOK, Key: "account.ended", Args: []any{"n", n}})
	}
	return seeOther(c, string(views.URL(ctx, back)))
}

// accessFault is what was wrong with a change to accounts or tokens, in the viewer's language. It is empty for an error
// that is no fault of who asked.
func accessFault(ctx context.Context, err error) string {
	say := func(key string, pairs ...any) string { return views.T(ctx, key, pairs...) }
	switch {
	case errors.Is(err, models.ErrNameTaken):
		return say("users.taken")
	case errors.Is(err, models.ErrFirstAdmin):
		return say("users.first_admin")
	case errors.Is(err, models.ErrLastAdmin):
		return say("users.last_admin")
	case errors.Is(err, models.ErrTooMany):
		return say("users.too_many")
	}
	location := faultPlace(err)
	switch {
	case location == "/name":
		return say("users.bad_name", "n", actors.MaxNameBytes)
	case location == "/password":
		return say("account.bad_password", "least", actors.MinPasswordRunes, "most", actors.MaxPasswordBytes)
	case location == "/role":
		return say("tokens.bad_role")
	case location == "/expires":
		return say("tokens.bad_expires")
	case strings.HasPrefix(location, "/types"):
		return say("tokens.bad_types", "n", actors.MaxTokenTypes)
	}
	return ""
}
