package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"reax/models"
)

// followPart is how many lines are read and sent at one time.
const followPart = 200

// orStream has follow answer an operation when a stream is asked for.
func orStream(follow func(c echo.Context) error) option {
	return func(o *operation) {
		o.stream = true
		o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
			c := humaecho.Unwrap(ctx)
			if !wantsStream(c.Request()) {
				next(ctx)
			} else if err := follow(c); err != nil {
				c.Error(err)
			}
		})
	}
}

func wantsStream(r *http.Request) bool {
	follow, err := strconv.ParseBool(r.URL.Query().Get("follow"))
	return err == nil && follow || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// followedLog is the log of one attempt, as far as it has been sent.
type followedLog struct {
	task    int64
	attempt int // 0 while the first has not begun
	after   int
	end     *logEndJSON // set when nothing more will come
}

// logEndJSON is the last event of a followed log.
type logEndJSON struct {
	Attempt int          `json:"attempt"`
	State   models.State `json:"state"`
	Final   bool         `json:"final"` // no further attempt, unless a person wants one
}

// followLog is the log of one attempt as server-sent events, until the attempt ends. An attempt that has not begun is
// waited for. Each line has the attempt and its seq as id, so that a client that comes back goes on where it was.
func (s *Server) followLog(c echo.Context) error {
	ctx := c.Request().Context()
	log, err := newFollowedLog(c.Request(), c.Param("id"))
	if err != nil {
		return err
	}
	if _, err := s.ledger.Task(ctx, log.task); err != nil {
		return err
	}
	stream, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer stream.close()
	changed := &news{wake: make(chan struct{}, 1)}
	defer s.runtime.Subscribe(func(topics []string) {
		if slices.Contains(topics, "progress") || slices.Contains(topics, "tasks") {
			changed.add(nil)
		}
	})()
	err = stream.send("retry: 3000\n\n")
	for err == nil {
		var text []byte
		for full := true; full && err == nil; { // the ledger first: what was there before it was listened
			if text, full, err = log.next(ctx, s.ledger); err == nil && len(text) > 0 {
				err = stream.send("%s", text)
			}
		}
		if err != nil || log.end != nil {
			break
		}
		select {
		case <-changed.wake:
		case <-stream.beat.C:
			err = stream.heartbeat()
		case <-s.streams.ending:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil // the client is gone, or comes back when the ledger can be read again
}

func newFollowedLog(r *http.Request, id string) (*followedLog, error) {
	query := r.URL.Query()
	log := &followedLog{}
	var err error
	if log.task, err = strconv.ParseInt(id, 10, 64); err != nil || log.task < 1 {
		return nil, models.ErrNotFound
	}
	var faults []fieldError
	whole := func(name string) int {
		text := query.Get(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < 0 || n > math.MaxInt32) {
			faults = append(faults, wrong("query."+name, "whole"))
		}
		return n
	}
	log.attempt, log.after = whole("attempt"), whole("after")
	if len(faults) > 0 {
		return nil, invalid(faults)
	}
	if attempt, seq, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-"); ok {
		a, errA := strconv.Atoi(attempt)
		n, errN := strconv.Atoi(seq)
		if errA == nil && errN == nil && a > 0 && n >= 0 && (log.attempt == 0 || log.attempt == a) {
			log.attempt, log.after = a, max(log.after, n)
		}
	}
	return log, nil
}

// next is the events of up to followPart new lines, and whether there may be more now. When the attempt has ended and all
// its lines are told, the last event says so.
func (l *followedLog) next(ctx context.Context, ledger Ledger) (text []byte, full bool, err error) {
	// The task before its lines: when it says that the attempt has ended, all of them are there.
	t, err := ledger.Task(ctx, l.task)
	if errors.Is(err, models.ErrNotFound) { // retention was here
		l.end = &logEndJSON{Attempt: l.attempt, Final: true}
	} else if err != nil {
		return nil, false, err
	}
	if l.attempt == 0 {
		l.attempt = t.Attempt
	}
	var events bytes.Buffer
	if l.attempt > 0 && l.attempt <= t.Attempt {
		lines, err := ledger.Logs(ctx, l.task, l.attempt, l.after, followPart)
		if err != nil {
			return nil, false, err
		}
		for i := range lines {
			if err := writeEvent(&events, fmt.Sprintf("%d-%d", l.attempt, lines[i].Seq), "line", logLine(&lines[i])); err != nil {
				return nil, false, err
			}
			l.after = lines[i].Seq
		}
		if len(lines) == followPart {
			return events.Bytes(), true, nil
		}
	}
	over := t.State.IsFinal() || l.attempt > 0 && (l.attempt < t.Attempt || l.attempt == t.Attempt && t.State != models.StateRunning)
	if over {
		l.end = &logEndJSON{Attempt: l.attempt, State: t.State, Final: t.State.IsFinal()}
	}
	if l.end != nil {
		err = writeEvent(&events, "", "end", l.end)
	}
	return events.Bytes(), false, err
}

// writeEvent writes one event. JSON has no line ends, whatever a line of a log holds.
func writeEvent(to *bytes.Buffer, id, name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	if id != "" {
		fmt.Fprintf(to, "id: %s\n", id)
	}
	fmt.Fprintf(to, "event: %s\ndata: %s\n\n", name, text)
	return nil
}
