package views

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestTheSignInHasNoRailAndEscapesWhatItKeeps(t *testing.T) {
	t.Parallel()
	nobody := viewer(t, func(v *Viewer) { v.Role, v.Counts = "", nil })
	kept := KeptForm{Path: "/reax/tasks/bulk", Values: "b=" + hostile + "&a=1&a=2"}
	var pages []string
	for _, l := range []Login{{Next: "/reax/"}, {Name: hostile, Next: "/reax/tasks", Wrong: true, Kept: kept}, {Wait: 1}, {Ended: true}, {Ended: true, Kept: kept}} {
		html := render(nobody, t, LoginPage(l))
		require.NotContains(t, html, `class="rail"`)
		require.NotContains(t, html, "<img")
		pages = append(pages, html)
	}
	golden(t, "login", strings.Join(pages, "\n"))
	_, ok := KeptForm{Path: "/x", Values: "%zz"}.Fields()
	require.False(t, ok)
	fields, ok := KeptForm{Path: "/x", Values: "b=3&a=1&a=2"}.Fields()
	require.True(t, ok)
	require.Equal(t, [][2]string{{"a", "1"}, {"a", "2"}, {"b", "3"}}, fields)
	html := render(viewer(t, nil), t, ResendPage(Resend{Action: "/reax/tasks/bulk", Fields: [][2]string{{hostile, hostile}}, Back: "/reax/tasks"}))
	require.NotContains(t, html, "<img")
	require.Contains(t, html, `action="/reax/tasks/bulk"`)
}

func TestAccountsAndTokensAreShownWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	ctx := viewer(t, func(v *Viewer) { v.User, v.Account = hostile, true })
	user := models.User{ID: 1, Name: hostile, NameKey: hostile, Role: models.RoleAdmin, Password: "hash-of-password", CreatedAt: noon}
	token := models.Token{Name: hostile, Hash: "hash-of-token", Prefix: "reax_ABC", Role: models.RoleViewer, Types: `["a","b"]`, CreatedBy: hostile, CreatedAt: noon, ExpiresAt: noon}
	session := models.Session{ID: 7, Hash: "hash-of-session", CreatedAt: noon, SeenAt: noon, Address: "10.0.0.1", Agent: hostile}
	for name, html := range map[string]string{
		"account": render(ctx, t, AccountPage(Account{
			User: user, Sessions: []SessionRow{{Session: session}, {Session: session, Current: true}},
			Tokens: []TokenRow{{Token: token, Holds: true}, {Token: token}}, Password: []Field{{ID: "p", Name: "p", Label: "P", List: "new-password"}},
			Token: TokenForm{Name: hostile, Secret: "reax_SECRET"},
		})),
		"users":  render(ctx, t, UsersPage(Users{Rows: []models.User{user, {Name: "bob", Disabled: true}}})),
		"none":   render(ctx, t, UsersPage(Users{})),
		"user":   render(ctx, t, UserDetailPage(UserPage{User: user, Sessions: []SessionRow{{Session: session}}})),
		"tokens": render(ctx, t, TokensPage([]TokenRow{{Token: token, Owner: hostile}}, TokenForm{})),
	} {
		require.NotContains(t, html, "<img", name)
		require.NotContains(t, html, "hash-of-", name)
		require.Equal(t, 1, strings.Count(html, "<h1"), name)
	}
	for agent, want := range map[string]string{
		"": "unknown browser", "Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0 Safari/537.36": "Chrome, Linux",
		"Mozilla/5.0 (iPhone; CPU like Mac OS X) Safari/604": "Safari, iPhone", "curl/8": "curl/8",
	} {
		require.Equal(t, want, SessionRow{Session: models.Session{Agent: agent}}.agent(ctx))
	}
}

func TestARoleIsOfferedNoMoreThanItself(t *testing.T) {
	ctx := viewer(t, nil)
	require.Len(t, RoleOptions(ctx, models.RoleAdmin), 3)
	require.Len(t, RoleOptions(ctx, models.RoleViewer), 1)
	require.True(t, May(ctx, models.RoleOperator))
	require.False(t, May(t.Context(), models.RoleViewer), "nobody may nothing")
}
