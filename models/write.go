package models

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Writer makes every change to the ledger. It belongs to the journal actor and is used by one goroutine at a time.
// A Writer knows the minute statistics it has written, so that each transaction adds to them without reading.
type Writer struct {
	// OnCount, if set, is told of every change to counts once it is durable.
	OnCount func(typ string, state State, delta int64)
	// OnMinute, if set, is told what each transaction adds to minute_stats once it is durable. It must not keep the row.
	OnMinute func(delta *MinuteStat)
	// Shown, if set, gives parameters of a type as anybody may see them, for the audit.
	Shown func(typ, params string) string

	db      *gorm.DB
	bootID  string
	minutes map[minuteKey]*MinuteStat

	store   *Store
	logTrim int64     // bytes of the write-ahead log from which it is emptied
	lookAt  time.Time // when its size is looked at next
}

// NewWriter returns the Writer of one process start.
func NewWriter(s *Store, bootID string) *Writer {
	return &Writer{db: s.Writer(), bootID: bootID, minutes: map[minuteKey]*MinuteStat{}, store: s, logTrim: logTrim}
}

// Tx is one transaction on the ledger. What its methods change is also tallied in counts and minute_stats.
type Tx struct {
	w     *Writer
	db    *gorm.DB
	now   Instant
	tally tally
}

// Write runs f in one transaction and commits it durably. After an error nothing of it has happened. IsUnavailable
// tells errors that the same call may get over later from those of the change itself.
func (w *Writer) Write(f func(tx *Tx) error) error {
	var done *Tx
	err := w.db.Transaction(func(db *gorm.DB) error {
		tx := &Tx{w: w, db: db, now: At(time.Now()), tally: newTally()}
		if err := f(tx); err != nil {
			return err
		}
		if err := tx.writeTally(); err != nil {
			return err
		}
		done = tx
		return w.store.file.check()
	})
	if err != nil {
		return fmt.Errorf("writing to the ledger: %w", err)
	}
	w.remember(done)
	w.store.checkpoints.committed()
	w.trimLog()
	return nil
}

// Now is the instant that the whole transaction happens at.
func (tx *Tx) Now() Instant { return tx.now }

// exec runs a statement of fixed text, which GORM keeps prepared. It goes past GORM's own building of the text, which
// would walk through every one of a large insert's arguments.
func (tx *Tx) exec(doing, text string, args ...any) (sql.Result, error) {
	res, err := tx.db.Statement.ConnPool.ExecContext(context.Background(), text, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return res, nil
}

// query is exec for statements that return rows; scan is called for each.
func (tx *Tx) query(doing, text string, scan func(rows *sql.Rows) error, args ...any) (err error) {
	rows, err := tx.db.Statement.ConnPool.QueryContext(context.Background(), text, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// list is values as the one JSON argument of a statement that works on many rows.
func list[T any](values []T) string {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err) // only numbers, strings and their arrays come here
	}
	return string(b)
}

// tasksByID reads whole rows inside the transaction, in ascending order of id.
func (tx *Tx) tasksByID(ids []int64) ([]Task, error) {
	var found []Task
	err := tx.db.Raw("SELECT * FROM tasks WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", list(ids)).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("reading tasks by id: %w", err)
	}
	return found, nil
}
