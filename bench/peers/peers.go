// Package peers measures reax beside other task systems on one workload: callers that enqueue tasks of 60 bytes one at a
// time, each waiting until its task is accepted, and workers whose handler does nothing.
package peers

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// system is a task system on an empty store of its own. enqueue is called by many goroutines at once.
type system interface {
	// enqueue returns when the system says that the task is accepted.
	enqueue(ctx context.Context, body []byte) error
	// done is how many tasks are done by the system's own books.
	done(ctx context.Context) (int64, error)
	// close stops the system in order.
	close(ctx context.Context) error
	// bytes is what the store has on the disk, after close.
	bytes() (int64, error)
}

// settings are those of one run.
type settings struct {
	dir     string // a folder of its own
	callers int
	workers int
	strict  bool // the strictest durability that the system has
	stock   bool // polls as often as the system does when it is told nothing
	log     bool // reax writes a line for each step of a task
	server  server
	handle  func(body []byte) // called once for each run of a task
}

// variant is a system at one durability: a line of the tables.
type variant struct {
	Key    string // names it in flags
	Name   string
	Says   string // its settings, for the reader
	polls  string // what pick-up waits for when it is told nothing; empty when it does not poll
	strict bool
	needs  string // redis, postgres, or nothing
	open   func(ctx context.Context, s settings) (system, error)
}

const (
	walFull   = "WAL, `synchronous=FULL`: each commit is on the disk"
	walNormal = "WAL, `synchronous=NORMAL`: a power cut takes the last commits along"
)

// variants are all lines, in the order of the tables.
var variants = []variant{
	{Key: "reax", Name: "reax", Says: walFull + ". The default", strict: true, open: openReax},
	{Key: "reax-normal", Name: "reax, normal", Says: walNormal, open: openReax},
	{
		Key: "asynq-always", Name: "asynq, Redis always", Says: "`appendonly yes`, `appendfsync always`; a connection a caller; `TaskCheckInterval` 10 ms",
		polls: "1 s", strict: true, needs: "redis", open: openAsynq,
	},
	{
		Key: "asynq-everysec", Name: "asynq, Redis everysec", Says: "as above, but `appendfsync everysec`: a power cut takes a second along",
		polls: "1 s", needs: "redis", open: openAsynq,
	},
	{
		Key: "river-postgres", Name: "River, PostgreSQL", Says: "`synchronous_commit=on`, 512 MB of shared buffers, 64 connections; `FetchCooldown` 2 ms and `FetchPollInterval` 20 ms, as in River's own benchmark",
		polls: "100 ms", strict: true, needs: "postgres", open: openRiverPostgres,
	},
	{
		Key: "river-sqlite", Name: "River, SQLite full", Says: walFull + "; one connection, as its documentation says; polls as above",
		polls: "100 ms", strict: true, open: openRiverSQLite,
	},
	{
		Key: "river-sqlite-normal", Name: "River, SQLite normal", Says: walNormal + "; otherwise as above",
		polls: "100 ms", open: openRiverSQLite,
	},
	{
		Key: "goqite", Name: "goqite, full", Says: walFull + "; one connection, as its documentation says; `PollInterval` 10 ms",
		polls: "100 ms", strict: true, open: openGoqite,
	},
	{
		Key: "goqite-normal", Name: "goqite, normal", Says: walNormal + ": what its documentation sets up; otherwise as above",
		polls: "100 ms", open: openGoqite,
	},
	{
		Key: "backlite", Name: "backlite, full", Says: walFull + "; one connection; finished tasks are not kept",
		strict: true, open: openBacklite,
	},
	{
		Key: "backlite-normal", Name: "backlite, normal", Says: walNormal + ": what its documentation sets up; otherwise as above",
		open: openBacklite,
	},
}

// chosen are the variants whose key begins with one of the words, or all when there is no word.
func chosen(words string) ([]variant, error) {
	if words == "" {
		return variants, nil
	}
	var out []variant
	for _, v := range variants {
		for word := range strings.SplitSeq(words, ",") {
			if strings.HasPrefix(v.Key, word) {
				out = append(out, v)
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no system is called %q", words)
	}
	return out, nil
}

func byKey(key string) (variant, error) {
	for _, v := range variants {
		if v.Key == key {
			return v, nil
		}
	}
	return variant{}, fmt.Errorf("no system is called %q", key)
}

// workersFor are the workers that go with so many callers.
func workersFor(callers int) int {
	if callers >= 512 {
		return 200
	}
	return 50
}

// poll is how often a system that polls looks for work: quickly, so that what is measured is its work and not its
// waiting, or as it does when it is told nothing.
func (s settings) poll(quick, stock time.Duration) time.Duration {
	if s.stock {
		return stock
	}
	return quick
}
