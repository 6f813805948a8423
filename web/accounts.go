package web

import (
	"context"
	"errors"
	"net/http"

	"reax/actors"
	"reax/models"
)

// userJSON is an account. Its password can be set and never be read.
type userJSON struct {
	Name      string      `json:"name"`
	Role      models.Role `json:"role" enum:"viewer,operator,admin"`
	Disabled  bool        `json:"disabled"`
	CreatedAt moment      `json:"created_at"`
	SeenAt    moment      `json:"seen_at" doc:"The last sign-in; null when there was none"`
}

func userView(u *models.User) userJSON {
	return userJSON{u.Name, u.Role, u.Disabled, moment(u.CreatedAt), moment(u.SeenAt)}
}

type userListJSON struct {
	Users []userJSON `json:"users" nullable:"false"`
}

type usersOutput struct{ Body userListJSON }

type userOutput struct{ Body userJSON }

// newUserJSON is an account to be made.
type newUserJSON struct {
	Name     string      `json:"name" minLength:"1" maxLength:"64"`
	Role     models.Role `json:"role" enum:"viewer,operator,admin"`
	Password string      `json:"password" writeOnly:"true" doc:"At least 10 characters, at most 1,000 bytes"`
}

func (b *newUserJSON) check(*Server) []fieldError { return nil }

// userPatchJSON is what is changed about an account; what is left out stays.
type userPatchJSON struct {
	Role     *models.Role `json:"role,omitempty" enum:"viewer,operator,admin"`
	Disabled *bool        `json:"disabled,omitempty" doc:"true keeps the account from signing in and ends its sessions"`
	Password *string      `json:"password,omitempty" writeOnly:"true" doc:"Ends the sessions of the account"`
}

func (b *userPatchJSON) check(*Server) []fieldError { return nil }

type newUserInput struct{ Body newUserJSON }

type userPatchInput struct {
	Name string `path:"name" maxLength:"200"`
	Body userPatchJSON
}

type userInput struct {
	Name string `path:"name" maxLength:"200"`
}

// accessProblem is the answer to a change of accounts or tokens that was refused.
func accessProblem(err error, missing string) error {
	switch {
	case errors.Is(err, models.ErrNotFound):
		return newProblem(http.StatusNotFound, "not_found", "%s", missing)
	case errors.Is(err, models.ErrNameTaken), errors.Is(err, models.ErrLastAdmin), errors.Is(err, models.ErrFirstAdmin), errors.Is(err, models.ErrTooMany):
		return newProblem(http.StatusConflict, "conflict", "%s", refusalText(err))
	}
	return err
}

// refusalText is the sentence of a refusal, without what was being done when it came.
func refusalText(err error) string {
	for _, refusal := range []error{models.ErrNameTaken, models.ErrLastAdmin, models.ErrFirstAdmin, models.ErrTooMany} {
		if errors.Is(err, refusal) {
			return refusal.Error()
		}
	}
	return err.Error()
}

const missingUser, missingToken = "there is no such account", "there is no such token"

// keeper is the accounts, or a problem when another program keeps them.
func (s *Server) keeper() (Accounts, error) {
	if s.accounts == nil || s.auth != nil {
		return nil, newProblem(http.StatusForbidden, "forbidden", "the accounts are kept elsewhere")
	}
	return s.accounts, nil
}

func (s *Server) listUsers(ctx context.Context, _ *struct{}) (*usersOutput, error) {
	users, err := s.ledger.Users(ctx)
	if err != nil {
		return nil, err
	}
	out := &usersOutput{Body: userListJSON{Users: make([]userJSON, len(users))}}
	for i := range users {
		out.Body.Users[i] = userView(&users[i])
	}
	return out, nil
}

func (s *Server) addUser(ctx context.Context, in *newUserInput) (*userOutput, error) {
	accounts, err := s.keeper()
	if err != nil {
		return nil, err
	}
	user, err := accounts.CreateUser(ctx, in.Body.Name, in.Body.Role, in.Body.Password, changeOf(ctx, ""))
	if err != nil {
		return nil, accessProblem(err, missingUser)
	}
	return &userOutput{userView(&user)}, nil
}

func (s *Server) patchUser(ctx context.Context, in *userPatchInput) (*userOutput, error) {
	accounts, err := s.keeper()
	if err != nil {
		return nil, err
	}
	user, err := s.ledger.User(ctx, actors.NameKey(in.Name))
	if in.Body.Password != nil && err == nil {
		user, err = accounts.SetPassword(ctx, in.Name, *in.Body.Password, 0, changeOf(ctx, ""))
	}
	if in.Body.Role != nil && err == nil {
		user, err = accounts.SetRole(ctx, in.Name, *in.Body.Role, changeOf(ctx, ""))
	}
	if in.Body.Disabled != nil && err == nil {
		user, err = accounts.SetDisabled(ctx, in.Name, *in.Body.Disabled, changeOf(ctx, ""))
	}
	if err != nil {
		return nil, accessProblem(err, missingUser)
	}
	return &userOutput{userView(&user)}, nil
}

func (s *Server) deleteUser(ctx context.Context, in *userInput) (*struct{}, error) {
	accounts, err := s.keeper()
	if err != nil {
		return nil, err
	}
	return nil, accessProblem(accounts.DeleteUser(ctx, in.Name, changeOf(ctx, "")), missingUser)
}

// tokenJSON is a token without its secret.
type tokenJSON struct {
	Name      string      `json:"name"`
	Prefix    string      `json:"prefix" doc:"The start of the secret"`
	Role      models.Role `json:"role" enum:"viewer,operator,admin"`
	Types     []string    `json:"types" nullable:"false" doc:"The task types that it is limited to; empty is all"`
	CreatedBy string      `json:"created_by"`
	CreatedAt moment      `json:"created_at"`
	UsedAt    moment      `json:"used_at"`
	ExpiresAt moment      `json:"expires_at"`
	RevokedAt moment      `json:"revoked_at"`
}

func tokenView(t *models.Token) tokenJSON {
	v := tokenJSON{t.Name, t.Prefix, t.Role, t.Types.Names(), t.CreatedBy, moment(t.CreatedAt), moment(t.UsedAt), moment(t.ExpiresAt), moment(t.RevokedAt)}
	if v.Types == nil {
		v.Types = []string{}
	}
	return v
}

type tokenListJSON struct {
	Tokens []tokenJSON `json:"tokens" nullable:"false"`
}

type tokensOutput struct{ Body tokenListJSON }

// newTokenJSON is a token to be made.
type newTokenJSON struct {
	Name    string         `json:"name" minLength:"1" maxLength:"64"`
	Role    models.Role    `json:"role" enum:"viewer,operator,admin"`
	Types   []string       `json:"types,omitempty" maxItems:"100" doc:"Limits it to tasks of these types"`
	Expires *durationInput `json:"expires,omitempty" doc:"After which it ends; without it, never"`
}

func (b *newTokenJSON) check(*Server) []fieldError { return b.Expires.within("/expires", maxDelay) }

type newTokenInput struct{ Body newTokenJSON }

// madeTokenJSON is a new token with its secret.
type madeTokenJSON struct {
	tokenJSON
	Token string `json:"token" doc:"The secret; nobody can read it again"`
}

type madeTokenOutput struct{ Body madeTokenJSON }

type tokenInput struct {
	Name string `path:"name" maxLength:"200"`
}

func (s *Server) listTokens(ctx context.Context, _ *struct{}) (*tokensOutput, error) {
	tokens, err := s.ledger.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	out := &tokensOutput{Body: tokenListJSON{Tokens: make([]tokenJSON, len(tokens))}}
	for i := range tokens {
		out.Body.Tokens[i] = tokenView(&tokens[i])
	}
	return out, nil
}

func (s *Server) addToken(ctx context.Context, in *newTokenInput) (*madeTokenOutput, error) {
	accounts, err := s.keeper()
	if err != nil {
		return nil, err
	}
	n := actors.NewToken{Name: in.Body.Name, Role: in.Body.Role, Types: in.Body.Types}
	if in.Body.Expires != nil {
		n.Expires = in.Body.Expires.duration
	}
	token, secret, err := accounts.CreateToken(ctx, n, changeOf(ctx, ""))
	if err != nil {
		return nil, accessProblem(err, missingToken)
	}
	return &madeTokenOutput{madeTokenJSON{tokenView(&token), secret}}, nil
}

func (s *Server) endToken(ctx context.Context, in *tokenInput) (*struct{}, error) {
	accounts, err := s.keeper()
	if err != nil {
		return nil, err
	}
	return nil, accessProblem(accounts.RevokeToken(ctx, in.Name, nil, changeOf(ctx, "")), missingToken)
}
