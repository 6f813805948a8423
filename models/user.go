package models

import (
	"context"
	"errors"
	"fmt"
)

// MaxUsers is how many accounts there can be. All of them are shown on one page.
const MaxUsers = 1_000

// User is one row of users: an account of a person.
type User struct {
	ID         int64  `gorm:"primaryKey"`
	Name       string // as it was written
	NameKey    string // the same for all ways of writing it; unique
	Role       Role
	Password   string // an argon2id hash in PHC form; never shown
	Disabled   bool
	CreatedAt  Instant
	UpdatedAt  Instant // when role, password or Disabled changed
	PasswordAt Instant // when the password was set
	SeenAt     Instant // when they signed in last; none when never
}

// Refusals of changes to accounts.
var (
	ErrNameTaken  = errors.New("the name is taken")
	ErrLastAdmin  = errors.New("this is the last account with the role admin that can sign in: give the role to another account first")
	ErrFirstAdmin = errors.New("the first account must have the role admin: nobody else could make further ones")
	ErrTooMany    = errors.New("there are too many of them")
)

// HasUsers reports whether there is any account.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	var ids []int64
	if err := s.reader.WithContext(ctx).Raw("SELECT id FROM users LIMIT 1").Scan(&ids).Error; err != nil {
		return false, fmt.Errorf("looking for accounts: %w", err)
	}
	return len(ids) > 0, nil
}

// Users gives all accounts, by name.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	var users []User
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM users INDEXED BY users_name ORDER BY name_key").Scan(&users).Error; err != nil {
		return nil, fmt.Errorf("reading the accounts: %w", err)
	}
	return users, nil
}

// User gives the account with a name key, or ErrNotFound.
func (s *Store) User(ctx context.Context, nameKey string) (User, error) {
	var found []User
	if err := s.reader.WithContext(ctx).Raw("SELECT * FROM users WHERE name_key = ?", nameKey).Scan(&found).Error; err != nil {
		return User{}, fmt.Errorf("reading an account: %w", err)
	}
	if len(found) == 0 {
		return User{}, ErrNotFound
	}
	return found[0], nil
}

// userByKey reads an account inside the transaction.
func (tx *Tx) userByKey(nameKey string) (User, error) {
	var found []User
	if err := tx.db.Raw("SELECT * FROM users WHERE name_key = ?", nameKey).Scan(&found).Error; err != nil {
		return User{}, fmt.Errorf("reading an account: %w", err)
	}
	if len(found) == 0 {
		return User{}, ErrNotFound
	}
	return found[0], nil
}

// one reads the one number that a statement gives.
func (tx *Tx) one(doing, text string, args ...any) (int64, error) {
	var n int64
	if err := tx.db.Raw(text, args...).Scan(&n).Error; err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	return n, nil
}

// CreateUser stores an account; u needs Name, NameKey, Role and Password. It refuses with ErrNameTaken, ErrFirstAdmin or
// ErrTooMany.
func (tx *Tx) CreateUser(u User, by Actor) (User, error) {
	_, err := tx.userByKey(u.NameKey)
	if err == nil {
		return User{}, Refuse(ErrNameTaken)
	}
	if !errors.Is(err, ErrNotFound) {
		return User{}, err
	}
	n, err := tx.one("counting the accounts", "SELECT count(*) FROM users")
	switch {
	case err != nil:
		return User{}, err
	case n == 0 && u.Role != RoleAdmin:
		return User{}, Refuse(ErrFirstAdmin)
	case n >= MaxUsers:
		return User{}, Refuse(fmt.Errorf("%w: there can be %d accounts", ErrTooMany, MaxUsers))
	}
	u.CreatedAt, u.UpdatedAt, u.PasswordAt = tx.now, tx.now, tx.now
	res, err := tx.exec("storing an account", `INSERT INTO users
 (name, name_key, role, password, disabled, created_at, updated_at, password_at) VALUES (?, ?, ?, ?, 0, ?, ?, ?)`,
		u.Name, u.NameKey, string(u.Role), u.Password, int64(tx.now), int64(tx.now), int64(tx.now))
	if err != nil {
		return User{}, err
	}
	if u.ID, err = res.LastInsertId(); err != nil {
		return User{}, fmt.Errorf("storing an account: %w", err)
	}
	return u, tx.audit(by, []Audit{{Action: "create", Target: "user", TargetID: u.Name, After: string(u.Role)}})
}

// UserChange is what is changed about an account. Nil fields stay as they are.
type UserChange struct {
	Role     *Role
	Disabled *bool
	Password *string // the new hash
	Keep     int64   // the id of the session that goes on when the password changes; 0 for none
}

// ChangeUser changes an account. A new password and a disabled account end its sessions. It refuses with ErrNotFound or
// ErrLastAdmin.
func (tx *Tx) ChangeUser(nameKey string, c UserChange, by Actor) (User, error) {
	u, err := tx.userByKey(nameKey)
	if err != nil {
		return User{}, err
	}
	was := u
	var rows []Audit
	row := func(action, before, after string) {
		rows = append(rows, Audit{Action: action, Target: "user", TargetID: u.Name, Before: before, After: after})
	}
	if c.Role != nil && *c.Role != u.Role {
		u.Role = *c.Role
		row("set_role", string(was.Role), string(u.Role))
	}
	if c.Disabled != nil && *c.Disabled != u.Disabled {
		u.Disabled = *c.Disabled
		row(map[bool]string{true: "disable", false: "enable"}[u.Disabled], "", "")
	}
	if c.Password != nil {
		u.Password, u.PasswordAt = *c.Password, tx.now
		row("set_password", "", "")
	}
	if len(rows) == 0 {
		return u, nil
	}
	if was.administers() && !u.administers() {
		if err := tx.refuseLastAdmin(u.ID); err != nil {
			return User{}, err
		}
	}
	u.UpdatedAt = tx.now
	_, err = tx.exec("changing an account", "UPDATE users SET role = ?, disabled = ?, password = ?, password_at = ?, updated_at = ? WHERE id = ?",
		string(u.Role), u.Disabled, u.Password, int64(u.PasswordAt), int64(u.UpdatedAt), u.ID)
	if err != nil {
		return User{}, err
	}
	if c.Password != nil || u.Disabled {
		if _, err := tx.endSessionsOf(u.ID, c.Keep); err != nil {
			return User{}, err
		}
	}
	return u, tx.audit(by, rows)
}

// DeleteUser removes an account with its sessions and revokes its tokens. It refuses with ErrNotFound or ErrLastAdmin.
func (tx *Tx) DeleteUser(nameKey string, by Actor) (User, error) {
	u, err := tx.userByKey(nameKey)
	if err != nil {
		return User{}, err
	}
	if u.administers() {
		if err := tx.refuseLastAdmin(u.ID); err != nil {
			return User{}, err
		}
	}
	if _, err := tx.endSessionsOf(u.ID, 0); err != nil {
		return User{}, err
	}
	if _, err := tx.exec("revoking the tokens of an account",
		"UPDATE api_tokens SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL", int64(tx.now), u.ID); err != nil {
		return User{}, err
	}
	if _, err := tx.exec("deleting an account", "DELETE FROM users WHERE id = ?", u.ID); err != nil {
		return User{}, err
	}
	return u, tx.audit(by, []Audit{{Action: "delete", Target: "user", TargetID: u.Name, Before: string(u.Role)}})
}

func (u *User) administers() bool { return u.Role == RoleAdmin && !u.Disabled }

// refuseLastAdmin refuses when nobody but id could keep the accounts.
func (tx *Tx) refuseLastAdmin(id int64) error {
	n, err := tx.one("looking for another admin", "SELECT count(*) FROM users WHERE role = ? AND disabled = 0 AND id <> ?", string(RoleAdmin), id)
	if err == nil && n == 0 {
		return Refuse(ErrLastAdmin)
	}
	return err
}
