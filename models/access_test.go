package models

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var byAnn = Actor{Name: "ann", Address: "10.0.0.1", RequestID: "r1"}

// writes runs one change and gives its error without what the ledger says around it.
func writes[T any](t *testing.T, w *Writer, f func(tx *Tx) (T, error)) (value T, err error) {
	t.Helper()
	err = w.Write(func(tx *Tx) (err error) {
		value, err = f(tx)
		return err
	})
	return value, err
}

func newUser(name string, role Role) func(tx *Tx) (User, error) {
	return func(tx *Tx) (User, error) {
		return tx.CreateUser(User{Name: name, NameKey: strings.ToLower(name), Role: role, Password: "hash of " + name}, byAnn)
	}
}

func newSession(user int64, hash string) func(tx *Tx) (Session, error) {
	return func(tx *Tx) (Session, error) {
		return tx.CreateSession(Session{Hash: hash, UserID: user, Address: "10.0.0.2", Agent: "Firefox"}, "", time.Hour, 24*time.Hour, byAnn)
	}
}

func hashesOf(t *testing.T, s *Store, user int64) (hashes []string) {
	t.Helper()
	sessions, err := s.SessionsOf(t.Context(), user)
	require.NoError(t, err)
	for _, session := range sessions {
		hashes = append(hashes, session.Hash)
	}
	return hashes
}

// auditText is the record of one thing, the latest first, in short.
func auditText(t *testing.T, s *Store, target, id string) (lines []string) {
	t.Helper()
	rows, err := s.AuditOf(t.Context(), target, id, 100)
	require.NoError(t, err)
	for _, r := range rows {
		lines = append(lines, strings.Join([]string{r.Actor, r.Action, r.Before, r.After}, " "))
	}
	return lines
}

func TestTheLastAdminStaysOne(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	has, err := s.HasUsers(t.Context())
	require.NoError(t, err)
	require.False(t, has)
	_, err = writes(t, w, newUser("bob", RoleOperator))
	require.ErrorIs(t, err, ErrFirstAdmin)
	require.True(t, IsRefusal(err))
	root, err := writes(t, w, newUser("Root", RoleAdmin))
	require.NoError(t, err)
	_, err = writes(t, w, newUser("ROOT", RoleViewer))
	require.ErrorIs(t, err, ErrNameTaken)
	has, err = s.HasUsers(t.Context())
	require.NoError(t, err)
	require.True(t, has)

	yes, viewer, admin := true, RoleViewer, RoleAdmin
	deleteUser := func(name string) func(tx *Tx) (User, error) {
		return func(tx *Tx) (User, error) { return tx.DeleteUser(name, byAnn) }
	}
	change := func(name string, c UserChange) func(tx *Tx) (User, error) {
		return func(tx *Tx) (User, error) { return tx.ChangeUser(name, c, byAnn) }
	}
	for _, refused := range []func(tx *Tx) (User, error){
		change("root", UserChange{Role: &viewer}), change("root", UserChange{Disabled: &yes}), deleteUser("root"),
	} {
		_, err = writes(t, w, refused)
		require.ErrorIs(t, err, ErrLastAdmin)
		require.True(t, IsRefusal(err))
	}
	_, err = writes(t, w, newUser("bob", RoleOperator))
	require.NoError(t, err)
	_, err = writes(t, w, change("bob", UserChange{Role: &admin, Disabled: &yes}))
	require.NoError(t, err)
	_, err = writes(t, w, deleteUser("root"))
	require.ErrorIs(t, err, ErrLastAdmin, "one who is disabled keeps nothing")
	no := false
	_, err = writes(t, w, change("bob", UserChange{Disabled: &no}))
	require.NoError(t, err)
	_, err = writes(t, w, newSession(root.ID, "a"))
	require.NoError(t, err)
	_, err = writes(t, w, deleteUser("root"))
	require.NoError(t, err)
	require.Empty(t, hashesOf(t, s, root.ID))
	_, err = s.User(t.Context(), "root")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = writes(t, w, deleteUser("root"))
	require.ErrorIs(t, err, ErrNotFound)
	require.Equal(t, []string{"ann delete admin ", "ann create  admin"}, auditText(t, s, "user", "Root"))
	require.Equal(t, []string{"ann enable  ", "ann disable  ", "ann set_role operator admin", "ann create  operator"}, auditText(t, s, "user", "bob"))
}

func TestANewPasswordAndADisabledAccountEndSessions(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	root, err := writes(t, w, newUser("root", RoleAdmin))
	require.NoError(t, err)
	bob, err := writes(t, w, newUser("bob", RoleViewer))
	require.NoError(t, err)
	var kept Session
	for _, hash := range []string{"a", "b", "c"} {
		kept, err = writes(t, w, newSession(bob.ID, hash))
		require.NoError(t, err)
	}
	_, err = writes(t, w, newSession(root.ID, "r"))
	require.NoError(t, err)
	secret, yes := "another hash", true
	_, err = writes(t, w, func(tx *Tx) (User, error) {
		return tx.ChangeUser("bob", UserChange{Password: &secret, Keep: kept.ID}, byAnn)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, hashesOf(t, s, bob.ID))
	_, err = writes(t, w, func(tx *Tx) (User, error) { return tx.ChangeUser("bob", UserChange{Disabled: &yes}, byAnn) })
	require.NoError(t, err)
	require.Empty(t, hashesOf(t, s, bob.ID))
	require.Equal(t, []string{"r"}, hashesOf(t, s, root.ID))
	for _, line := range auditText(t, s, "user", "bob") {
		require.NotContains(t, line, "hash")
	}
}

func TestSessionsAreBoundedAndEndedAlone(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	user, err := writes(t, w, newUser("root", RoleAdmin))
	require.NoError(t, err)
	for i := range MaxSessions + 2 {
		_, err := writes(t, w, newSession(user.ID, fmt.Sprint("s", i)))
		require.NoError(t, err)
	}
	hashes := hashesOf(t, s, user.ID)
	require.Len(t, hashes, MaxSessions)
	require.NotContains(t, hashes, "s0")

	found, err := s.SessionByHash(t.Context(), "s50")
	require.NoError(t, err)
	require.Equal(t, user.ID, found.User.ID)
	require.Equal(t, 24*time.Hour, found.Session.EndsAt.Sub(found.Session.CreatedAt))
	end := func(id int64) error {
		return w.Write(func(tx *Tx) error { return tx.EndSession("root", id, byAnn) })
	}
	require.NoError(t, end(found.Session.ID))
	require.ErrorIs(t, end(found.Session.ID), ErrNotFound)
	_, err = s.SessionByHash(t.Context(), "s50")
	require.ErrorIs(t, err, ErrNotFound)

	// A new session takes the place of the one that the browser had.
	_, err = writes(t, w, func(tx *Tx) (Session, error) {
		return tx.CreateSession(Session{Hash: "new", UserID: user.ID}, "s60", time.Hour, time.Hour, byAnn)
	})
	require.NoError(t, err)
	require.NotContains(t, hashesOf(t, s, user.ID), "s60")
	last, err := s.SessionByHash(t.Context(), "new")
	require.NoError(t, err)
	n, err := writes(t, w, func(tx *Tx) (int64, error) { return tx.EndSessions("root", last.Session.ID, byAnn) })
	require.NoError(t, err)
	require.EqualValues(t, MaxSessions-2, n)
	require.Equal(t, []string{"new"}, hashesOf(t, s, user.ID))
	for range 2 {
		require.NoError(t, w.Write(func(tx *Tx) error { return tx.SignOut("new", byAnn) }))
	}
	require.Empty(t, hashesOf(t, s, user.ID))
}

func TestTheUseOfASessionIsStoredOnceAMinute(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	user, err := writes(t, w, newUser("root", RoleAdmin))
	require.NoError(t, err)
	session, err := writes(t, w, newSession(user.ID, "a"))
	require.NoError(t, err)
	token, err := writes(t, w, func(tx *Tx) (Token, error) {
		return tx.CreateToken(Token{Name: "ci", Hash: "h", Prefix: "p", Role: RoleViewer}, byAnn)
	})
	require.NoError(t, err)
	first := session.SeenAt
	for _, c := range []struct{ at, want time.Duration }{{30 * time.Second, 0}, {time.Minute, time.Minute}, {90 * time.Second, time.Minute}, {time.Hour, time.Hour}} {
		require.NoError(t, w.Write(func(tx *Tx) error {
			if err := tx.TouchToken(token.ID, first.Add(c.at), time.Minute); err != nil {
				return err
			}
			return tx.TouchSession(session.ID, first.Add(c.at), time.Minute)
		}))
		found, err := s.SessionByHash(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, c.want, found.Session.SeenAt.Sub(first))
	}
	used, err := s.TokenByHash(t.Context(), "h")
	require.NoError(t, err)
	require.Equal(t, time.Hour, used.Token.UsedAt.Sub(first))
}

func TestTokensAreRevokedForGoodAndTheirNamesGivenAgain(t *testing.T) {
	s := openStore(t)
	w := NewWriter(s, "boot")
	user, err := writes(t, w, newUser("root", RoleAdmin))
	require.NoError(t, err)
	create := func(hash string, owner int64) (Token, error) {
		return writes(t, w, func(tx *Tx) (Token, error) {
			return tx.CreateToken(Token{Name: "ci", Hash: hash, Prefix: "reax_A", Role: RoleOperator, Types: NewTypeNames([]string{"b", "a", "b"}), UserID: owner, ExpiresAt: 5}, byAnn)
		})
	}
	revoke := func(owner int64) error {
		return w.Write(func(tx *Tx) error { _, err := tx.RevokeToken("ci", owner, byAnn); return err })
	}
	_, err = create("h1", 0)
	require.NoError(t, err)
	_, err = create("h2", 0)
	require.ErrorIs(t, err, ErrNameTaken)
	require.ErrorIs(t, revoke(user.ID), ErrNotFound, "it is not theirs")
	require.NoError(t, revoke(0))
	require.ErrorIs(t, revoke(0), ErrNotFound)
	found, err := s.TokenByHash(t.Context(), "h1")
	require.NoError(t, err)
	require.False(t, found.Token.Holds(1))
	require.Equal(t, []string{"a", "b"}, found.Token.Types.Names())

	own, err := create("h2", user.ID)
	require.NoError(t, err)
	require.True(t, own.Holds(4))
	require.False(t, own.Holds(5), "it has expired")
	found, err = s.TokenByHash(t.Context(), "h2")
	require.NoError(t, err)
	require.Equal(t, "root", found.User.Name)
	require.NoError(t, revoke(user.ID))
	all, err := s.Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	mine, err := s.TokensOf(t.Context(), user.ID)
	require.NoError(t, err)
	require.Len(t, mine, 1)
	require.Equal(t, []string{"ann revoke operator ", `ann create  operator ["a","b"]`, "ann revoke operator ", `ann create  operator ["a","b"]`}, auditText(t, s, "token", "ci"))
}

var scansAccess = regexp.MustCompile(`^SCAN (users|sessions|api_tokens)$`)

func TestAccessIsReadAndWrittenByIndex(t *testing.T) {
	s := openStore(t)
	ctx := t.Context()
	reads := recordReads(t, s)
	for _, c := range []struct {
		read    func() error
		indexes []string
	}{
		{func() error { _, err := s.HasUsers(ctx); return err }, []string{"USING COVERING INDEX"}},
		{func() error { _, err := s.Users(ctx); return err }, []string{"USING INDEX users_name"}},
		{func() error { _, err := s.User(ctx, "a"); return err }, []string{"INDEX users_name (name_key=?)"}},
		{func() error { _, err := s.SessionByHash(ctx, "a"); return err }, []string{"INDEX sessions_hash (hash=?)"}},
		{func() error { _, err := s.userByID(ctx, 1); return err }, []string{"INTEGER PRIMARY KEY (rowid=?)"}},
		{func() error { _, err := s.SessionsOf(ctx, 1); return err }, []string{"INDEX sessions_user (user_id=?)"}},
		{func() error { _, err := s.TokenByHash(ctx, "a"); return err }, []string{"INDEX api_tokens_hash (hash=?)"}},
		{func() error { _, err := s.TokensOf(ctx, 1); return err }, []string{"INDEX api_tokens_user (user_id=?)"}},
	} {
		*reads = nil
		if err := c.read(); err != nil {
			require.ErrorIs(t, err, ErrNotFound)
		}
		requirePlan(t, s, *reads, c.indexes...)
		for _, st := range *reads {
			for _, line := range planOf(t, s, st) {
				require.NotRegexp(t, scansAccess, line, st.sql)
			}
		}
	}

	seen := &[]statement{}
	w := NewWriter(s, "boot")
	write := func(f func(tx *Tx) error) {
		t.Helper()
		require.NoError(t, w.Write(func(tx *Tx) error {
			tx.db.Statement.ConnPool = &recorder{tx.db.Statement.ConnPool, seen}
			return f(tx)
		}))
	}
	write(func(tx *Tx) error { _, err := newUser("root", RoleAdmin)(tx); return err })
	write(func(tx *Tx) error { _, err := newSession(1, "a")(tx); return err })
	write(func(tx *Tx) error { return tx.TouchSession(1, 1, 1) })
	write(func(tx *Tx) error { return tx.EndSession("root", 1, byAnn) })
	write(func(tx *Tx) error { _, err := tx.EndSessions("root", 0, byAnn); return err })
	write(func(tx *Tx) error { return tx.SignOut("a", byAnn) })
	write(func(tx *Tx) error {
		_, err := tx.CreateToken(Token{Name: "ci", Hash: "h", Prefix: "p", Role: RoleViewer, UserID: 1}, byAnn)
		return err
	})
	write(func(tx *Tx) error { return tx.TouchToken(1, 1, 1) })
	write(func(tx *Tx) error { _, err := tx.RevokeToken("ci", 0, byAnn); return err })
	require.NotEmpty(t, *seen)
	for _, st := range *seen {
		if strings.Contains(st.sql, "count(*) FROM users") {
			continue // there are at most MaxUsers, and who counts them is making one
		}
		for _, line := range planOf(t, s, st) {
			require.NotRegexp(t, scansAccess, line, st.sql)
		}
	}
}
