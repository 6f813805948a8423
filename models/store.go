package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"gorm.io/gorm"
)

// ErrNotFound means that there is no such row.
var ErrNotFound = errors.New("not found")

// The durabilities of Config: what a power cut may take. Neither of them loses anything when the process dies.
const (
	DurabilityFull   = "full"   // every commit reaches the disk before it is answered
	DurabilityNormal = "normal" // the last commits before a power cut may be lost
)

const (
	defaultWriterTimeout = time.Second
	readerTimeout        = 5 * time.Second
	readerConnections    = 4
	closeTimeout         = 5 * time.Second
)

// Config says where the ledger is and how it is opened. Zero fields take the defaults.
type Config struct {
	Path        string        // the database file; made with mode 0600 when it is not there
	Durability  string        // DurabilityFull (default) or DurabilityNormal
	BusyTimeout time.Duration // how long the writer waits for a foreign lock; default 1 s. Readers wait 5 s.
	Logger      *slog.Logger  // default slog.Default()
}

// Store is an open ledger: one writer, which belongs to the journal, and a pool of readers. All of its methods are safe
// for use from many goroutines.
type Store struct {
	path   string
	lock   *fileLock
	file   ledgerFile
	writer *gorm.DB
	reader *gorm.DB
	close  func() error

	checkpoints *checkpointer

	writerTimeout time.Duration // how long the writer waits for a lock

	walk     int           // how many rows a page may look at when no index knows which of them fit
	walkTime time.Duration // how long it may look
	sort     int           // how many tasks a list may sort
}

// Open takes the lock beside the database file, brings the schema up to date and opens the handles. It fails with a
// *LockedError when another process has the ledger, with a *NewerSchemaError when a newer program wrote it, and
// otherwise with a sentence that says what is wrong with the file.
func Open(ctx context.Context, cfg Config) (_ *Store, err error) {
	synchronous, err := synchronousOf(cfg.Durability)
	if err != nil {
		return nil, err
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.Default()
	}
	path, err := ledgerPath(cfg.Path)
	if err != nil {
		return nil, err
	}
	lock, err := acquireLock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, lock: lock, walk: walkLimit, walkTime: walkTime, sort: SortLimit}
	s.close = sync.OnceValue(s.shut)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err = prepareFile(path); err != nil {
		return nil, err
	}
	if s.file, err = fileOf(path); err != nil {
		return nil, err
	}
	if err = lock.checkLog(s.file); err != nil {
		return nil, err
	}
	timeout := cfg.BusyTimeout
	if timeout <= 0 {
		timeout = defaultWriterTimeout
	}
	s.writerTimeout = timeout
	if s.writer, err = openWriter(path, synchronous, timeout); err != nil {
		return nil, openError(path, err)
	}
	if err = migrate(ctx, s.writer, path, logger); err != nil {
		return nil, openError(path, err)
	}
	if s.reader, err = openReader(path); err != nil {
		return nil, openError(path, err)
	}
	checkpoints, err := openCheckpoints(path, synchronous)
	if err != nil {
		return nil, openError(path, err)
	}
	s.checkpoints = newCheckpointer(checkpoints)
	if err = lock.signFiles(s.file); err != nil {
		return nil, err
	}
	return s, nil
}

// Writer is the one handle that writes. It belongs to the journal; its transactions take the write lock at their start.
func (s *Store) Writer() *gorm.DB { return s.writer }

// Reader is the pool of handles that cannot write.
func (s *Store) Reader() *gorm.DB { return s.reader }

// Path is the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// Size gives the size of the database and of its write-ahead log in bytes.
func (s *Store) Size() (database, wal int64, err error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the size of the database: %w", err)
	}
	log, err := os.Stat(s.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return info.Size(), 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading the size of the write-ahead log: %w", err)
	}
	return info.Size(), log.Size(), nil
}

// Checkpoint moves the write-ahead log into the database and cuts it to nothing, as far as readers allow. It uses the
// writer, so it waits for the transaction that runs.
func (s *Store) Checkpoint(ctx context.Context) error {
	if _, err := checkpoint(s.writer.WithContext(ctx), "TRUNCATE"); err != nil {
		return fmt.Errorf("emptying the write-ahead log: %w", err)
	}
	return nil
}

// Close empties the write-ahead log, closes the handles and releases the lock. The journal must have ended. Further
// calls do nothing and give the same error.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	var errs []error
	if s.checkpoints != nil {
		errs = append(errs, s.checkpoints.close())
	}
	if s.reader != nil {
		errs = append(errs, closeHandle(s.reader))
	}
	if s.writer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		// What cannot be moved now is moved at the next start: the log is as durable as the database.
		if err := s.Checkpoint(ctx); err != nil && !IsUnavailable(err) {
			errs = append(errs, err)
		}
		errs = append(errs, closeHandle(s.writer))
	}
	return errors.Join(append(errs, s.lock.release())...)
}

// ledgerPath checks path and makes it absolute and free of symbolic links, so that two names of one file share a lock.
func ledgerPath(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("no database file is named")
	case strings.HasPrefix(path, "file:") || strings.Contains(path, ":memory:"):
		return "", fmt.Errorf("the database must be a plain file name, not %q", path)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("the database file name %q holds a zero character", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the database %s: %w", path, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		info, err := os.Stat(real)
		if err != nil {
			return "", fmt.Errorf("cannot look at the database %s: %w", abs, err)
		}
		if info.IsDir() {
			return "", fmt.Errorf("the database %s is a folder, not a file", abs)
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("the database %s is not a regular file", abs)
		}
		return real, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot reach the database %s: %w", abs, err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder %s of the database does not exist", filepath.Dir(abs))
	}
	if err != nil {
		return "", fmt.Errorf("cannot reach the folder of the database %s: %w", abs, err)
	}
	return filepath.Join(folder, filepath.Base(abs)), nil
}

// prepareFile makes the file with a mode that keeps parameters from other users; SQLite gives its log the same mode. It
// never opens a file that exists: closing that again would drop SQLite's own locks on it.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if errors.Is(err, fs.ErrExist) {
		// SQLite opens what it may not write for reading, and says so only to the first task.
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
			return fmt.Errorf("the database %s cannot be written: %w", path, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot create the database %s: %w", path, err)
	}
	return nil
}
