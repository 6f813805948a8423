package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// walPages is after how many pages of 4 KiB a commit moves the log into the database. More than SQLite's 1000, because
// under a steady load the same index pages are written again and again, and each move costs one more fsync.
const walPages = 4000

// walLimit is what the log file is cut back to, in bytes, once it could be moved.
const walLimit = 64 << 20

// Statements that change many tasks. When one fails, its whole transaction is rolled back, so that SQLite need not keep a
// copy of every page to undo the statement alone.
const (
	insertTasks = "INSERT OR FAIL INTO tasks"
	updateTasks = "UPDATE OR FAIL tasks"
)

// Conditions that need the database's own functions.
const (
	// tagged is that a task has a tag. Tags that are no JSON, which nothing writes, must not fail the list.
	tagged = "tags IS NOT NULL AND json_valid(tags) AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
	// idIn is that the id is in a JSON array: one text for any number of ids.
	idIn = "id IN (SELECT value FROM json_each(?))"
)

// synchronousOf gives SQLite's word for a durability.
func synchronousOf(durability string) (string, error) {
	switch durability {
	case "", DurabilityFull:
		return "FULL", nil
	case DurabilityNormal:
		return "NORMAL", nil
	}
	return "", fmt.Errorf("durability %q is not known: it is %q or %q", durability, DurabilityFull, DurabilityNormal)
}

// connector opens connections that all have the same pragmas, also those that a pool opens later.
type connector struct {
	driver *sqlite3.SQLiteDriver
	dsn    string
	file   ledgerFile
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.file.check(); err != nil {
		return nil, err
	}
	return c.driver.Open(c.dsn)
}
func (c connector) Driver() driver.Driver { return c.driver }

// openWriter opens the one connection that writes. Its transactions begin IMMEDIATE: a transaction that read first and
// then wanted to write could be refused at once, whatever the busy timeout.
func openWriter(path, synchronous string, timeout time.Duration) (*gorm.DB, error) {
	return openHandle(path, 1, url.Values{
		"_txlock":          {"immediate"},
		"_busy_timeout":    {fmt.Sprint(timeout.Milliseconds())},
		"_journal_mode":    {"WAL"},
		"_synchronous":     {synchronous},
		"_foreign_keys":    {"1"},
		"_cache_size":      {"-8192"}, // what a commit touches; SQLite walks through the whole of it after many a commit
		"_stmt_cache_size": {"64"},
	}, fmt.Sprintf("PRAGMA journal_size_limit = %d; PRAGMA wal_autocheckpoint = %d; PRAGMA temp_store = MEMORY", walLimit, walPages))
}

// openReader opens the pool of connections that cannot write.
func openReader(path string) (*gorm.DB, error) {
	return openHandle(path, readerConnections, url.Values{
		"mode":             {"ro"},
		"_query_only":      {"1"},
		"_busy_timeout":    {fmt.Sprint(readerTimeout.Milliseconds())},
		"_foreign_keys":    {"1"},
		"_cache_size":      {"-8192"},
		"_stmt_cache_size": {"64"},
	}, "PRAGMA temp_store = MEMORY")
}

// openCheckpoints opens the connection that moves the log into the database. It cannot change a row.
func openCheckpoints(path, synchronous string) (*gorm.DB, error) {
	return openHandle(path, 1, url.Values{
		"_query_only":      {"1"},
		"_busy_timeout":    {"0"},
		"_synchronous":     {synchronous},
		"_cache_size":      {"-64"}, // it goes past the cache
		"_stmt_cache_size": {"4"},
	}, fmt.Sprintf("PRAGMA journal_size_limit = %d; PRAGMA wal_autocheckpoint = 0", walLimit))
}

// openHandle opens a GORM handle over a pool of so many connections. The driver caches prepared statements, and not
// GORM: GORM's cache starts a goroutine that never ends.
func openHandle(path string, connections int, params url.Values, pragmas string) (*gorm.DB, error) {
	file, err := fileOf(path)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{file: file, dsn: dataSource(path, params), driver: &sqlite3.SQLiteDriver{
		ConnectHook: func(conn *sqlite3.SQLiteConn) error {
			_, err := conn.Exec(pragmas, nil)
			return err
		},
	}})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         true,
		Logger:                 logger.Discard,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// dataSource names the file as a URI in which no letter of the path has a meaning of its own.
func dataSource(path string, params url.Values) string {
	escaped := strings.ReplaceAll(url.PathEscape(path), "%2F", "/")
	return "file:" + escaped + "?" + params.Encode()
}

func closeHandle(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	if err := pool.Close(); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}

// codeOf gives SQLite's primary result code of err, or 0.
func codeOf(err error) sqlite3.ErrNo {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return e.Code
	}
	return 0
}

// IsBusy reports whether err says that another connection holds the database's lock; the same statement may work later.
func IsBusy(err error) bool {
	code := codeOf(err)
	return code == sqlite3.ErrBusy || code == sqlite3.ErrLocked
}

// IsFull reports whether err says that the disk is full.
func IsFull(err error) bool { return codeOf(err) == sqlite3.ErrFull }

// IsUnavailable reports whether err is the state of the database and its disk and not the fault of the statement: busy,
// full, read-only, not to be opened, replaced, or an input/output error. The statement may be tried again.
func IsUnavailable(err error) bool {
	switch codeOf(err) {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrReadonly,
		sqlite3.ErrCantOpen, sqlite3.ErrPerm, sqlite3.ErrProtocol, sqlite3.ErrNomem:
		return true
	}
	return errors.Is(err, ErrReplaced)
}

// IsConstraint reports whether err says that a row breaks a rule of the schema: a key that is taken, a NULL, a wrong type.
func IsConstraint(err error) bool {
	return codeOf(err) == sqlite3.ErrConstraint || errors.Is(err, gorm.ErrDuplicatedKey) ||
		errors.Is(err, gorm.ErrForeignKeyViolated) || errors.Is(err, gorm.ErrCheckConstraintViolated)
}

// openError says what is wrong with a database file that cannot be opened.
func openError(path string, err error) error {
	if newer, ok := errors.AsType[*NewerSchemaError](err); ok {
		return newer
	}
	switch codeOf(err) {
	case sqlite3.ErrNotADB:
		return fmt.Errorf("%s is not a database that reax can read: %w", path, err)
	case sqlite3.ErrCorrupt:
		return fmt.Errorf("the database %s is damaged: %w", path, err)
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return fmt.Errorf("the database %s is locked by another program: %w", path, err)
	case sqlite3.ErrReadonly:
		return fmt.Errorf("the database %s cannot be written: %w", path, err)
	case sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return fmt.Errorf("the database %s cannot be opened; look at the permissions of the file and its folder: %w", path, err)
	case sqlite3.ErrFull:
		return fmt.Errorf("the disk of the database %s is full: %w", path, err)
	}
	return fmt.Errorf("opening the database %s: %w", path, err)
}
