package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxTokens is how many tokens there can be that are not revoked.
const MaxTokens = 1_000

// shownTokens bounds the lists, in which revoked tokens stand too.
const shownTokens = 2 * MaxTokens

// Token is one row of api_tokens: a secret with which a program may ask.
type Token struct {
	ID        int64  `gorm:"primaryKey"`
	Name      string // unique among those that are not revoked
	Hash      string // of the secret, which is shown once and not kept
	Prefix    string // the start of the secret, to tell tokens apart
	Role      Role
	Types     TypeNames // the task types that it is for; none means all
	UserID    int64     // whose it is, and with whose account it ends; 0 is nobody's
	CreatedAt Instant
	CreatedBy string
	UsedAt    Instant // when it was used last, to the minute
	ExpiresAt Instant // none is never
	RevokedAt Instant
}

// TableName is api_tokens.
func (Token) TableName() string { return "api_tokens" }

// Holds reports whether the token can be used at a moment, as far as the row itself tells.
func (t *Token) Holds(at Instant) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || at < t.ExpiresAt)
}

// TypeNames is a list of task types as the ledger stores it: a JSON array, or NULL for none.
type TypeNames string

// NewTypeNames sorts names and leaves out those that come twice.
func NewTypeNames(names []string) TypeNames {
	if len(names) == 0 {
		return ""
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return TypeNames(list(names))
}

// Names are the task types; nil when there are none.
func (t TypeNames) Names() []string {
	var names []string
	if t == "" || json.Unmarshal([]byte(t), &names) != nil {
		return nil
	}
	return names
}

// TokenUser is a token with the account that it belongs to, if it belongs to one.
type TokenUser struct {
	Token Token
	User  User // the zero User when the token is nobody's
}

// TokenByHash gives a token, or ErrNotFound. Whether it still holds is for the caller to say.
func (s *Store) TokenByHash(ctx context.Context, hash string) (TokenUser, error) {
	var found []Token
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM api_tokens WHERE hash = ?", hash).Scan(&found).Error; err != nil {
		return TokenUser{}, fmt.Errorf("reading a token: %w", err)
	}
	if len(found) == 0 {
		return TokenUser{}, ErrNotFound
	}
	t := TokenUser{Token: found[0]}
	if t.Token.UserID == 0 {
		return t, nil
	}
	var err error
	t.User, err = s.userByID(ctx, t.Token.UserID)
	return t, err
}

// Tokens gives all tokens, the newest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	var found []Token
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM api_tokens ORDER BY id DESC LIMIT ?", shownTokens).Scan(&found).Error; err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	return found, nil
}

// TokensOf gives the tokens of an account, the newest first.
func (s *Store) TokensOf(ctx context.Context, userID int64) ([]Token, error) {
	var found []Token
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM api_tokens WHERE user_id = ? ORDER BY id DESC LIMIT ?", userID, shownTokens).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("reading the tokens of an account: %w", err)
	}
	return found, nil
}

// CreateToken stores a token; n needs all but ID, CreatedAt and CreatedBy. It refuses with ErrNameTaken or ErrTooMany.
func (tx *Tx) CreateToken(n Token, by Actor) (Token, error) {
	_, err := tx.tokenByName(n.Name)
	if err == nil {
		return Token{}, Refuse(ErrNameTaken)
	}
	if !errors.Is(err, ErrNotFound) {
		return Token{}, err
	}
	count, err := tx.one("counting the tokens", "SELECT count(*) FROM api_tokens INDEXED BY api_tokens_name WHERE revoked_at IS NULL")
	if err != nil {
		return Token{}, err
	}
	if count >= MaxTokens {
		return Token{}, Refuse(fmt.Errorf("%w: there can be %d tokens that are not revoked", ErrTooMany, MaxTokens))
	}
	n.CreatedAt, n.CreatedBy = tx.now, by.Name
	var owner any
	if n.UserID != 0 {
		owner = n.UserID
	}
	res, err := tx.exec("storing a token", `INSERT INTO api_tokens
 (name, hash, prefix, role, types, user_id, created_at, created_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		n.Name, n.Hash, n.Prefix, string(n.Role), textOrNull(string(n.Types)), owner, int64(n.CreatedAt), n.CreatedBy, n.ExpiresAt.orNull())
	if err != nil {
		return Token{}, err
	}
	if n.ID, err = res.LastInsertId(); err != nil {
		return Token{}, fmt.Errorf("storing a token: %w", err)
	}
	after := string(n.Role)
	if n.Types != "" {
		after += " " + string(n.Types)
	}
	return n, tx.audit(by, []Audit{{Action: "create", Target: "token", TargetID: n.Name, After: after}})
}

// tokenByName reads the token with a name that is not revoked.
func (tx *Tx) tokenByName(name string) (Token, error) {
	return tx.token("SELECT * FROM api_tokens INDEXED BY api_tokens_name WHERE name = ? AND revoked_at IS NULL", name)
}

func (tx *Tx) token(text string, arg any) (Token, error) {
	var found []Token
	if err := tx.db.Raw(text, arg).Scan(&found).Error; err != nil {
		return Token{}, fmt.Errorf("reading a token: %w", err)
	}
	if len(found) == 0 {
		return Token{}, ErrNotFound
	}
	return found[0], nil
}

// RevokeToken ends the token with a name for good. With an owner that is not 0 it must be theirs. It refuses with
// ErrNotFound.
func (tx *Tx) RevokeToken(name string, owner int64, by Actor) (Token, error) {
	t, err := tx.tokenByName(name)
	if err != nil {
		return Token{}, err
	}
	if owner != 0 && t.UserID != owner {
		return Token{}, ErrNotFound
	}
	t.RevokedAt = tx.now
	if _, err := tx.exec("revoking a token", "UPDATE api_tokens SET revoked_at = ? WHERE id = ?", int64(tx.now), t.ID); err != nil {
		return Token{}, err
	}
	return t, tx.audit(by, []Audit{{Action: "revoke", Target: "token", TargetID: t.Name, Before: string(t.Role)}})
}

// TouchToken keeps that a token was used at, unless that is known to within least.
func (tx *Tx) TouchToken(id int64, at Instant, least time.Duration) error {
	_, err := tx.exec("storing the use of a token", "UPDATE api_tokens SET used_at = ? WHERE id = ? AND (used_at IS NULL OR used_at <= ?)",
		int64(at), id, int64(at.Add(-least)))
	return err
}
