package peers

import (
	"context"
	"io"
	"time"

	"github.com/hibiken/asynq"
)

type asynqSystem struct {
	client    *asynq.Client
	server    *asynq.Server
	inspector *asynq.Inspector
	dir       string
}

// quietLog keeps a library from writing into the figures.
type quietLog struct{}

func (quietLog) Debug(...any) {}
func (quietLog) Info(...any)  {}
func (quietLog) Warn(...any)  {}
func (quietLog) Error(...any) {}
func (quietLog) Fatal(...any) {}

func openAsynq(_ context.Context, s settings) (system, error) {
	// Redis makes one write to the disk for all that came since the last, so each caller has a connection.
	redis := asynq.RedisClientOpt{Addr: s.server.addr, PoolSize: max(s.callers, s.workers)}
	a := &asynqSystem{
		client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis), dir: s.server.data,
		server: asynq.NewServer(redis, asynq.Config{
			Concurrency: s.workers, Logger: quietLog{}, TaskCheckInterval: s.poll(10*time.Millisecond, time.Second),
		}),
	}
	handler := asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		s.handle(t.Payload())
		return nil
	})
	return a, a.server.Start(handler)
}

func (a *asynqSystem) enqueue(ctx context.Context, body []byte) error {
	_, err := a.client.EnqueueContext(ctx, asynq.NewTask(taskType, body))
	return err
}

func (a *asynqSystem) done(context.Context) (int64, error) {
	queues, err := a.inspector.Queues()
	if err != nil || len(queues) == 0 {
		return 0, err
	}
	info, err := a.inspector.GetQueueInfo("default")
	if err != nil {
		return 0, err
	}
	return int64(info.ProcessedTotal - info.FailedTotal), nil
}

func (a *asynqSystem) close(context.Context) error {
	a.server.Shutdown()
	for _, c := range []io.Closer{a.client, a.inspector} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (a *asynqSystem) bytes() (int64, error) { return folderBytes(a.dir) }
