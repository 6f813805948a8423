package models

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/gorm"
)

func TestMain(m *testing.M) {
	// A test that needs a second process runs this program again as a holder of the lock.
	if path := os.Getenv("MODELS_HOLD_LOCK"); path != "" {
		holdLock(path)
		return
	}
	goleak.VerifyTestMain(m)
}

var silent = slog.New(slog.DiscardHandler)

// openStore opens a ledger on a real file that goes away with the test.
func openStore(t testing.TB) *Store {
	t.Helper()
	return openStoreAt(t, filepath.Join(t.TempDir(), "reax.db"))
}

func openStoreAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: path, Logger: silent})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// row is a task as a test writes it: column names and values. What is left out takes a plain default.
type row map[string]any

// seedTasks writes rows past the journal and gives their ids.
func seedTasks(t testing.TB, s *Store, rows ...row) []int64 {
	t.Helper()
	var ids []int64
	err := s.Writer().Transaction(func(tx *gorm.DB) error {
		for _, r := range rows {
			ids = append(ids, seedTask(t, tx, r))
		}
		return nil
	})
	require.NoError(t, err)
	return ids
}

func seedTask(t testing.TB, tx *gorm.DB, r row) int64 {
	t.Helper()
	full := row{
		"type": "report", "state": StatePending, "priority": 5, "max_retries": 3, "run_at": 1000, "created_at": 1000,
		"updated_at": 1000, "trace_id": "0123456789abcdef0123456789abcdef", "params": `{}`,
	}
	maps.Copy(full, r)
	var columns []string
	var values []any
	for column, value := range full {
		columns, values = append(columns, column), append(values, value)
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")
	var id int64
	require.NoError(t, tx.Raw(fmt.Sprintf("INSERT INTO tasks (%s) VALUES (%s) RETURNING id", strings.Join(columns, ","), marks),
		values...).Scan(&id).Error)
	return id
}

// taskIDsOf gives the ids of tasks in their order.
func taskIDsOf(tasks []Task) []int64 {
	ids := make([]int64, 0, len(tasks))
	for i := range tasks {
		ids = append(ids, tasks[i].ID)
	}
	return ids
}
