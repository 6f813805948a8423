package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrReplaced means that the file of the ledger is no longer the one that was opened: it was moved away, deleted, or
// another was put in its place. What would be written now goes into a file that the next start does not find, so nothing
// is written until the file is back.
var ErrReplaced = errors.New("the database file was moved away, deleted or replaced by another")

// ledgerFile is the file of the ledger as it was opened.
type ledgerFile struct {
	path string
	info fs.FileInfo // nil when there is none yet, and SQLite makes it
}

func fileOf(path string) (ledgerFile, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ledgerFile{path: path}, nil
	}
	if err != nil {
		return ledgerFile{}, fmt.Errorf("looking at the database: %w", err)
	}
	return ledgerFile{path, info}, nil
}

// check gives ErrReplaced when the path leads to another file by now, or to none. It is one call of the kernel.
func (f ledgerFile) check() error {
	if f.info == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.info) {
		return ErrReplaced
	}
	if err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	return nil
}

// fileID is what tells files of one file system apart, whatever they are called; 0 for no file.
type fileID uint64

func idOf(path string) fileID {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	return fileID(stat.Ino)
}

// checkLog refuses a database beside which the write-ahead log of another one lies: SQLite would take its pages for those
// of this one, and damage it. That is so when a process was killed and its database, but not the log, was replaced.
// A folder that was copied or moved whole has other numbers for both, and is right.
func (l *fileLock) checkLog(f ledgerFile) error {
	log := f.path + "-wal"
	if l.former.Log == 0 || l.former.Log != idOf(log) || l.former.Database == idOf(f.path) {
		return nil
	}
	if info, err := os.Stat(log); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // an empty log harms nobody
	}
	return fmt.Errorf("the database %s was replaced since process %d used it, and the last changes of the former one are in %s: "+
		"put the former database back, or, to go on with this one and lose them, delete that log", f.path, l.former.PID, log)
}

// signFiles notes which files the process uses, for checkLog of the next one, should this one be killed.
func (l *fileLock) signFiles(f ledgerFile) error {
	l.signed = true
	l.own.Database, l.own.Log = idOf(f.path), idOf(f.path+"-wal")
	if err := l.write(); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	return nil
}
