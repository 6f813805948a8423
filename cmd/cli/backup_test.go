package cli

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestABackupIsAWholeDatabase(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	store, err := models.Open(t.Context(), models.Config{Path: "reax.db"})
	require.NoError(t, err)
	require.NoError(t, store.Close())

	got := command{}.run(t, "backup", "copy ?%#.db")
	require.Zero(t, got.code, got.errOut)
	require.Contains(t, got.out, "copied reax.db to copy ?%#.db: ")
	info, err := os.Stat("copy ?%#.db")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	requireEmptyLedger(t, "copy ?%#.db")

	left, err := filepath.Glob(".reax-backup-*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// requireEmptyLedger opens a copy as a server would.
func requireEmptyLedger(t *testing.T, file string) {
	t.Helper()
	store, err := models.Open(t.Context(), models.Config{Path: file})
	require.NoError(t, err)
	_, err = store.Counts(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

func TestABackupNeverOverwritesAFileAndNeedsADatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	got := command{}.run(t, "backup", "copy.db")
	require.Equal(t, result{1, "", "reax: there is no database reax.db\n"}, got)
	require.NoFileExists(t, "reax.db")

	require.NoError(t, os.WriteFile("reax.db", []byte("this is no database, though it is long enough to be one"), 0o600))
	got = command{}.run(t, "backup", "copy.db")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errOut, "file is not a database")
	require.NoFileExists(t, "copy.db")

	require.NoError(t, os.WriteFile("copy.db", []byte("mine"), 0o600))
	got = command{}.run(t, "backup", "copy.db")
	require.Equal(t, result{1, "", "reax: copy.db exists already: a backup never overwrites a file\n"}, got)
	text, err := os.ReadFile("copy.db")
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	got = command{}.run(t, "backup", "no/such/folder/copy.db")
	require.Equal(t, 1, got.code)
}

func TestABackupWorksWhileTheServerRuns(t *testing.T) {
	p := startProcess(t, t.TempDir())
	got := p.client(t, "enqueue", "demo.report", "-p", "rows=1", "-p", "delay_ms=1", "--wait")
	require.Zero(t, got.code, got.errOut)
	file := filepath.Join(t.TempDir(), "copy.db")
	got = p.client(t, "backup", file)
	require.Zero(t, got.code, got.errOut)

	store, err := models.Open(t.Context(), models.Config{Path: file})
	require.NoError(t, err)
	copied, err := store.Task(context.Background(), 1)
	require.NoError(t, err)
	require.Equal(t, models.StateSuccess, copied.State)
	require.NoError(t, store.Close())
	require.Zero(t, p.stop(t, syscall.SIGTERM))
}
