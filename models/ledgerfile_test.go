package models

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingIsWrittenIntoAFileThatWasTakenAway(t *testing.T) {
	folder := t.TempDir()
	path, away := filepath.Join(folder, "reax.db"), filepath.Join(folder, "away.db")
	s := openStoreAt(t, path)
	w := NewWriter(s, "boot")
	insert := func() error {
		return w.Write(func(tx *Tx) error {
			return tx.Insert([]*NewTask{{Task: Task{Type: "a", Params: "{}", Priority: 5, TraceID: "t"}}}, func(string) bool { return false })
		})
	}
	require.NoError(t, insert())
	for name, other := range map[string]func(){
		"moved away": func() {},
		"another file": func() {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		},
		"a copy": func() {
			text, err := os.ReadFile(away)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, text, 0o600))
		},
	} {
		require.NoError(t, os.Rename(path, away))
		other()
		err := insert()
		require.ErrorIs(t, err, ErrReplaced, name)
		require.True(t, IsUnavailable(err), "it may work once the file is back")
		require.NoError(t, os.Rename(away, path))
		require.NoError(t, insert(), name)
	}
	ids, err := s.TaskIDs(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, ids, 4)
}

func TestADatabaseBesideTheLogOfAnotherIsRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "reax.db")
	killed := startHolder(t, path)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.NotZero(t, info.Size(), "the killed process has to leave a log")

	whole := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, exec.Command("cp", "-r", folder, whole).Run())
	openStoreAt(t, filepath.Join(whole, "reax.db")) // both were copied, so they belong together

	require.NoError(t, os.Rename(path, path+".away"))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for range 2 { // the first refusal must not make the second start forget
		_, err = Open(context.Background(), Config{Path: path})
		require.ErrorContains(t, err, "was replaced since process")
	}
	require.NoError(t, os.Rename(path+".away", path))
	s := openStoreAt(t, path)
	require.NoError(t, s.Close())

	require.NoError(t, os.Rename(path, path+".away"))
	openStoreAt(t, path) // a log is left only by a process that was killed
}
