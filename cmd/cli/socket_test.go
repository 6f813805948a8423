package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheSocketIsForItsOwnerAloneAndGoesWithItsListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), socketName)
	listener, err := listenSocket(t.Context(), path)
	require.NoError(t, err)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	conn, err := dialSocket(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, listener.Close())
	require.NoFileExists(t, path)
	require.Error(t, listener.Close())
}

func TestASocketLeftByADeadProcessIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), socketName)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, path)

	listener, err := listenSocket(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestALiveSocketAndAnyOtherFileAreLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), socketName)
	first, err := listenSocket(t.Context(), path)
	require.NoError(t, err)
	_, err = listenSocket(t.Context(), path)
	require.ErrorContains(t, err, "another server answers on "+path)
	require.NoError(t, first.Close())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = listenSocket(t.Context(), path)
	require.ErrorContains(t, err, "is in the way")
	require.FileExists(t, path)
}

func TestAFolderThatTakesNoSocketIsToldApart(t *testing.T) {
	_, err := listenSocket(t.Context(), filepath.Join(t.TempDir(), "missing", socketName))
	require.ErrorIs(t, err, errNoSocket)
}

func TestAPathLongerThanTheKernelTakesStillWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, socketName)
	listener, err := listenSocket(t.Context(), path)
	require.NoError(t, err)
	conn, err := dialSocket(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, listener.Close())
	require.NoFileExists(t, path)
}

func TestTheSocketIsBesideTheDatabaseWhateverNameLeadsThere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "reax.db"), nil, 0o600))
	require.NoError(t, os.Symlink("data/reax.db", filepath.Join(dir, "link.db")))
	require.NoError(t, os.Symlink("data", filepath.Join(dir, "folder")))
	want := filepath.Join(dir, "data", socketName)
	for _, name := range []string{"data/reax.db", "link.db", "folder/reax.db", "folder/new.db"} {
		got, err := socketBeside(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}
