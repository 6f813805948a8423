package actors

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"reax/models"
)

// BenchmarkStepLines is what the lines of a batch of 100 tasks cost that were accepted and have succeeded.
func BenchmarkStepLines(b *testing.B) {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // what is measured is the writing of lines
	now := models.At(time.Now())
	t := &models.NewTask{Task: models.Task{
		ID: 123456, Type: "report.generate", TraceID: "0190aa0190aa0190aa0190aa0190aa01", Priority: 5, EnqueuedBy: "token:ci", State: models.StatePending,
		CreatedAt: now, RunAt: now,
	}}
	done := &models.Completion{
		ID: 123456, Type: t.Type, TraceID: t.TraceID, Attempt: 1, Worker: "report.generate/worker-3", StartedAt: now, FinishedAt: now.Add(time.Second), Written: true,
	}
	batch := &batch{core: &core{logger: logger}}
	for range 100 {
		batch.inserts, batch.done = append(batch.inserts, t), append(batch.done, done)
	}
	b.ReportAllocs()
	for b.Loop() {
		batch.logSteps()
	}
}
