package actors

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

const goodPassword = "correct horse 电池"

var byRoot = Change{By: "root", Address: "10.0.0.1", RequestID: "r1"}

// accountsOf gives the accounts of a ledger of their own, whose passwords cost little to try.
func accountsOf(t *testing.T) (*Accounts, *models.Store) {
	t.Helper()
	store, err := models.Open(t.Context(), models.Config{
		Path: filepath.Join(t.TempDir(), "reax.db"), Durability: models.DurabilityNormal, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a, err := OfflineAccounts(t.Context(), store)
	require.NoError(t, err)
	a.cost = passwordCost{memory: 8, time: 1, threads: 1}
	return a, store
}

func TestAPasswordIsKeptAsAHashThatNamesItsCost(t *testing.T) {
	t.Parallel()
	a, store := accountsOf(t)
	require.False(t, a.Any(t.Context()))
	_, err := a.CreateUser(t.Context(), "Ánn", models.RoleAdmin, goodPassword, byRoot)
	require.NoError(t, err)
	require.True(t, a.Any(t.Context()))
	user, err := store.User(t.Context(), NameKey("áNN"))
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=8,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, user.Password)

	for _, name := range []string{"Ánn", " ÁNN ", "A\u0301nn"} { // the last one is written in two letters
		found, err := a.CheckPassword(t.Context(), name, goodPassword)
		require.NoError(t, err, name)
		require.Equal(t, user.ID, found.ID)
	}
	for _, password := range []string{"", goodPassword + "x", strings.ToUpper(goodPassword), strings.Repeat("x", MaxPasswordBytes+1), "\x00"} {
		_, err := a.CheckPassword(t.Context(), "Ánn", password)
		require.ErrorIs(t, err, ErrWrongPassword)
	}
	require.Equal(t, passwordCost{19 << 10, 2, 1}, defaultCost)
	for _, broken := range []string{"", "plain", "$argon2id$v=19$m=8,t=1,p=1$x", "$argon2id$v=19$m=99999999,t=1,p=1$AAAA$AAAA", "$2b$12$abc", "$argon2id$v=19$m=8,t=0,p=1$AAAA$AAAA"} {
		_, err := a.matches(t.Context(), broken, goodPassword)
		require.Error(t, err, broken)
	}
}

func TestWhoIsRefusedLearnsNothing(t *testing.T) {
	t.Parallel()
	a, _ := accountsOf(t)
	for _, name := range []string{"root", "bob"} {
		_, err := a.CreateUser(t.Context(), name, models.RoleAdmin, goodPassword, byRoot)
		require.NoError(t, err)
	}
	_, err := a.SetDisabled(t.Context(), "bob", true, byRoot)
	require.NoError(t, err)
	for _, who := range [][2]string{{"root", "wrong password"}, {"nobody", goodPassword}, {"bob", goodPassword}, {"", ""}, {"a\x00b", "x"}, {strings.Repeat("a", 1000), "x"}} {
		_, err := a.SignIn(t.Context(), SignIn{Name: who[0], Password: who[1]})
		require.Equal(t, ErrWrongPassword, err, who[0])
	}
	// A name that nobody has costs as much to try as any other.
	cost, _, _, err := parsePHC(a.noPassword())
	require.NoError(t, err)
	require.Equal(t, a.cost, cost)
}

func TestNamesAndPasswordsThatAreRefused(t *testing.T) {
	t.Parallel()
	a, _ := accountsOf(t)
	_, err := a.CreateUser(t.Context(), "root", models.RoleAdmin, goodPassword, byRoot)
	require.NoError(t, err)
	for _, c := range []struct {
		name     string
		role     models.Role
		password string
		at       string
	}{
		{"", models.RoleViewer, goodPassword, "/name"},
		{"a b", models.RoleViewer, goodPassword, "/name"},
		{"token:x", models.RoleViewer, goodPassword, "/name"},
		{"<b>", models.RoleViewer, goodPassword, "/name"},
		{"a/b", models.RoleViewer, goodPassword, "/name"},
		{"\u202eann", models.RoleViewer, goodPassword, "/name"},
		{strings.Repeat("a", MaxNameBytes+1), models.RoleViewer, goodPassword, "/name"},
		{"Socket", models.RoleViewer, goodPassword, "/name"},
		{"ann", "owner", goodPassword, "/role"},
		{"ann", "", goodPassword, "/role"},
		{"ann", models.RoleViewer, "too short", "/password"},
		{"ann", models.RoleViewer, strings.Repeat("x", MaxPasswordBytes+1), "/password"},
		{"ann", models.RoleViewer, "with\x00zero characters", "/password"},
		{"ann.the.long", models.RoleViewer, "Ann.The.Long", "/password"},
	} {
		_, err := a.CreateUser(t.Context(), c.name, c.role, c.password, byRoot)
		var bad *tasks.InvalidError
		require.ErrorAs(t, err, &bad, "%+q", c)
		require.Equal(t, c.at, bad.Fields[0].Location, "%+q", c)
	}
	_, err = a.CreateUser(t.Context(), "ROOT", models.RoleViewer, goodPassword, byRoot)
	require.ErrorIs(t, err, models.ErrNameTaken)
	for _, name := range []string{"王小明", "ann@example.com", "a.b-c_d"} {
		_, err := a.CreateUser(t.Context(), name, models.RoleViewer, "十个汉字也是好的密码呀", byRoot)
		require.NoError(t, err, name)
	}
}

// In a bubble, where minutes cost nothing: use keeps a session on up to its end, and what is left alone ends early.
func TestASessionEndsUnusedAndAtItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := start(t, registryOf(t, quick(), map[string]handler{"work": waits(0)}), Options{SessionIdle: 4 * time.Minute, SessionLife: 12 * time.Minute})
		a, ctx := f.Accounts(), t.Context()
		a.cost = passwordCost{memory: 8, time: 1, threads: 1}
		_, err := a.CreateUser(ctx, "root", models.RoleAdmin, goodPassword, byRoot)
		require.NoError(t, err)
		signIn := func() SignedIn {
			signed, err := a.SignIn(ctx, SignIn{Name: "ROOT", Password: goodPassword, Address: "10.0.0.9", Agent: "Firefox"})
			require.NoError(t, err)
			return signed
		}
		holds := func(s SignedIn, use bool) bool {
			_, err := a.Session(ctx, s.Secret, use)
			if err != nil {
				require.ErrorIs(t, err, ErrNoSession)
			}
			synctest.Wait() // for the use to be stored
			return err == nil
		}
		left, used := signIn(), signIn()
		require.NotEqual(t, left.Secret, used.Secret)
		for range 5 {
			time.Sleep(2 * time.Minute)
			require.True(t, holds(used, true))
		}
		require.False(t, holds(left, true), "it was not used for long")
		time.Sleep(2 * time.Minute)
		require.False(t, holds(used, true), "its time is over")

		watched := signIn()
		time.Sleep(3 * time.Minute)
		require.True(t, holds(watched, false))
		time.Sleep(2 * time.Minute)
		require.False(t, holds(watched, false), "what a page asks for by itself is no use")

		sessions, err := f.store.SessionsOf(ctx, used.User.ID)
		require.NoError(t, err)
		require.Len(t, sessions, 2, "a sign-in clears away what was not used")
		for _, secret := range []string{"", "x", watched.Session.Hash, strings.Repeat("x", 1000)} {
			_, err := a.Session(ctx, secret, true)
			require.ErrorIs(t, err, ErrNoSession)
		}
	})
}

func TestASignInGivesAnewSecretAndEndsTheOldOne(t *testing.T) {
	t.Parallel()
	a, store := accountsOf(t)
	ctx := t.Context()
	_, err := a.CreateUser(ctx, "root", models.RoleAdmin, goodPassword, byRoot)
	require.NoError(t, err)
	first, err := a.SignIn(ctx, SignIn{Name: "root", Password: goodPassword})
	require.NoError(t, err)
	second, err := a.SignIn(ctx, SignIn{Name: "root", Password: goodPassword, Former: first.Secret, Agent: strings.Repeat("é", 1000) + "\xff"})
	require.NoError(t, err)
	_, err = a.Session(ctx, first.Secret, true)
	require.ErrorIs(t, err, ErrNoSession)
	found, err := a.Session(ctx, second.Secret, true)
	require.NoError(t, err)
	require.Equal(t, "root", found.User.Name)
	require.LessOrEqual(t, len(found.Session.Agent), maxAgent)
	require.NotContains(t, found.Session.Hash, second.Secret)

	// A role that is taken away is gone at once, and a new password keeps one session.
	_, err = a.CreateUser(ctx, "ann", models.RoleAdmin, goodPassword, byRoot)
	require.NoError(t, err)
	_, err = a.SetRole(ctx, "root", models.RoleViewer, byRoot)
	require.NoError(t, err)
	found, err = a.Session(ctx, second.Secret, true)
	require.NoError(t, err)
	require.Equal(t, models.RoleViewer, found.User.Role)
	third, err := a.SignIn(ctx, SignIn{Name: "root", Password: goodPassword})
	require.NoError(t, err)
	_, err = a.SetPassword(ctx, "root", "another password", third.Session.ID, byRoot)
	require.NoError(t, err)
	_, err = a.Session(ctx, second.Secret, true)
	require.ErrorIs(t, err, ErrNoSession)
	_, err = a.Session(ctx, third.Secret, true)
	require.NoError(t, err)
	_, err = a.SignIn(ctx, SignIn{Name: "root", Password: goodPassword})
	require.ErrorIs(t, err, ErrWrongPassword)
	require.NoError(t, a.SignOut(ctx, third.Secret, byRoot))
	_, err = a.Session(ctx, third.Secret, true)
	require.ErrorIs(t, err, ErrNoSession)

	rows, err := store.AuditOf(ctx, "user", "root", 100)
	require.NoError(t, err)
	for _, row := range rows {
		for _, secret := range []string{goodPassword, "another password", first.Secret, second.Secret, third.Secret, "argon2id"} {
			require.NotContains(t, row.Before+row.After+row.Reason+row.Actor, secret)
		}
	}
}

func TestATokenDoesNoMoreThanItsAccount(t *testing.T) {
	t.Parallel()
	a, _ := accountsOf(t)
	ctx := t.Context()
	for _, name := range []string{"root", "ann"} {
		_, err := a.CreateUser(ctx, name, models.RoleAdmin, goodPassword, byRoot)
		require.NoError(t, err)
	}
	ann, err := a.SetRole(ctx, "ann", models.RoleOperator, byRoot)
	require.NoError(t, err)
	_, _, err = a.CreateToken(ctx, NewToken{Name: "mine", Role: models.RoleAdmin, Owner: &ann}, byRoot)
	require.ErrorContains(t, err, "more than the account may do")
	row, secret, err := a.CreateToken(ctx, NewToken{Name: "mine", Role: models.RoleOperator, Types: []string{"b", "a"}, Owner: &ann}, byRoot)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(secret, row.Prefix))
	require.Less(t, len(row.Prefix), 12)
	require.NotContains(t, row.Hash, secret)

	token, err := a.Token(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, token.Types.Names())
	_, err = a.SetRole(ctx, "ann", models.RoleViewer, byRoot)
	require.NoError(t, err)
	token, err = a.Token(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, models.RoleViewer, token.Role)
	gone := func() {
		t.Helper()
		_, err := a.Token(ctx, secret)
		require.ErrorIs(t, err, ErrNoToken)
	}
	_, err = a.SetDisabled(ctx, "ann", true, byRoot)
	require.NoError(t, err)
	gone()
	_, err = a.SetDisabled(ctx, "ann", false, byRoot)
	require.NoError(t, err)
	_, err = a.Token(ctx, secret)
	require.NoError(t, err)
	require.NoError(t, a.DeleteUser(ctx, "ann", byRoot))
	gone()

	for _, n := range []NewToken{
		{Name: "a b", Role: models.RoleViewer}, {Name: "x", Role: "owner"}, {Name: "x", Role: models.RoleViewer, Types: []string{"no type!"}},
		{Name: "x", Role: models.RoleViewer, Expires: -1}, {Name: "x", Role: models.RoleViewer, Types: make([]string, MaxTokenTypes+1)},
	} {
		_, _, err := a.CreateToken(ctx, n, byRoot)
		require.ErrorAs(t, err, new(*tasks.InvalidError), "%+v", n)
	}
	for _, secret := range []string{"", "reax_", "Reax_" + secret[5:], strings.Repeat("reax_", 100)} {
		_, err := a.Token(ctx, secret)
		require.ErrorIs(t, err, ErrNoToken)
	}
}

// At most two passwords are worked on at one time; who waits for a turn gives up with the end of its context.
func TestHashesWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	a, _ := accountsOf(t)
	for range maxHashes {
		a.hashing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.CheckPassword(ctx, "root", goodPassword)
	require.ErrorIs(t, err, context.Canceled)
	<-a.hashing
	_, err = a.CheckPassword(t.Context(), "root", goodPassword)
	require.ErrorIs(t, err, ErrWrongPassword)
	require.Len(t, a.hashing, maxHashes-1)
}

// While the ledger cannot be written, the uses of one token must not pile up before it.
func TestAUseIsHandedOnOnceAMinute(t *testing.T) {
	t.Parallel()
	a, _ := accountsOf(t)
	handed := 0
	a.later = func(func(tx *models.Tx) (any, error)) { handed++ }
	_, secret, err := a.CreateToken(t.Context(), NewToken{Name: "ci", Role: models.RoleViewer}, byRoot)
	require.NoError(t, err)
	for range 10 {
		_, err := a.Token(t.Context(), secret)
		require.NoError(t, err)
	}
	require.Equal(t, 1, handed)
	for id := range int64(maxTouched + 5) {
		a.use(touch{"session", id}, 1, nil)
	}
	require.LessOrEqual(t, a.touched.Len(), maxTouched)
}
