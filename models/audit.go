package models

import (
	"context"
	"fmt"
	"strings"
)

// AuditFilter says which entries of the audit are meant. Empty fields do not filter.
type AuditFilter struct {
	Actor, Action    string
	Target, TargetID string
	From             Instant // at or after
	To               Instant // before
	After            AuditPlace
}

// AuditPlace is a place in the audit, whose order is newest first. The zero value is its beginning.
type AuditPlace struct {
	At Instant
	ID int64
}

// AuditPage is a part of the audit.
type AuditPage struct {
	Entries []Audit
	Next    AuditPlace // where to go on; zero when that was all
	Short   bool       // the search stopped early, and older entries may match too
}

// auditLooks is how many entries one page looks through for those that match.
const auditLooks = 20_000

// AuditPage gives up to limit entries that match f, newest first. It looks through 20,000 entries at most and may have
// found fewer then, even none, without being the last page; the history of one target is found at once.
func (s *Store) AuditPage(ctx context.Context, f AuditFilter, limit int) (AuditPage, error) {
	limit = max(limit, 1)
	read := s.auditLooked
	if f.Target != "" && f.TargetID != "" {
		read = s.auditOfTarget
	}
	entries, err := read(ctx, &f, limit+1)
	if err != nil {
		return AuditPage{}, fmt.Errorf("reading the audit: %w", err)
	}
	page := AuditPage{Entries: entries}
	if len(entries) > limit {
		page.Entries = entries[:limit]
		page.Next = AuditPlace{entries[limit-1].At, entries[limit-1].ID}
	} else if where, _ := f.conditions(); len(where) > 0 && (f.Target == "" || f.TargetID == "") {
		if page.Next, err = s.auditEnd(ctx, &f); err != nil {
			return AuditPage{}, fmt.Errorf("reading how far the audit was looked through: %w", err)
		}
		page.Short = page.Next.ID != 0
	}
	return page, nil
}

// auditOfTarget reads the index of the targets. It is in the order of the ids, which is that of the time unless somebody
// sets the clock back.
func (s *Store) auditOfTarget(ctx context.Context, f *AuditFilter, limit int) (entries []Audit, err error) {
	where, args := f.conditions()
	if f.After.ID != 0 {
		where, args = append(where, "id < ?"), append(args, f.After.ID)
	}
	where, args = append(where, "at >= ?", "at < ?"), append(args, f.From, f.end())
	return entries, s.reader.WithContext(ctx).Raw("SELECT * FROM audit INDEXED BY audit_target WHERE "+strings.Join(where, " AND ")+
		" ORDER BY id DESC LIMIT ?", append(args, limit)...).Scan(&entries).Error
}

// auditLooked looks through the latest entries.
func (s *Store) auditLooked(ctx context.Context, f *AuditFilter, limit int) (entries []Audit, err error) {
	text, args := f.latest("*")
	if where, more := f.conditions(); len(where) > 0 {
		text, args = text+" WHERE "+strings.Join(where, " AND "), append(args, more...)
	}
	return entries, s.reader.WithContext(ctx).Raw(text+" LIMIT ?", append(args, limit)...).Scan(&entries).Error
}

// auditEnd is the place of the last entry that auditLooked has looked at; zero when there are no more after it.
func (s *Store) auditEnd(ctx context.Context, f *AuditFilter) (AuditPlace, error) {
	var last []struct {
		AuditPlace `gorm:"embedded"`
		N          int
	}
	text, args := f.latest("at, id")
	text = strings.Replace(text, "SELECT at, id", "SELECT at, id, count(*) OVER () AS n", 1)
	if err := s.reader.WithContext(ctx).Raw(text+" ORDER BY at, id LIMIT 1", args...).Scan(&last).Error; err != nil {
		return AuditPlace{}, err
	}
	if len(last) == 0 || last[0].N < auditLooks {
		return AuditPlace{}, nil
	}
	return last[0].AuditPlace, nil
}

// latest is the statement for columns of the entries that a page looks through.
func (f *AuditFilter) latest(columns string) (string, []any) {
	where, args := "at >= ? AND at < ?", []any{f.From, f.end()}
	if f.After.ID != 0 {
		where, args = "at >= ? AND (at, id) < (?, ?)", []any{f.From, min(f.After.At, f.end()), f.After.ID}
	}
	return "SELECT " + columns + " FROM (SELECT " + columns + " FROM audit INDEXED BY audit_at WHERE " + where + " ORDER BY at DESC, id DESC LIMIT ?)",
		append(args, auditLooks)
}

func (f *AuditFilter) end() Instant {
	if f.To == 0 {
		return 1<<63 - 1
	}
	return f.To
}

func (f *AuditFilter) conditions() (where []string, args []any) {
	for _, c := range [][2]string{{"target", f.Target}, {"target_id", f.TargetID}, {"actor", f.Actor}, {"action", f.Action}} {
		if c[1] != "" {
			where, args = append(where, c[0]+" = ?"), append(args, c[1])
		}
	}
	return where, args
}

// AuditHorizon is up to when the audit has been deleted by age.
type AuditHorizon struct {
	ID     int64 `gorm:"primaryKey"`
	KeptAt Instant
}

// AuditKept gives since when the audit is whole; 0 when nothing of it was ever deleted.
func (s *Store) AuditKept(ctx context.Context) (Instant, error) {
	at, err := collect(s.reader.WithContext(ctx), scanOne[Instant], "SELECT kept_at FROM audit_horizons")
	if err != nil {
		return 0, fmt.Errorf("reading since when the audit is kept: %w", err)
	}
	if len(at) == 0 {
		return 0, nil
	}
	return at[0], nil
}

// Audited writes one entry into the audit, with who, when and why filled in.
func (tx *Tx) Audited(by Actor, entry Audit) error { return tx.audit(by, []Audit{entry}) }

// PurgeAudit deletes up to limit entries from before an instant, and notes since when the audit is whole. Nothing else
// can delete an entry.
func (tx *Tx) PurgeAudit(before Instant, limit int) (int64, error) {
	_, err := tx.exec("noting since when the audit is kept", `INSERT INTO audit_horizons (id, kept_at) VALUES (1, ?)
 ON CONFLICT (id) DO UPDATE SET kept_at = max(kept_at, excluded.kept_at)`, int64(before))
	if err != nil {
		return 0, err
	}
	res, err := tx.exec("deleting old entries of the audit",
		"DELETE FROM audit WHERE id IN (SELECT id FROM audit INDEXED BY audit_at WHERE at < ? ORDER BY at LIMIT ?)", int64(before), limit)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
