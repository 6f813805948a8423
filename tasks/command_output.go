package tasks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxLine       = MaxLogLineBytes - 64 // of one line of output, with room for how much was left out of it
	maxResultLine = 1 << 20              // of a ::result line
	maxLastLines  = 10                   // of stderr, in the error of a failed run
	maxLastBytes  = 2 << 10
)

const (
	progressMark = "::progress "
	resultMark   = "::result "
)

// readLines calls take with each line of r, without its end, until r ends or fails. Of a longer line than limit allows
// for its beginning, take gets the first part and the number of bytes left out: memory stays bounded whatever comes.
func readLines(r io.Reader, limit func(start []byte) int, take func(line []byte, omitted int)) {
	buffered := bufio.NewReaderSize(r, 32<<10)
	var line []byte
	room, omitted := 0, 0
	open := false
	for {
		part, err := buffered.ReadSlice('\n')
		if len(part) > 0 {
			if !open {
				line, omitted, open = line[:0], 0, true
				room = limit(part)
			}
			ended := part[len(part)-1] == '\n'
			if ended {
				part = bytes.TrimSuffix(part[:len(part)-1], []byte("\r"))
			}
			kept := part[:min(len(part), room-len(line))]
			line = append(line, kept...)
			omitted += len(part) - len(kept)
			if ended {
				take(line, omitted)
				open = false
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if open {
				take(line, omitted)
			}
			return
		}
	}
}

func logText(line []byte, omitted int) string {
	if omitted == 0 {
		return string(line)
	}
	return fmt.Sprintf("%s%s (%d bytes left out)", line, ellipsis, omitted)
}

// stdoutLines sends a program's stdout to the run and keeps the last result that it names.
type stdoutLines struct {
	run    *Run
	result []byte
	err    error
}

func (o *stdoutLines) limit(start []byte) int {
	if bytes.HasPrefix(start, []byte(resultMark)) {
		return maxResultLine
	}
	return maxLine
}

func (o *stdoutLines) take(line []byte, omitted int) {
	if text, ok := bytes.CutPrefix(line, []byte(resultMark)); ok {
		o.setResult(text, omitted)
		return
	}
	text := logText(line, omitted)
	if rest, ok := strings.CutPrefix(text, progressMark); ok {
		if percent, note, ok := parseProgress(rest); ok {
			o.run.Progress(percent, 100, note)
			return
		}
	}
	o.run.Output("stdout", text)
}

func (o *stdoutLines) setResult(text []byte, omitted int) {
	o.result, o.err = nil, nil
	// Bytes that are not UTF-8 pass as JSON in Go, but nowhere else.
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	var syntax json.RawMessage
	if omitted > 0 {
		o.err = fmt.Errorf("%w: the ::result line is longer than %d bytes", ErrResult, maxResultLine)
	} else if err := json.Unmarshal(text, &syntax); err != nil {
		o.err = fmt.Errorf("%w: reading the ::result line: %w", ErrResult, err)
	} else {
		o.result = syntax
	}
}

// value is the result, or nil if the program named none.
func (o *stdoutLines) value() (json.RawMessage, error) { return o.result, o.err }

// parseProgress reads "40 note"; a value out of range is taken as the nearest in it.
func parseProgress(text string) (percent int64, note string, ok bool) {
	number, note, _ := strings.Cut(strings.TrimLeft(text, " "), " ")
	value, err := strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
	if err != nil || value != value {
		return 0, "", false
	}
	return int64(min(max(value, 0), 100)), strings.TrimSpace(note), true
}

// stderrLines sends a program's stderr to the run and remembers the last of it for the error text.
type stderrLines struct {
	run  *Run
	last []string
}

func (e *stderrLines) limit([]byte) int { return maxLine }

func (e *stderrLines) take(line []byte, omitted int) {
	text := logText(line, omitted)
	e.run.Output("stderr", text)
	if strings.TrimSpace(text) == "" {
		return
	}
	if len(e.last) == maxLastLines {
		e.last = append(e.last[:0], e.last[1:]...)
	}
	e.last = append(e.last, text)
}

// text joins the last lines, of which the end counts most.
func (e *stderrLines) text() string {
	text := strings.Join(e.last, "\n")
	return strings.ToValidUTF8(text[max(len(text)-maxLastBytes, 0):], "\uFFFD")
}
