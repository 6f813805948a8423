package views

import (
	"context"

	"reax/models"
)

// Users is the list of accounts with the form for a new one.
type Users struct {
	Rows []models.User
	Form []Field // name, role and password
}

// UserPage is one account as an admin sees it.
type UserPage struct {
	User     models.User
	Sessions []SessionRow
	Role     Field
	Password Field
	Self     bool // it is the admin's own
}

// mark is an account's tone, icon and word.
func userMark(ctx context.Context, u *models.User) (tone, icon, word string) {
	if u.Disabled {
		return "cancelled", "ban", T(ctx, "users.disabled")
	}
	return "success", "check", T(ctx, "users.enabled")
}

// RoleOptions are the roles to choose from, up to the most.
func RoleOptions(ctx context.Context, most models.Role) (options []Option) {
	for _, role := range models.Roles {
		if most.May(role) {
			options = append(options, Option{string(role), T(ctx, "role."+string(role)) + ": " + T(ctx, "role.may."+string(role))})
		}
	}
	return options
}

// firstAccount is the command that makes the first account.
const firstAccount = "reax user add NAME --role admin"
