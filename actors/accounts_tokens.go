package actors

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"reax/models"
	"reax/tasks"
)

const (
	// TokenPrefix begins the secret of every token, so that scanners for leaked secrets know one.
	TokenPrefix = "reax_"
	// MaxTokenTypes is how many task types a token can be limited to.
	MaxTokenTypes = 100

	maxTokenLife = 10 * 365 * 24 * time.Hour
	shownPrefix  = len(TokenPrefix) + 6
)

// NewToken is a token to be made.
type NewToken struct {
	Name    string
	Role    models.Role
	Types   []string      // limits it to tasks of these types; none is no limit
	Expires time.Duration // after which it ends; 0 is never
	Owner   *models.User  // whose it is: it may do no more than they may, and ends with their account; nil is nobody's
}

// CreateToken makes a token. The secret can be read now and never again.
func (a *Accounts) CreateToken(ctx context.Context, n NewToken, c Change) (token models.Token, secret string, err error) {
	if token, err = n.row(); err != nil {
		return models.Token{}, "", err
	}
	secret = TokenPrefix + rand.Text()
	token.Hash, token.Prefix = hashSecret(secret), secret[:shownPrefix]
	token, err = write(ctx, a, func(tx *models.Tx) (models.Token, error) { return tx.CreateToken(token, c.actor()) })
	if err != nil {
		return models.Token{}, "", err
	}
	return token, secret, nil
}

// row checks what was asked for.
func (n *NewToken) row() (models.Token, error) {
	name, _, err := accountName(n.Name)
	if err != nil {
		return models.Token{}, err
	}
	if err := checkRole(n.Role); err != nil {
		return models.Token{}, err
	}
	t := models.Token{Name: name, Role: n.Role, Types: models.NewTypeNames(n.Types)}
	if len(n.Types) > MaxTokenTypes {
		return models.Token{}, badField("/types", fmt.Sprintf("must have at most %d entries", MaxTokenTypes))
	}
	for i, typ := range n.Types {
		if err := tasks.CheckName(typ); err != nil {
			return models.Token{}, badField(fmt.Sprintf("/types/%d", i), "is not the name of a task type")
		}
	}
	switch {
	case n.Expires < 0 || n.Expires > maxTokenLife:
		return models.Token{}, badField("/expires", "must be at most 10 years")
	case n.Expires > 0:
		t.ExpiresAt = models.At(time.Now().Add(n.Expires))
	}
	if n.Owner != nil {
		t.UserID = n.Owner.ID
		if !n.Owner.Role.May(n.Role) {
			return models.Token{}, badField("/role", "is more than the account may do")
		}
	}
	return t, nil
}

// RevokeToken ends a token for good. With an owner it must be theirs.
func (a *Accounts) RevokeToken(ctx context.Context, name string, owner *models.User, c Change) error {
	id := int64(0)
	if owner != nil {
		id = owner.ID
	}
	_, err := write(ctx, a, func(tx *models.Tx) (models.Token, error) { return tx.RevokeToken(name, id, c.actor()) })
	return err
}

// Token gives a token that holds, with the role that it has now: no more than that of the account it belongs to. It
// counts as used. It fails with ErrNoToken, or when the ledger cannot be read.
func (a *Accounts) Token(ctx context.Context, secret string) (models.Token, error) {
	if !strings.HasPrefix(secret, TokenPrefix) || len(secret) > 100 {
		return models.Token{}, ErrNoToken
	}
	found, err := a.store.TokenByHash(ctx, hashSecret(secret))
	if errors.Is(err, models.ErrNotFound) {
		return models.Token{}, ErrNoToken
	}
	if err != nil {
		return models.Token{}, err
	}
	t, now := found.Token, models.At(time.Now())
	if !t.Holds(now) || found.User.Disabled {
		return models.Token{}, ErrNoToken
	}
	if t.UserID != 0 && !found.User.Role.May(t.Role) {
		t.Role = found.User.Role
	}
	if now.Sub(t.UsedAt) >= touchEvery {
		a.use(touch{"token", t.ID}, now, func(tx *models.Tx) error { return tx.TouchToken(t.ID, now, touchEvery) })
	}
	return t, nil
}
