package peers

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// riverPool is how many connections River has on PostgreSQL: enough that many callers' inserts share a write to the disk.
const riverPool = 64

type riverArgs struct{ rawArgs }

// Kind names the task type.
func (riverArgs) Kind() string { return taskType }

// riverSystem is River on either database; T is its type of transaction.
type riverSystem[T any] struct {
	client *river.Client[T]
	count  func(ctx context.Context) (int64, error)
	end    func() error // closes the database
	size   func() (int64, error)
	before int64 // the size when nothing was in it
}

const riverDone = "SELECT count(*) FROM river_job WHERE state = 'completed'"

func startRiver[T any](ctx context.Context, driver riverdriver.Driver[T], s settings) (*river.Client[T], error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("making River's tables: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[riverArgs]) error {
		s.handle(job.Args.body)
		return nil
	}))
	client, err := river.NewClient(driver, &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.workers}}, Workers: workers,
		FetchCooldown:     s.poll(2*time.Millisecond, river.FetchCooldownDefault),
		FetchPollInterval: s.poll(20*time.Millisecond, river.FetchPollIntervalDefault),
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

func openRiverSQLite(ctx context.Context, s settings) (system, error) {
	db, err := openSQLite(s)
	if err != nil {
		return nil, err
	}
	client, err := startRiver(ctx, riversqlite.New(db), s)
	if err != nil {
		return nil, err
	}
	return &riverSystem[*sql.Tx]{
		client: client, end: db.Close, size: func() (int64, error) { return folderBytes(s.dir) },
		count: func(ctx context.Context) (n int64, err error) {
			return n, db.QueryRowContext(ctx, riverDone).Scan(&n)
		},
	}, nil
}

func openRiverPostgres(ctx context.Context, s settings) (system, error) {
	admin, err := pgx.Connect(ctx, s.server.addr)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("bench_%d", time.Now().UnixNano())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(strings.Replace(s.server.addr, "/postgres?", "/"+name+"?", 1))
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverPool
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	client, err := startRiver(ctx, riverpgxv5.New(pool), s)
	if err != nil {
		return nil, err
	}
	r := &riverSystem[pgx.Tx]{
		client: client, end: func() error { pool.Close(); return nil },
		count: func(ctx context.Context) (n int64, err error) {
			return n, pool.QueryRow(ctx, riverDone).Scan(&n)
		},
		size: func() (n int64, err error) {
			return n, admin.QueryRow(context.Background(), "SELECT pg_database_size($1)", name).Scan(&n)
		},
	}
	r.before, err = r.size()
	return r, err
}

func (r *riverSystem[T]) enqueue(ctx context.Context, body []byte) error {
	_, err := r.client.Insert(ctx, riverArgs{rawArgs{body}}, nil)
	return err
}

func (r *riverSystem[T]) done(ctx context.Context) (int64, error) { return r.count(ctx) }

func (r *riverSystem[T]) close(ctx context.Context) error {
	if err := r.client.Stop(ctx); err != nil {
		return err
	}
	return r.end()
}

func (r *riverSystem[T]) bytes() (int64, error) {
	n, err := r.size()
	return n - r.before, err
}
