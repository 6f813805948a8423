package models

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"gorm.io/gorm"
)

func TestOpenMakesAPrivateFileAndCloseLeavesNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	s := openStoreAt(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	seedTasks(t, s, row{"params": strings.Repeat("x", 100_000)})
	database, wal, err := s.Size()
	require.NoError(t, err)
	require.Positive(t, database)
	require.Greater(t, wal, int64(100_000))
	require.NoError(t, s.Checkpoint(t.Context()))
	_, wal, err = s.Size()
	require.NoError(t, err)
	require.Zero(t, wal)

	seedTasks(t, s, row{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second Close does nothing")
	require.NoFileExists(t, path+"-wal")
	_, wal, err = s.Size()
	require.NoError(t, err)
	require.Zero(t, wal)

	again := openStoreAt(t, path)
	tasks, err := again.TaskIDs(t.Context(), Filter{}, 10)
	require.NoError(t, err)
	require.Len(t, tasks, 2)
}

func TestPathsKeepTheirLettersInTheDataSource(t *testing.T) {
	for _, name := range []string{"a b.db", "what?.db", "#1.db", "100%.db", "%41.db", "a&b=c.db", "é日本.db", "semi;colon.db", "back\\slash.db", "q'uote\".db", "plus+.db"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := openStoreAt(t, filepath.Join(folder, name))
			require.NoError(t, s.Close())
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 2)
			require.FileExists(t, filepath.Join(folder, name))
			require.FileExists(t, filepath.Join(folder, name+".lock"))
		})
	}
}

func TestRelativePathStaysTheSameFileWhenTheFolderChanges(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	s := openStoreAt(t, "reax.db")
	t.Chdir(t.TempDir())
	seedTasks(t, s, row{})
	require.True(t, filepath.IsAbs(s.Path()))
	_, _, err := s.Size()
	require.NoError(t, err)
}

func TestOpenSaysWhatIsWrongWithTheFile(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(path("text.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
	require.NoError(t, os.Mkdir(path("folder.db"), 0o700))
	require.NoError(t, unix.Mkfifo(path("pipe.db"), 0o600))
	require.NoError(t, os.Symlink(path("loop.db"), path("loop.db")))
	foreign, err := openWriter(path("foreign.db"), "FULL", defaultWriterTimeout)
	require.NoError(t, err)
	require.NoError(t, foreign.Exec("CREATE TABLE letters (a TEXT)").Error)
	require.NoError(t, closeHandle(foreign))

	for _, c := range []struct{ name, path, want string }{
		{"no name", "", "no database file is named"},
		{"memory", ":memory:", `must be a plain file name, not ":memory:"`},
		{"uri", "file:x.db?mode=memory", "must be a plain file name"},
		{"zero character", "a\x00b.db", "zero character"},
		{"text file", path("text.db"), "text.db is not a database that reax can read"},
		{"folder", path("folder.db"), "folder.db is a folder, not a file"},
		{"pipe", path("pipe.db"), "pipe.db is not a regular file"},
		{"missing parent", path("none/reax.db"), "none of the database does not exist"},
		{"parent is a file", path("text.db/reax.db"), "cannot reach the database"},
		{"loop of links", path("loop.db"), "cannot reach the database"},
		{"database of another program", path("foreign.db"), "it is a database of another program, with 1 tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), Config{Path: c.path})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err = Open(t.Context(), Config{Path: path("x.db"), Durability: "some"})
	require.EqualError(t, err, `durability "some" is not known: it is "full" or "normal"`)
}

func TestOpenSaysWhenPermissionIsMissing(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root may do anything; this thread gives that up for files and ends with the test.
		runtime.LockOSThread()
		_, err := unix.SetfsuidRetUid(65534)
		require.NoError(t, err)
		defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	}
	base := t.TempDir()
	folder := filepath.Join(base, "closed")
	require.NoError(t, os.Mkdir(folder, 0o500))
	_, err := Open(t.Context(), Config{Path: filepath.Join(folder, "reax.db")})
	require.ErrorContains(t, err, "cannot open the lock file of the database")
	require.ErrorIs(t, err, os.ErrPermission)

	path := filepath.Join(base, "reax.db")
	s, err := Open(t.Context(), Config{Path: path, Logger: silent})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, mode := range []os.FileMode{0o400, 0o200, 0} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = Open(t.Context(), Config{Path: path})
		require.EqualError(t, err, "the database "+path+" cannot be written: permission denied")
	}
}

func TestEveryConnectionHasItsPragmas(t *testing.T) {
	s := openStore(t)
	pragma := func(conn *gorm.DB, name string) (value string) {
		t.Helper()
		require.NoError(t, conn.Raw("PRAGMA "+name).Scan(&value).Error)
		return value
	}
	for name, want := range map[string]string{
		"busy_timeout": "1000", "journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "journal_size_limit": "67108864",
		"wal_autocheckpoint": "4000", "cache_size": "-8192",
	} {
		require.Equal(t, want, pragma(s.Writer(), name), name)
	}
	for name, want := range map[string]string{
		"busy_timeout": "0", "journal_mode": "wal", "synchronous": "2", "query_only": "1", "wal_autocheckpoint": "0",
	} {
		require.Equal(t, want, pragma(s.checkpoints.db, name), name)
	}
	readAll(t, s.Reader(), readerConnections, func(conn *gorm.DB) {
		require.Equal(t, "5000", pragma(conn, "busy_timeout"))
		require.Equal(t, "1", pragma(conn, "query_only"))
		require.Equal(t, "1", pragma(conn, "foreign_keys"))
		require.Equal(t, "wal", pragma(conn, "journal_mode"))
		err := conn.Exec("DELETE FROM tasks").Error
		require.ErrorContains(t, err, "readonly")
		require.True(t, IsUnavailable(err))
	})
}

func TestLogStaysBoundedWhileReadersComeAndGo(t *testing.T) {
	s := openStore(t)
	const bound = walPages*4096 + 2<<20
	for i := range 40 {
		seedTasks(t, s, row{"params": strings.Repeat("x", 1<<20)})
		_, err := s.Task(t.Context(), int64(i+1))
		require.NoError(t, err)
		_, wal, err := s.Size()
		require.NoError(t, err)
		require.Less(t, wal, int64(bound))
	}
}

// readAll calls f with n connections of the pool that are all in use at the same time.
func readAll(t *testing.T, db *gorm.DB, n int, f func(*gorm.DB)) {
	t.Helper()
	require.NoError(t, db.Connection(func(conn *gorm.DB) error {
		f(conn)
		if n > 1 {
			readAll(t, db, n-1, f)
		}
		return nil
	}))
}

func TestDurabilityNormalAsksForFewerSyncs(t *testing.T) {
	s, err := Open(t.Context(), Config{Logger: silent, Path: filepath.Join(t.TempDir(), "reax.db"), Durability: DurabilityNormal})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var synchronous int
	require.NoError(t, s.Writer().Raw("PRAGMA synchronous").Scan(&synchronous).Error)
	require.Equal(t, 1, synchronous)
}

func TestStoreLivesInABubbleOfFakeTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reax.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(context.Background(), Config{Path: path, Logger: silent})
		require.NoError(t, err)
		seedTasks(t, s, row{})
		_, err = s.Task(t.Context(), 1)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
}
