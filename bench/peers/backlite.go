package peers

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mikestefanello/backlite"
)

type backliteTask struct{ rawArgs }

// Config names the queue, and keeps nothing of what is done: that is the default, and the fastest.
func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: taskType, MaxAttempts: 4, Backoff: 10 * time.Second, Timeout: time.Minute}
}

type backliteSystem struct {
	db     *sql.DB
	client *backlite.Client
	sent   atomic.Int64
	dir    string
}

func openBacklite(ctx context.Context, s settings) (system, error) {
	db, err := openSQLite(s)
	if err != nil {
		return nil, err
	}
	client, err := backlite.NewClient(backlite.ClientConfig{DB: db, NumWorkers: s.workers, ReleaseAfter: 10 * time.Minute, CleanupInterval: time.Hour})
	if err != nil {
		return nil, err
	}
	if err := client.Install(); err != nil {
		return nil, err
	}
	client.Register(backlite.NewQueue(func(_ context.Context, t backliteTask) error {
		s.handle(t.body)
		return nil
	}))
	client.Start(context.WithoutCancel(ctx))
	return &backliteSystem{db: db, client: client, dir: s.dir}, nil
}

func (b *backliteSystem) enqueue(ctx context.Context, body []byte) error {
	_, err := b.client.Add(backliteTask{rawArgs{body}}).Ctx(ctx).Save()
	if err == nil {
		b.sent.Add(1)
	}
	return err
}

// done counts what has gone: the library deletes what is done.
func (b *backliteSystem) done(ctx context.Context) (int64, error) {
	var left int64
	err := b.db.QueryRowContext(ctx, "SELECT count(*) FROM backlite_tasks").Scan(&left)
	return b.sent.Load() - left, err
}

func (b *backliteSystem) close(ctx context.Context) error {
	if !b.client.Stop(ctx) {
		return errors.New("the workers did not end in time")
	}
	return b.db.Close()
}

func (b *backliteSystem) bytes() (int64, error) { return folderBytes(b.dir) }
