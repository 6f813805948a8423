package peers

import (
	"bufio"
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
)

// logFile is a log as a server keeps it: JSON lines at the level info, which under load reach the file by the hundred.
type logFile struct {
	*slog.Logger
	file  *os.File
	lines *bufio.Writer
	short bool // lines were left out
}

func openLog(dir string) (*logFile, error) {
	f, err := os.Create(filepath.Join(dir, "reax.log"))
	if err != nil {
		return nil, err
	}
	l := &logFile{file: f, lines: bufio.NewWriterSize(f, 64<<10)}
	l.Logger = slog.New(slog.NewJSONHandler(l, nil))
	return l, nil
}

// Write takes one line at a time, as the handler does.
func (l *logFile) Write(line []byte) (int, error) {
	l.short = l.short || bytes.Contains(line, []byte("lines were left out"))
	return l.lines.Write(line)
}

// close fails when the run was faster than its log: what it measured is not what it says.
func (l *logFile) close() error {
	err := errors.Join(l.lines.Flush(), l.file.Close())
	if l.short {
		err = errors.Join(err, errors.New("lines of the log were left out"))
	}
	return err
}
