package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError says that another process has the ledger open.
type LockedError struct {
	Path  string
	PID   int // 0 when the lock does not say
	Host  string
	Since time.Time
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the database %s is in use by another process", e.Path)
	}
	return fmt.Sprintf("the database %s is in use by process %d on %s since %s",
		e.Path, e.PID, e.Host, e.Since.Format(time.RFC3339))
}

// holder is what the lock file says about the process that has it.
type holder struct {
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	StartedAt time.Time `json:"started_at"`
}

// fileLock is a lock on a file beside the database. The kernel releases it when the process ends, however it ends, so
// there is no stale lock; the file itself stays, as removing it would let two processes hold two files of one name.
type fileLock struct{ file *os.File }

// acquireLock locks the ledger at path for this process, or says in a *LockedError who has it.
func acquireLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock file of the database: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		first := readHolder(file)
		return nil, errors.Join(&LockedError{Path: path, PID: first.PID, Host: first.Host, Since: first.StartedAt}, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), file.Close())
	}
	lock := &fileLock{file: file}
	if err := lock.sign(); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the lock file: %w", err), lock.release())
	}
	return lock, nil
}

// sign writes who has the lock. The lock holds without it, so that a full disk costs only the name.
func (l *fileLock) sign() error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text, err := json.Marshal(holder{PID: os.Getpid(), Host: host, StartedAt: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return nil
}

// release gives the lock back and forgets who had it.
func (l *fileLock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// readHolder gives the zero holder when the file says nothing that makes sense.
func readHolder(r io.Reader) holder {
	var h holder
	if err := json.NewDecoder(io.LimitReader(r, 4096)).Decode(&h); err != nil {
		return holder{}
	}
	return h
}
