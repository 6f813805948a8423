package peers

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

type goqiteSystem struct {
	db    *sql.DB
	queue *goqite.Queue
	stop  func()
	sent  atomic.Int64
	dir   string
}

func openGoqite(ctx context.Context, s settings) (system, error) {
	db, err := openSQLite(s)
	if err != nil {
		return nil, err
	}
	schema, err := goqiteSchema(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	g := &goqiteSystem{db: db, queue: goqite.New(goqite.NewOpts{DB: db, Name: "bench"}), dir: s.dir}
	runner := jobs.NewRunner(jobs.NewRunnerOpts{
		Limit: s.workers, Queue: g.queue, PollInterval: s.poll(10*time.Millisecond, 100*time.Millisecond),
	})
	runner.Register(taskType, func(_ context.Context, body []byte) error {
		s.handle(body)
		return nil
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Start(ctx)
	}()
	g.stop = func() { cancel(); <-ended }
	return g, nil
}

// goqiteSchema reads the table that the library asks its users to make from the library's own module.
func goqiteSchema(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return "", fmt.Errorf("looking for goqite's module (run this in the folder bench): %w", err)
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema_sqlite.sql"))
	return string(schema), err
}

func (g *goqiteSystem) enqueue(ctx context.Context, body []byte) error {
	_, err := jobs.Create(ctx, g.queue, taskType, goqite.Message{Body: body})
	if err == nil {
		g.sent.Add(1)
	}
	return err
}

// done counts what has gone: the library deletes what is done.
func (g *goqiteSystem) done(ctx context.Context) (int64, error) {
	var left int64
	err := g.db.QueryRowContext(ctx, "SELECT count(*) FROM goqite").Scan(&left)
	return g.sent.Load() - left, err
}

func (g *goqiteSystem) close(context.Context) error {
	g.stop()
	return g.db.Close()
}

func (g *goqiteSystem) bytes() (int64, error) { return folderBytes(g.dir) }
