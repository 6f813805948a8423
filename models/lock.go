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
	Database  fileID    `json:"database,omitempty"`
	Log       fileID    `json:"log,omitempty"`
}

// fileLock is a lock on a file beside the database. The kernel releases it when the process ends, however it ends, so
// there is no stale lock; the file itself stays, as removing it would let two processes hold two files of one name.
type fileLock struct {
	file        *os.File
	former, own holder // former is the process that had it before and did not give it back
	signed      bool   // the files in own are those of this process
}

const (
	lockPatience = 2 * time.Second
	lockLook     = 10 * time.Millisecond
)

// isGone reports whether the process has ended. What still has its lock then is a child that it was starting as it died: until
// the child has become another program, or is killed too, it shares all that its parent had open.
func (h holder) isGone() bool {
	host, err := os.Hostname()
	return err == nil && h.Host == host && h.PID > 0 && errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
}

func tryLock(file *os.File) error {
	for {
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// acquireLock locks the ledger at path for this process, or says in a *LockedError who has it.
func acquireLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock file of the database: %w", err)
	}
	err = tryLock(file)
	for over := time.Now().Add(lockPatience); errors.Is(err, unix.EWOULDBLOCK) && readHolder(file).isGone() && time.Now().Before(over); {
		<-time.After(lockLook)
		err = tryLock(file)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		first := readHolder(file)
		return nil, errors.Join(&LockedError{Path: path, PID: first.PID, Host: first.Host, Since: first.StartedAt}, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), file.Close())
	}
	lock := &fileLock{file: file, former: readHolder(file)}
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
	// Until checkLog is through, the files stand there as the former process noted them.
	l.own = holder{PID: os.Getpid(), Host: host, StartedAt: time.Now().UTC().Truncate(time.Second), Database: l.former.Database, Log: l.former.Log}
	return l.write()
}

func (l *fileLock) write() error {
	text, err := json.Marshal(l.own)
	if err != nil {
		return err
	}
	// In this order, what a kill leaves can be read: only the first value counts.
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return l.file.Truncate(int64(len(text)) + 1)
}

// release gives the lock back and forgets who had it, but not what a former process left when this one never opened it.
func (l *fileLock) release() error {
	if l.former.Log != 0 && !l.signed {
		l.own = l.former
		return errors.Join(l.write(), l.file.Close())
	}
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// readHolder gives the zero holder when the file says nothing that makes sense.
func readHolder(r io.ReaderAt) holder {
	var h holder
	if err := json.NewDecoder(io.NewSectionReader(r, 0, 4096)).Decode(&h); err != nil {
		return holder{}
	}
	return h
}
