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

// tokenDays are the lives of a token that the form offers, in days; 0 is for ever.
var tokenDays = []int{30, 90, 365, 0}

// tokensPage lists all tokens.
func (s *Server) tokensPage(c echo.Context) error {
	ctx := c.Request().Context()
	return s.renderTokens(c, http.StatusOK, views.TokenForm{Fields: tokenFields(ctx, admin, url.Values{}, nil)})
}

func (s *Server) renderTokens(c echo.Context, status int, form views.TokenForm) error {
	ctx := c.Request().Context()
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	tokens, err := s.ledger.Tokens(ctx)
	if err != nil {
		return err
	}
	users, err := s.ledger.Users(ctx)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for i := range users {
		names[users[i].ID] = users[i].Name
	}
	return s.render(c, status, views.TokensPage(tokenRows(tokens, names), form))
}

func tokenRows(tokens []models.Token, owners map[int64]string) []views.TokenRow {
	rows := make([]views.TokenRow, len(tokens))
	now := models.At(time.Now())
	for i := range tokens {
		rows[i] = views.TokenRow{Token: tokens[i], Holds: tokens[i].Holds(now), Owner: owners[tokens[i].UserID]}
	}
	return rows
}

// tokenFields is the form for a token that may do no more than most.
func tokenFields(ctx context.Context, most models.Role, form url.Values, err error) []views.Field {
	say := func(key string, pairs ...any) string { return views.T(ctx, key, pairs...) }
	days := make([]views.Option, len(tokenDays))
	for i, n := range tokenDays {
		days[i] = views.Option{Value: strconv.Itoa(n), Text: say("tokens.days", "n", n)}
		if n == 0 {
			days[i].Text = say("tokens.never")
		}
	}
	value := func(name, otherwise string) string {
		if form.Has(name) {
			return form.Get(name)
		}
		return otherwise
	}
	fields := []views.Field{
		{ID: "token-name", Name: "name", Kind: "text", Label: say("tokens.name"), Hint: say("tokens.name_hint"), Value: form.Get("name"), Required: true, MaxLen: "64"},
		{ID: "token-role", Name: "role", Kind: "select", Label: say("tokens.role"), Value: value("role", string(models.RoleViewer)), Options: views.RoleOptions(ctx, most)},
		{ID: "token-types", Name: "types", Kind: "textarea", Label: say("tokens.types"), Help: say("tokens.types_help"), Value: form.Get("types"), Rows: "3"},
		{ID: "token-days", Name: "days", Kind: "select", Label: say("tokens.expires"), Value: value("days", "90"), Options: days},
	}
	if text := accessFault(ctx, err); text != "" {
		at := map[string]int{"/role": 1, "/expires": 3}[faultPlace(err)]
		if strings.HasPrefix(faultPlace(err), "/types") {
			at = 2
		}
		if errors.Is(err, models.ErrNameTaken) {
			text = say("users.taken_token")
		}
		if errors.Is(err, models.ErrTooMany) {
			text = say("tokens.too_many")
		}
		fields[at].Error = text
	}
	return fields
}

// faultPlace is the first field that an error is about.
func faultPlace(err error) string {
	if bad, ok := errors.AsType[*tasks.InvalidError](err); ok && len(bad.Fields) > 0 {
		return bad.Fields[0].Location
	}
	return ""
}

// createToken makes a token of nobody and shows it once.
func (s *Server) createToken(c echo.Context) error {
	return s.makeToken(c, nil, admin, func(status int, form views.TokenForm) error { return s.renderTokens(c, status, form) })
}

// createOwnToken makes a token of who is signed in.
func (s *Server) createOwnToken(c echo.Context) error {
	who := callerOf(c.Request().Context())
	if who.user == nil {
		return echo.ErrNotFound
	}
	return s.makeToken(c, who.user, who.role, func(status int, form views.TokenForm) error {
		return s.renderAccount(c, status, func(a *views.Account) { a.Token = form })
	})
}

func (s *Server) makeToken(c echo.Context, owner *models.User, most models.Role, show func(status int, form views.TokenForm) error) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	days, err := strconv.Atoi(form.Get("days"))
	if err != nil || !slices.Contains(tokenDays, days) {
		days = tokenDays[0]
	}
	token, secret, err := s.accounts.CreateToken(ctx, actors.NewToken{
		Name: form.Get("name"), Role: models.Role(form.Get("role")), Types: strings.Fields(form.Get("types")),
		Expires: time.Duration(days) * 24 * time.Hour, Owner: owner,
	}, changeOf(ctx, ""))
	if accessFault(ctx, err) != "" {
		return show(http.StatusUnprocessableEntity, views.TokenForm{Fields: tokenFields(ctx, most, form, err)})
	}
	if err != nil {
		return err
	}
	return show(http.StatusOK, views.TokenForm{Fields: tokenFields(ctx, most, url.Values{}, nil), Name: token.Name, Secret: secret})
}

// revokeToken ends a token.
func (s *Server) revokeToken(c echo.Context) error { return s.revoke(c, nil, "/admin/tokens") }

// revokeOwnToken ends a token of who is signed in.
func (s *Server) revokeOwnToken(c echo.Context) error {
	who := callerOf(c.Request().Context())
	if who.user == nil {
		return echo.ErrNotFound
	}
	return s.revoke(c, who.user, "/account")
}

func (s *Server) revoke(c echo.Context, owner *models.User, back string) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if s.accounts == nil || s.auth != nil {
		return echo.ErrNotFound
	}
	ctx, name := c.Request().Context(), form.Get("name")
	switch err := s.accounts.RevokeToken(ctx, name, owner, changeOf(ctx, "")); {
	case errors.Is(err, models.ErrNotFound):
		s.say(c, message{Tone: flashWarn, Key: "tokens.gone", Args: []any{"name", name}})
	case err != nil:
		return err
	default:
		s.say(c, message{Tone: flashOK, Key: "tokens.did_revoke", Args: []any{"name", name}})
	}
	return seeOther(c, string(views.URL(ctx, back)))
}
