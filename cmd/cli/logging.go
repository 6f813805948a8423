package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/DeRuina/timberjack"
	"github.com/mattn/go-isatty"
)

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"text", "json"}
)

const (
	logFile         = "reax.log"
	logFileMB       = 1024 // a day's log that grows larger is split
	defaultKeepDays = 30
	maxKeepDays     = 3_650
)

// openLog makes the server's logger: to daily files when the configuration names a folder for them, and to w otherwise. The
// caller closes it last.
func openLog(w io.Writer, cfg Config) (*slog.Logger, io.Closer, error) {
	format := cfg.LogFormat
	to := io.WriteCloser(unclosed{w})
	if cfg.LogDir != "" {
		files, err := openLogFiles(cfg.LogDir, cfg.LogKeepDays)
		if err != nil {
			return nil, nil, err
		}
		to = files
	} else if format == "" && isTerminal(w) {
		format = "text"
	}
	lines := newLogWriter(to)
	logger, err := newLogger(lines, cfg.LogLevel, format)
	if err != nil {
		_ = lines.Close()
		return nil, nil, err
	}
	return logger, lines, nil
}

// newLogger makes a logger on w. Without a level it is info, without a format JSON.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	if level == "" {
		level = "info"
	}
	if !slices.Contains(logLevels, level) {
		return nil, usagef("the log level must be %s, not %q", orList(logLevels), level)
	}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("reading the log level: %w", err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "", "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usagef("the log format must be %s, not %q", orList(logFormats), format)
}

// openLogFiles gives a file of each day in dir, which is made when it is not there. At midnight the file of the day becomes
// reax-<when>-time.log, and files older than keepDays are deleted.
func openLogFiles(dir string, keepDays int) (io.WriteCloser, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of the log: %w", err)
	}
	// The library opens the file at the first line, where nobody would be told that it cannot.
	name := filepath.Join(dir, logFile)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640) //nolint:gosec // the group may read it: collectors of logs do
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if keepDays == 0 {
		keepDays = defaultKeepDays
	}
	files := &timberjack.Logger{
		Filename: name, MaxSize: logFileMB, MaxAge: keepDays, RotateAt: []string{"00:00"}, LocalTime: true, Compression: "none",
	}
	// The library knows of no midnight at which it did not run.
	if isOfEarlierDay(name) {
		if err := files.RotateWithReason("time"); err != nil {
			return nil, errors.Join(fmt.Errorf("putting the log of an earlier day away: %w", err), files.Close())
		}
	}
	return files, nil
}

// isOfEarlierDay reports whether a file was last written before today.
func isOfEarlierDay(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Size() > 0 && info.ModTime().Format(time.DateOnly) < time.Now().Format(time.DateOnly)
}

// unclosed is a writer that belongs to somebody else.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
