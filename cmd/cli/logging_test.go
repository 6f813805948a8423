package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// logFiles are the files in a folder with what they hold, by name.
func logFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, name := range found {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all[filepath.Base(name)] = string(text)
	}
	return all
}

func TestALogIsAFileADayAndOldOnesAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "log", "reax")
		logger, log, err := openLog(io.Discard, Config{LogDir: dir, LogKeepDays: 5})
		require.NoError(t, err)
		const days = 12
		for day := range days {
			logger.Info("morning", "day", day)
			time.Sleep(12 * time.Hour)
			logger.Info("evening", "day", day)
			time.Sleep(12 * time.Hour)
		}
		logger.Warn("last")
		require.NoError(t, log.Close())
		files := logFiles(t, dir)
		require.Contains(t, files[logFile], `"msg":"last"`)
		require.GreaterOrEqual(t, len(files), 1+5)
		require.LessOrEqual(t, len(files), 1+5+1, "the day in which it is looked at may be one more")
		for name, text := range files {
			for line := range strings.Lines(text) {
				require.True(t, json.Valid([]byte(line)), line)
			}
			if name != logFile {
				require.Regexp(t, `^reax-\d{4}-\d\d-\d\dT00-00-00\.000-time\.log$`, name)
				require.Equal(t, 2, strings.Count(text, "\n"), "the two lines of one day")
			}
		}
		require.NotContains(t, fmt.Sprint(files), `"day":0}`)
	})
}

func TestALogOfAnEarlierDayIsNotGoneOnWith(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, logFile)
	require.NoError(t, os.WriteFile(name, []byte("{\"msg\":\"before\"}\n"), 0o600))
	for i, age := range []time.Duration{0, 48 * time.Hour} {
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(name, at, at))
		logger, log, err := openLog(io.Discard, Config{LogDir: dir})
		require.NoError(t, err)
		logger.Info("after", "i", i)
		require.NoError(t, log.Close())
		files := logFiles(t, dir)
		require.Len(t, files, i+1)
		require.Equal(t, age == 0, strings.Contains(files[logFile], "before"))
	}
}

func TestALogThatCannotBeOpenedIsAnErrorAtTheStart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, _, err := openLog(io.Discard, Config{LogDir: filepath.Join(dir, "file", "log")})
	require.ErrorContains(t, err, "making the folder of the log")
	require.NoError(t, os.Mkdir(filepath.Join(dir, logFile), 0o700))
	_, _, err = openLog(io.Discard, Config{LogDir: dir})
	require.ErrorContains(t, err, "opening the log")
	_, _, err = openLog(io.Discard, Config{LogLevel: "loud"})
	require.ErrorContains(t, err, "the log level must be")
}

func TestALogHasOneLineWhateverIsLogged(t *testing.T) {
	for format, isLine := range map[string]func(string) bool{
		"json": func(line string) bool { return json.Valid([]byte(line)) },
		"text": func(line string) bool { return strings.HasPrefix(line, "time=") },
	} {
		var out bytes.Buffer
		logger, log, err := openLog(&out, Config{LogFormat: format})
		require.NoError(t, err)
		hostile := "a\nlevel=ERROR\r\n{\"level\":\"ERROR\"}\u2028\x00\x1b[2J"
		logger.With(hostile, hostile).WithGroup(hostile).Info(hostile, "error", errors.New(hostile), hostile, hostile) //nolint:sloglint // what is tested
		require.NoError(t, log.Close())
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
		require.True(t, isLine(out.String()), out.String())
		require.NotContains(t, out.String(), "\x1b")
	}
}

// gate lets one write through for each time it is opened.
type gate struct {
	open   chan struct{}
	writes []int
	mu     sync.Mutex
	text   bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes = append(g.writes, bytes.Count(p, []byte("\n")))
	return g.text.Write(p)
}

func (g *gate) Close() error { return nil }

func TestLinesThatComeMeanwhileAreWrittenTogetherAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		w := newLogWriter(g)
		line := func(n int) { _, err := fmt.Fprintf(w, "%d\n", n); require.NoError(t, err) }
		line(0)
		synctest.Wait()
		for n := range 500 {
			line(n + 1)
		}
		close(g.open)
		synctest.Wait()
		line(501)
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		require.Equal(t, []int{1, 500, 1}, g.writes)
		for n := range 502 {
			text, err := g.text.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintln(n), text)
		}
		_, err := w.Write([]byte("late\n"))
		require.ErrorIs(t, err, errLogClosed)
	})
}

func TestALogThatNobodyReadsTakesOnlySoMuchMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		w := newLogWriter(g)
		line := bytes.Repeat([]byte("x"), maxLogBehind/4)
		line[len(line)-1] = '\n'
		written := 0
		go func() {
			for range 100 {
				_, _ = w.Write(line)
				written++
			}
		}()
		synctest.Wait()
		const most = 2 * 5 // one buffer is being written and one is full, each with the line that filled it
		require.LessOrEqual(t, written, most)
		close(g.open)
		synctest.Wait()
		require.Equal(t, 100, written)
		require.NoError(t, w.Close())
		require.Equal(t, 100*len(line), g.text.Len())
	})
}

func TestTheConfigurationSaysWhereTheLogGoes(t *testing.T) {
	cfg, found := parseConfig("reax.yaml", "/etc/reax", []byte("log: {dir: log, keep_days: 7}"))
	require.Empty(t, found)
	require.Equal(t, []any{"/etc/reax/log", 7}, []any{cfg.LogDir, cfg.LogKeepDays})
	cfg, err := configFlags{LogDir: "elsewhere"}.over(cfg)
	require.NoError(t, err)
	require.Equal(t, "elsewhere", cfg.LogDir)
	_, found = parseConfig("reax.yaml", "/etc/reax", []byte("log: {keep_days: 0}"))
	require.ErrorContains(t, found, "reax.yaml:1: log.keep_days: 0 is not from 1 to 3650")
}
