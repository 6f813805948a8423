package web

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
)

// AuditPage is the audit of the fake, which has no filter but by target.
func (f *fake) AuditPage(_ context.Context, filter models.AuditFilter, limit int) (models.AuditPage, error) {
	var page models.AuditPage
	for i, e := range slices.Backward(f.audit) {
		e.ID = int64(i + 1)
		switch {
		case filter.After.ID != 0 && e.ID >= filter.After.ID, filter.Target != "" && e.Target != filter.Target, filter.TargetID != "" && e.TargetID != filter.TargetID,
			filter.Actor != "" && e.Actor != filter.Actor, filter.Action != "" && e.Action != filter.Action:
			continue
		case len(page.Entries) == limit:
			last := page.Entries[limit-1]
			page.Next = models.AuditPlace{At: last.At, ID: last.ID}
			return page, f.readErr
		}
		page.Entries = append(page.Entries, e)
	}
	return page, f.readErr
}

// AuditKept says that all of the audit is there.
func (f *fake) AuditKept(context.Context) (models.Instant, error) { return 0, f.readErr }

func compiledSchema(t testing.TB, raw string) *tasks.Schema {
	t.Helper()
	schema, err := tasks.CompileSchema(json.RawMessage(raw))
	require.NoError(t, err)
	return schema
}
