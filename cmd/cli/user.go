package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"reax/actors"
	"reax/models"
)

// userCmd are the commands on accounts; without one of them they are listed.
type userCmd struct {
	List    userListCmd    `cmd:"" default:"withargs" help:"List the accounts, by name."`
	Add     userAddCmd     `cmd:"" help:"Make an account. The first one must be an admin."`
	Passwd  userPasswdCmd  `cmd:"" help:"Set the password of an account, and end its sessions."`
	Role    userRoleCmd    `cmd:"" help:"Set what an account may do."`
	Disable userDisableCmd `cmd:"" help:"Keep an account from signing in, and end its sessions."`
	Enable  userEnableCmd  `cmd:"" help:"Let an account sign in again."`
	Rm      userRmCmd      `cmd:"" help:"Delete an account with its sessions and tokens."`
}

// user is an account as the API shows it.
type user struct {
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	Disabled  bool       `json:"disabled"`
	CreatedAt *time.Time `json:"created_at"`
	SeenAt    *time.Time `json:"seen_at"`
}

func userOf(u *models.User) user {
	return user{u.Name, string(u.Role), u.Disabled, momentOf(u.CreatedAt), momentOf(u.SeenAt)}
}

// momentOf is an instant as JSON has it; nil when there is none.
func momentOf(i models.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

type userListCmd struct{ serverFlags }

// Run lists the accounts.
func (c *userListCmd) Run(ctx context.Context, a *app) error {
	answer, err := c.access(ctx, false, func(api *client) (json.RawMessage, error) { return api.get(ctx, apiPath+"/users", nil) },
		func(_ *actors.Accounts, store *models.Store, _ actors.Change) (any, error) {
			rows, err := store.Users(ctx)
			users := []user{}
			for i := range rows {
				users = append(users, userOf(&rows[i]))
			}
			return map[string][]user{"users": users}, err
		})
	if err != nil || c.JSON {
		return c.printed(a, answer, err)
	}
	var page struct {
		Users []user `json:"users"`
	}
	if err := read(answer, &page); err != nil {
		return err
	}
	if len(page.Users) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no accounts: anyone on this machine can do everything; make one with reax user add NAME --role admin")
		return err
	}
	var rows [][]string
	for _, u := range page.Users {
		state := "on"
		if u.Disabled {
			state = "disabled"
		}
		rows = append(rows, []string{u.Name, u.Role, state, at(u.SeenAt), at(u.CreatedAt)})
	}
	return table(a.stdout, []string{"NAME", "ROLE", "STATE", "LAST SIGN-IN", "MADE"}, rows)
}

type userAddCmd struct {
	Name          string `arg:"" help:"The name; unique, whether in capitals or not."`
	Role          string `required:"" enum:"viewer,operator,admin" placeholder:"ROLE" help:"viewer (reads), operator (enqueues, retries, cancels, pauses, keeps schedules) or admin (also discards, keeps accounts and tokens)."`
	PasswordStdin bool   `help:"Read the password from the first line of the standard input."`
	serverFlags
}

// Run makes an account.
func (c *userAddCmd) Run(ctx context.Context, a *app) error {
	password, err := a.newPassword(c.PasswordStdin)
	if err != nil {
		return err
	}
	body := map[string]string{"name": c.Name, "role": c.Role, "password": password}
	answer, err := c.access(ctx, true, func(api *client) (json.RawMessage, error) {
		return api.call(ctx, http.MethodPost, apiPath+"/users", nil, body)
	}, func(accounts *actors.Accounts, _ *models.Store, by actors.Change) (any, error) {
		u, err := accounts.CreateUser(ctx, c.Name, models.Role(c.Role), password, by)
		return userOf(&u), err
	})
	return c.said(a, answer, err, fmt.Sprintf("made the account %s with the role %s", c.Name, c.Role))
}

// said prints the answer as JSON, or what is true now in words.
func (f serverFlags) said(a *app, answer json.RawMessage, err error, done string) error {
	if err != nil || f.JSON {
		return f.printed(a, answer, err)
	}
	_, err = fmt.Fprintln(a.stdout, cleanLine(done))
	return err
}

type userPasswdCmd struct {
	Name          string `arg:"" help:"The account."`
	PasswordStdin bool   `help:"Read the password from the first line of the standard input."`
	serverFlags
}

// Run sets a password.
func (c *userPasswdCmd) Run(ctx context.Context, a *app) error {
	password, err := a.newPassword(c.PasswordStdin)
	if err != nil {
		return err
	}
	return c.change(ctx, a, c.Name, map[string]any{"password": password}, func(accounts *actors.Accounts, by actors.Change) (models.User, error) {
		return accounts.SetPassword(ctx, c.Name, password, 0, by)
	}, fmt.Sprintf("%s has a new password; its sessions were ended", c.Name))
}

type userRoleCmd struct {
	Name string `arg:"" help:"The account."`
	Role string `arg:"" enum:"viewer,operator,admin" help:"viewer, operator or admin."`
	serverFlags
}

// Run sets a role.
func (c *userRoleCmd) Run(ctx context.Context, a *app) error {
	return c.change(ctx, a, c.Name, map[string]any{"role": c.Role}, func(accounts *actors.Accounts, by actors.Change) (models.User, error) {
		return accounts.SetRole(ctx, c.Name, models.Role(c.Role), by)
	}, fmt.Sprintf("%s has the role %s", c.Name, c.Role))
}

// userFlags name the account to change.
type userFlags struct {
	Name string `arg:"" help:"The account."`
	serverFlags
}

type (
	userDisableCmd struct{ userFlags }
	userEnableCmd  struct{ userFlags }
	userRmCmd      struct{ userFlags }
)

// Run disables an account.
func (c *userDisableCmd) Run(ctx context.Context, a *app) error {
	return c.disable(ctx, a, true, c.Name+" is disabled and signed out everywhere")
}

// Run enables an account.
func (c *userEnableCmd) Run(ctx context.Context, a *app) error {
	return c.disable(ctx, a, false, c.Name+" can sign in again")
}

func (f userFlags) disable(ctx context.Context, a *app, disabled bool, done string) error {
	return f.change(ctx, a, f.Name, map[string]any{"disabled": disabled}, func(accounts *actors.Accounts, by actors.Change) (models.User, error) {
		return accounts.SetDisabled(ctx, f.Name, disabled, by)
	}, done)
}

// Run deletes an account.
func (c *userRmCmd) Run(ctx context.Context, a *app) error {
	answer, err := c.access(ctx, false, func(api *client) (json.RawMessage, error) {
		return api.call(ctx, http.MethodDelete, userPath(c.Name), nil, nil)
	}, func(accounts *actors.Accounts, _ *models.Store, by actors.Change) (any, error) {
		return nil, accounts.DeleteUser(ctx, c.Name, by)
	})
	return c.said(a, answer, err, "deleted the account "+c.Name)
}

func userPath(name string) string { return apiPath + "/users/" + url.PathEscape(name) }

// change changes one account and says what is true now.
func (f serverFlags) change(ctx context.Context, a *app, name string, body any, offline func(*actors.Accounts, actors.Change) (models.User, error), done string) error {
	answer, err := f.access(ctx, false, func(api *client) (json.RawMessage, error) {
		return api.call(ctx, http.MethodPatch, userPath(name), nil, body)
	}, func(accounts *actors.Accounts, _ *models.Store, by actors.Change) (any, error) {
		u, err := offline(accounts, by)
		return userOf(&u), err
	})
	return f.said(a, answer, err, done)
}
