package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

// ask opens a connection of its own and asks for a path.
func ask(t *testing.T, listener *pipes, path string, header ...string) *stream {
	t.Helper()
	ours, theirs := net.Pipe()
	listener.conns <- theirs
	_, err := io.WriteString(ours, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+strings.Join(append(header, ""), "\r\n")+"\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(ours), nil) //nolint:bodyclose // it has no end; the connection is closed
	require.NoError(t, err)
	t.Cleanup(func() { _ = ours.Close() })
	return &stream{conn: ours, answer: answer, text: bufio.NewReader(answer.Body)}
}

func (f *fake) logged(attempt int, texts ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range texts {
		f.logs = append(f.logs, models.LogLine{TaskID: 1, Attempt: attempt, Seq: len(f.logs) + 1, At: start, Level: "info", Text: text})
	}
}

func (f *fake) edit(change func(*models.Task)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.rows[0])
}

// event is a line as it is sent.
func event(attempt, seq int, text string) string {
	return fmt.Sprintf("id: %d-%d\nevent: line\ndata: {\"seq\":%d,\"at\":\"2026-01-01T00:00:00.123456Z\",\"level\":\"info\",\"text\":%s}\n\n", attempt, seq, seq, text)
}

func TestALogIsFollowedUntilItsAttemptEnds(t *testing.T) {
	withEvents(t, func(b bubble) {
		b.f.add(models.Task{State: models.StatePending})
		s := ask(b.T, b.listener, "/api/v1/tasks/1/logs?follow=true")
		require.Equal(b, "text/event-stream", s.answer.Header.Get("Content-Type"))
		require.Equal(b, "no", s.answer.Header.Get("X-Accel-Buffering"))
		require.Equal(b, "retry: 3000\n\n", s.next(b.T))
		require.Equal(b, ": still here\n\n", s.next(b.T), "nothing has begun")
		b.f.edit(func(t *models.Task) { t.State, t.Attempt = models.StateRunning, 1 })
		b.f.logged(1, "one", "two\nlines \x1b")
		b.f.publish("tasks")
		require.Equal(b, event(1, 1, `"one"`), s.next(b.T))
		require.Equal(b, event(1, 2, `"two\nlines \u001b"`), s.next(b.T), "a line end in a line is none in the stream")
		b.f.logged(1, "three")
		b.f.publish("stats")
		b.f.publish("progress")
		require.Equal(b, event(1, 3, `"three"`), s.next(b.T))
		b.f.logged(1, "last")
		b.f.edit(func(t *models.Task) { t.State = models.StateRetryWait })
		b.f.publish("tasks")
		require.Equal(b, event(1, 4, `"last"`), s.next(b.T), "all lines come before the end")
		require.Equal(b, "event: end\ndata: {\"attempt\":1,\"state\":\"retry_wait\",\"final\":false}\n\n", s.next(b.T))
		_, err := s.text.ReadString('\n')
		require.ErrorIs(b, err, io.EOF)

		again := ask(b.T, b.listener, "/api/v1/tasks/1/logs", "Accept: text/event-stream", "Last-Event-ID: 1-3")
		again.next(b.T)
		require.Equal(b, event(1, 4, `"last"`), again.next(b.T), "a client that comes back goes on where it was")
		require.Contains(b, again.next(b.T), "event: end")

		next := ask(b.T, b.listener, "/api/v1/tasks/1/logs?follow=1&attempt=2&after=0")
		next.next(b.T)
		require.Equal(b, ": still here\n\n", next.next(b.T), "a further attempt is waited for")
		b.f.edit(func(t *models.Task) { t.State = models.StateCancelled })
		b.f.publish("tasks")
		require.Equal(b, "event: end\ndata: {\"attempt\":2,\"state\":\"cancelled\",\"final\":true}\n\n", next.next(b.T))
		_, err = next.text.ReadString('\n')
		require.ErrorIs(b, err, io.EOF)
		require.Zero(b, b.f.listeners())
		require.Zero(b, b.server.streams.open.Load())
	})
}

func TestALongLogIsSentInParts(t *testing.T) {
	withEvents(t, func(b bubble) {
		b.f.add(models.Task{State: models.StateSuccess, Attempt: 1})
		for i := range 2*followPart + 1 {
			b.f.logged(1, fmt.Sprint(i))
		}
		s := ask(b.T, b.listener, "/api/v1/tasks/1/logs?follow=true&after=3")
		s.next(b.T)
		for i := 3; i < 2*followPart+1; i++ {
			require.Equal(b, event(1, i+1, fmt.Sprintf(`"%d"`, i)), s.next(b.T))
		}
		require.Equal(b, "event: end\ndata: {\"attempt\":1,\"state\":\"success\",\"final\":true}\n\n", s.next(b.T))
	})
}

func TestAFollowedLogEndsFirstAtShutdown(t *testing.T) {
	withEvents(t, func(b bubble) {
		b.f.add(models.Task{State: models.StateRunning, Attempt: 1})
		s := ask(b.T, b.listener, "/api/v1/tasks/1/logs?follow=true")
		s.next(b.T)
		b.server.EndStreams()
		_, err := s.text.ReadString('\n')
		require.ErrorIs(b, err, io.EOF, "without an end: the attempt goes on")
	})
}

func TestWhatCannotBeFollowedIsSaid(t *testing.T) {
	runScenarios(t, func(f *fake) { f.add(models.Task{State: models.StateSuccess, Attempt: 1}) }, []scenario{
		{name: "no such task", url: tasksURL + "/9/logs?follow=true", status: 404},
		{name: "no task at all", url: tasksURL + "/x/logs?follow=true", status: 404},
		{name: "bad numbers", url: tasksURL + "/1/logs?follow=true&attempt=x&after=-1", status: 422, must: []string{`"query.attempt"`, `"query.after"`}},
		{name: "not followed", url: tasksURL + "/1/logs?follow=false", status: 200, must: []string{`"next_after":null`}},
		{name: "neither yes nor no", url: tasksURL + "/1/logs?follow=perhaps", status: 422, must: []string{`"query.follow"`}},
	})
}
