package tasks

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// transcript is a Sink that keeps all it is told.
type transcript struct {
	mu       sync.Mutex
	lines    []LogLine
	progress []string
	news     chan struct{}
}

func (s *transcript) Log(line LogLine) {
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *transcript) Progress(percent int, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, fmt.Sprintf("%d %s", percent, note))
}

// of gives the lines of one level.
func (s *transcript) of(level string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, line := range s.lines {
		if line.Level == level {
			texts = append(texts, line.Text)
		}
	}
	return texts
}

// await waits for a stdout line that begins with prefix and gives the rest of it.
func (s *transcript) await(t testing.TB, prefix string) string {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		for _, line := range s.of("stdout") {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
		select {
		case <-s.news:
		case <-limit:
			require.FailNow(t, "no line of output begins with "+prefix)
		}
	}
}

const testTrace = "0192f0c1a5b07cc38d2e4f5061728394"

// withTranscript gives a context of run 2 of task 7.
func withTranscript(ctx context.Context) (context.Context, *transcript) {
	s := &transcript{news: make(chan struct{}, 1)}
	run := &Run{TaskID: 7, Type: "report.generate", TraceID: testTrace, Attempt: 2, Logger: slog.New(slog.DiscardHandler)}
	return WithRun(ctx, run, s), s
}

// isAlive is false for a zombie: it runs no code, and who reaps it is not our affair.
func isAlive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// requireGone allows for the moment that the kernel takes to carry out a SIGKILL.
func requireGone(t testing.TB, pid string) {
	t.Helper()
	require.NotEmpty(t, pid)
	require.Eventually(t, func() bool { return !isAlive(pid) }, 20*time.Second, time.Millisecond, "process %s survived", pid)
}
