package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	_ "reax/models" // the driver with which the books are read past the program that keeps them
)

// fault is something that befalls the server of a round. It returns when it is over; what it has taken is then back.
type fault struct {
	name   string
	weight int
	do     func(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error
}

func faults() []fault {
	return []fault{
		{"SIGKILL", 10, func(_ context.Context, r *round, _ time.Duration, _ *rand.Rand) error { return r.kill() }},
		{"SIGTERM", 4, func(_ context.Context, r *round, _ time.Duration, _ *rand.Rand) error { return r.terminate() }},
		{"SIGSTOP", 4, freeze},
		{"full disk", 4, fillDisk},
		{"read-only disk", 3, stopWrites},
		{"database locked", 4, lock},
		{"database replaced", 3, replace},
		{"clock step", 5, step},
	}
}

// pickFault draws one by its weight.
func pickFault(random *rand.Rand, clock bool) fault {
	all := faults()
	if !clock {
		all = all[:len(all)-1]
	}
	total := 0
	for _, f := range all {
		total += f.weight
	}
	n := random.IntN(total)
	for _, f := range all {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	return all[0]
}

// during waits for hold, or for a part of it and then kills the server: one time in three.
func during(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error {
	killed := random.IntN(3) == 0
	if killed {
		hold /= 2
	}
	select {
	case <-ctx.Done():
	case <-time.After(hold):
	}
	if killed {
		r.note("SIGKILL")
		return r.down()
	}
	return nil
}

func freeze(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error {
	s := r.running()
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := during(ctx, r, hold, random); err != nil {
		return err
	}
	return s.signal(syscall.SIGCONT)
}

// limit sets how large the files of the server may be. Its write-ahead log is by far the largest of them.
func limit(ctx context.Context, r *round, hold time.Duration, random *rand.Rand, size uint64) error {
	pid := r.running().pid()
	var usual unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &usual); err != nil {
		return ignoreGone(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: usual.Max}, nil); err != nil {
		return ignoreGone(err)
	}
	if err := during(ctx, r, hold, random); err != nil {
		return err
	}
	return ignoreGone(unix.Prlimit(pid, unix.RLIMIT_FSIZE, &usual, nil))
}

// ignoreGone takes it that a process may have died before it was made to suffer.
func ignoreGone(err error) error {
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("limiting the server's files: %w", err)
}

// fillDisk lets no file grow beyond what the write-ahead log is now.
func fillDisk(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error {
	info, err := os.Stat(r.database + "-wal")
	if err != nil {
		return nil //nolint:nilerr // the server has just died and left none
	}
	return limit(ctx, r, hold, random, uint64(info.Size()))
}

// stopWrites lets no file be written at all, as on a disk that has become read-only.
func stopWrites(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error {
	return limit(ctx, r, hold, random, 0)
}

// lock holds the write lock from this process.
func lock(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) (err error) {
	db, err := sql.Open("sqlite3", source(r.database, "_busy_timeout=5000"))
	if err != nil {
		return fmt.Errorf("opening the database to lock it: %w", err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("opening the database to lock it: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return fmt.Errorf("locking the database: %w", err)
	}
	if err := during(ctx, r, hold, random); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		return fmt.Errorf("unlocking the database: %w", err)
	}
	return nil
}

func source(file, query string) string {
	return (&url.URL{Scheme: "file", Path: file, RawQuery: query}).String()
}

// replace renames the database away, puts another file in its place, and at the end puts it back.
func replace(ctx context.Context, r *round, hold time.Duration, random *rand.Rand) error {
	away, other := r.database+".away", r.database+".other"
	text := []byte(nil)
	if random.IntN(2) == 0 {
		var err error
		if text, err = os.ReadFile(r.database); err != nil {
			return fmt.Errorf("copying the database: %w", err)
		}
	}
	if err := os.WriteFile(other, text, 0o600); err != nil {
		return fmt.Errorf("writing the other database: %w", err)
	}
	if err := os.Rename(r.database, away); err != nil {
		return fmt.Errorf("taking the database away: %w", err)
	}
	if err := os.Rename(other, r.database); err != nil {
		return fmt.Errorf("putting another database in its place: %w", err)
	}
	r.taken.Store(new(time.Now()))
	err := during(ctx, r, hold, random)
	if err == nil && r.isDown() {
		err = r.requireRefusedStart(ctx)
	}
	r.taken.Store(nil)
	if back := os.Rename(away, r.database); err == nil && back != nil {
		err = fmt.Errorf("putting the database back: %w", back)
	}
	return err
}

// step sets the wall clock of the server, forward or back, and keeps it so.
func step(_ context.Context, r *round, _ time.Duration, random *rand.Rand) error {
	seconds := []int{-7200, -61, -2, 2, 61, 3600, 86_400}[random.IntN(7)]
	r.mu.Lock()
	r.drawn[len(r.drawn)-1] += fmt.Sprintf(" of %d s", seconds)
	r.mu.Unlock()
	return r.setClock(seconds)
}

// setClock sets how many seconds the wall clock of the round's servers is off.
func (r *round) setClock(seconds int) error {
	r.latest = max(r.latest, seconds)
	name := filepath.Join(r.dir, "clock")
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(seconds)), 0o600); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}
