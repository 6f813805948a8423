package views

import (
	"context"

	"reax/models"
)

// didWhat is the word for an entry of the audit, in the viewer's language where it has one.
func didWhat(ctx context.Context, e models.Audit) string {
	if text, ok := ViewerOf(ctx).Locale.Lookup("trail.did." + e.Action); ok {
		return text
	}
	return e.Action
}
