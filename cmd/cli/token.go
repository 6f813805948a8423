package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reax/actors"
	"reax/models"
)

// tokenCmd are the commands on tokens; without one of them they are listed.
type tokenCmd struct {
	List   tokenListCmd   `cmd:"" default:"withargs" help:"List the tokens, newest first."`
	Create tokenCreateCmd `cmd:"" help:"Make a token and print it; it cannot be printed again."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token for good."`
}

// token is a token as the API shows it. Secret is in the answer that makes it, and in no other.
type token struct {
	Name      string     `json:"name"`
	Prefix    string     `json:"prefix"`
	Role      string     `json:"role"`
	Types     []string   `json:"types"`
	CreatedBy string     `json:"created_by"`
	CreatedAt *time.Time `json:"created_at"`
	UsedAt    *time.Time `json:"used_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Secret    string     `json:"token,omitempty"`
}

func tokenOf(t *models.Token, secret string) token {
	shown := token{
		t.Name, t.Prefix, string(t.Role), t.Types.Names(), t.CreatedBy,
		momentOf(t.CreatedAt), momentOf(t.UsedAt), momentOf(t.ExpiresAt), momentOf(t.RevokedAt), secret,
	}
	if shown.Types == nil {
		shown.Types = []string{}
	}
	return shown
}

func (t *token) state(now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	}
	return "on"
}

type tokenListCmd struct{ serverFlags }

// Run lists the tokens.
func (c *tokenListCmd) Run(ctx context.Context, a *app) error {
	answer, err := c.access(ctx, false, func(api *client) (json.RawMessage, error) { return api.get(ctx, apiPath+"/tokens", nil) },
		func(_ *actors.Accounts, store *models.Store, _ actors.Change) (any, error) {
			rows, err := store.Tokens(ctx)
			tokens := []token{}
			for i := range rows {
				tokens = append(tokens, tokenOf(&rows[i], ""))
			}
			return map[string][]token{"tokens": tokens}, err
		})
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Tokens []token `json:"tokens"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	var rows [][]string
	for _, t := range page.Tokens {
		types := "all"
		if len(t.Types) > 0 {
			types = cut(cleanLine(strings.Join(t.Types, ",")), noteWidth)
		}
		rows = append(rows, []string{t.Name, t.Prefix + "…", t.Role, t.state(time.Now()), at(t.UsedAt), at(t.ExpiresAt), t.CreatedBy, types})
	}
	return table(a.stdout, []string{"NAME", "TOKEN", "ROLE", "STATE", "LAST USED", "EXPIRES", "MADE BY", "TYPES"}, rows)
}

type tokenCreateCmd struct {
	Name    string   `arg:"" help:"The name, as the record shows it."`
	Role    string   `required:"" enum:"viewer,operator,admin" placeholder:"ROLE" help:"viewer, operator or admin."`
	Type    []string `sep:"none" placeholder:"TYPE" help:"Limit it to tasks of this type; may come several times."`
	Expires string   `placeholder:"90d" help:"When it ends; without it, never."`
	serverFlags
}

// Run makes a token. Only the token goes to the standard output, so that a script can take it from there.
func (c *tokenCreateCmd) Run(ctx context.Context, a *app) error {
	var expires time.Duration
	body := map[string]any{"name": c.Name, "role": c.Role}
	if len(c.Type) > 0 {
		body["types"] = c.Type
	}
	if c.Expires != "" {
		var err error
		if expires, err = parseDuration(c.Expires); err != nil {
			return usagef("--expires: %v", err)
		}
		if expires < time.Second {
			return usagef("--expires: the token would have ended before it was used")
		}
		body["expires"] = int64(expires.Seconds())
	}
	answer, err := c.access(ctx, true, func(api *client) (json.RawMessage, error) {
		return api.call(ctx, http.MethodPost, apiPath+"/tokens", nil, body)
	}, func(accounts *actors.Accounts, _ *models.Store, by actors.Change) (any, error) {
		t, secret, err := accounts.CreateToken(ctx, actors.NewToken{Name: c.Name, Role: models.Role(c.Role), Types: c.Type, Expires: expires}, by)
		return tokenOf(&t, secret), err
	})
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var made token
	if err := read(answer, &made); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "made the token %s; keep it, for it cannot be shown again\n", cleanLine(made.Name))
	_, err = fmt.Fprintln(a.stdout, cleanLine(made.Secret))
	return err
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"The token."`
	serverFlags
}

// Run revokes a token.
func (c *tokenRevokeCmd) Run(ctx context.Context, a *app) error {
	answer, err := c.access(ctx, false, func(api *client) (json.RawMessage, error) {
		return api.call(ctx, http.MethodDelete, apiPath+"/tokens/"+url.PathEscape(c.Name), nil, nil)
	}, func(accounts *actors.Accounts, _ *models.Store, by actors.Change) (any, error) {
		return nil, accounts.RevokeToken(ctx, c.Name, nil, by)
	})
	return c.said(a, answer, err, "revoked the token "+c.Name)
}
