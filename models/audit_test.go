package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeAudit(t *testing.T, s *Store, entries ...Audit) {
	t.Helper()
	for _, e := range entries {
		require.NoError(t, s.Writer().Exec("INSERT INTO audit (at, actor, action, target, target_id) VALUES (?, ?, ?, ?, ?)",
			e.At, e.Actor, e.Action, e.Target, e.TargetID).Error)
	}
}

func TestAuditPagesGoThroughAllThatMatchesOnce(t *testing.T) {
	s := openStore(t)
	var all []Audit
	for i := range 60 {
		all = append(all, Audit{At: Instant(100 + i/4), Actor: []string{"ana", "ben"}[i%2], Action: []string{"pause", "retry", "resume"}[i%3],
			Target: []string{"type", "task"}[i%2], TargetID: fmt.Sprint(i % 4)})
	}
	writeAudit(t, s, all...)
	for name, c := range map[string]struct {
		filter AuditFilter
		want   func(Audit) bool
	}{
		"all":              {AuditFilter{}, func(Audit) bool { return true }},
		"somebody":         {AuditFilter{Actor: "ana"}, func(e Audit) bool { return e.Actor == "ana" }},
		"an action":        {AuditFilter{Action: "pause"}, func(e Audit) bool { return e.Action == "pause" }},
		"a kind of target": {AuditFilter{Target: "task"}, func(e Audit) bool { return e.Target == "task" }},
		"one target":       {AuditFilter{Target: "task", TargetID: "1"}, func(e Audit) bool { return e.Target == "task" && e.TargetID == "1" }},
		"a window":         {AuditFilter{From: 103, To: 107}, func(e Audit) bool { return e.At >= 103 && e.At < 107 }},
		"of one target":    {AuditFilter{Target: "task", TargetID: "1", From: 103, To: 107}, func(e Audit) bool { return e.Target == "task" && e.TargetID == "1" && e.At >= 103 && e.At < 107 }},
		"of somebody":      {AuditFilter{Actor: "ben", From: 103}, func(e Audit) bool { return e.Actor == "ben" && e.At >= 103 }},
		"nothing":          {AuditFilter{Actor: "eve"}, func(Audit) bool { return false }},
	} {
		for _, limit := range []int{1, 7, 100} {
			var want, got []int64
			for i, e := range slices.Backward(all) {
				if c.want(e) {
					want = append(want, int64(i+1))
				}
			}
			f := c.filter
			for {
				page, err := s.AuditPage(t.Context(), f, limit)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Entries), limit)
				for _, e := range page.Entries {
					got = append(got, e.ID)
				}
				if f.After = page.Next; f.After.ID == 0 {
					break
				}
			}
			require.Equal(t, want, got, "%s, %d a page", name, limit)
		}
	}
}

func TestAnAuditSearchStopsAndGoesOn(t *testing.T) {
	s := openStore(t)
	require.NoError(t, s.Writer().Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
 INSERT INTO audit (at, actor, action, target, target_id) SELECT i / 3, CASE i WHEN 5 THEN 'ana' ELSE 'ben' END, 'retry', 'task', '1' FROM n`, auditLooks+10).Error)
	page, err := s.AuditPage(t.Context(), AuditFilter{Actor: "ana"}, 10)
	require.NoError(t, err)
	require.True(t, page.Short)
	require.Empty(t, page.Entries)
	require.Equal(t, int64(11), page.Next.ID)
	page, err = s.AuditPage(t.Context(), AuditFilter{Actor: "ana", After: page.Next}, 10)
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
	require.False(t, page.Short)
	require.Zero(t, page.Next)
}

func TestTheAuditIsAppendOnly(t *testing.T) {
	s := openStore(t)
	writeAudit(t, s, Audit{At: 10, Actor: "ana", Action: "pause", Target: "type", TargetID: "a"}, Audit{At: 20, Actor: "ana", Action: "resume", Target: "type", TargetID: "a"})
	for _, text := range []string{"UPDATE audit SET actor = 'eve'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 1", "UPDATE audit SET at = 0 WHERE id = 2"} {
		require.ErrorContains(t, s.Writer().Exec(text).Error, "append-only", text)
	}
	kept, err := s.AuditKept(t.Context())
	require.NoError(t, err)
	require.Zero(t, kept)

	w := NewWriter(s, "boot")
	var n int64
	require.NoError(t, w.Write(func(tx *Tx) (err error) { n, err = tx.PurgeAudit(15, 100); return err }))
	require.EqualValues(t, 1, n)
	require.NoError(t, w.Write(func(tx *Tx) (err error) { n, err = tx.PurgeAudit(5, 100); return err }), "the clock was set back")
	require.Zero(t, n)
	require.ErrorContains(t, s.Writer().Exec("DELETE FROM audit").Error, "append-only", "what is young stays")
	kept, err = s.AuditKept(t.Context())
	require.NoError(t, err)
	require.Equal(t, Instant(15), kept)
	page, err := s.AuditPage(t.Context(), AuditFilter{}, 10)
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
	require.Equal(t, "resume", page.Entries[0].Action)
}

func TestAuditReadsUseTheirIndex(t *testing.T) {
	s := openStore(t)
	writeAudit(t, s, Audit{At: 10, Actor: "ana", Action: "pause", Target: "type", TargetID: "a"})
	statements := recordReads(t, s)
	for name, c := range map[string]struct {
		filter AuditFilter
		plan   string
	}{
		"all":        {AuditFilter{}, "USING INDEX audit_at (at>? AND at<?)"},
		"a page":     {AuditFilter{After: AuditPlace{5, 5}}, "USING INDEX audit_at"},
		"a filter":   {AuditFilter{Actor: "x", Action: "y", From: 1, To: 5}, "USING INDEX audit_at (at>? AND at<?)"},
		"one target": {AuditFilter{Target: "task", TargetID: "1", After: AuditPlace{5, 5}}, "USING INDEX audit_target (target=? AND target_id=? AND rowid<?)"},
	} {
		*statements = nil
		_, err := s.AuditPage(t.Context(), c.filter, 10)
		require.NoError(t, err)
		require.NotEmpty(t, *statements)
		plan := planOf(t, s, (*statements)[0])
		require.Contains(t, strings.Join(plan, "\n"), c.plan, name)
		require.NotContains(t, strings.Join(plan, "\n"), "TEMP B-TREE", name)
	}
}
