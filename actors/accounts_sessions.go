package actors

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"reax/models"
)

// SignIn is somebody who wants to sign in. The texts are as they came.
type SignIn struct {
	Name, Password string
	Former         string // the secret of the session that the browser has; it ends
	Address        string
	Agent          string // what the browser calls itself
	RequestID      string
}

// SignedIn is a new session. Secret is what the browser keeps; nobody can read it again.
type SignedIn struct {
	models.SessionUser
	Secret string
}

// SignIn starts a session. It fails with ErrWrongPassword, which takes as long for a name that nobody has, or with
// ErrUnavailable. The caller sees to it that nobody tries too often.
func (a *Accounts) SignIn(ctx context.Context, in SignIn) (SignedIn, error) {
	user, err := a.CheckPassword(ctx, in.Name, in.Password)
	if err != nil {
		return SignedIn{}, err
	}
	signed := SignedIn{SessionUser: models.SessionUser{User: user}, Secret: rand.Text()}
	row := models.Session{
		Hash: hashSecret(signed.Secret), UserID: user.ID, Address: in.Address,
		Agent: models.CutText(strings.ToValidUTF8(in.Agent, "\uFFFD"), maxAgent),
	}
	by := models.Actor{Name: user.Name, Address: in.Address, RequestID: in.RequestID}
	signed.Session, err = write(ctx, a, func(tx *models.Tx) (models.Session, error) {
		return tx.CreateSession(row, hashSecret(in.Former), a.idle, a.life, by)
	})
	return signed, err
}

// CheckPassword gives the account that has a name and a password. It fails as SignIn does.
func (a *Accounts) CheckPassword(ctx context.Context, name, password string) (models.User, error) {
	user, err := a.store.User(ctx, NameKey(name))
	found := err == nil
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return models.User{}, err
	}
	hash := user.Password
	if !found {
		hash = a.noPassword()
	}
	right, err := a.matches(ctx, hash, password)
	switch {
	case err != nil:
		return models.User{}, err
	case !right || !found || user.Disabled:
		return models.User{}, ErrWrongPassword
	}
	return user, nil
}

// Session gives a session that holds, with its account. With use it counts as used, which its idle limit goes by. It
// fails with ErrNoSession, or when the ledger cannot be read.
func (a *Accounts) Session(ctx context.Context, secret string, use bool) (models.SessionUser, error) {
	if secret == "" || len(secret) > 100 {
		return models.SessionUser{}, ErrNoSession
	}
	found, err := a.store.SessionByHash(ctx, hashSecret(secret))
	if errors.Is(err, models.ErrNotFound) {
		return models.SessionUser{}, ErrNoSession
	}
	if err != nil {
		return models.SessionUser{}, err
	}
	now := models.At(time.Now())
	if !a.Holds(&found.Session, now) || found.User.Disabled {
		return models.SessionUser{}, ErrNoSession
	}
	if use && now.Sub(found.Session.SeenAt) >= touchEvery {
		a.use(touch{"session", found.Session.ID}, now, func(tx *models.Tx) error { return tx.TouchSession(found.Session.ID, now, touchEvery) })
	}
	return found, nil
}

// Holds reports whether a session is within its limits at a moment.
func (a *Accounts) Holds(s *models.Session, at models.Instant) bool {
	return at < s.EndsAt && at.Sub(s.SeenAt) < a.idle
}

// SessionLife is how long a session lasts at most.
func (a *Accounts) SessionLife() time.Duration { return a.life }

// SignOut ends the session with a secret. That there is none is no error.
func (a *Accounts) SignOut(ctx context.Context, secret string, c Change) error {
	_, err := write(ctx, a, func(tx *models.Tx) (bool, error) { return true, tx.SignOut(hashSecret(secret), c.actor()) })
	return err
}

// EndSession ends one session of an account.
func (a *Accounts) EndSession(ctx context.Context, name string, id int64, c Change) error {
	_, err := write(ctx, a, func(tx *models.Tx) (bool, error) { return true, tx.EndSession(NameKey(name), id, c.actor()) })
	return err
}

// EndSessions ends all sessions of an account, but for the one with the id keep, and tells how many those were.
func (a *Accounts) EndSessions(ctx context.Context, name string, keep int64, c Change) (int64, error) {
	return write(ctx, a, func(tx *models.Tx) (int64, error) { return tx.EndSessions(NameKey(name), keep, c.actor()) })
}

// hashSecret is what is stored of a secret of ours. They are long and random, so that a plain hash is enough.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
