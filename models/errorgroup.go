package models

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// ErrorGroup is one row of error_groups: the failed and dead tasks of a type that ended with the same error but for its
// numbers and names. N falls when a person retries or discards one, or retention deletes it.
type ErrorGroup struct {
	Type        string `gorm:"primaryKey"`
	Fingerprint string `gorm:"primaryKey"`
	Kind        string
	Message     string // with placeholders where the messages of the group differ
	N           int64
	FirstAt     Instant
	LastAt      Instant
	Mark        GroupMark `gorm:"-"` // what people know of it; zero when they have said nothing
}

// errorMessageBytes bounds ErrorGroup.Message.
const errorMessageBytes = 500

type groupKey struct{ typ, fingerprint string }

// grouped notes that a task joined the failed and dead of its error.
func (tx *Tx) grouped(c *Completion) {
	fingerprint := c.fingerprint()
	if fingerprint == "" {
		return
	}
	g := tx.group(groupKey{c.Type, fingerprint})
	g.Kind, g.Message = c.ErrorKind, CutText(c.normalised(), errorMessageBytes)
	g.N++
}

// ungrouped notes that a failed or dead task left its group.
func (tx *Tx) ungrouped(typ string, state State, fingerprint string) {
	if fingerprint != "" && (state == StateFailed || state == StateDead) {
		tx.group(groupKey{typ, fingerprint}).N--
	}
}

func (tx *Tx) group(k groupKey) *ErrorGroup {
	g := tx.tally.groups[k]
	if g == nil {
		g = &ErrorGroup{Type: k.typ, Fingerprint: k.fingerprint, FirstAt: tx.now, LastAt: tx.now}
		tx.tally.groups[k] = g
	}
	return g
}

// upsertGroups adds to groups. A row whose message is empty only takes tasks out, and says nothing of when one came.
const upsertGroups = `INSERT INTO error_groups (type, fingerprint, kind, message, n, first_at, last_at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6 FROM json_each(?) WHERE true
ON CONFLICT (type, fingerprint) DO UPDATE SET n = n + excluded.n,
 first_at = iif(n <= 0 AND excluded.message <> '', excluded.first_at, first_at),
 last_at = iif(excluded.message = '', last_at, excluded.last_at)`

func (tx *Tx) writeGroups() error {
	if len(tx.tally.groups) == 0 {
		return nil
	}
	rows := make([][]any, 0, len(tx.tally.groups))
	for _, g := range tx.tally.groups {
		rows = append(rows, []any{g.Type, g.Fingerprint, g.Kind, g.Message, g.N, g.FirstAt, g.LastAt})
	}
	_, err := tx.exec("counting tasks by error", upsertGroups, list(rows))
	return err
}

// ErrorGroups lists the groups that have tasks, the latest first.
func (s *Store) ErrorGroups(ctx context.Context, limit int) ([]ErrorGroup, error) {
	var groups []ErrorGroup
	err := s.reader.WithContext(ctx).Raw("SELECT * FROM error_groups WHERE n > 0 ORDER BY last_at DESC LIMIT ?", max(limit, 0)).Scan(&groups).Error
	if err != nil {
		return nil, fmt.Errorf("reading the groups of errors: %w", err)
	}
	return groups, s.addMarks(ctx, groups)
}

// ErrorGroup reads one group, whether or not it has tasks now. It fails with ErrNotFound.
func (s *Store) ErrorGroup(ctx context.Context, typ, fingerprint string) (ErrorGroup, error) {
	var g ErrorGroup
	err := s.reader.WithContext(ctx).Where("type = ? AND fingerprint = ?", typ, fingerprint).Take(&g).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return g, ErrNotFound
	}
	if err != nil {
		return g, fmt.Errorf("reading a group of errors: %w", err)
	}
	one := []ErrorGroup{g}
	err = s.addMarks(ctx, one)
	return one[0], err
}
