package peers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"

	"reax/actors"
	"reax/models"
	"reax/tasks"
)

const taskType = "bench.noop"

type reaxSystem struct {
	runtime *actors.Runtime
	store   *models.Store
	dir     string
	log     *logFile // nil when it keeps none
}

func openReax(ctx context.Context, s settings) (system, error) {
	policy := tasks.DefaultPolicy()
	policy.Concurrency = s.workers
	registry := tasks.NewRegistry()
	err := registry.Add(tasks.Definition{
		Name: taskType, Kind: tasks.KindGo, Schema: tasks.AnyObject(), Policy: policy,
		Handler: func(_ context.Context, body json.RawMessage) (json.RawMessage, error) {
			s.handle(body)
			return nil, nil
		},
	})
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.DiscardHandler)
	var log *logFile
	if s.log {
		if log, err = openLog(s.dir); err != nil {
			return nil, err
		}
		logger = log.Logger
	}
	durability := models.DurabilityNormal
	if s.strict {
		durability = models.DurabilityFull
	}
	store, err := models.Open(ctx, models.Config{Path: filepath.Join(s.dir, "reax.db"), Durability: durability, Logger: logger})
	if err != nil {
		return nil, err
	}
	r, err := actors.Start(ctx, store, registry, actors.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return &reaxSystem{runtime: r, store: store, dir: s.dir, log: log}, nil
}

func (s *reaxSystem) enqueue(ctx context.Context, body []byte) error {
	_, err := s.runtime.Enqueue(ctx, actors.EnqueueRequest{Type: taskType, Params: body, By: "bench"})
	return err
}

func (s *reaxSystem) done(ctx context.Context) (int64, error) {
	counts, err := s.store.Counts(ctx)
	for _, c := range counts {
		if c.State == models.StateSuccess {
			return c.N, err
		}
	}
	return 0, err
}

func (s *reaxSystem) close(ctx context.Context) error {
	if err := s.runtime.Stop(ctx); err != nil {
		return err
	}
	err := s.store.Close()
	if s.log != nil {
		err = errors.Join(err, s.log.close())
	}
	return err
}

func (s *reaxSystem) bytes() (int64, error) { return folderBytes(s.dir) }
