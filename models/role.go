package models

// Role is what somebody may do. The zero value may do nothing.
type Role string

// The roles, each of which may do what the ones before it may.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // enqueues, retries, cancels, pauses, keeps schedules
	RoleAdmin    Role = "admin"    // keeps accounts, tokens and settings, and discards
)

// Roles are all roles, the least first.
var Roles = []Role{RoleViewer, RoleOperator, RoleAdmin}

// May reports whether r is at least need. An empty need is open to everybody.
func (r Role) May(need Role) bool { return r.rank() >= need.rank() }

// IsRole reports whether r is one of Roles.
func (r Role) IsRole() bool { return r.rank() > 0 }

func (r Role) rank() int {
	for i, role := range Roles {
		if r == role {
			return i + 1
		}
	}
	return 0
}
