package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/mattn/go-isatty"
)

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"text", "json"}
)

// newLogger makes the server's logger. Without a format, people at a terminal get text and everything else JSON.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	if level == "" {
		level = "info"
	}
	if !slices.Contains(logLevels, level) {
		return nil, usagef("the log level must be %s, not %q", orList(logLevels), level)
	}
	if format == "" {
		format = "json"
		if isTerminal(w) {
			format = "text"
		}
	}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("reading the log level: %w", err)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usagef("the log format must be %s, not %q", orList(logFormats), format)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
