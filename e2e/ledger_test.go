package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// holdTime is for how long the database cannot be written. It is longer than the 15 s after which a call is answered 503.
func holdTime() time.Duration {
	if os.Getenv("REAX_E2E_LONG") != "" {
		return 30 * time.Second
	}
	return 17 * time.Second
}

const (
	redWithin   = 15 * time.Second
	greenWithin = 15 * time.Second
)

// outage is a ledger that cannot be written for a while, and what its server does in that time.
type outage struct {
	word  string // what health says of the database meanwhile
	begin func()
	end   func()
}

// suffer runs a server through an outage: what it accepts has a row, what it cannot store it refuses with 503, health
// turns red and green again, what ran goes on, and no restart is needed.
func suffer(t *testing.T, p *place, s *server, o outage) {
	t.Helper()
	load := startLoad(t, 100, func(n int64) []byte {
		return body("P.log", fields{"text": fmt.Sprint(n)}, nil)
	})
	load.target.Store(s.api)
	running := s.enqueue(t, "P.sleep", fields{"ms": 6_000}, nil).ID
	until(t, patience, func() string {
		if len(p.startsOf(t, running)) == 1 && load.count() > 20 {
			return ""
		}
		return "the load has not begun"
	})

	over := time.Now().Add(holdTime())
	o.begin()
	refused := make(chan answer, 1)
	go func() {
		got, _ := s.call(http.MethodPost, "/api/v1/tasks", body("P.log", fields{}, nil)) // a call without an answer is no 503
		refused <- got
	}()
	var red health
	until(t, redWithin, func() string {
		if red = s.health(t); red.code == http.StatusServiceUnavailable {
			return ""
		}
		return fmt.Sprintf("health is not red: %+v", red)
	})
	require.Equal(t, "down", red.Status)
	require.Contains(t, red.Database, o.word)
	require.Equal(t, http.StatusServiceUnavailable, s.must(t, http.MethodGet, "/readyz", nil).status)
	require.Equal(t, "running", s.task(t, running).State, "reading goes on; an end that cannot be stored yet is not shown")
	before := load.count()
	got := <-refused
	requireProblem(t, got, http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, got.header.Get("Retry-After"))
	<-time.After(time.Until(over))
	require.Equal(t, before, load.count(), "a task was accepted while nothing could be stored")

	o.end()
	until(t, greenWithin, func() string {
		if h := s.health(t); h.code != http.StatusOK {
			return fmt.Sprintf("health is not green: %+v", h)
		}
		return ""
	})
	after := load.count()
	until(t, patience, func() string {
		if load.count() <= after {
			return "no task was accepted after the outage"
		}
		return ""
	})
	load.end()
	require.Empty(t, load.other, "answers that are neither 2xx nor 503, by status")
	require.NotZero(t, load.refused)
	s.awaitQuiet(t)
	require.Equal(t, 1, s.task(t, running).Attempt)
	requireSameCounts(t, s, p)
	require.False(t, s.hasEnded(), "no restart")
	s.stop(t)
	for _, r := range p.requireBooks(t, append(load.accepted, running)) {
		require.Equal(t, "success", r.state, "%+v", r)
		require.Equal(t, 1, r.attempt, "%+v", r)
		require.Empty(t, r.suspected, "%+v", r)
	}
}

func TestALockedDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	conn, err := p.database(t).Conn(t.Context())
	require.NoError(t, err)
	exec := func(text string) {
		_, err := conn.ExecContext(context.Background(), text)
		require.NoError(t, err)
	}
	suffer(t, p, s, outage{
		word:  "another process holds a lock",
		begin: func() { exec("BEGIN EXCLUSIVE") },
		end:   func() { exec("ROLLBACK"); require.NoError(t, conn.Close()) },
	})
}

// A file system of its own, filled to the last byte, is a full disk. It takes the right to mount one.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		if os.Getenv("CI") != "" {
			require.NoError(t, err, "mounting a small file system")
		}
		t.Skipf("a small file system cannot be mounted here (%v); TestADiskThatRefusesToGrowLosesNothing needs no mount", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	p := newPlaceIn(t, dir)
	s := p.start(t)
	filler := filepath.Join(dir, "filler")
	suffer(t, p, s, outage{
		word:  "the disk is full",
		begin: func() { fill(t, filler) },
		end:   func() { require.NoError(t, os.Remove(filler)) },
	})
}

// fill writes to a file until there is no room left.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	chunk := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(chunk)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}

// A limit on the size of the process's files makes the writes of SQLite fail, and needs no rights.
func TestADiskThatRefusesToGrowLosesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start(t)
	var usual unix.Rlimit
	require.NoError(t, unix.Prlimit(s.pid(), unix.RLIMIT_FSIZE, nil, &usual))
	set := func(size uint64) {
		require.NoError(t, unix.Prlimit(s.pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: usual.Max}, nil))
	}
	suffer(t, p, s, outage{
		word: "the database cannot be written",
		begin: func() {
			// The write-ahead log is by far the largest of the files: the others may still grow.
			log, err := os.Stat(p.db + "-wal")
			require.NoError(t, err)
			set(uint64(log.Size()))
		},
		end: func() { set(usual.Cur) },
	})
}
