package models

import (
	"context"
	"fmt"
	"time"
)

// MaxSessions is how many sessions one account can have; the one that was not used for longest makes room.
const MaxSessions = 100

// Session is one row of sessions: a browser in which somebody is signed in.
type Session struct {
	ID        int64  `gorm:"primaryKey"`
	Hash      string // of the secret that the browser keeps
	UserID    int64
	CreatedAt Instant
	SeenAt    Instant // when it was used last, to the minute
	EndsAt    Instant // when it ends however much it is used
	Address   string  // where the sign-in came from
	Agent     string  // what the browser calls itself
}

// SessionUser is a session with its account.
type SessionUser struct {
	Session Session
	User    User
}

// SessionByHash gives a session and its account, or ErrNotFound. Whether it still holds is for the caller to say.
func (s *Store) SessionByHash(ctx context.Context, hash string) (SessionUser, error) {
	var found []Session
	db := s.reader.WithContext(ctx)
	if err := db.Raw("SELECT * FROM sessions WHERE hash = ?", hash).Scan(&found).Error; err != nil {
		return SessionUser{}, fmt.Errorf("reading a session: %w", err)
	}
	if len(found) == 0 {
		return SessionUser{}, ErrNotFound
	}
	user, err := s.userByID(ctx, found[0].UserID)
	return SessionUser{found[0], user}, err
}

func (s *Store) userByID(ctx context.Context, id int64) (User, error) {
	var users []User
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM users WHERE id = ?", id).Scan(&users).Error; err != nil {
		return User{}, fmt.Errorf("reading the account of a session or token: %w", err)
	}
	if len(users) == 0 {
		return User{}, ErrNotFound
	}
	return users[0], nil
}

// SessionsOf gives the sessions of an account, the newest first, those that have ended and wait to be removed included.
func (s *Store) SessionsOf(ctx context.Context, userID int64) ([]Session, error) {
	var found []Session
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM sessions WHERE user_id = ? ORDER BY id DESC LIMIT ?", userID, MaxSessions).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("reading the sessions of an account: %w", err)
	}
	return found, nil
}

// CreateSession stores a session that ends after life, in place of the one with the hash former. Sessions that were not
// used for idle are removed on the way.
func (tx *Tx) CreateSession(n Session, former string, idle, life time.Duration, by Actor) (Session, error) {
	if _, err := tx.exec("removing sessions that have ended", "DELETE FROM sessions WHERE seen_at <= ?", int64(tx.now.Add(-idle))); err != nil {
		return Session{}, err
	}
	if _, err := tx.exec("ending the session before", "DELETE FROM sessions WHERE hash = ?", former); err != nil {
		return Session{}, err
	}
	_, err := tx.exec("making room for a session", `DELETE FROM sessions WHERE id IN
 (SELECT id FROM sessions WHERE user_id = ? ORDER BY seen_at DESC LIMIT -1 OFFSET ?)`, n.UserID, MaxSessions-1)
	if err != nil {
		return Session{}, err
	}
	n.CreatedAt, n.SeenAt, n.EndsAt = tx.now, tx.now, tx.now.Add(life)
	res, err := tx.exec("storing a session", `INSERT INTO sessions
 (hash, user_id, created_at, seen_at, ends_at, address, agent) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		n.Hash, n.UserID, int64(n.CreatedAt), int64(n.SeenAt), int64(n.EndsAt), textOrNull(n.Address), textOrNull(n.Agent))
	if err != nil {
		return Session{}, err
	}
	if n.ID, err = res.LastInsertId(); err != nil {
		return Session{}, fmt.Errorf("storing a session: %w", err)
	}
	if _, err := tx.exec("storing the last sign-in", "UPDATE users SET seen_at = ? WHERE id = ?", int64(tx.now), n.UserID); err != nil {
		return Session{}, err
	}
	return n, tx.audit(by, []Audit{{Action: "sign_in", Target: "user", TargetID: by.Name}})
}

// TouchSession keeps that a session was used at, unless that is known to within least.
func (tx *Tx) TouchSession(id int64, at Instant, least time.Duration) error {
	_, err := tx.exec("storing the use of a session", "UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at <= ?", int64(at), id, int64(at.Add(-least)))
	return err
}

// SignOut ends the session with a hash. That there is none is no error.
func (tx *Tx) SignOut(hash string, by Actor) error {
	res, err := tx.exec("ending a session", "DELETE FROM sessions WHERE hash = ?", hash)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return tx.audit(by, []Audit{{Action: "sign_out", Target: "user", TargetID: by.Name}})
}

// EndSession ends one session of an account. It refuses with ErrNotFound.
func (tx *Tx) EndSession(nameKey string, id int64, by Actor) error {
	u, err := tx.userByKey(nameKey)
	if err != nil {
		return err
	}
	res, err := tx.exec("ending a session", "DELETE FROM sessions WHERE id = ? AND user_id = ?", id, u.ID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return ErrNotFound
	}
	return tx.audit(by, []Audit{{Action: "end_session", Target: "user", TargetID: u.Name}})
}

// EndSessions ends all sessions of an account but the one with the id keep, and tells how many those were. It refuses
// with ErrNotFound.
func (tx *Tx) EndSessions(nameKey string, keep int64, by Actor) (int64, error) {
	u, err := tx.userByKey(nameKey)
	if err != nil {
		return 0, err
	}
	n, err := tx.endSessionsOf(u.ID, keep)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, tx.audit(by, []Audit{{Action: "end_sessions", Target: "user", TargetID: u.Name, After: fmt.Sprint(n)}})
}

func (tx *Tx) endSessionsOf(userID, keep int64) (int64, error) {
	res, err := tx.exec("ending the sessions of an account", "DELETE FROM sessions WHERE user_id = ? AND id <> ?", userID, keep)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
