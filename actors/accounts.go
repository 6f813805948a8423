package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"reax/actors/kit"
	"reax/models"
	"reax/tasks"
)

// Limits of accounts, sessions and tokens. Every refusal names the one it is about.
const (
	MaxNameBytes     = 64
	MinPasswordRunes = 10
	MaxPasswordBytes = 1_000

	sessionIdleDefault = 12 * time.Hour
	sessionLifeDefault = 30 * 24 * time.Hour

	// touchEvery is how exact the last use of a session or token is: each use would else be a commit.
	touchEvery = time.Minute
	maxTouched = 10_000
	maxAgent   = 200 // bytes of what a browser calls itself
)

var (
	// ErrWrongPassword means that no account that may sign in has this name and password. It says no more, so that nobody
	// learns which accounts there are.
	ErrWrongPassword = errors.New("the name or the password is wrong")
	// ErrNoSession means that a session is not there, has ended, or is of an account that is disabled.
	ErrNoSession = errors.New("there is no such session")
	// ErrNoToken means that a token is not there, is revoked or expired, or is of an account that is disabled.
	ErrNoToken = errors.New("the token is not valid")
)

// reservedNames are what the record calls those who are no person.
var reservedNames = []string{"api", "dashboard", "socket", "system", "reax", "command"}

// Accounts keeps the accounts, sessions and tokens. Its methods are safe for use from many goroutines. Changes fail with
// *tasks.InvalidError, models.ErrNotFound, models.ErrNameTaken, models.ErrFirstAdmin, models.ErrLastAdmin,
// models.ErrTooMany or ErrUnavailable; each is in the audit, without any secret.
type Accounts struct {
	store *models.Store
	write func(ctx context.Context, do func(tx *models.Tx) (any, error)) (any, error)
	later func(do func(tx *models.Tx) (any, error)) // writes some time, or never
	idle  time.Duration
	life  time.Duration
	cost  passwordCost

	touched *kit.Table[touch, models.Instant] // when a use was last handed to the journal
	hashing chan struct{}                     // has a place for each hash that may be worked out at one time
	any     atomic.Bool                       // there are accounts, and so there always will be
	unsure  atomic.Bool                       // the first one may have been stored, but nobody was told
}

func newAccounts(ctx context.Context, store *models.Store) (*Accounts, error) {
	a := &Accounts{
		store: store, idle: sessionIdleDefault, life: sessionLifeDefault, cost: defaultCost,
		touched: kit.NewTable[touch, models.Instant](), hashing: make(chan struct{}, maxHashes),
	}
	found, err := store.HasUsers(ctx)
	a.any.Store(found)
	return a, err
}

// OfflineAccounts keeps the accounts of a ledger that has no runtime: whoever has it open is the one that writes. It
// fails when the ledger cannot be read.
func OfflineAccounts(ctx context.Context, store *models.Store) (*Accounts, error) {
	a, err := newAccounts(ctx, store)
	if err != nil {
		return nil, err
	}
	writer := models.NewWriter(store, "")
	a.write = func(_ context.Context, do func(tx *models.Tx) (any, error)) (value any, err error) {
		return value, writer.Write(func(tx *models.Tx) (err error) { value, err = do(tx); return err })
	}
	a.later = func(func(tx *models.Tx) (any, error)) {}
	return a, nil
}

// Accounts are the accounts, sessions and tokens of this runtime.
func (r *Runtime) Accounts() *Accounts { return r.accounts }

// startAccounts lets the accounts write through the journal.
func (r *Runtime) startAccounts(ctx context.Context) error {
	a, err := newAccounts(ctx, r.store)
	if err != nil {
		return err
	}
	if r.opts.SessionIdle > 0 {
		a.idle = r.opts.SessionIdle
	}
	if r.opts.SessionLife > 0 {
		a.life = r.opts.SessionLife
	}
	a.write = func(ctx context.Context, do func(tx *models.Tx) (any, error)) (any, error) {
		return record(ctx, r, []string{"access"}, do)
	}
	a.later = func(do func(tx *models.Tx) (any, error)) {
		r.sys.Root.Send(r.journal, &WriteRecord{Ctx: context.Background(), Do: do})
	}
	r.accounts = a
	return nil
}

// touch is the use of a session or a token.
type touch struct {
	kind string
	id   int64
}

// use hands the use of a session or token to the journal, once a minute: while the ledger cannot be written, what waits
// for it must not grow with every request.
func (a *Accounts) use(t touch, now models.Instant, do func(tx *models.Tx) error) {
	if last, ok := a.touched.Get(t); ok && now.Sub(last) < touchEvery {
		return
	}
	if a.touched.Len() >= maxTouched {
		for _, old := range a.touched.Keys() {
			a.touched.Remove(old)
		}
	}
	a.touched.Put(t, now)
	a.later(func(tx *models.Tx) (any, error) { return nil, do(tx) })
}

// write gives what do gives, once that is durable.
func write[T any](ctx context.Context, a *Accounts, do func(tx *models.Tx) (T, error)) (T, error) {
	value, err := a.write(ctx, func(tx *models.Tx) (any, error) { return do(tx) })
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}

// Any reports whether there are accounts. When that cannot be read it says yes, which lets nobody in.
func (a *Accounts) Any(ctx context.Context) bool {
	if a.any.Load() {
		return true
	}
	if !a.unsure.Load() {
		return false
	}
	found, err := a.store.HasUsers(ctx)
	if found && err == nil {
		a.any.Store(true)
	}
	return found || err != nil
}

// CreateUser makes an account. The first one must be an admin.
func (a *Accounts) CreateUser(ctx context.Context, name string, role models.Role, password string, c Change) (models.User, error) {
	user := models.User{Role: role}
	var err error
	if user.Name, user.NameKey, err = accountName(name); err != nil {
		return models.User{}, err
	}
	if err := checkRole(role); err != nil {
		return models.User{}, err
	}
	if user.Password, err = a.newPassword(ctx, user.NameKey, password); err != nil {
		return models.User{}, err
	}
	a.unsure.Store(true)
	user, err = write(ctx, a, func(tx *models.Tx) (models.User, error) { return tx.CreateUser(user, c.actor()) })
	if err == nil {
		a.any.Store(true)
	}
	return user, err
}

// SetPassword sets an account's password and ends its sessions, but for the one with the id keep.
func (a *Accounts) SetPassword(ctx context.Context, name, password string, keep int64, c Change) (models.User, error) {
	key := NameKey(name)
	hash, err := a.newPassword(ctx, key, password)
	if err != nil {
		return models.User{}, err
	}
	return a.changeUser(ctx, key, models.UserChange{Password: &hash, Keep: keep}, c)
}

// SetRole sets what an account may do, at once and in its sessions too. The last admin stays one.
func (a *Accounts) SetRole(ctx context.Context, name string, role models.Role, c Change) (models.User, error) {
	if err := checkRole(role); err != nil {
		return models.User{}, err
	}
	return a.changeUser(ctx, NameKey(name), models.UserChange{Role: &role}, c)
}

// SetDisabled keeps an account from signing in and ends its sessions, or lets it sign in again. Its tokens do not work
// meanwhile. The last admin cannot be disabled.
func (a *Accounts) SetDisabled(ctx context.Context, name string, disabled bool, c Change) (models.User, error) {
	return a.changeUser(ctx, NameKey(name), models.UserChange{Disabled: &disabled}, c)
}

// DeleteUser removes an account with its sessions, and revokes its tokens. What it did stays in the audit. The last admin
// cannot be deleted.
func (a *Accounts) DeleteUser(ctx context.Context, name string, c Change) error {
	_, err := write(ctx, a, func(tx *models.Tx) (models.User, error) { return tx.DeleteUser(NameKey(name), c.actor()) })
	return err
}

func (a *Accounts) changeUser(ctx context.Context, key string, change models.UserChange, c Change) (models.User, error) {
	return write(ctx, a, func(tx *models.Tx) (models.User, error) { return tx.ChangeUser(key, change, c.actor()) })
}

// NameKey is the same for all ways in which a name of an account can be written. It is empty for a text that is no name.
func NameKey(name string) string {
	if len(name) > MaxNameBytes {
		return ""
	}
	key, err := precis.UsernameCaseMapped.String(strings.TrimSpace(name))
	if err != nil {
		return ""
	}
	return key
}

// accountName checks the name of an account or token, and gives it as it is shown and as it is compared.
func accountName(name string) (shown, key string, err error) {
	name = strings.TrimSpace(name)
	bad := badField("/name", fmt.Sprintf("must be 1 to %d bytes of letters, digits, dots, dashes, underscores and @", MaxNameBytes))
	if name == "" || len(name) > MaxNameBytes {
		return "", "", bad
	}
	for _, r := range name {
		if r < utf8.RuneSelf && !strings.ContainsRune("._-@", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "", "", bad
		}
	}
	shown, err = precis.UsernameCasePreserved.String(name)
	key = NameKey(name)
	if err != nil || key == "" || len(shown) > MaxNameBytes {
		return "", "", bad
	}
	if slices.Contains(reservedNames, key) {
		return "", "", badField("/name", fmt.Sprintf("%q is what the record calls those who are no person", name))
	}
	return shown, key, nil
}

func checkRole(role models.Role) error {
	if !role.IsRole() {
		return badField("/role", "must be viewer, operator or admin")
	}
	return nil
}

// badField says what is wrong with a field of a change to accounts or tokens. A page says it in its own words, by the
// field.
func badField(location, message string) error {
	return &tasks.InvalidError{Fields: []tasks.FieldError{{Location: location, Message: message}}}
}
