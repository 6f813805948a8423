package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// Backup writes a copy of the database, as it is at one moment, to target, which must not exist; it returns the bytes
// written. It reads beside a running server and takes no lock from it. The copy is written under another name first, so
// that a file called target is whole.
func Backup(ctx context.Context, database, target string) (size int64, err error) {
	if info, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no database %s", database)
	} else if err != nil {
		return 0, fmt.Errorf("reading the database: %w", err)
	} else if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("the database %s is not a regular file", database)
	}
	exists := fmt.Errorf("%s exists already: a backup never overwrites a file", target)
	if _, err := os.Lstat(target); err == nil {
		return 0, exists
	}
	// A folder of its own keeps the copy from other users while SQLite writes it with the usual mode.
	work, err := os.MkdirTemp(filepath.Dir(target), ".reax-backup-")
	if err != nil {
		return 0, fmt.Errorf("making a place for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	draft := filepath.Join(work, "copy.db")
	if err := copyDatabase(ctx, database, draft); err != nil {
		return 0, fmt.Errorf("copying the database: %w", err)
	}
	if err := os.Chmod(draft, 0o600); err != nil {
		return 0, fmt.Errorf("closing the copy to others: %w", err)
	}
	info, err := os.Stat(draft)
	if err != nil {
		return 0, fmt.Errorf("reading the size of the copy: %w", err)
	}
	// SQLite does not wait for the disk here, and a link, unlike a rename, never replaces a file.
	if err := syncFile(draft); err != nil {
		return 0, err
	}
	switch err := os.Link(draft, target); {
	case errors.Is(err, fs.ErrExist):
		return 0, exists
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported): // a file system without links
		if err := os.Rename(draft, target); err != nil {
			return 0, fmt.Errorf("giving the copy its name: %w", err)
		}
	case err != nil:
		return 0, fmt.Errorf("giving the copy its name: %w", err)
	}
	return info.Size(), syncFile(filepath.Dir(target))
}

func copyDatabase(ctx context.Context, database, target string) (err error) {
	from, err := openReadOnly(database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if _, err := from.ExecContext(ctx, "VACUUM INTO ?", target); err != nil {
		return err
	}
	to, err := openReadOnly(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var verdict string
	if err := to.QueryRowContext(ctx, "PRAGMA quick_check").Scan(&verdict); err != nil {
		return fmt.Errorf("checking the copy: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("the copy is damaged: %s", verdict)
	}
	return nil
}

// openReadOnly opens an SQLite file without the right to change it.
func openReadOnly(file string) (*sql.DB, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}, "_busy_timeout": {"10000"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: abs, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// syncFile waits until a file, or the names in a folder, are on the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s to the disk: %w", path, err)
	}
	return nil
}
