package models

import "gorm.io/gorm"

const (
	// checkpointPages is from how many pages of the log on it is moved. It is well below walPages, from which on a commit
	// moves the log itself.
	checkpointPages = 2000
	// checkpointCommits is after how many commits the length of the log is looked at.
	checkpointCommits = 16
)

// checkpointer moves the write-ahead log into the database beside the writer. That changes no row and takes no lock a writer
// needs, but writes for tens of milliseconds, for which all commits would wait if the writer did it.
type checkpointer struct {
	db      *gorm.DB
	commits int // counted by the writer
	wake    chan struct{}
	quit    chan struct{}
	ended   chan struct{}
}

// checkpointed is what SQLite says of a checkpoint: whether somebody was in its way, and the pages in the log and those of
// them that the database has.
type checkpointed struct{ Busy, Log, Checkpointed int }

func newCheckpointer(db *gorm.DB) *checkpointer {
	c := &checkpointer{db: db, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go c.run()
	return c
}

// committed counts a commit of the writer, and has the log looked at now and then.
func (c *checkpointer) committed() {
	if c.commits++; c.commits%checkpointCommits != 0 {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it is at work
	}
}

func (c *checkpointer) run() {
	defer close(c.ended)
	for {
		select {
		case <-c.wake:
			if at, err := checkpoint(c.db, "NOOP"); err == nil && at.Log-at.Checkpointed >= checkpointPages {
				_, _ = checkpoint(c.db, "PASSIVE") // the writer moves what cannot be moved here, or reports why it cannot
			}
		case <-c.quit:
			return
		}
	}
}

func checkpoint(db *gorm.DB, mode string) (at checkpointed, err error) {
	err = db.Raw("PRAGMA wal_checkpoint(" + mode + ")").Scan(&at).Error
	return at, err
}

// close ends the checkpointer when it has done what it is at.
func (c *checkpointer) close() error {
	close(c.quit)
	<-c.ended
	return closeHandle(c.db)
}
