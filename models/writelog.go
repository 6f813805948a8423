package models

import (
	"fmt"
	"time"
)

const (
	// logTrim is the size in bytes from which the write-ahead log is emptied by force.
	logTrim = walLimit / 2
	// logLook is how often its size is looked at, and logRest how long it is left alone when readers were in the way.
	logLook = 100 * time.Millisecond
	logRest = 2 * time.Second
	// logPatience is how long a checkpoint waits for readers. Nothing is written meanwhile.
	logPatience = 200 * time.Millisecond
)

// trimLog empties the write-ahead log when it has become large. SQLite begins a log anew by itself, but only at a moment
// without any reader; where dashboards are open there may be none for hours. New readers of a log that has been moved
// whole are not in the way, so that this waits for those alone that read now.
func (w *Writer) trimLog() {
	now := time.Now()
	if now.Before(w.lookAt) {
		return
	}
	w.lookAt = now.Add(logLook)
	if _, size, err := w.store.Size(); err != nil || size < w.logTrim {
		return
	}
	wait := func(d time.Duration) error {
		return w.db.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds())).Error
	}
	if wait(logPatience) != nil {
		return
	}
	done, err := checkpoint(w.db, "TRUNCATE")
	if wait(w.store.writerTimeout) != nil || err != nil || done.Busy != 0 {
		// What cannot be moved now is as durable where it is.
		w.lookAt = now.Add(logRest)
	}
}
