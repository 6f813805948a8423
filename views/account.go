package views

import (
	"context"
	"strings"

	"reax/models"
)

// Account is the page of who is signed in.
type Account struct {
	User     models.User
	Sessions []SessionRow
	Tokens   []TokenRow
	Password []Field // current and new
	Token    TokenForm
}

// SessionRow is one session of a list.
type SessionRow struct {
	models.Session
	Current bool // the one that the page is seen in
}

// TokenRow is one token of a list.
type TokenRow struct {
	models.Token
	Holds bool   // it can be used
	Owner string // whose it is; empty for nobody's
}

// TokenForm makes a token. Secret is set once, on the page that answers the form.
type TokenForm struct {
	Fields []Field
	Name   string
	Secret string
}

// tokenState is a token's mark: tone, icon and word.
func (r TokenRow) mark(ctx context.Context) (tone, icon, word string) {
	switch {
	case !r.RevokedAt.IsZero():
		return "cancelled", "ban", T(ctx, "tokens.revoked")
	case !r.Holds:
		return "cancelled", "clock", T(ctx, "tokens.expired")
	}
	return "success", "check", T(ctx, "tokens.works")
}

// scope is what a token may do, in words.
func (r TokenRow) scope(ctx context.Context) string {
	text := T(ctx, "role."+string(r.Role))
	if names := r.Types.Names(); len(names) > 0 {
		text += " · " + line(strings.Join(names, ", "), previewWidth)
	}
	return text
}

// agent is what a browser calls itself, short.
func (r SessionRow) agent(ctx context.Context) string {
	if r.Agent == "" {
		return T(ctx, "account.unknown_agent")
	}
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(r.Agent, known[0]) {
			return known[1] + systemOf(r.Agent)
		}
	}
	return preview(r.Agent)
}

func systemOf(agent string) string {
	for _, known := range [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known[0]) {
			return ", " + known[1]
		}
	}
	return ""
}
